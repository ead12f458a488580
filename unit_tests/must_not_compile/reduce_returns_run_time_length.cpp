// expect: a run-time-length value cannot be returned; give a T\*, a view of rank 1 or a finalize functor
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Histogram {
  using device_type = strata::Serial;
  using value_type = double[];
  int value_count;
  void operator()(int i, double* bins) const { bins[i % value_count] += 1; }
  void init(double* bins) const {
    for (int k = 0; k < value_count; ++k) bins[k] = 0;
  }
  void join(double* bins, const double* other) const {
    for (int k = 0; k < value_count; ++k) bins[k] += other[k];
  }
};

double histogram() { return strata::parallel_reduce(10, Histogram{4}); }
