// expect: the label belongs to the place: launch_reduce\(on\(device\).named
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/strata.hpp>

struct Add {
  void operator()(auto i, const auto& x, double& sum) const { sum += x(i); }
};
void add(const strata::CoherentArray<double, strata::rank<1>>& x, double& sum) {
  strata::launch_reduce("add", strata::across(strata::Serial{}), 10, Add{}, strata::Sum(sum), strata::in(x));
}
