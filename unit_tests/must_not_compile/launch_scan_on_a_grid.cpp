// expect: each part of a scan begins with the total of those before it: you wrote grid
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/grid/grid.hpp>
#include <strata/strata.hpp>

using Numbers = strata::CoherentArray<double, strata::rank<1>>;
struct Add {
  void operator()(auto i, auto x, double& value, bool) const { value += x(i); }
};
void scan(const Numbers& x) {
  double total = 0;
  strata::launch_scan(strata::across(strata::Serial{}, strata::Threads{}).grid(2, 1), 10, Add{},
                      strata::Sum(total), strata::in(x));
}
