// expect: launch_reduce, launch_scan: nothing says where the result goes: you wrote .* write launch_reduce
// errors: 3
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using Vector = strata::MDArray<double, strata::Threads, strata::rank<1>>;
struct Add {
  void operator()(auto i, auto x, double& sum) const { sum += x(i); }
  void operator()(auto i, auto x, double& sum, bool) const { sum += x(i); }
};

void all(const Vector& x, double& sum) {
  using namespace strata;
  launch_reduce(on(Threads{}), 10, Add{}, in(x));
  launch_reduce(on(Threads{}), 10, Add{}, in(x), Sum(sum));
  launch_scan(on(Threads{}), 10, Add{}, in(x), in(x));
}
