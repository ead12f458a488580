// Threads: kernels run on the calling thread and a pool of the library's own, pinned within the affinity that
// the process inherited, also where an OpenMP library binds its first thread. Any thread may launch; launches
// of several threads take turns. Nested launches run inline. Settings: threads, pin, spin_us.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/host/handle.hpp>
#include <strata/devices/host/start_affinity.hpp>

namespace strata::inline STRATA_ABI {

/// A pool of threads of the library's own as a device. It has the members of the concept Device
/// (detail::HostHandle).
struct Threads : detail::HostHandle<detail::threads_host> {
  /// As the concept asks for.
  static constexpr char name[] = "Threads";

  using HostHandle::HostHandle;

  friend constexpr bool operator==(Threads, Threads) { return true; }
};

}  // namespace strata::inline STRATA_ABI
