// expect: launch: nothing says where it runs: you wrote launch\(n, .* write launch\(on\(device\), n
// expect: launch_reduce: nothing says where it runs: you wrote .* write launch_reduce\(on\(device\), n
// expect: launch_scan: nothing says where it runs: you wrote .* write launch_scan\(on\(device\), n
// errors: 3
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using Vector = strata::MDArray<double, strata::Threads, strata::rank<1>>;
struct Fill {
  void operator()(auto i, auto x) const { x(i) = 2; }
};
struct Add {
  void operator()(auto i, auto x, double& sum) const { sum += x(i); }
};
struct AddUp {
  void operator()(auto i, auto x, double& sum, bool) const { sum += x(i); }
};

void all(const Vector& x, double& sum) {
  using namespace strata;
  launch(100, Fill{}, out(x));
  launch_reduce(range(1, 100), Add{}, Sum(sum), in(x));
  launch_scan(100, AddUp{}, Sum(sum), in(x));
}
