// expect: the kernel of a reduction takes its value by value, so that what it adds is lost
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct AddRows {
  void operator()(strata::index_t i, const auto& x, auto sum) const { sum += x(i); }
};

void sum(const strata::MDArray<double, strata::Serial, strata::rank<1>>& x, double& result) {
  strata::parallel_reduce(10, strata::with(AddRows{}, x), strata::Sum(result));
}
