// run_app: what of strata-coherent is compiled for every device, in a file of its own (run_app.cpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/miniapps/coherent_apps/app.hpp>
#include <strata/miniapps/common/kernel_device.hpp>

namespace strata::inline STRATA_ABI::coherent_apps {

/// Runs a program whose launches are split over `devices`, instances of one kind. What the launches throw:
/// OutOfMemory, KernelError, CopyError.
template <class Device>
AppOutcome run_app(const std::vector<Device>& devices, const AppRequest& request);

/// On hosts, for all of which it is compiled once.
template <miniapp::OneHost Device>
AppOutcome run_app(const std::vector<Device>& devices, const AppRequest& request) {
  return run_app(std::vector<AnyHost>(devices.begin(), devices.end()), request);
}

}  // namespace strata::inline STRATA_ABI::coherent_apps
