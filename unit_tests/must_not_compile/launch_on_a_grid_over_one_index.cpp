// expect: the grid cuts more indices than the work has: you wrote a range of fewer; write mdrange
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/grid/grid.hpp>
#include <strata/strata.hpp>

using Plane = strata::CoherentArray<double, strata::rank<2>>;
struct Clear {
  void operator()(auto i, auto x) const { x(i, 0) = 0; }
};
void clear(const Plane& x) {
  strata::launch(strata::across(strata::Serial{}, strata::Serial{}).grid(2, 1), 10, Clear{}, strata::out(x));
}
