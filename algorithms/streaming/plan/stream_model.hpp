// The time of plans by the model of three engines: see also predict() in stream_plan.hpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/streaming/plan/stream_plan.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

/// How tiles share the device's memory.
struct Sharing {
  int slots = 1;
  int tiles_per_window = 1;
  index_t repeat_granule = 0;  // where it is `wrapping`
  int pieces = 1;              // then, of a chunk
};

/// The time of a sequence whose passes have `steps` steps, estimated from the first tiles of a pass.
double sampled_seconds(const StreamProblem& problem, const StreamPass& sample, int steps,
                       const Sharing& sharing, const std::vector<index_t>& window_rows,
                       const StreamRates& rates);

}  // namespace strata::inline STRATA_ABI::detail::streaming
