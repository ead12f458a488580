// expect: strata: launch: no range follows the place: you wrote .* write launch\(place, n
// expect: strata: launch_reduce: no range follows the place: you wrote .* write launch_reduce\(place, n
// expect: strata: launch_scan: no range follows the place: you wrote .* write launch_scan\(place, n
// expect: strata: launch: nothing says where it runs: you wrote
// errors: 4
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using Vector = strata::MDArray<double, strata::Threads, strata::rank<1>>;
struct Fill {
  void operator()(auto i, auto x) const { x(i) = 2; }
};
struct Add {
  void operator()(auto i, auto x, double& sum) const { sum += x(i); }
  void operator()(auto i, auto x, double& sum, bool) const { sum += x(i); }
};

void all(const Vector& x, double& sum) {
  using namespace strata;
  launch(on(Threads{}), Fill{}, 10, out(x));
  launch_reduce(on(Threads{}), Add{}, 10, Sum(sum), in(x));
  launch_scan(on(Threads{}), Add{}, 10, Sum(sum), in(x));
  launch(Fill{}, 10, out(x));
}
