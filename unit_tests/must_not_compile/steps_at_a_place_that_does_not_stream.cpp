// expect: streamed_iterate: the place is not a streamed one
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/streaming/streamed_iterate.hpp>
#include <strata/strata.hpp>

struct Step {
  STRATA_FUNCTION void operator()(strata::index_t i, const auto& old, const auto& next) const {
    next(i) = old(i);
  }
};
void iterate(const strata::CoherentArray<double, strata::rank<1>>& u) {
  using namespace strata;
  streamed_iterate(across(Serial{}, Threads{}), 8, Step{}, state(u, halo(1, 1)));
}
