// expect: launch: a place is made by on\(...\): you wrote launch\(device, .* write launch\(on\(device\)
// expect: launch_reduce: a place is made by on\(...\): you wrote .* write launch_reduce\(on\(device\)
// expect: launch_scan: a place is made by on\(...\): you wrote .* write launch_scan\(on\(device\)
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

void all(const Vector& x, const strata::Queue<strata::Threads>& queue, double& sum) {
  using namespace strata;
  launch(Threads{}, 10, Fill{}, out(x));
  launch_reduce(queue, 10, Add{}, Sum(sum), in(x));
  launch_scan(Threads{}, 10, AddUp{}, Sum(sum), in(x));
}
