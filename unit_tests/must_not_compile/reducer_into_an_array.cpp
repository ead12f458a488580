// expect: a reduction's result is a Value \(a view of rank 0\)
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct SumRows {
  using device_type = strata::Serial;
  void operator()(int i, double& sum) const { sum += i; }
};

void sum(const strata::MDArray<double, strata::Serial>& x) {
  strata::parallel_reduce(10, SumRows{}, strata::Sum(x));
}
