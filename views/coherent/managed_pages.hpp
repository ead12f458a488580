// Managed arrays: their pages are moved to where they are going to be used, before they are touched. What is
// moved follows from the uses that are declared; values do not depend on it. Under the lock of Coherence.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/core/access_mode.hpp>
#include <strata/devices/backend.hpp>
#include <strata/views/coherent/coherent_state.hpp>

namespace strata::inline STRATA_ABI::detail {

/// How a launch uses an array on a device.
struct PageUse {
  AccessMode mode;
  bool by_items;  ///< few work items touch the same element
  bool is_split;  ///< the launch has other parts
};

/// Enqueues the move of what `queue`'s device, whose memory is `memory`, lacks of the part, if anything.
///
/// A move takes calls of 25 to 50 us each way, however few pages there are. So a small array that the host
/// has used stays there for two launches that use it by items, which reach it over the link, and moves with
/// the third. The next time it moves with the first, until no third one has followed. One that host and
/// device use in turn never moves; one that stays with the device has cost about as much again as its move,
/// once. Returns whether the part is reached at the host.
bool bring_pages(CoherentState& array, const ArrayPart& part, const PageUse& use, MemoryId memory,
                 QueueState& queue);

/// Counts a launch that uses the array on a device.
void note_launch(CoherentState& array);

/// The same towards the host, after the work `after`, to which it adds what it enqueues: the host waits for
/// that. Where hosts may not touch managed memory while kernels run, it waits for these.
void bring_pages_to_host(CoherentState& array, const ArrayPart& part, AccessMode mode, WorkList& after);
/// Whether the host is to wait for the work before it moves pages: behind a kernel that runs a move takes
/// longer, on an H200 by 45 us (4 KiB), 90 (256 KiB), 190 (4 MiB) and 400 (16 MiB).
bool moves_after_waiting(const CoherentState& array, const ArrayPart& part, AccessMode mode);

/// Pages of the part are in `memory` now, by a use that nothing was brought for.
void note_pages(CoherentState& array, const ArrayPart& part, AccessMode mode, MemoryId memory);

/// What faults have moved of an array so far.
PageFaults faults_of(const CoherentState& array);

}  // namespace strata::inline STRATA_ABI::detail
