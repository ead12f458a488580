// Memory of which each worker of a host device has a part of its own, for what it contributes (ScatterView).
// While there is some, which worker runs which work items decides what it holds, and so the last bits of
// sums: launches then leave parts to the workers whose they are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/allocation.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Until it is released, an allocation of Threads or Tbb counts as such memory. (Other devices, which
/// allocate otherwise, know themselves whose parts are whose.)
void mark_worker_copies(const AllocationRef& allocation);

/// Whether there is some.
bool has_worker_copies();

}  // namespace strata::inline STRATA_ABI::detail
