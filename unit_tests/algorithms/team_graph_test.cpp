// Teams in graphs: launches over teams that are recorded, with scratch memory of both levels, do their work
// again with each replay, among other work that uses scratch memory, too.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <strata/algorithms/team.hpp>

#include "arrays.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class TeamGraph : public ::testing::Test {};
TYPED_TEST_SUITE(TeamGraph, TestDevices, DeviceName);

template <class D>
using DoubleMatrix = MDArray<double, D, rank<2>>;

constexpr index_t rows = 70, columns = 45;
constexpr index_t row_bytes = scratch_bytes<double>(columns);

// A row a team. The old row is kept in scratch memory of level 0, its mirror image in that of level 1.
struct Relax {
  STRATA_FUNCTION static double relaxed(double here, double opposite) {
    return 0.75 * here + 0.25 * opposite + 1;
  }
  STRATA_FUNCTION void operator()(const auto& member, auto x) const {
    const index_t row = member.league_rank();
    const auto old = scratch_view<double>(member, 0, columns);
    const auto mirrored = scratch_view<double>(member, 1, columns);
    parallel_for(team_vector_range(member, columns), [&](index_t j) {
      old(j) = x(row, j);
      mirrored(columns - 1 - j) = x(row, j);
    });
    member.barrier();
    parallel_for(team_vector_range(member, columns),
                 [&](index_t j) { x(row, j) = relaxed(old(j), mirrored(j)); });
  }
};

// Every member adds up columns of its own, from scratch memory of its own.
struct AddRows {
  using value_type = double;
  STRATA_FUNCTION static void init(double& sum) { sum = 0; }
  STRATA_FUNCTION static void join(double& sum, const double& other) { sum += other; }
  STRATA_FUNCTION void operator()(const auto& member, auto x, double& sum) const {
    const index_t row = member.league_rank();
    const auto shared = scratch_view<double>(member, 1, columns);
    const auto mine = own_scratch_view<double>(member, 0, 1);
    parallel_for(team_vector_range(member, columns), [&](index_t j) { shared(j) = x(row, j); });
    member.barrier();
    double part = 0;
    for (index_t j = member.team_rank(); j < columns; j += member.team_size()) part += shared(j);
    single(per_member(member), [&] { mine(0) = part; });
    sum += part;
  }
};

template <class D>
struct StoreHalf {
  Value<double, D> target;
  STRATA_FUNCTION void operator()(const double& sum) const { *target = 0.5 * sum; }
};

// Leaves nothing in scratch memory as it was.
struct WriteAgain {
  index_t count;
  STRATA_FUNCTION void operator()(const auto& member) const {
    const auto fast = scratch_view<double>(member, 0, 500);
    const auto large = scratch_view<double>(member, 1, count);
    parallel_for(team_vector_range(member, 500), [&](index_t i) { fast(i) = -1e9; });
    parallel_for(team_vector_range(member, count), [&](index_t i) { large(i) = -1e9; });
  }
};

Teams row_teams(index_t members) {
  return teams(rows, members).vector(4).scratch(0, row_bytes).scratch(1, row_bytes);
}
Teams adding_teams(index_t members) {
  return teams(rows, members).scratch(1, row_bytes).scratch(0, 0, scratch_bytes<double>(1));
}

template <class D>
DoubleMatrix<D> make_matrix() {
  const auto x = create<DoubleMatrix<D>>("x", rows, columns);
  const auto host = create_mirror_view(x);
  for (index_t i = 0; i < rows; ++i)
    for (index_t j = 0; j < columns; ++j) host(i, j) = static_cast<double>(64 * i + j);
  deep_copy(x, host);
  return x;
}

// What `steps` relaxations make of make_matrix(); all numbers are exact.
std::vector<double> relaxed(int steps) {
  std::vector<double> x;
  for (index_t i = 0; i < rows; ++i) {
    std::vector<double> row;
    for (index_t j = 0; j < columns; ++j) row.push_back(static_cast<double>(64 * i + j));
    for (int k = 0; k < steps; ++k) {
      const std::vector<double> old = row;
      for (std::size_t j = 0; j < row.size(); ++j) row[j] = Relax::relaxed(old[j], old[row.size() - 1 - j]);
    }
    x.insert(x.end(), row.begin(), row.end());
  }
  return x;
}
double half_sum(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) sum += value;
  return 0.5 * sum;
}

template <class D>
std::vector<double> elements_of(const DoubleMatrix<D>& x) {
  const auto host = on_host(x);
  std::vector<double> elements;
  for (index_t i = 0; i < x.extent(0); ++i)
    for (index_t j = 0; j < x.extent(1); ++j) elements.push_back(host(i, j));
  return elements;
}

TYPED_TEST(TeamGraph, ReplaysDoTheWorkOfTeamsAgainEachTimeAndNotBefore) {
  using D = TypeParam;
  for (const index_t members : {1, 4, 8}) {
    const auto x = make_matrix<D>();
    const auto half = create<Value<double, D>>("half");
    const Queue<D> queue;

    const Graph<D> graph = record(queue, [&] {
      parallel_for("relax", on(queue), row_teams(members), with(Relax{}, x));
      parallel_reduce("add", on(queue), adding_teams(members), with(AddRows{}, x), StoreHalf<D>{half});
    });
    EXPECT_EQ(elements_of(x), relaxed(0));
    for (int replays = 1; replays <= 3; ++replays) {
      graph.launch(queue);
      queue.wait();

      EXPECT_EQ(elements_of(x), relaxed(replays)) << members << " members";
      EXPECT_EQ(value_of(half), half_sum(relaxed(replays))) << members << " members";
    }
  }
}

TYPED_TEST(TeamGraph, ReplaysInARowFollowEachOther) {
  using D = TypeParam;
  const auto x = make_matrix<D>();
  const Queue<D> queue, another;

  const Graph<D> graph = record(queue, [&] {
    parallel_for(on(queue), row_teams(4), with(Relax{}, x));
    parallel_for(on(queue), row_teams(2), with(Relax{}, x));
  });
  for (int k = 0; k < 2; ++k) graph.launch(queue);
  queue.wait();
  graph.launch(another);
  another.wait();

  EXPECT_EQ(elements_of(x), relaxed(6));
}

// The scratch memory of the queue grows between replays, and is smaller in the second graph.
TYPED_TEST(TeamGraph, GraphsAndLaunchesWithOtherScratchMemoryTakeTurns) {
  using D = TypeParam;
  const auto x = make_matrix<D>();
  const auto half = create<Value<double, D>>("half");
  const Queue<D> queue;
  const auto overwrite = [&](index_t count) {
    parallel_for(on(queue),
                 teams(100, 2)
                     .vector(8)
                     .scratch(0, scratch_bytes<double>(500))
                     .scratch(1, scratch_bytes<double>(count)),
                 WriteAgain{count});
  };

  const Graph<D> relax = record(queue, [&] { parallel_for(on(queue), row_teams(4), with(Relax{}, x)); });
  const Graph<D> add = record(queue, [&] {
    overwrite(10);
    parallel_reduce(on(queue), adding_teams(4), with(AddRows{}, x), half);
    overwrite(2000);
  });
  for (const index_t count : {10, 1000, 20000}) {
    relax.launch(queue);
    overwrite(count);
    add.launch(queue);
  }
  queue.wait();

  EXPECT_EQ(elements_of(x), relaxed(3));
  EXPECT_EQ(value_of(half), 2 * half_sum(relaxed(3)));
}

TYPED_TEST(TeamGraph, OutlivesItsArraysAndTakesTheSizeThatTheDeviceChooses) {
  using D = TypeParam;
  const auto result = create<DoubleMatrix<D>>("result", rows, columns);
  Graph<D> graph;
  {
    const Queue<D> recorded;
    const auto x = make_matrix<D>();
    graph = record(recorded, [&] {
      parallel_for(on(recorded), teams(rows).scratch(0, row_bytes).scratch(1, row_bytes), with(Relax{}, x));
      deep_copy(recorded, result, x);
    });
  }
  const Queue<D> queue;
  graph.launch(queue);
  graph.launch(queue);
  queue.wait();

  EXPECT_EQ(elements_of(result), relaxed(2));
}

TYPED_TEST(TeamGraph, ATeamThatTheDeviceCannotHaveFailsTheRecordingAndNothingElse) {
  using D = TypeParam;
  const auto x = make_matrix<D>();
  const Queue<D> queue;

  EXPECT_THROW(static_cast<void>(record(queue,
                                        [&] {
                                          parallel_for(on(queue), row_teams(4), with(Relax{}, x));
                                          parallel_for(on(queue), row_teams(5000), with(Relax{}, x));
                                        })),
               KernelError);
  parallel_for(on(queue), row_teams(4), with(Relax{}, x));
  queue.wait();

  EXPECT_EQ(elements_of(x), relaxed(1));
}

TYPED_TEST(TeamGraph, AnEmptyLeagueIsRecordedAndGivesTheIdentity) {
  using D = TypeParam;
  const auto x = make_matrix<D>();
  const auto sum = create<Value<double, D>>("sum");
  const Queue<D> queue;
  deep_copy(sum, 5.0);

  const Graph<D> graph = record(queue, [&] {
    parallel_for(on(queue), teams(0, 4).scratch(1, row_bytes), with(Relax{}, x));
    parallel_reduce(on(queue), teams(0, 4).scratch(1, row_bytes), with(AddRows{}, x), sum);
  });
  graph.launch(queue);
  queue.wait();

  EXPECT_EQ(value_of(sum), 0);
  EXPECT_EQ(elements_of(x), relaxed(0));
}

}  // namespace
