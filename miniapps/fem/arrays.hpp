// Which arrays the fields of an application are. Structs of fields are templates on such a kind, so that the
// same kernels serve all kinds, and others (coherent, streamed) that give the same names.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/layout_right.hpp>
#include <strata/core/layout_tiled.hpp>
#include <strata/views/create.hpp>
#include <strata/views/mdarray.hpp>

namespace strata::inline STRATA_ABI::fem {

/// Plain views in the memory of `Device`. Kernels never see this type: they are templates over the views they
/// get.
template <class Device>
struct PlainArrays {
  using device_type = Device;
  /// Arrays that work items of neighbouring indices read side by side: element data, in the device's layout.
  template <class T, index_t... N>
  using element_array = MDArray<T, Device, N...>;
  /// Arrays that are gathered through indices: what belongs to one node lies together.
  template <class T, index_t... N>
  using node_array = MDArrayIn<LayoutRight, T, Device, N...>;
};

/// The same with element data in tiles of `Lanes`, so that hosts vectorise over elements.
template <class Device, int Lanes = 8>
struct TiledArrays {
  using device_type = Device;
  /// As PlainArrays have them.
  template <class T, index_t... N>
  using element_array = MDArrayIn<LayoutTiled<Lanes>, T, Device, N...>;
  template <class T, index_t... N>
  using node_array = MDArrayIn<LayoutRight, T, Device, N...>;
};

}  // namespace strata::inline STRATA_ABI::fem
