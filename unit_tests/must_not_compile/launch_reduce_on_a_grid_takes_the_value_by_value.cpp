// expect: the kernel takes its value by value
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/grid/grid.hpp>
#include <strata/strata.hpp>

using Plane = strata::CoherentArray<double, strata::rank<2>>;
struct Sum {
  void operator()(auto i, auto j, auto x, double sum) const { sum += x(i, j); }
};
void sum(const Plane& x) {
  double total = 0;
  strata::launch_reduce(strata::across(strata::Serial{}, strata::Serial{}).grid(2, 1),
                        strata::mdrange({3, 4}), Sum{}, strata::Sum(total), strata::in(x));
}
