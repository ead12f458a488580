// Teams: which members a kernel sees, what they do together, scratch memory, and reductions over a league.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "arrays.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class Team : public ::testing::Test {};
TYPED_TEST_SUITE(Team, TestDevices, DeviceName);

template <class T, class D>
using Matrix = MDArray<T, D, rank<2>>;

template <class T, class D>
std::vector<std::vector<T>> rows_of(const Matrix<T, D>& x) {
  wait(D{});
  const auto host = on_host(x);
  std::vector<std::vector<T>> rows(static_cast<std::size_t>(host.extent(0)));
  for (index_t i = 0; i < host.extent(0); ++i)
    for (index_t j = 0; j < host.extent(1); ++j) rows[static_cast<std::size_t>(i)].push_back(host(i, j));
  return rows;
}

// Loop lengths below, at and above the numbers of members and lanes.
constexpr index_t nested_sizes[] = {0, 1, 3, 8, 31, 100};
struct Shape {
  index_t members;
  index_t lanes;
};
constexpr Shape shapes[] = {{1, 1}, {1, 8}, {4, 1}, {5, 4}, {8, 2}, {32, 1}, {7, 32}, {32, 32}};

std::string name_of(Shape shape) {
  return std::to_string(shape.members) + " members of " + std::to_string(shape.lanes) + " lanes";
}

// Runs the launch, unless a GPU's kernel needs too many registers for so large a team. 256 threads always
// fit.
template <class F>
bool launched(Shape shape, const F& launch) {
  try {
    launch();
    return true;
  } catch (const KernelError& error) {
    if (shape.members * shape.lanes <= 256 ||
        std::string(error.what()).find("registers") == std::string::npos)
      throw;
    return false;
  }
}

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

// ---- nested loops

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

TYPED_TEST(Team, SharesItemsOutToMembersAndLanesOnce) {
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

TYPED_TEST(Team, ReducesOverMembersAsASequentialLoop) { expect_nested_reductions<TypeParam, 0>(); }
TYPED_TEST(Team, ReducesOverLanesAsASequentialLoop) { expect_nested_reductions<TypeParam, 1>(); }
TYPED_TEST(Team, ReducesOverMembersAndLanesAsASequentialLoop) { expect_nested_reductions<TypeParam, 2>(); }

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

TYPED_TEST(Team, ScansOverMembersAsASequentialLoop) { expect_nested_scans<TypeParam, 0>(); }
TYPED_TEST(Team, ScansOverLanesAsASequentialLoop) { expect_nested_scans<TypeParam, 1>(); }
TYPED_TEST(Team, ScansOverMembersAndLanesAsASequentialLoop) { expect_nested_scans<TypeParam, 2>(); }

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

// ---- scratch memory

// Fills several arrays of team and member, and counts the elements that are not as written after a barrier.
template <int Level>
struct UseScratch {
  static constexpr index_t shared = 37, own = 11;

  static constexpr index_t team_bytes() {
    return scratch_bytes<char>(3) + scratch_bytes<double>(shared * 2) + scratch_bytes<int>(5 * 8);
  }
  static constexpr index_t member_bytes() { return scratch_bytes<float>(own) + scratch_bytes<index_t>(2); }

  STRATA_FUNCTION void operator()(const auto& member, auto wrong) const {
    char* const letters = member.template scratch<char>(Level, 3);
    const auto table = scratch_view<double>(member, Level, shared, 2);
    const auto fixed = scratch_view<int, 8>(member, Level, 5);
    const auto mine = own_scratch_view<float>(member, Level, own);
    index_t* const pair = member.template own_scratch<index_t>(Level, 2);
    const auto seed = static_cast<double>(member.league_rank());
    const int rank = member.team_rank();

    parallel_for(team_vector_range(member, shared), [&](index_t i) {
      table(i, 0) = seed + static_cast<double>(i);
      table(i, 1) = seed - static_cast<double>(i);
    });
    parallel_for(team_vector_range(member, 40),
                 [&](index_t k) { fixed(k / 8, k % 8) = static_cast<int>(k); });
    parallel_for(vector_range(member, own), [&](index_t i) { mine(i) = static_cast<float>(rank * 100 + i); });
    single(per_member(member), [&] { pair[0] = pair[1] = rank; });
    single(per_team(member), [&] { letters[0] = letters[1] = letters[2] = 'x'; });
    member.barrier();

    int bad = letters[0] == 'x' && letters[2] == 'x' ? 0 : 1;
    for (index_t i = 0; i < shared; ++i)
      bad += table(i, 0) != seed + static_cast<double>(i) || table(i, 1) != seed - static_cast<double>(i);
    for (int k = 0; k < 40; ++k) bad += fixed(k / 8, k % 8) != k;
    for (index_t i = 0; i < own; ++i) bad += mine(i) != static_cast<float>(rank * 100 + i);
    bad += pair[0] != rank || pair[1] != rank;
    bad += fixed.extent(1) != 8 || table.extent(0) != shared || mine.extent(0) != own;
    bad += reinterpret_cast<std::uintptr_t>(table.data()) % alignof(double) != 0 ||
           reinterpret_cast<std::uintptr_t>(pair) % alignof(index_t) != 0;
    single(per_member(member), [&] { wrong(member.league_rank(), rank) = bad; });
  }
};

template <class D, int Level>
void expect_scratch_memory() {
  using Kernel = UseScratch<Level>;
  for (const Shape shape : shapes) {
    const auto wrong = create<Matrix<int, D>>("wrong", 300, shape.members);
    deep_copy(wrong, -1);

    if (!launched(shape, [&] {
          parallel_for(teams(300, shape.members)
                           .vector(shape.lanes)
                           .scratch(Level, Kernel::team_bytes(), Kernel::member_bytes()),
                       with(Kernel(), wrong));
        }))
      continue;

    for (const auto& team : rows_of(wrong))
      for (const int count : team) ASSERT_EQ(count, 0) << name_of(shape);
  }
}

TYPED_TEST(Team, HasScratchMemoryOfLevelZero) { expect_scratch_memory<TypeParam, 0>(); }
TYPED_TEST(Team, HasScratchMemoryOfLevelOne) { expect_scratch_memory<TypeParam, 1>(); }

// More than a GPU's blocks have without asking, and level 1 larger than all of level 0.
struct FillLargeScratch {
  index_t fast, large;
  STRATA_FUNCTION void operator()(const auto& member, auto sums) const {
    const auto a = scratch_view<index_t>(member, 0, fast);
    const auto b = scratch_view<index_t>(member, 1, large);
    const index_t team = member.league_rank();
    parallel_for(team_vector_range(member, fast), [&](index_t i) { a(i) = team; });
    parallel_for(team_vector_range(member, large), [&](index_t i) { b(i) = team + i; });
    member.barrier();
    index_t sum;
    parallel_reduce(
        team_vector_range(member, large), [&](index_t i, index_t& s) { s += b(i) + a(i % fast); }, sum);
    single(per_team(member), [&] { sums(team) = sum; });
  }
};

TYPED_TEST(Team, HasMuchScratchMemoryOfBothLevelsForMoreTeamsThanRunAtATime) {
  using D = TypeParam;
  constexpr index_t league = 400, fast = 12000, large = 40000;
  const auto sums = create<Vector<index_t, D>>("sums", league);

  parallel_for(teams(league, 4)
                   .vector(32)
                   .scratch(0, scratch_bytes<index_t>(fast))
                   .scratch(1, scratch_bytes<index_t>(large)),
               with(FillLargeScratch{fast, large}, sums));

  const auto values = values_of(sums);
  for (index_t team = 0; team < league; ++team)
    ASSERT_EQ(values[static_cast<std::size_t>(team)], large * (large - 1) / 2 + 2 * team * large);
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
