// Arrays of a GPU, and kernels that fill them, for tests of its memory and queues.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/strata.hpp>

namespace strata_tests {

using GpuArray = strata::MDArray<double, strata::Cuda, strata::rank<1>>;

struct Fill {
  double value;
  STRATA_FUNCTION void operator()(strata::index_t i, auto x) const { x(i) = value; }
};
/// Keeps a multiprocessor busy for a while.
struct Slow {
  STRATA_FUNCTION void operator()(strata::index_t i, auto x) const {
    double sum = x(i);
    for (int k = 0; k < 2000000; ++k) sum = sum * 0.999999 + 1;
    x(i) = sum;
  }
};

}  // namespace strata_tests
