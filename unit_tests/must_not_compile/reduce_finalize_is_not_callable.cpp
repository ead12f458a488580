// expect: argument for the result is neither a variable of the functor.s value_type, a Value of it, nor a
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct SumRows {
  using device_type = strata::Serial;
  using value_type = double;
  void operator()(int i, double& sum) const { sum += i; }
  static void init(double& sum) { sum = 0; }
  static void join(double& sum, const double& other) { sum += other; }
};
struct Store {
  strata::Value<double, strata::Serial> result;
  void operator()(const double& sum, int) const { *result = sum; }
};

void sum(const Store& store) { strata::parallel_reduce(10, SumRows{}, store); }
