// expect: the result view is not a Value of the functor's value_type
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct SumRows {
  using device_type = strata::Serial;
  using value_type = double;
  void operator()(int i, double& sum) const { sum += i; }
  static void init(double& sum) { sum = 0; }
  static void join(double& sum, const double& other) { sum += other; }
};

void sum(const strata::Value<float, strata::Serial>& result) {
  strata::parallel_reduce(10, SumRows{}, result);
}
