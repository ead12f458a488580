// expect: a plain view lives on one device
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/grid/grid.hpp>
#include <strata/strata.hpp>

using Plane = strata::MDArray<double, strata::Serial, strata::rank<2>>;
struct Clear {
  void operator()(auto i, auto j, auto x) const { x(i, j) = 0; }
};
void clear(const Plane& x) {
  strata::launch(strata::across(strata::Serial{}, strata::Serial{}).grid(2, 1), strata::mdrange({3, 4}),
                 Clear{}, strata::out(x));
}
