// Loops, reductions and scans over the members and the lanes of a team.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <vector>

#include "team_suite.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class TeamNested : public ::testing::Test {};
TYPED_TEST_SUITE(TeamNested, TestDevices, DeviceName);

// Loop lengths below, at and above the numbers of members and lanes.
constexpr index_t nested_sizes[] = {0, 1, 3, 8, 31, 100};

struct CountItems {
  index_t n;
  STRATA_FUNCTION void operator()(const auto& member, auto over_members, auto over_lanes,
                                  auto over_both) const {
    const index_t team = member.league_rank();
    parallel_for(team_range(member, n),
                 [&](index_t i) { single(per_member(member), [&] { over_members(team, i) += 1; }); });
    parallel_for(team_range(member, member.team_size()), [&](index_t) {
      parallel_for(vector_range(member, n), [&](index_t i) { over_lanes(member.team_rank(), i) = 1; });
    });
    parallel_for(team_vector_range(member, 2, n), [&](index_t i) { over_both(team, i) += 1; });
  }
};

TYPED_TEST(TeamNested, SharesItemsOutToMembersAndLanesOnce) {
  using D = TypeParam;
  for (const Shape shape : shapes)
    for (const index_t n : nested_sizes) {
      const auto over_members = create<Matrix<int, D>>("over_members", 3, n);
      const auto over_lanes = create<Matrix<int, D>>("over_lanes", shape.members, n);
      const auto over_both = create<Matrix<int, D>>("over_both", 3, n);

      // One team writes what only members share.
      if (!launched(shape, [&] {
            parallel_for(teams(1, shape.members).vector(shape.lanes),
                         with(CountItems{n}, over_members, over_lanes, over_both));
          }))
        continue;

      const auto length = static_cast<std::size_t>(n);
      std::vector<int> from_two(length, 1);
      std::fill_n(from_two.begin(), std::min<std::size_t>(2, length), 0);
      EXPECT_EQ(rows_of(over_members)[0], std::vector<int>(length, 1)) << name_of(shape) << " " << n;
      for (const auto& row : rows_of(over_lanes))
        EXPECT_EQ(row, std::vector<int>(length, 1)) << name_of(shape) << " " << n;
      EXPECT_EQ(rows_of(over_both)[0], from_two) << name_of(shape) << " " << n;
    }
}

struct Reduced {
  double sum;
  int least;
  ValueLocation<int> most;
};

STRATA_FUNCTION constexpr int sample(index_t team, index_t i) {
  return static_cast<int>((team * 31 + i * 17) % 101) - 50;
}

// All members check that they have the same; rank 0 stores. `Over` is 0, 1, 2: members, lanes, both.
template <int Over>
struct ReduceNested {
  index_t n;

  template <class M>
  STRATA_FUNCTION auto range_of(const M& member) const {
    if constexpr (Over == 0) return team_range(member, n);
    else if constexpr (Over == 1) return vector_range(member, n);
    else return team_vector_range(member, n);
  }
  STRATA_FUNCTION void operator()(const auto& member, auto results, auto differences) const {
    const index_t team = member.league_rank();
    Reduced r{};
    parallel_reduce(
        range_of(member), [&](index_t i, double& s) { s += sample(team, i) * 0.25; }, r.sum);
    parallel_reduce(
        range_of(member),
        [&](index_t i, int& least, ValueLocation<int>& most) {
          const int value = sample(team, i);
          if (value < least) least = value;
          if (value > most.value) most = {value, i};
        },
        Min(r.least), MaxLoc(r.most));
    int count = 0;
    parallel_reduce(
        range_of(member), [&](index_t, int& c) { ++c; }, Sum(count));
    Reduced first = r;
    broadcast(member, first);
    const bool same = first.sum == r.sum && first.least == r.least && first.most.value == r.most.value &&
                      first.most.location == r.most.location && count == n;
    single(per_member(member), [&] { differences(team, member.team_rank()) = same ? 0 : 1; });
    single(per_team(member), [&] { results(team) = r; });
  }
};

template <class D, int Over>
void expect_nested_reductions() {
  constexpr index_t league = 9;
  for (const Shape shape : shapes)
    for (const index_t n : nested_sizes) {
      const auto results = create<Vector<Reduced, D>>("results", league);
      const auto differences = create<Matrix<int, D>>("differences", league, shape.members);

      if (!launched(shape, [&] {
            parallel_for(teams(league, shape.members).vector(shape.lanes),
                         with(ReduceNested<Over>{n}, results, differences));
          }))
        continue;

      const auto values = values_of(results);
      for (index_t team = 0; team < league; ++team) {
        double sum = 0;
        int least = std::numeric_limits<int>::max();
        ValueLocation<int> most{std::numeric_limits<int>::lowest(), std::numeric_limits<index_t>::max()};
        for (index_t i = 0; i < n; ++i) {
          const int value = sample(team, i);
          sum += value * 0.25;
          least = std::min(least, value);
          if (value > most.value) most = {value, i};
        }
        const Reduced& got = values[static_cast<std::size_t>(team)];
        ASSERT_EQ(got.sum, sum) << name_of(shape) << " " << n;
        ASSERT_EQ(got.least, least) << name_of(shape) << " " << n;
        ASSERT_EQ(got.most.value, most.value) << name_of(shape) << " " << n;
        ASSERT_EQ(got.most.location, most.location) << name_of(shape) << " " << n;
      }
      for (const auto& team : rows_of(differences))
        for (const int different : team) ASSERT_EQ(different, 0) << name_of(shape) << " " << n;
    }
}

TYPED_TEST(TeamNested, ReducesOverMembersAsASequentialLoop) { expect_nested_reductions<TypeParam, 0>(); }
TYPED_TEST(TeamNested, ReducesOverLanesAsASequentialLoop) { expect_nested_reductions<TypeParam, 1>(); }
TYPED_TEST(TeamNested, ReducesOverMembersAndLanesAsASequentialLoop) {
  expect_nested_reductions<TypeParam, 2>();
}

template <int Over>
struct ScanNested {
  index_t n;
  STRATA_FUNCTION void operator()(const auto& member, auto inclusive, auto exclusive, auto totals) const {
    const index_t team = member.league_rank();
    const auto range = ReduceNested<Over>{n}.range_of(member);
    int total = -1, most = -1;
    parallel_scan(
        range,
        [&](index_t i, int& value, bool final) {
          if (final) exclusive(team, i) = value;
          value += sample(team, i);
        },
        total);
    parallel_scan(range, [&](index_t i, int& value, bool final) {
      value += sample(team, i);
      if (final) inclusive(team, i) = value;
    });
    parallel_scan(
        range,
        [&](index_t i, int& value, bool) { value = value > sample(team, i) ? value : sample(team, i); },
        Max(most));
    single(per_member(member), [&] {
      totals(team, 2 * member.team_rank()) = total;
      totals(team, 2 * member.team_rank() + 1) = most;
    });
  }
};

template <class D, int Over>
void expect_nested_scans() {
  constexpr index_t league = 7;
  for (const Shape shape : shapes)
    for (const index_t n : nested_sizes) {
      const auto inclusive = create<Matrix<int, D>>("inclusive", league, n);
      const auto exclusive = create<Matrix<int, D>>("exclusive", league, n);
      const auto totals = create<Matrix<int, D>>("totals", league, 2 * shape.members);

      if (!launched(shape, [&] {
            parallel_for(teams(league, shape.members).vector(shape.lanes),
                         with(ScanNested<Over>{n}, inclusive, exclusive, totals));
          }))
        continue;

      const auto after = rows_of(inclusive), before = rows_of(exclusive), all = rows_of(totals);
      for (index_t team = 0; team < league; ++team) {
        const auto t = static_cast<std::size_t>(team);
        int sum = 0, most = std::numeric_limits<int>::lowest();
        for (index_t i = 0; i < n; ++i) {
          ASSERT_EQ(before[t][static_cast<std::size_t>(i)], sum) << name_of(shape) << " " << n << " " << i;
          sum += sample(team, i);
          most = std::max(most, sample(team, i));
          ASSERT_EQ(after[t][static_cast<std::size_t>(i)], sum) << name_of(shape) << " " << n << " " << i;
        }
        for (std::size_t k = 0; k < all[t].size(); k += 2) {
          ASSERT_EQ(all[t][k], sum) << name_of(shape) << " " << n;
          ASSERT_EQ(all[t][k + 1], most) << name_of(shape) << " " << n;
        }
      }
    }
}

TYPED_TEST(TeamNested, ScansOverMembersAsASequentialLoop) { expect_nested_scans<TypeParam, 0>(); }
TYPED_TEST(TeamNested, ScansOverLanesAsASequentialLoop) { expect_nested_scans<TypeParam, 1>(); }
TYPED_TEST(TeamNested, ScansOverMembersAndLanesAsASequentialLoop) { expect_nested_scans<TypeParam, 2>(); }

}  // namespace
