// expect: a plain view lives on one device
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/sharing/dynamic.hpp>
#include <strata/strata.hpp>

using Vector = strata::MDArray<double, strata::Serial, strata::rank<1>>;
struct Clear {
  void operator()(auto i, auto x) const { x(i) = 0; }
};
void clear(const Vector& x) {
  strata::launch(strata::across(strata::Serial{}, strata::Threads{}).dynamic(), 10, Clear{}, strata::out(x));
}
