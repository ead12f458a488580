// What members of a team do together beyond nested loops: boxes, values of members, sorting, copies of parts;
// and what teams can be.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include <strata/algorithms/local_deep_copy.hpp>
#include <strata/algorithms/team_collectives.hpp>
#include <strata/algorithms/team_limits.hpp>

#include "messages.hpp"
#include "team_suite.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class TeamCollectives : public ::testing::Test {};
TYPED_TEST_SUITE(TeamCollectives, TestDevices, DeviceName);

constexpr index_t league = 3;

// ---- boxes

// Item (i, j, k) of a team adds to its own element; each way to distribute them in a matrix of its own.
struct CountBoxItems {
  STRATA_FUNCTION void operator()(const auto& member, auto counts, auto sums) const {
    const index_t l = member.league_rank();
    const auto count = [&](index_t at) { atomic_fetch_add(&counts(l, at), 1); };
    parallel_for(team_mdrange(member, {4, 3, 5}), [&](index_t i, index_t j, index_t k) {
      single(per_member(member), [&] { count((i * 3 + j) * 5 + k); });
    });
    parallel_for(team_vector_mdrange(member, {7, 9}), [&](index_t i, index_t j) { count(60 + i * 9 + j); });
    parallel_for(team_range(member, 2), [&](index_t row) {
      parallel_for(vector_mdrange(member, {2, 3}),
                   [&](index_t i, index_t j) { count(123 + (row * 2 + i) * 3 + j); });
    });
    parallel_for(team_vector_mdrange(member, {0, 9}), [&](index_t, index_t) { count(0); });
    double sum = 0, most = 0;
    parallel_reduce(
        team_vector_mdrange(member, {7, 9}),
        [&](index_t i, index_t j, double& s) { s += static_cast<double>(10 * i + j); }, sum);
    parallel_reduce(
        team_mdrange(member, {7, 9}),
        [&](index_t i, index_t j, double& m) {
          const double v = static_cast<double>(i * (8 - j));
          m = v > m ? v : m;
        },
        Max(most));
    single(per_team(member), [&] { sums(l, 0) = sum, sums(l, 1) = most; });
  }
};
TYPED_TEST(TeamCollectives, BoxesAreSharedOutAndReduced) {
  for (const Shape shape : shapes) {
    const auto counts = create<Matrix<int, TypeParam>>("counts", league, 135);
    const auto sums = create<Matrix<double, TypeParam>>("sums", league, 2);
    if (!launched(shape, [&] {
          parallel_for(teams(league, shape.members).vector(shape.lanes), with(CountBoxItems{}, counts, sums));
        }))
      continue;

    for (const auto& row : rows_of(counts)) EXPECT_EQ(row, std::vector<int>(135, 1)) << name_of(shape);
    for (const auto& row : rows_of(sums)) EXPECT_EQ(row, (std::vector<double>{30.0 * 63 + 4 * 63, 48.0}));
  }
}

// ---- values of members

struct JoinMembers {
  STRATA_FUNCTION void operator()(const auto& member, auto results) const {
    const int rank = member.team_rank();
    const index_t l = member.league_rank();
    int sum = rank + 1, most = 100 - rank, running = 10 * (rank + 1);
    team_reduce(member, Sum(sum));
    team_reduce(member, Max(most));
    const int before = team_scan(member, rank + 1);
    const int before_running = team_scan(member, Sum(running));
    single(per_member(member), [&] {
      results(l, 5 * rank) = sum;
      results(l, 5 * rank + 1) = most;
      results(l, 5 * rank + 2) = before;
      results(l, 5 * rank + 3) = before_running;
      results(l, 5 * rank + 4) = running;
    });
  }
};
TYPED_TEST(TeamCollectives, ValuesOfMembersAreJoinedAndScannedByRank) {
  for (const Shape shape : shapes) {
    const int n = static_cast<int>(shape.members);
    const auto results = create<Matrix<int, TypeParam>>("results", league, 5 * n);
    if (!launched(shape,
                  [&] { parallel_for(teams(league, n).vector(shape.lanes), with(JoinMembers{}, results)); }))
      continue;

    for (const auto& row : rows_of(results))
      for (int k = 0; k < n; ++k) {
        const auto at = row.begin() + 5 * k;
        const std::vector<int> expected{n * (n + 1) / 2, 100, k * (k + 1) / 2, 10 * k * (k + 1) / 2,
                                        10 * n * (n + 1) / 2};
        EXPECT_EQ(std::vector<int>(at, at + 5), expected) << name_of(shape) << ", member " << k;
      }
  }
}

// ---- sorting

constexpr int key_of(index_t l, index_t i) { return static_cast<int>((i * 7919 + l * 104729) % 251); }

struct SortRows {
  bool down;
  STRATA_FUNCTION void operator()(const auto& member, auto keys, auto values) const {
    const index_t l = member.league_rank(), n = keys.extent(1);
    const auto mine = subview(keys, l, everything);
    const auto places = subview(values, l, everything);
    parallel_for(team_vector_range(member, n), [&](index_t i) {
      mine(i) = key_of(l, i);
      places(i) = static_cast<int>(i);
    });
    if (down) team_sort_by_key(member, mine, places, [](int a, int b) { return a > b; });
    else team_sort(member, mine);
  }
};
TYPED_TEST(TeamCollectives, SortsViewsInAnyMemoryAloneAndByKey) {
  for (const Shape shape : shapes)
    for (const index_t n : {0, 1, 2, 3, 64, 65, 300}) {
      const auto keys = create<Matrix<int, TypeParam>>("keys", league, n),
                 values = create<Matrix<int, TypeParam>>("values", league, n);
      for (const bool down : {false, true}) {
        if (!launched(shape, [&] {
              parallel_for(teams(league, shape.members).vector(shape.lanes),
                           with(SortRows{down}, keys, values));
            }))
          continue;

        const auto sorted = rows_of(keys), places = rows_of(values);
        for (index_t l = 0; l < league; ++l) {
          std::vector<int> expected;
          for (index_t i = 0; i < n; ++i) expected.push_back(key_of(l, i));
          if (down) std::sort(expected.begin(), expected.end(), std::greater<int>());
          else std::sort(expected.begin(), expected.end());
          const auto row = static_cast<std::size_t>(l);
          EXPECT_EQ(sorted[row], expected) << name_of(shape) << ", " << n;
          if (!down) continue;
          std::vector<int> moved, all(static_cast<std::size_t>(n));
          for (const int place : places[row]) moved.push_back(key_of(l, place));
          EXPECT_EQ(moved, expected);  // each with its key
          std::vector<int> each = places[row];
          std::sort(each.begin(), each.end());
          std::iota(all.begin(), all.end(), 0);
          EXPECT_EQ(each, all);
        }
      }
    }
}

// ---- copies within kernels

struct CopyTiles {
  STRATA_FUNCTION void operator()(const auto& member, auto x, auto y) const {
    const index_t l = member.league_rank();
    const auto tile = scratch_view<double>(member, 0, 6, 5);
    local_deep_copy(member, tile, subview(x, range(6 * l, 6 * l + 6), everything));
    parallel_for(team_vector_range(member, 6), [&](index_t i) { tile(i, 4) += 0.5; });
    local_deep_copy(member, subview(y, range(6 * l, 6 * l + 6), everything), tile);
    local_deep_copy(member, subview(y, 6 * l + 1, everything), -1);
  }
};
struct CopyRows {
  STRATA_FUNCTION void operator()(index_t i, auto x, auto y) const {
    local_deep_copy(subview(y, i, everything), subview(x, i, everything));
    if (i % 4 == 0) local_deep_copy(subview(y, i, range(0, 2)), 9);
  }
};
TYPED_TEST(TeamCollectives, LocalDeepCopyMovesConvertsAndFillsPartsWithinKernels) {
  const auto x = create<Matrix<int, TypeParam>>("x", 6 * league, 5);
  const auto host = create_mirror(x);
  for (index_t i = 0; i < 6 * league; ++i)
    for (index_t j = 0; j < 5; ++j) host(i, j) = static_cast<int>(10 * i + j);
  deep_copy(x, host);

  for (const Shape shape : shapes) {
    const auto y = create<Matrix<double, TypeParam>>("y", 6 * league, 5);
    if (!launched(shape, [&] {
          parallel_for(teams(league, shape.members).vector(shape.lanes).scratch(0, scratch_bytes<double>(30)),
                       with(CopyTiles{}, x, y));
        }))
      continue;
    const auto rows = rows_of(y);
    for (index_t i = 0; i < 6 * league; ++i)
      for (index_t j = 0; j < 5; ++j)
        EXPECT_EQ(rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)],
                  i % 6 == 1 ? -1.0 : static_cast<double>(10 * i + j) + (j == 4 ? 0.5 : 0.0))
            << name_of(shape);
  }

  const auto y = create<Matrix<double, TypeParam>>("y", 6 * league, 5);
  parallel_for(6 * league, with(CopyRows{}, x, y));
  const auto rows = rows_of(y);
  EXPECT_EQ(rows[5], (std::vector<double>{50, 51, 52, 53, 54}));
  EXPECT_EQ(rows[8], (std::vector<double>{9, 9, 82, 83, 84}));
}
TEST(LocalDeepCopy, OfAnyRankOnTheHostAndOfOtherShapesNot) {
  const auto x = create<MDArray<int, Serial>>("x", 3, 2, 2), y = create<MDArray<int, Serial>>("y", 3, 2, 2);
  const auto z = create<MDArray<long, Serial, rank<3>>>("z", 3, 2, 2);
  x(2, 1, 1) = 7;

  local_deep_copy(y, x);
  local_deep_copy(z, y);

  EXPECT_EQ(z(2, 1, 1), 7);
  EXPECT_EQ(z(0, 0, 0), 0);
  const auto line = create<MDArray<int, Serial>>("line", 3),
             shorter = create<MDArray<int, Serial>>("shorter", 2);
  EXPECT_THROW(local_deep_copy(x, line), ExtentError);
  expect_parts(message_of<ExtentError>([&] { local_deep_copy(shorter, line); }),
               {"extent 0 is 3", "the destination has another there"});
}

// ---- limits

struct Nothing {
  STRATA_FUNCTION void operator()(const auto& member, auto x) const {
    single(per_team(member), [&] { x(member.league_rank(), 0) = member.team_size(); });
  }
};
struct AddSize {
  STRATA_FUNCTION void operator()(const auto& member, auto, int& sum) const {
    if (member.team_rank() == 0) sum += member.team_size();
  }
};
TYPED_TEST(TeamCollectives, LimitsAreThoseThatLaunchesHave) {
  const auto x = create<Matrix<int, TypeParam>>("x", league, 1);
  const auto kernel = with(Nothing{}, x);
  const auto work = teams(league).vector(2).scratch(0, 100, 24);

  const index_t most = team_size_max(work, kernel),
                good = team_size_recommended(on(TypeParam{}), work, kernel);

  EXPECT_GE(most, good);
  EXPECT_GE(good, 1);
  parallel_for(work, kernel);  // the device chooses
  EXPECT_EQ(rows_of(x)[0][0], good);
  parallel_for(teams(league, most).vector(2).scratch(0, 100, 24), kernel);
  EXPECT_EQ(rows_of(x)[2][0], most);
  EXPECT_THROW(parallel_for(teams(league, most + 1).vector(2).scratch(0, 100, 24), kernel), Error);

  int sum = 0;
  const index_t joint = team_size_max(work, with(AddSize{}, x), Sum(sum));
  parallel_reduce(teams(league, joint).vector(2).scratch(0, 100, 24), with(AddSize{}, x), Sum(sum));
  EXPECT_EQ(sum, league * joint);
}
TYPED_TEST(TeamCollectives, TheScratchMemoryThatATeamCanHaveIsEnoughForALaunch) {
  const auto x = create<Matrix<int, TypeParam>>("x", league, 1);
  const auto kernel = with(Nothing{}, x);

  const index_t room = scratch_size_max(teams(league), kernel, 0);

  EXPECT_GE(room, 40 << 10);
  EXPECT_GE(scratch_size_max(on(TypeParam{}), teams(league), kernel, 1), room);
  EXPECT_EQ(team_size_max(teams(league).scratch(0, room + 1), kernel), 0);
  if (room < (1 << 20)) {  // of hosts it is memory of the process
    parallel_for(teams(league, 1).scratch(0, room), kernel);
    EXPECT_EQ(rows_of(x)[0][0], 1);
  }
  int sum = 0;
  const index_t joint = scratch_size_max(teams(league), with(AddSize{}, x), 0, Sum(sum));
  EXPECT_GT(joint, 0);
  EXPECT_EQ(scratch_size_max(on(TypeParam{}), teams(league), with(AddSize{}, x), 0, Sum(sum)), joint);
  if (joint < (1 << 20)) {
    parallel_reduce(teams(league, 1).scratch(0, joint), with(AddSize{}, x), Sum(sum));
    EXPECT_EQ(sum, league);
  }
  expect_parts(message_of<KernelError>([&] { static_cast<void>(scratch_size_max(teams(1), kernel, 2)); }),
               {"scratch_size_max(2)", "0, small and fast, and 1, large"});
  EXPECT_THROW(static_cast<void>(team_size_max(teams(league).vector(3), kernel)), KernelError);
}

}  // namespace
