// Managed arrays: their pages are moved to where they are going to be used, before they are touched. What is
// moved follows from the uses that are declared; values do not depend on it. Under the lock of Coherence.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/core/access_mode.hpp>
#include <strata/devices/backend.hpp>
#include <strata/views/coherent/coherent_state.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Enqueues the move of what `queue`'s device, whose memory is `memory`, lacks of the part, if anything.
/// `is_split`: other devices use other parts of the array at the same time.
void bring_pages(CoherentState& array, const ArrayPart& part, AccessMode mode, MemoryId memory,
                 QueueState& queue, bool is_split);

/// The same towards the host, after the work `after`, to which it adds what it enqueues: the host waits for
/// that. Where hosts may not touch managed memory while kernels run, it waits for these.
void bring_pages_to_host(CoherentState& array, const ArrayPart& part, AccessMode mode, WorkList& after);

/// Pages of the part are in `memory` now, by a use that nothing was brought for.
void note_pages(CoherentState& array, const ArrayPart& part, AccessMode mode, MemoryId memory);

/// What faults have moved of an array so far.
PageFaults faults_of(const CoherentState& array);

}  // namespace strata::inline STRATA_ABI::detail
