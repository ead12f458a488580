// Competitors of launch_latency and view_copy: plain launches on GPUs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/competitor.hpp"

namespace perf {

/// What the launches by hand store.
inline constexpr double launched_value = 2.5;

/// A kernel with so many bytes of arguments, which stores one of them in each of `n` elements; `calls` of
/// them before anybody waits.
struct LaunchArguments {
  double* a;
  std::ptrdiff_t n;
  int bytes;  ///< 40, 480, 3000 or 20000
  int calls;
};
Sweep launch_by_hand(CudaPlace place, LaunchArguments arguments);

/// The root of the sum of x x, by one block: into host memory, which the caller waits for, or into memory of
/// the device, `calls` of them before anybody waits.
struct SmallNorm {
  const double* x;
  std::ptrdiff_t n;
  double* result;
  bool to_host;
  int calls;
};
Sweep small_norm_by_hand(CudaPlace place, SmallNorm norm);

}  // namespace perf
