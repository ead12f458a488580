// expect: launch: no array is declared: you wrote a kernel that holds its.* write launch\(on
// expect: launch: no array is declared: you wrote .* parallel_reduce
// errors: 2
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using Vector = strata::MDArray<double, strata::Threads, strata::rank<1>>;

void all(const Vector& x, double& sum) {
  using namespace strata;
  launch(on(Threads{}), 10, [=](auto i) { x(i) = 1; });
  launch_reduce(
      on(Threads{}), 10, [=](auto i, double& s) { s += x(i); }, Sum(sum));
}
