// The links of GPUs, to each other and to the host: whether there is one, and how fast it is. Private to this
// folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/backend.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Whether kernels of GPU `here` reach the memory of GPU `other`; turns it on the first time.
bool reach_peer(int here, int other);

/// The place of the host in measured_copy_cost().
inline constexpr int host_place = -1;

/// The cost of copies from the memory of GPU `from` to that of GPU `to`; one of them may be host_place:
/// pinned memory. Measured by the first call, in some milliseconds, while other work may run; kept then.
CopyCost measured_copy_cost(int to, int from);

/// Bytes a second of copies between pinned memory and a GPU in both directions at once, summed; measured by
/// the first call, and kept then. 0 where it cannot be measured.
double measured_both_ways(int gpu);

}  // namespace strata::inline STRATA_ABI::detail
