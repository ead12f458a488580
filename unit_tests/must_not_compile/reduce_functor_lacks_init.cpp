// expect: the functor lacks `init\(value_type&\)`
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct SumRows {
  using device_type = strata::Serial;
  using value_type = double;
  void operator()(int i, double& sum) const { sum += i; }
  static void join(double& sum, const double& other) { sum += other; }
};

double sum() { return strata::parallel_reduce(10, SumRows{}); }
