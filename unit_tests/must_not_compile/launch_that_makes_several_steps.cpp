// expect: steps_per_launch is for streamed_iterate
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/streaming/streamed.hpp>
#include <strata/strata.hpp>

struct Clear {
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) = 0; }
};
void clear(const strata::CoherentArray<double, strata::rank<1>>& x) {
  using namespace strata;
  launch(streamed(Serial{}, 1000).steps_per_launch(2), 10, Clear{}, out(x));
}
