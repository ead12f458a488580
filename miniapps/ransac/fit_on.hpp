// fit_on: what of strata-ransac is compiled for every device, in a file of its own (fit_on.cpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/miniapps/common/kernel_device.hpp>
#include <strata/miniapps/ransac/fit.hpp>

namespace strata::inline STRATA_ABI::ransac {

/// Fits on a device, with threads of the host beside it where that is asked for. On a host: on its threads.
/// UsageError where dynamic sharing is asked for and the device and the host have no memory in which atomic
/// operations of one are atomic to the other; what launches throw: OutOfMemory, KernelError, CopyError.
template <class Device>
FitOutcome fit_on(const Device& device, const FitRequest& request);

/// On hosts, for all of which it is compiled once.
template <miniapp::OneHost Device>
FitOutcome fit_on(const Device& device, const FitRequest& request) {
  return fit_on(AnyHost(device), request);
}

}  // namespace strata::inline STRATA_ABI::ransac
