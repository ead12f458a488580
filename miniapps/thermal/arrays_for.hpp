// The kind of arrays that suits a device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/miniapps/fem/arrays.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// Element data in tiles where hosts vectorise over elements, else in the device's own layout.
template <class Device>
using ArraysFor = std::conditional_t<Device::memory_space::host_accessible, fem::TiledArrays<Device>,
                                     fem::PlainArrays<Device>>;

}  // namespace strata::inline STRATA_ABI::thermal
