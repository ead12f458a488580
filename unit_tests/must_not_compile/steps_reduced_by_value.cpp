// expect: the kernel of a reduction takes its value by value, so that what it adds is lost
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <strata/algorithms/streaming/streamed_iterate_reduce.hpp>
#include <strata/strata.hpp>

struct Step {
  STRATA_FUNCTION void operator()(strata::index_t i, const auto& old, const auto& next, auto sum) const {
    next(i) = old(i);
    sum += old(i);
  }
};
void iterate(const strata::CoherentArray<double, strata::rank<1>>& u, std::vector<double>& sums) {
  using namespace strata;
  streamed_iterate_reduce(streamed(Serial{}, 1000), 8, Step{}, each_step(Sum, sums), state(u, halo(1, 1)));
}
