// Copies between GPUs by hand.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace perf {

/// Seconds of a copy of `bytes` from one GPU's memory to another's, the median of `reps`; the link is opened.
double peer_copy_seconds(int from, int to, std::size_t bytes, int reps);

}  // namespace perf
