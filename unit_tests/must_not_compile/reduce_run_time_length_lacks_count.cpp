// expect: a functor with `value_type` T\[\] needs `value_count`
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Histogram {
  using device_type = strata::Serial;
  using value_type = double[];
  void operator()(int i, double* bins) const { bins[i % 4] += 1; }
  void init(double* bins) const {
    for (int k = 0; k < 4; ++k) bins[k] = 0;
  }
  void join(double* bins, const double* other) const {
    for (int k = 0; k < 4; ++k) bins[k] += other[k];
  }
};

void histogram(double* result) { strata::parallel_reduce(10, Histogram{}, result); }
