// Memory of which each worker of a host device has a part of its own, for what it contributes (ScatterView).
// While there is some, which worker runs which work items decides what it holds, and so the last bits of
// sums: launches then leave parts to the workers whose they are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/allocation.hpp>

namespace strata::inline STRATA_ABI::detail {

/// From now on, until it is released, an allocation of a host device is such memory.
void become_worker_copies(const AllocationRef& allocation);

/// Whether there is some.
bool has_worker_copies();

}  // namespace strata::inline STRATA_ABI::detail
