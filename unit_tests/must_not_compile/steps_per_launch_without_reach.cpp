// expect: the kernel does not allow several steps in one launch
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/streaming/fused_steps.hpp>
#include <strata/strata.hpp>

struct Step {
  STRATA_FUNCTION void operator()(strata::index_t i, const auto& old, const auto& next) const {
    next(i) = old(i);
  }
};
void iterate(const strata::CoherentArray<double, strata::rank<1>>& u) {
  using namespace strata;
  streamed_iterate(streamed(Serial{}, 1000).steps_per_launch(4), 8, Step{}, state(u, halo(1, 1)));
}
