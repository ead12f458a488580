// expect: nothing says how values are joined: .*`value_type`, `init` and `join`
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct SumRows {
  using device_type = strata::Serial;
  void operator()(int i, double& sum) const { sum += i; }
  static void init(double& sum) { sum = 0; }
  static void join(double& sum, const double& other) { sum += other; }
};

double sum() { return strata::parallel_reduce(10, SumRows{}); }
