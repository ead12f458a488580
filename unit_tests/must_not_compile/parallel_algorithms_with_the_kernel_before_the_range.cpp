// expect: parallel_for: no range comes before the kernel: you wrote .* write parallel_for\(n
// expect: parallel_reduce: no range comes before the kernel: you wrote .* write parallel_reduce\(n
// expect: parallel_scan: no range comes before the kernel: you wrote .* write parallel_scan\(n
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
  parallel_for(with(Fill{}, x), 10);
  parallel_for("fill", on(Threads{}), 10.5, with(Fill{}, x));
  parallel_reduce(on(Threads{}), with(Add{}, x), 10, Sum(sum));
  parallel_scan("sum", with(Add{}, x), 10, Sum(sum));
}
