// Every device of this build, for programs and tests that run over all of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/any_host/device.hpp>
#include <strata/devices/emulated/device.hpp>
#include <strata/devices/serial/device.hpp>
#include <strata/devices/threads/device.hpp>
#include <strata/version.hpp>
#if STRATA_HAS_TBB
#include <strata/devices/tbb/device.hpp>
#endif
#if STRATA_HAS_CUDA && defined(__CUDACC__)
#include <strata/devices/cuda/device.hpp>
#endif

namespace strata::inline STRATA_ABI {

/// A list of device types.
template <class... D>
struct DeviceList {
  /// Calls f(D{}) for each device in turn.
  template <class F>
  static void for_each(F&& f) {
    (f(D{}), ...);
  }
};

/// The devices of this build, Cuda in the files that nvcc compiles. A new device adds its line here.
using AllDevices = DeviceList<Serial, Threads,
#if STRATA_HAS_TBB
                              Tbb,
#endif
#if STRATA_HAS_CUDA && defined(__CUDACC__)
                              Cuda,
#endif
                              Emulated>;

/// One type for each way in which kernels are compiled: AnyHost stands for Serial, Threads and Tbb. For code
/// that is compiled once per device and need not distinguish hosts by type: visit_device<KernelDevices>(f)
/// finds all devices that visit_device(f) does.
using KernelDevices = DeviceList<AnyHost,
#if STRATA_HAS_CUDA && defined(__CUDACC__)
                                 Cuda,
#endif
                                 Emulated>;

}  // namespace strata::inline STRATA_ABI
