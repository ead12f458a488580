// expect: several steps in one launch have no result of each
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/streaming/fused_steps.hpp>
#include <strata/algorithms/streaming/streamed_iterate_reduce.hpp>
#include <strata/strata.hpp>

struct Step {
  static constexpr int reach = 1;
  STRATA_FUNCTION void operator()(strata::index_t i, const auto& old, const auto& next, double& sum) const {
    next(i) = old(i);
    sum += old(i);
  }
};
void iterate(const strata::CoherentArray<double, strata::rank<1>>& u, std::vector<double>& sums) {
  using namespace strata;
  streamed_iterate_reduce(streamed(Serial{}, 1000).steps_per_launch(4).named("sums"), 8, Step{},
                          each_step(Sum, sums), state(u, halo(1, 1)));
}
