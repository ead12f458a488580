// expect: the functor lacks `join\(value_type& update, const value_type& input\)`
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct SumRows {
  using device_type = strata::Serial;
  using value_type = double;
  void operator()(int i, double& sum) const { sum += i; }
  static void init(double& sum) { sum = 0; }
};

void sum(double& result) { strata::parallel_reduce(10, SumRows{}, result); }
