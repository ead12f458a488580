// HostKind: distinguishes the devices that run kernels on threads of the host at once. Launches carry it
// (LaunchInfo::host), so that a kernel is compiled once for all of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>
#include <strata/devices/host/drivers.hpp>

namespace strata::inline STRATA_ABI::detail {

class DeviceInstance;

/// One for each such device, in static storage: two of the same address are the same device.
struct HostKind {
  const char* name;              // the device's, for messages
  Runner (*runner)();            // how the pieces of a range are run, now and from the calling thread
  DeviceInstance& (*backend)();  // its one instance
  int (*concurrency)();          // the threads that a launch from the calling thread may use
};

/// Those of Serial, Threads and Tbb; the last is defined where Tbb is built in.
extern const HostKind serial_host;
extern const HostKind threads_host;
extern const HostKind tbb_host;

/// Throws NoSuchDevice unless `index` is 0: devices with one instance.
void require_only_instance(const char* device, int index);

/// That of `device`; null where its kernels do not run at once on threads of the host.
template <class D>
const HostKind* host_of(const D& device) {
  if constexpr (requires { device.host(); }) return &device.host();
  else return nullptr;
}

}  // namespace strata::inline STRATA_ABI::detail
