// Tbb: kernels run on oneTBB's workers, in the task arena of the caller, whose limits they honour; where the
// process has a CPU quota (cgroups) of fewer processors than that arena has threads, in an arena of as many.
// Any thread may launch; launches may nest. Where an OpenMP library binds the first thread of the process,
// oneTBB's arenas still count all of its processors, and its workers are let go to them.
#pragma once

#include <strata/devices/host/handle.hpp>
#include <strata/devices/host/start_affinity.hpp>

namespace strata::inline STRATA_ABI {

/// The host's threads as a device: those of oneTBB. Its members are those of
/// the concept Device (detail::HostHandle).
struct Tbb : detail::HostHandle<detail::tbb_host> {
  /// As the concept asks for.
  static constexpr char name[] = "Tbb";

  using HostHandle::HostHandle;

  friend constexpr bool operator==(Tbb, Tbb) { return true; }
};

}  // namespace strata::inline STRATA_ABI
