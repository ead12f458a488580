// expect: launch: a reducer is where arrays are declared: you wrote .* write launch_reduce\(place
// expect: you wrote .* with the reducers before the arrays
// errors: 2
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using Vector = strata::MDArray<double, strata::Threads, strata::rank<1>>;
struct Add {
  void operator()(auto i, auto x, double& sum) const { sum += x(i); }
};

void all(const Vector& x, double& sum, double& other) {
  using namespace strata;
  launch(on(Threads{}), 10, Add{}, Sum(sum), in(x));
  launch_reduce(on(Threads{}), 10, Add{}, Sum(sum), in(x), Sum(other));
}
