// The slices that plans are chosen from: passes of one size, and the largest that a budget holds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/streaming/plan/stream_model.hpp>
#include <strata/algorithms/streaming/plan/stream_plan.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

/// The pass of a problem of any kind.
StreamPass make_pass(const StreamProblem& problem, StreamScheduler scheduler, index_t chunk, int steps,
                     int tiles_per_window = 1, int pieces = 1);
/// The rows that all tiles together go over.
index_t all_rows(const StreamProblem& problem);
/// The most rows by which a step of a problem with states lags, at least a tile of layouts.
index_t halo_of(const StreamProblem& problem);
/// Whether a state has cyclic edges.
bool is_ring(const StreamProblem& problem);

/// The same problem with fewer rows, whose tiles have the same windows; the same where they may differ. Rows
/// are removed before the work items, among them and after them, in proportion, so that tiles take as long on
/// average; but work items remain for half of the rows, as only their tiles have all rows that kernels read.
StreamProblem shortened(const StreamProblem& problem, index_t rows_wanted);

/// The largest chunk whose buffers fit, at most `most`, or 0; of a sequence about the largest.
index_t largest_chunk(const StreamProblem& problem, StreamScheduler scheduler, int steps,
                      const Sharing& sharing, index_t most, index_t budget);

}  // namespace strata::inline STRATA_ABI::detail::streaming
