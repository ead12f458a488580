// expect: each part of a scan begins with the total of those before it
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/sharing/dynamic.hpp>
#include <strata/strata.hpp>

using Numbers = strata::CoherentArray<double, strata::rank<1>>;
struct Add {
  void operator()(auto i, auto x, double& value, bool) const { value += x(i); }
};
void scan(const Numbers& x) {
  double total = 0;
  strata::launch_scan(strata::across(strata::Serial{}, strata::Threads{}).dynamic(), 10, Add{},
                      strata::Sum(total), strata::in(x));
}
