// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <gtest/gtest.h>

#include <strata/algorithms/tasks/plan/machine.hpp>
#include <strata/algorithms/tasks/plan/tiled.hpp>

#include "messages.hpp"

namespace {

using namespace strata;
using namespace strata::tasks;
using strata_tests::message_of;
using Ids = std::vector<TaskId>;

constexpr AccessMode in = AccessMode::In, out = AccessMode::Out, inout = AccessMode::InOut;

TEST(TaskDag, ReadersWaitForTheLastWriterAndWritersForReaders) {
  TaskDag graph;
  const ArrayId a = graph.add_array("a", 8), b = graph.add_array("b", 8);
  const TaskId write = graph.add_task("write", "k", 1, {{a, out}});
  const TaskId read = graph.add_task("read", "k", 1, {{a, in}, {b, out}});
  const TaskId also = graph.add_task("read too", "k", 1, {{a, in}});
  const TaskId again = graph.add_task("write again", "k", 1, {{a, inout}});

  EXPECT_EQ(graph.predecessors(write), Ids{});
  EXPECT_EQ(graph.predecessors(read), Ids{write});
  EXPECT_EQ(graph.predecessors(also), Ids{write});
  EXPECT_EQ(graph.predecessors(again), (Ids{write, read, also}));
  EXPECT_EQ(graph.successors(read), Ids{again});
  EXPECT_EQ(graph.users(b), Ids{read});
}

TEST(TaskDag, AnArrayNamedTwiceIsUsedInBothModesAndCountsOnce) {
  TaskDag graph;
  const ArrayId a = graph.add_array("a", 8);

  const TaskId task = graph.add_task("square", "k", 1, {{a, in}, {a, out}});

  ASSERT_EQ(graph.task(task).accesses.size(), 1u);
  EXPECT_EQ(graph.task(task).accesses[0].mode, inout);
  EXPECT_EQ(graph.bytes_of(task), 8);
}

TEST(TaskDag, ACycleIsNamed) {
  TaskDag graph;
  for (const char* label : {"first", "a", "b", "c", "last"}) graph.add_task(label, "k", 1, {});
  for (const auto& [before, after] : std::vector<std::pair<TaskId, TaskId>>{{0, 1}, {1, 2}, {2, 3}})
    graph.add_dependency(before, after);
  EXPECT_NO_THROW(graph.require_acyclic());

  graph.add_dependency(3, 1);
  graph.add_dependency(3, 4);

  EXPECT_THROW(graph.require_acyclic(), TaskError);
  EXPECT_NE(message_of<TaskError>([&] { graph.require_acyclic(); }).find("\"a\" -> \"b\" -> \"c\" -> \"a\""),
            std::string::npos);
  EXPECT_THROW(bottom_levels(graph), TaskError);
}

TEST(TaskDag, ATaskThatWaitsForItselfIsACycle) {
  TaskDag graph;
  graph.add_task("alone", "k", 1, {});
  graph.add_dependency(0, 0);
  EXPECT_NE(message_of<TaskError>([&] { graph.require_acyclic(); }).find("\"alone\" -> \"alone\""),
            std::string::npos);
}

TEST(TaskDag, WhatCannotBeIsAnError) {
  TaskDag graph;
  EXPECT_THROW(graph.add_array("a", 0), TaskError);
  EXPECT_THROW(graph.add_task("t", "k", -1, {}), TaskError);
  EXPECT_THROW(graph.add_task("t", "k", 1, {{3, in}}), TaskError);
  EXPECT_THROW(graph.add_dependency(0, 1), TaskError);
}

TEST(TiledGraph, CholeskyHasTheTasksOfTheStudy) {
  const TiledGraph tiled = tiled_graph(TiledKind::Cholesky, 60, 1920);

  EXPECT_EQ(tiled.graph.num_tasks(), 34220 + 1770 + 1770 + 60);
  EXPECT_EQ(tiled.graph.array(0).bytes, 14745600);
  double work = 0;
  for (TaskId task = 0; task < tiled.graph.num_tasks(); ++task) work += tiled.graph.task(task).work;
  EXPECT_NEAR(work, std::pow(115200.0, 3) / 3, 1e-6 * work);
}

TEST(TiledGraph, BottomLevelsOfCholeskyAreThoseOfStarPU) {
  constexpr int tiles = 7;
  const TiledGraph tiled = tiled_graph(TiledKind::Cholesky, tiles, 4);

  const std::vector<double> levels = bottom_levels(tiled.graph);

  for (TaskId task = 0; task < tiled.graph.num_tasks(); ++task) {
    const auto [k, m, n] = tiled.positions[static_cast<std::size_t>(task)];
    EXPECT_EQ(levels[static_cast<std::size_t>(task)], 3 * tiles - 2 - (k + m + n))
        << tiled.graph.task(task).label;
  }
}

TEST(TiledGraph, HasAsManyTasksAsTheLoopsSay) {
  const auto count = [](TiledKind kind) { return tiled_graph(kind, 5, 4).graph.num_tasks(); };
  EXPECT_EQ(count(TiledKind::Lu), 5 + 2 * 10 + 30);
  EXPECT_EQ(count(TiledKind::Gemm), 125);
  EXPECT_EQ(count(TiledKind::Syrk), 15 * 5);
  EXPECT_EQ(tiled_graph(TiledKind::Cholesky, 1, 4).graph.num_tasks(), 1);
  EXPECT_THROW(tiled_graph(TiledKind::Lu, 0, 4), TaskError);
  EXPECT_THROW(tiled_graph(TiledKind::Lu, 4, 0), TaskError);
}

TEST(TiledGraph, LoadsBoundOfTable1IsThatOfTheStudy) {
  EXPECT_NEAR(loads_bound(TiledKind::Cholesky, 60, 142) * 14745600 / (1 << 30), 58.6, 0.1);
}

MachineDevice device(index_t memory) { return {"device", memory, {{"*", 1e9}}}; }
const std::vector<Link> one_link{{"bus", 1e9, 0, false}};

TEST(Machine, ErrorsSayWhatIsMissing) {
  EXPECT_NE(
      message_of<TaskError>([] { Machine("m", {device(8)}, one_link, {}); }).find("no link joins the device"),
      std::string::npos);
  EXPECT_THROW(Machine("m", {}, one_link, {}), TaskError);
  EXPECT_THROW(Machine("m", {device(0)}, one_link, {{host, 0, 0}}), TaskError);
  EXPECT_THROW(Machine("m", {device(8)}, one_link, {{host, 1, 0}}), TaskError);
  EXPECT_THROW(Machine("m", {device(8)}, one_link, {{host, 0, 1}}), TaskError);
  EXPECT_THROW(Machine("m", {device(8)}, {{"bus", 0, 0, false}}, {{host, 0, 0}}), TaskError);
  EXPECT_THROW(Machine("m", {{"device", 8, {{"k", -1}}}}, one_link, {{host, 0, 0}}), TaskError);
  EXPECT_THROW(Machine("m", {device(8)}, {{"bus", 1, -1, false}}, {{host, 0, 0}}), TaskError);
  EXPECT_NE(message_of<TaskError>([] {
              Machine("m", {{"device", 8, {{"k", -1e-9}}}}, one_link, {{host, 0, 0}});
            }).find("is -1e-09"),
            std::string::npos);
}

TEST(Machine, ATaskLargerThanTheMemoryIsNamedWithItsArrays) {
  TaskDag graph;
  const ArrayId a = graph.add_array("a", 8), b = graph.add_array("b", 8);
  graph.add_task("sum", "k", 1, {{a, in}, {b, inout}});

  const std::string message = message_of<TaskError>([&] {
    Machine("m", {device(15)}, one_link, {{host, 0, 0}}).require_fit(graph);
  });

  EXPECT_NE(message.find("sum of a and b needs 16 B"), std::string::npos) << message;
  EXPECT_NO_THROW(Machine("m", {device(16)}, one_link, {{host, 0, 0}}).require_fit(graph));
  const Machine other("m", {{"device", 16, {{"x", 1}}}}, one_link, {{host, 0, 0}});
  EXPECT_NE(message_of<TaskError>([&] { other.require_fit(graph); }).find("no rate of the kernel \"k\""),
            std::string::npos);
}

TEST(Machine, IsEnoughWhereOneDeviceCanRunEachTask) {
  TaskDag graph;
  const ArrayId a = graph.add_array("a", 16);
  graph.add_task("t", "k", 6, {{a, inout}});
  graph.add_task("u", "x", 6, {{a, inout}});
  const Machine machine("m", {{"small", 8, {{"*", 1}}}, {"for k", 16, {{"k", 2}}}, {"for x", 16, {{"x", 3}}}},
                        one_link, {{host, 0, 0}, {host, 1, 0}, {host, 2, 0}});

  EXPECT_NO_THROW(machine.require_fit(graph));
  EXPECT_FALSE(machine.can_run(graph, 0, 0));
  EXPECT_TRUE(machine.can_run(graph, 0, 1));
  EXPECT_FALSE(machine.can_run(graph, 0, 2));
  EXPECT_TRUE(machine.can_run(graph, 1, 2));

  const Machine no_memory("m", {{"small", 8, {{"*", 1}}}, {"for x", 16, {{"x", 3}}}}, one_link,
                          {{host, 0, 0}, {host, 1, 0}});
  const std::string message = message_of<TaskError>([&] { no_memory.require_fit(graph); });
  EXPECT_NE(
      message.find("t of a needs 16 B at once, and the largest memory of the machine \"m\" on a device that "
                   "runs it has 8 B"),
      std::string::npos)
      << message;
}

TEST(Machine, TheFastestLinkBetweenTwoMemoriesIsUsed) {
  const Machine machine("m", {device(8), device(8)}, {{"slow", 1, 0, false}, {"fast", 2, 0.5, true}},
                        {{host, 0, 0}, {host, 1, 0}, {0, 1, 0}, {1, 0, 1}});
  EXPECT_EQ(machine.link_between(0, 1), 1);
  EXPECT_EQ(machine.link_between(1, 0), 1);
  EXPECT_DOUBLE_EQ(machine.copy_seconds(0, 1, 4), 2.5);
}

}  // namespace
