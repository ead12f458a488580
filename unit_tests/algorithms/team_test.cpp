// Teams: which members a kernel sees, what they do together, and reductions over a league.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <vector>

#include "team_suite.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class Team : public ::testing::Test {};
TYPED_TEST_SUITE(Team, TestDevices, DeviceName);

// ---- who is there

struct CountMembers {
  STRATA_FUNCTION void operator()(const auto& member, auto seen, auto sizes) const {
    const index_t team = member.league_rank();
    single(per_member(member), [&] { seen(team, member.team_rank()) += 1; });
    single(per_team(member), [&] {
      sizes(team, 0) = member.league_size();
      sizes(team, 1) = member.team_size();
      sizes(team, 2) = member.vector_length();
    });
  }
};

TYPED_TEST(Team, SeesEveryRankOfEveryTeamOnce) {
  using D = TypeParam;
  for (const index_t league : {1, 2, 67})
    for (const Shape shape : shapes) {
      const auto seen = create<Matrix<int, D>>("seen", league, shape.members);
      const auto sizes = create<Matrix<index_t, D>>("sizes", league, 3);

      if (!launched(shape, [&] {
            parallel_for(teams(league, shape.members).vector(shape.lanes), with(CountMembers(), seen, sizes));
          }))
        continue;

      const std::vector<int> once(static_cast<std::size_t>(shape.members), 1);
      for (const auto& team : rows_of(seen)) ASSERT_EQ(team, once) << name_of(shape);
      const std::vector<index_t> expected{league, shape.members, shape.lanes};
      for (const auto& team : rows_of(sizes)) ASSERT_EQ(team, expected) << name_of(shape);
    }
}

struct CountTeams {
  STRATA_FUNCTION void operator()(const auto& member, auto seen) const {
    single(per_team(member), [&] { seen(member.league_rank()) += member.team_size() > 0 ? 1 : 100; });
  }
};

TYPED_TEST(Team, OfTheDevicesSizeIsSeenOnceWhateverTheScheduleAndNeverInAnEmptyLeague) {
  using D = TypeParam;
  const auto seen = create<Vector<int, D>>("seen", 1021);

  parallel_for(teams(0), with(CountTeams(), seen));
  parallel_for(teams(-3, 4), with(CountTeams(), seen));
  parallel_for(teams(1021), with(CountTeams(), seen));
  parallel_for(teams(1021, auto_size).dynamic(3), with(CountTeams(), seen));
  parallel_for(teams(1021, 4).dynamic(), with(CountTeams(), seen));

  EXPECT_EQ(values_of(seen), std::vector<int>(1021, 3));
}

// ---- barrier, single, broadcast

// In each round every member writes what it got to scratch memory and takes its neighbour's.
struct PassAround {
  int rounds;
  STRATA_FUNCTION void operator()(const auto& member, auto last) const {
    const auto place = scratch_view<int>(member, 0, member.team_size());
    int mine = static_cast<int>(member.league_rank()) * 1000 + member.team_rank();
    for (int round = 0; round < rounds; ++round) {
      single(per_member(member), [&] { place(member.team_rank()) = mine; });
      member.barrier();
      mine = place((member.team_rank() + 1) % member.team_size());
      member.barrier();
    }
    single(per_member(member), [&] { last(member.league_rank(), member.team_rank()) = mine; });
  }
};

TYPED_TEST(Team, OrdersMemoryAtBarriers) {
  using D = TypeParam;
  for (const index_t members : {1, 4, 8, 32})
    for (const int rounds : {1, 2, 37}) {
      const auto last = create<Matrix<int, D>>("last", 50, members);

      parallel_for(teams(50, members).scratch(0, scratch_bytes<int>(members)),
                   with(PassAround{rounds}, last));

      const auto rows = rows_of(last);
      for (int team = 0; team < 50; ++team)
        for (int k = 0; k < members; ++k)
          ASSERT_EQ(rows[static_cast<std::size_t>(team)][static_cast<std::size_t>(k)],
                    team * 1000 + (k + rounds) % static_cast<int>(members));
    }
}

struct OneForAll {
  STRATA_FUNCTION void operator()(const auto& member, auto calls, auto got) const {
    const index_t team = member.league_rank();
    const int rank = member.team_rank();
    int chosen = -1, shared = rank * 10, own = -1;
    single(
        per_team(member), [&](int& value) { value = ++calls(team, 0) + 6; }, chosen);
    broadcast(member, shared, member.team_size() - 1);
    single(
        per_member(member), [&](int& value) { value = rank + ++calls(team, rank + 1); }, own);
    vector_check(member, own, got(team, rank), chosen + 100 * shared);
  }
  // Every lane has the member's value.
  STRATA_FUNCTION static void vector_check(const auto& member, int own, int& result, int others) {
    int different = 0;
    parallel_reduce(
        vector_range(member, 64), [&](index_t, int& d) { d += own == member.team_rank() + 1 ? 0 : 1; },
        different);
    single(per_member(member), [&] { result = different == 0 ? others : -1; });
  }
};

TYPED_TEST(Team, DoesOnceWhatIsSingleAndGivesAllTheValue) {
  using D = TypeParam;
  for (const Shape shape : shapes) {
    const auto calls = create<Matrix<int, D>>("calls", 20, shape.members + 1);
    const auto got = create<Matrix<int, D>>("got", 20, shape.members);

    if (!launched(shape, [&] {
          parallel_for(teams(20, shape.members).vector(shape.lanes), with(OneForAll(), calls, got));
        }))
      continue;

    for (const auto& team : rows_of(calls))
      for (const int count : team) ASSERT_EQ(count, 1) << name_of(shape);
    for (const auto& team : rows_of(got))
      for (const int value : team)
        ASSERT_EQ(value, 7 + 1000 * (static_cast<int>(shape.members) - 1)) << name_of(shape);
  }
}

// ---- matrix-vector products: a row a team, and a block of rows a team

struct RowATeam {
  STRATA_FUNCTION void operator()(const auto& member, auto a, auto x, auto y) const {
    const index_t i = member.league_rank();
    double sum;
    parallel_reduce(
        team_vector_range(member, a.extent(1)), [&](index_t j, double& s) { s += a(i, j) * x(j); }, sum);
    single(per_team(member), [&] { y(i) = sum; });
  }
};
struct RowsATeam {
  index_t rows;
  STRATA_FUNCTION void operator()(const auto& member, auto a, auto x, auto y) const {
    const index_t first = member.league_rank() * rows;
    const index_t last = first + rows < a.extent(0) ? first + rows : a.extent(0);
    parallel_for(team_range(member, first, last), [&](index_t i) {
      double sum;
      parallel_reduce(
          vector_range(member, a.extent(1)), [&](index_t j, double& s) { s += a(i, j) * x(j); }, sum);
      single(per_member(member), [&] { y(i) = sum; });
    });
  }
};

TYPED_TEST(Team, MultipliesAMatrixWithAVector) {
  using D = TypeParam;
  constexpr index_t rows = 53, columns = 71;
  const auto a = create<Matrix<double, D>>("a", rows, columns);
  const auto host = create_mirror_view(a);
  for (index_t i = 0; i < rows; ++i)
    for (index_t j = 0; j < columns; ++j) host(i, j) = static_cast<double>(i * 3 + j % 5);
  deep_copy(a, host);
  const auto x = make_vector<double, D>(columns, [](index_t j) { return j % 3 - 1; });
  std::vector<double> expected;
  for (index_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (index_t j = 0; j < columns; ++j)
      sum += static_cast<double>((i * 3 + j % 5) * (j % 3 - 1));  // exact in any order
    expected.push_back(sum);
  }

  for (const Shape shape : shapes) {
    const auto y = create<Vector<double, D>>("y", rows), z = create<Vector<double, D>>("z", rows);
    if (!launched(shape, [&] {
          launch(on(D{}), teams(rows, shape.members).vector(shape.lanes), RowATeam(), in(a), in(x), out(y));
        }))
      continue;
    if (!launched(shape, [&] {
          parallel_for("gemv", on(D{}), teams((rows + 9) / 10, shape.members).vector(shape.lanes),
                       with(RowsATeam{10}, a, x, z));
        }))
      continue;
    EXPECT_EQ(values_of(y), expected) << name_of(shape);
    EXPECT_EQ(values_of(z), expected) << name_of(shape);
  }
  const auto y = create<Vector<double, D>>("y", rows);
  parallel_for(teams(rows), with(RowATeam(), a, x, y));
  EXPECT_EQ(values_of(y), expected);
}

// ---- reductions over a league

STRATA_FUNCTION constexpr double contribution(index_t team, index_t rank) {
  // Of many magnitudes, so that the order of a sum shows.
  const auto bits = static_cast<std::uint64_t>(team * 64 + rank) * 0x9e3779b97f4a7c15U;
  double value = static_cast<double>(bits >> 40) - 8e6;
  for (std::uint64_t k = 0; k < (bits & 31); ++k) value *= 0.5;
  return value;
}

struct AddContribution {
  STRATA_FUNCTION void operator()(const auto& member, double& sum) const {
    sum += contribution(member.league_rank(), member.team_rank());
  }
};

// The tree as it is written down: members pairwise by rank, then the items of an ordinary reduction.
double expected_sum(index_t league, index_t members) {
  std::vector<double> of_team;
  for (index_t team = 0; team < league; ++team) {
    std::vector<double> values;
    for (index_t rank = 0; rank < members; ++rank) values.push_back(contribution(team, rank));
    for (std::size_t distance = 1; distance < values.size(); distance *= 2)
      for (std::size_t k = 0; k + distance < values.size(); k += 2 * distance)
        values[k] += values[k + distance];
    of_team.push_back(values[0]);
  }
  double sum = 0;
  parallel_reduce(
      on(Serial{}), league, [&](index_t i, double& s) { s += of_team[static_cast<std::size_t>(i)]; },
      Sum(sum));
  return sum;
}

TYPED_TEST(Team, ReducesOverALeagueByTheOneTree) {
  using D = TypeParam;
  for (const index_t league : {0, 1, 63, 512, 513, 20011})
    for (const index_t members : {1, 4, 7, 32}) {
      const double expected = expected_sum(league, members);
      double sum = -1, shared_out = -1, with_lanes = -1;

      parallel_reduce(on(D{}), teams(league, members), AddContribution(), Sum(sum));
      parallel_reduce(on(D{}), teams(league, members).dynamic(3), AddContribution(), Sum(shared_out));
      parallel_reduce(on(D{}), teams(league, members).vector(4), AddContribution(), Sum(with_lanes));

      EXPECT_TRUE(same_bits(sum, expected)) << league << " teams of " << members;
      EXPECT_TRUE(same_bits(shared_out, expected)) << league << " teams of " << members;
      EXPECT_TRUE(same_bits(with_lanes, expected)) << league << " teams of " << members;
    }
}

struct Sizes {
  STRATA_FUNCTION void operator()(const auto& member, auto x, index_t& count, index_t& largest) const {
    single(per_team(member), [&] { count += 1 + x(0); });
    if (member.league_rank() > largest) largest = member.league_rank();
  }
};
template <class D>
struct TeamProduct {
  using device_type = D;
  using value_type = double;
  STRATA_FUNCTION void operator()(const TeamMember<D>& member, double& value) const {
    single(per_team(member), [&] { value *= member.league_rank() % 3 == 0 ? 2.0 : 1.0; });
  }
  STRATA_FUNCTION static void init(double& value) { value = 1; }
  STRATA_FUNCTION static void join(double& value, const double& other) { value *= other; }
};

TYPED_TEST(Team, ReducesIntoAllThatReductionsDo) {
  using D = TypeParam;
  const auto x = make_vector<index_t, D>(1, [](index_t) { return 1; });
  index_t count = 0, largest = 0;
  double product = 0;
  const auto on_device = create<Value<double, D>>("product");

  parallel_reduce("sizes", teams(1000, 4), with(Sizes(), x), Sum(count), Max(largest));
  parallel_reduce(teams(30, 8), TeamProduct<D>(), product);
  parallel_reduce(teams(30), TeamProduct<D>(), on_device);
  const double returned = parallel_reduce(teams(30, 4).vector(2), TeamProduct<D>());

  EXPECT_EQ(count, 2000);
  EXPECT_EQ(largest, 999);
  EXPECT_EQ(product, 1024);
  EXPECT_EQ(value_of(on_device), 1024);
  EXPECT_EQ(returned, 1024);
}

// ---- tags

struct First {};
struct Second {};
template <class D>
struct ByTag {
  using device_type = D;
  Vector<int, D> x;
  STRATA_FUNCTION void operator()(First, const TeamMember<D>& member) const {
    single(per_team(member), [&] { x(member.league_rank()) += 1; });
  }
  STRATA_FUNCTION void operator()(Second, const TeamMember<D>& member) const {
    single(per_team(member), [&] { x(member.league_rank()) += 10; });
  }
};

TYPED_TEST(Team, CallsTheOperatorOfATag) {
  using D = TypeParam;
  const ByTag<D> functor{create<Vector<int, D>>("x", 10)};

  parallel_for(tagged<First>(teams(10, 4)), functor);
  parallel_for(tagged<Second>(teams(10, 4)), functor);

  EXPECT_EQ(values_of(functor.x), std::vector<int>(10, 11));
}

}  // namespace
