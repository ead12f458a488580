// name_of: a device in messages and reports.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/devices/backend.hpp>

namespace strata::inline STRATA_ABI::detail {

/// "Cuda{1}"
inline std::string name_of(const DeviceInstance& device) {
  return std::string(device.device_name()) + "{" + std::to_string(device.index()) + "}";
}

}  // namespace strata::inline STRATA_ABI::detail
