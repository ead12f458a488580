// expect: parallel_reduce within a team: the body takes its value by value, so that what it adds is lost
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct SumOfTeam {
  void operator()(const auto& member) const {
    double sum;
    strata::parallel_reduce(
        strata::team_range(member, 10), [](int, auto s) { s += 1; }, sum);
  }
};

void sums() { strata::parallel_for(strata::on(strata::Serial{}), strata::teams(10), SumOfTeam{}); }
