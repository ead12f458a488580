// Tbb: kernels run on oneTBB's workers, in the task arena of the caller, within its limits; where the process
// has a CPU quota (cgroups) of fewer processors than that arena has threads, in an arena of that size. Any
// thread may launch; launches may nest. Where an OpenMP library binds the first thread of the process,
// oneTBB's arenas still count all processors of the process, and its workers may run on them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/host/handle.hpp>
#include <strata/devices/host/start_affinity.hpp>

namespace strata::inline STRATA_ABI {

/// The threads of oneTBB as a device. It has the members of the concept Device (detail::HostHandle).
struct Tbb : detail::HostHandle<detail::tbb_host> {
  /// As the concept asks for.
  static constexpr char name[] = "Tbb";

  using HostHandle::HostHandle;

  friend constexpr bool operator==(Tbb, Tbb) { return true; }
};

}  // namespace strata::inline STRATA_ABI
