// Packages of outputs: their shapes follow from the graph, and each task is in one, after those that it waits
// for.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include <strata/algorithms/tasks/plan/package_plan.hpp>
#include <strata/algorithms/tasks/plan/tiled.hpp>

namespace {

using namespace strata;
using namespace strata::tasks;
using namespace strata::tasks::detail;

constexpr index_t tile_bytes = 4;  // of tiles of one element

class Packages : public testing::Test {
 protected:
  explicit Packages(const TaskDag& graph = {}) : graph_(graph) {}
  void plan(TiledKind kind, int tiles) {
    const TiledGraph tiled = tiled_graph(kind, tiles, 1);
    graph_ = tiled.graph;
    order_ = structural_order(graph_);
    for (const TilePosition& at : tiled.positions) rows_.emplace_back(at.m, at.n);
  }
  OutputPackages packages() { return OutputPackages(graph_, order_, order_.levels); }
  std::set<std::pair<int, int>> tiles_of(const OutputPackage& package) const {
    std::set<std::pair<int, int>> tiles;
    for (const TaskId task : package.tasks) tiles.insert(rows_[static_cast<std::size_t>(task)]);
    return tiles;
  }

  TaskDag graph_;
  StructuralOrder order_;
  std::vector<std::pair<int, int>> rows_;  // of tasks: the tile that it writes
};

TEST_F(Packages, OfAProductAreSquares) {
  plan(TiledKind::Gemm, 12);

  const OutputPackage package = packages().take(16 * tile_bytes, {});

  std::set<int> rows, columns;
  for (const auto& [m, n] : tiles_of(package)) {
    rows.insert(m);
    columns.insert(n);
  }
  EXPECT_EQ(package.outputs.size(), 16u);
  EXPECT_EQ(rows.size(), 4u);
  EXPECT_EQ(columns.size(), 4u);
  EXPECT_EQ(package.tasks.size(), 16u * 12);
  EXPECT_EQ(package.loads, (16 + 8 * 12) * tile_bytes);
}

TEST_F(Packages, OfCholeskyAreATriangleThenTheRowsBelowItWhileItStays) {
  plan(TiledKind::Cholesky, 12);
  OutputPackages packages = this->packages();

  const OutputPackage triangle = packages.take(12 * tile_bytes, {});
  std::vector<ArrayId> held = triangle.outputs;
  const OutputPackage row = packages.take(14 * tile_bytes, held);

  // Four rows: the beginning of a fifth one would have fewer tasks for each tile.
  std::set<std::pair<int, int>> first_rows, fifth_row;
  for (int m = 0; m < 4; ++m)
    for (int n = 0; n <= m; ++n) first_rows.insert({m, n});
  for (int n = 0; n < 4; ++n) fifth_row.insert({4, n});
  EXPECT_EQ(tiles_of(triangle), first_rows);
  EXPECT_EQ(triangle.loads, 10 * tile_bytes);
  EXPECT_EQ(tiles_of(row), fifth_row);
  EXPECT_EQ(row.loads, 4 * tile_bytes);
  EXPECT_EQ(row.kept.size(), 10u);
}

TEST_F(Packages, OfAPlanHaveEachTaskOnceAfterThoseThatItWaitsFor) {
  for (const TiledKind kind : {TiledKind::Cholesky, TiledKind::Lu, TiledKind::Gemm, TiledKind::Syrk})
    for (const int devices : {1, 3}) {
      plan(kind, 8);
      std::vector<bool> is_done(static_cast<std::size_t>(graph_.num_tasks()));
      int count = 0;
      for (const OutputPackage& package :
           plan_packages(graph_, order_, order_.levels, 20 * tile_bytes, devices).packages)
        for (const TaskId task : package.tasks) {
          for (const TaskId before : graph_.predecessors(task))
            ASSERT_TRUE(is_done[static_cast<std::size_t>(before)]) << graph_.describe(task);
          ASSERT_FALSE(is_done[static_cast<std::size_t>(task)]);
          is_done[static_cast<std::size_t>(task)] = true;
          ++count;
        }
      EXPECT_EQ(count, graph_.num_tasks()) << name_of(kind);
    }
}

// Larger packages load less only where nothing has to come twice in a step.
TEST_F(Packages, OfAPlanReadInAStepWhatFitsTheMemoryBesideThem) {
  constexpr index_t memory = 60;
  plan(TiledKind::Gemm, 40);

  for (const OutputPackage& package :
       plan_packages(graph_, order_, order_.levels, memory * tile_bytes, 1).packages) {
    const double outputs = static_cast<double>(package.outputs.size());
    EXPECT_EQ(package.steps, 40);
    EXPECT_LE((package.loads / tile_bytes - outputs) / package.steps, memory - outputs);
  }
}

// Two outputs of which neither can be finished before the other: a package has the tasks that can run.
TEST_F(Packages, OfOutputsThatWaitForEachOtherHaveTheTasksThatCanRun) {
  const ArrayId a = graph_.add_array("a", 1), b = graph_.add_array("b", 1);
  for (int k = 0; k < 3; ++k) {
    graph_.add_task("a", "k", 1, {{a, AccessMode::InOut}, {b, AccessMode::In}});
    graph_.add_task("b", "k", 1, {{b, AccessMode::InOut}, {a, AccessMode::In}});
  }
  order_ = structural_order(graph_);
  OutputPackages packages = this->packages();

  std::vector<TaskId> tasks;
  while (packages.bytes_left() > 0) {
    const OutputPackage package = packages.take(1, {});
    ASSERT_FALSE(package.tasks.empty());
    tasks.insert(tasks.end(), package.tasks.begin(), package.tasks.end());
  }

  EXPECT_EQ(tasks, (std::vector<TaskId>{0, 1, 2, 3, 4, 5}));
}

// However many tasks without an output follow each other.
TEST_F(Packages, AreNotHeldUpByTasksThatWriteNothing) {
  const ArrayId a = graph_.add_array("a", 1), b = graph_.add_array("b", 1);
  graph_.add_task("write a", "k", 1, {{a, AccessMode::InOut}});
  constexpr int count = 200'000;
  for (int k = 1; k <= count; ++k) {
    graph_.add_task("look at a", "k", 1, {{a, AccessMode::In}});
    graph_.add_dependency(k - 1, k);
  }
  graph_.add_task("write b", "k", 1, {{b, AccessMode::InOut}});
  graph_.add_dependency(count, count + 1);
  order_ = structural_order(graph_);
  OutputPackages packages = this->packages();

  EXPECT_EQ(packages.take(1, {}).tasks, std::vector<TaskId>{0});
  EXPECT_EQ(packages.take(1, {}).tasks, std::vector<TaskId>{count + 1});
}

// Counts, not seconds: of larger graphs as many for each task as of small ones.
TEST_F(Packages, OfAPlanAreFoundByLookingAtFewOutputsForEachTask) {
  for (const TiledKind kind : {TiledKind::Cholesky, TiledKind::Lu, TiledKind::Gemm, TiledKind::Syrk})
    for (const int tiles : {10, 30})
      for (const index_t memory : {20, 60, 142}) {
        plan(kind, tiles);
        const PackagePlan found = plan_packages(graph_, order_, order_.levels, memory * tile_bytes, 1);
        EXPECT_TRUE(found.is_found) << name_of(kind) << ", " << tiles << ", " << memory;
        EXPECT_LE(found.num_inspected, 500 * graph_.num_tasks())
            << name_of(kind) << ", " << tiles << ", " << memory;
      }
}
// Each task updates an array at random by two at random: the more tasks there are, the more outputs wait for
// each other.
TEST_F(Packages, OfAccessesWithoutStructureAreGivenUpBeforeThatTakesLong) {
  for (const int tasks : {3'200, 12'800, 51'200})
    for (const int devices : {1, 4}) {
      std::mt19937 draw(1);
      graph_ = {};
      const auto drawn = [&] { return static_cast<ArrayId>(draw() % 1600); };
      for (int k = 0; k < 1600; ++k) graph_.add_array("a", 1);
      for (int k = 0; k < tasks; ++k)
        graph_.add_task("t", "k", 1,
                        {{drawn(), AccessMode::In}, {drawn(), AccessMode::In}, {drawn(), AccessMode::InOut}});
      order_ = structural_order(graph_);

      const PackagePlan plan = plan_packages(graph_, order_, order_.levels, 142, devices);

      EXPECT_FALSE(plan.is_found) << tasks;
      EXPECT_TRUE(plan.packages.empty());
      EXPECT_LE(plan.num_inspected, 60 * tasks) << tasks;
    }
}

TEST(StructuralOrder, IsThatOfTheGraphWhateverTheNumbersOfArraysAre) {
  // A chain on x that y and z join in turn; the arrays are numbered in two orders.
  const auto order_with = [](bool is_turned) {
    TaskDag graph;
    std::vector<ArrayId> arrays;
    for (const char* name : {"x", "y", "z"}) arrays.push_back(graph.add_array(name, 1));
    if (is_turned) std::swap(arrays[0], arrays[2]);
    graph.add_task("first", "k", 1, {{arrays[0], AccessMode::InOut}, {arrays[1], AccessMode::In}});
    graph.add_task("second", "k", 1, {{arrays[0], AccessMode::InOut}, {arrays[2], AccessMode::In}});
    const StructuralOrder order = structural_order(graph);
    std::vector<int> places;
    for (const ArrayId array : arrays) places.push_back(order.of_arrays[static_cast<std::size_t>(array)]);
    EXPECT_EQ(order.of_tasks, (std::vector<int>{0, 1}));
    return places;
  };
  EXPECT_EQ(order_with(false), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(order_with(true), (std::vector<int>{0, 1, 2}));
}

// Pairs of accesses of this task would be 4e8, in each round.
TEST(StructuralOrder, OfATaskOfManyArraysIsThatOfTheirPlacesInIt) {
  constexpr int count = 20'000;
  TaskDag graph;
  std::vector<TaskAccess> accesses;
  for (int k = 0; k < count; ++k) accesses.push_back({graph.add_array("a", 1), AccessMode::In});
  std::reverse(accesses.begin(), accesses.end());
  graph.add_task("all", "k", 1, accesses);

  const StructuralOrder order = structural_order(graph);

  for (int k = 0; k < count; ++k)
    ASSERT_EQ(order.of_arrays[static_cast<std::size_t>(accesses[static_cast<std::size_t>(k)].array)], k);
}

// x and y are told apart by the places of b and c in their tasks: x has b at `far` + 2 where it is first and
// at 3 where it is second, y at `far` + 3 and at 2. With 16 bits for a place those would be the same pairs.
TEST(StructuralOrder, TellsPlacesApartThatSixteenBitsDoNot) {
  constexpr int far = 1 << 16;
  const auto is_x_first = [](bool is_turned) {
    TaskDag graph;
    ArrayId x = graph.add_array("x", 1), y = graph.add_array("y", 1);
    if (is_turned) std::swap(x, y);
    const ArrayId b = graph.add_array("b", 1), c = graph.add_array("c", 1), d = graph.add_array("d", 1);
    std::vector<TaskAccess> many{{x, AccessMode::In}};
    for (int k = 1; k < far + 2; ++k) many.push_back({graph.add_array("a", 1), AccessMode::In});
    many.insert(many.end(), {{b, AccessMode::In}, {c, AccessMode::In}});
    graph.add_task("x first", "k", 1, many);
    many[0].array = y;
    std::swap(many[far + 2], many[far + 3]);
    graph.add_task("y first", "k", 1, many);
    const auto second = [&](ArrayId own, ArrayId next, ArrayId last) {
      graph.add_task(
          "second", "k", 1,
          {{d, AccessMode::In}, {own, AccessMode::In}, {next, AccessMode::In}, {last, AccessMode::In}});
    };
    second(x, c, b);
    second(y, b, c);
    graph.add_task("b differs from c", "k", 1, {{d, AccessMode::In}, {b, AccessMode::In}});
    const StructuralOrder order = structural_order(graph);
    return order.of_arrays[static_cast<std::size_t>(x)] < order.of_arrays[static_cast<std::size_t>(y)];
  };
  EXPECT_EQ(is_x_first(false), is_x_first(true));
}

}  // namespace
