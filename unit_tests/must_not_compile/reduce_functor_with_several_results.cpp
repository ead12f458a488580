// expect: a functor with a `value_type` has one result
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct SumRows {
  using device_type = strata::Serial;
  using value_type = double;
  void operator()(int i, double& sum) const { sum += i; }
  static void init(double& sum) { sum = 0; }
  static void join(double& sum, const double& other) { sum += other; }
};

void sum(double& a, double& b) { strata::parallel_reduce(10, SumRows{}, a, b); }
