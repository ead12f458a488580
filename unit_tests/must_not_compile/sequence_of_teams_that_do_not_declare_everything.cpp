// expect: sequences: teams do not say which rows they touch: declare all of each array
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/sequence/sequence.hpp>
#include <strata/strata.hpp>

struct Clear {
  void operator()(const auto& member, auto x) const { x(member.league_rank()) = 0; }
};
void clear(const strata::CoherentArray<double, strata::rank<1>>& x) {
  strata::Sequence steps("steps", strata::on(strata::Serial{}));
  steps.loop("clear", strata::teams(10), Clear{}, strata::inout(x));
}
