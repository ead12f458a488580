// First-order flow by random samples on a GPU, in plain CUDA: how the Chai suite's discrete version is made,
// and what is best by hand.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace perf {

/// The problem, in memory of the host: vectors of four numbers (x, y, x', y'), two samples an iteration.
struct RansacInput {
  const std::int32_t* vectors;
  int size;
  const std::int32_t* samples;
  int iterations, error, limit;
};
/// How many iterations have fewer outliers than the limit, and the best of them.
struct RansacFound {
  int candidates = 0, best = -1, outliers = -1;
  friend bool operator==(const RansacFound&, const RansacFound&) = default;
};

/// Arrays of a GPU with vectors and samples; each function is a fit, done when it returns.
class RansacByHand {
 public:
  explicit RansacByHand(const RansacInput& input);
  ~RansacByHand();
  RansacByHand(const RansacByHand&) = delete;
  RansacByHand& operator=(const RansacByHand&) = delete;

  /// As the suite's program: pageable memory; before each fit parameters and results, 24 m bytes, and the
  /// counter are copied in; one block an iteration in turn, whose first thread writes the parameters to
  /// device memory; the counter, then the candidates come back, and the host looks for the best.
  RansacFound as_the_suite(int blocks, int threads);
  /// One kernel, parameters in shared memory, the best by an atomic minimum; the last block writes what the
  /// host must know to pinned memory, and makes the counters ready for the next fit. Nothing is copied.
  RansacFound at_best(int blocks, int threads);

 private:
  struct Arrays;
  std::unique_ptr<Arrays> arrays_;
};

}  // namespace perf
