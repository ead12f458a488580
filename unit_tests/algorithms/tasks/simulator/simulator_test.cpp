// The clock of the simulator on runs that can be reckoned by hand, and the figures of the paper and the study
// on the study's model of a V100.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "algorithms/tasks/simulator/v100.hpp"

namespace {

using namespace strata_tests;

constexpr AccessMode in = AccessMode::In, inout = AccessMode::InOut;

TEST(Simulator, CopiesOverASharedLinkFollowEachOtherAndOverlapWithTasks) {
  TaskDag graph;
  const ArrayId a = graph.add_array("a", 10), b = graph.add_array("b", 10);
  graph.add_task("on a", "k", 5, {{a, inout}});
  graph.add_task("on b", "k", 5, {{b, inout}});
  for (const bool duplex : {false, true}) {
    const Machine machine("m", {{"d", 20, {{"*", 1}}}}, {{"bus", 10, 0.5, duplex}}, {{host, 0, 0}});
    const auto scheduler = make_scheduler("eager");

    const Simulation result = simulate(graph, machine, *scheduler, true);

    // Loads end at 1.5 and 3, tasks at 6.5 and 11.5; what was written goes home as soon as it is: at 13 the
    // last.
    EXPECT_DOUBLE_EQ(result.seconds, 13);
    EXPECT_EQ(result.order, (std::vector<TaskId>{0, 1}));
    EXPECT_EQ(result.traffic.to_devices, 20);
    EXPECT_EQ(result.traffic.from_devices, 20);
    EXPECT_EQ(result.traffic.reloads, 0);
    EXPECT_DOUBLE_EQ(result.busy_seconds[0], 10);
    EXPECT_DOUBLE_EQ(result.links[0].busy_seconds, 6);
    EXPECT_EQ(result.steps.size(), 6u);
  }
}

TEST(Simulator, TasksOfADeviceRunAtOnceOrInTurn) {
  TaskDag graph;
  for (const char* label : {"a", "b", "c"})
    graph.add_task(label, "k", 5, {{graph.add_array(label, 10), AccessMode::Out}});
  for (const bool in_turn : {false, true}) {
    const Machine machine("m", {{"d", 30, {{"*", 1}}, 2, in_turn}}, {{"bus", 1e9, 0, true}}, {{host, 0, 0}});
    const auto scheduler = make_scheduler("eager", {{}, 3});

    // Two at a time: 5 s, and 5 for the third one; or one after the other.
    EXPECT_NEAR(simulate(graph, machine, *scheduler).seconds, in_turn ? 15 : 10, 1e-6);
  }
}

TEST(Simulator, VictimsThatWereWrittenGoHomeFirst) {
  TaskDag graph;
  const ArrayId a = graph.add_array("a", 10), b = graph.add_array("b", 10);
  graph.add_task("on a", "k", 1, {{a, inout}});
  graph.add_task("on b", "k", 1, {{b, inout}});
  graph.add_task("on a again", "k", 1, {{a, in}});
  const Machine machine("m", {{"d", 10, {{"*", 1}}}}, {{"bus", 10, 0, true}}, {{host, 0, 0}});

  const Simulation result = simulate(graph, machine, *make_scheduler("eager"));

  // b: load, run, store; a: the same before, and load and run after.
  EXPECT_DOUBLE_EQ(result.seconds, 8);
  EXPECT_EQ(result.traffic.reloads, 10);
  EXPECT_EQ(result.traffic.to_devices, 30);
  EXPECT_EQ(result.traffic.from_devices, 20);
}

TEST(Simulator, BoundsAreThoseOfWorkPathAndLinks) {
  TaskDag graph;
  const ArrayId a = graph.add_array("a", 10), b = graph.add_array("b", 30);
  graph.add_task("make", "k", 4, {{a, AccessMode::Out}});
  graph.add_task("use", "k", 6, {{a, in}, {b, inout}});
  const auto bounds_on = [&](bool duplex) {
    return bounds_of(graph, Machine("m", {{"d", 40, {{"*", 1}}}, {"e", 40, {{"*", 2}}}},
                                    {{"bus", 10, 0, duplex}}, {{host, 0, 0}, {host, 1, 0}}));
  };
  EXPECT_DOUBLE_EQ(bounds_on(true).work_seconds, 2.5);
  EXPECT_DOUBLE_EQ(bounds_on(true).path_seconds, 5);
  EXPECT_EQ(bounds_on(true).bytes_in, 30);
  EXPECT_EQ(bounds_on(true).bytes_out, 40);
  EXPECT_DOUBLE_EQ(bounds_on(true).link_seconds, 4);
  EXPECT_DOUBLE_EQ(bounds_on(false).link_seconds, 7);
}

Simulation cholesky(int tiles, const std::string& scheduler, bool parsec = false) {
  const TiledGraph tiled = tiled_graph(TiledKind::Cholesky, tiles, 1920);
  SchedulerOptions options;
  if (parsec) options.priorities = parsec_priorities(tiled);
  return run(tiled.graph, v100(), scheduler, options);
}

// GiB to the device within `tolerance` of what the study has.
void expect_loads(const Simulation& result, double gib_of_study, double tolerance) {
  EXPECT_NEAR(gib_in(result), gib_of_study, tolerance * gib_of_study);
}

class PaperTable1 : public LargeSimulations {};

// Each row of the study's table: GiB to the device and back.
TEST_F(PaperTable1, LwsLoadsAndStoresWhatTheStudyHas) {
  struct Row {
    int tiles;
    double loads, stores;
  };
  for (const auto& [tiles, loads, stores] :
       {Row{20, 14.1, 2.9}, {30, 109.7, 6.4}, {40, 382.8, 110}, {50, 808, 256}, {60, 1440, 472}}) {
    const Simulation result = cholesky(tiles, "lws");
    expect_loads(result, loads, 0.02);
    EXPECT_NEAR(static_cast<double>(result.traffic.from_devices) / gib, stores, 0.02 * stores) << tiles;
  }
}
TEST_F(PaperTable1, DmdasMovesWhatTheStudyHasByBothPriorities) {
  struct Row {
    int tiles;
    double loads, stores, seconds;
  };
  for (const auto& [tiles, loads, stores, seconds] : {Row{20, 14.0, 2.9, 1.913},
                                                      {30, 83.6, 6.4, 8.551},
                                                      {40, 234, 11.3, 22.624},
                                                      {60, 889, 25.1, 82.923}}) {
    const Simulation result = cholesky(tiles, "dmdas", true);
    expect_loads(result, loads, tiles == 20 ? 0.10 : 0.03);
    EXPECT_NEAR(static_cast<double>(result.traffic.from_devices) / gib, stores, 0.02 * stores) << tiles;
    EXPECT_NEAR(result.seconds, seconds, 0.06 * seconds) << tiles;
  }
  expect_loads(cholesky(60, "dmdas"), 1590, 0.04);
}
TEST_F(PaperTable1, EagerWithPrefetchMovesWhatTheStudyHas) {
  for (const auto& [tiles, loads] : {std::pair(20, 4.9), {30, 35.9}, {40, 110.7}, {50, 243.0}})
    expect_loads(cholesky(tiles, "eager-prefetch"), loads, 0.08);
  expect_loads(cholesky(60, "eager-prefetch"), 447, 0.03);
}
TEST_F(PaperTable1, DartsMovesWhatTheStudyHas) {
  for (const auto& [tiles, loads] : {std::pair(40, 52.9), {50, 115.5}, {60, 201.1}})
    expect_loads(cholesky(tiles, "darts"), loads, 0.10);
  EXPECT_NEAR(cholesky(60, "darts").seconds, 37.59, 0.05 * 37.59);
}
TEST_F(PaperTable1, DartsCorrectedMoves231GiB) { expect_loads(cholesky(60, "darts-corrected"), 231, 0.10); }
TEST_F(PaperTable1, EvictionAloneIsWorthATwofoldOfWhatDartsLoads) {
  const Simulation lru = cholesky(60, "darts-lru");
  expect_loads(lru, 399, 0.13);
  EXPECT_GE(gib_in(lru), 1.7 * gib_in(cholesky(60, "darts")));
}
TEST_F(PaperTable1, TheWorkBoundIsThatOfTheStudy) {
  const TiledGraph tiled = tiled_graph(TiledKind::Cholesky, 60, 1920);
  const TaskBounds bounds = bounds_of(tiled.graph, v100());
  EXPECT_NEAR(bounds.seconds(), 35.98, 0.01);
  EXPECT_NEAR(static_cast<double>(bounds.bytes_in) / gib, 25.1, 0.1);
  EXPECT_NEAR(bounds.seconds() * 12e9 / gib, 403, 0.01 * 403);  // the paper's bus limit
}
TEST(Simulator, NothingIsPrefetchedForTasksThatHaveRun) {
  for (const char* name : {"eager-prefetch", "dmda", "dmdas"}) {
    const TiledGraph tiled = tiled_graph(TiledKind::Cholesky, 20, 1920);
    const Simulation result = simulate(tiled.graph, v100(), *make_scheduler(name), true);
    std::vector<double> last_use(static_cast<std::size_t>(tiled.graph.num_arrays()));
    for (const SimulatedStep& step : result.steps)
      if (step.command.kind == TaskCommand::Kind::Run)
        for (const TaskAccess& access : tiled.graph.task(step.command.task).accesses)
          last_use[static_cast<std::size_t>(access.array)] = step.begin;
    for (const SimulatedStep& step : result.steps)
      if (step.command.kind == TaskCommand::Kind::Load) {
        EXPECT_LE(step.end, last_use[static_cast<std::size_t>(step.command.array)])
            << name << " loads " << tiled.graph.array(step.command.array).label << " for nobody";
      }
  }
}

TEST(Simulator, WhatIsExpectedBeforeARunIsWhatItTakes) {
  const TaskDag graph = tiled_graph(TiledKind::Cholesky, 10, 1920).graph;
  const Machine machine = v100(2, 30 * tile_bytes, true);
  const Residency memory(graph, machine);
  const double now = 0;
  for (const std::string& name : scheduler_names()) {
    const ExpectedRun expected = expected_run({graph, machine, memory, now}, *make_scheduler(name));
    EXPECT_EQ(expected.seconds, run(graph, machine, name).seconds) << name;
    EXPECT_EQ(expected.num_tasks, graph.num_tasks());
    EXPECT_EQ(expected.part_ends.size(), ExpectedRun::num_parts);
  }
}
TEST(Simulator, ExpectedRunsAreGivenUpWhereTheyAreSlower) {
  const TaskDag graph = tiled_graph(TiledKind::Cholesky, 20, 1920).graph;
  const Machine machine = v100(1, 30 * tile_bytes, true);
  const Residency memory(graph, machine);
  const double now = 0;
  const SchedulerView view{graph, machine, memory, now};
  const ExpectedRun fast = expected_run(view, *make_scheduler("data-aware"));
  const ExpectedRun slow = expected_run(view, *make_scheduler("lws"));
  ASSERT_GT(slow.seconds, 1.5 * fast.seconds);
  const ExpectedRun until_later = expected_run(view, *make_scheduler("lws"), &fast);
  const ExpectedRun in_race = expected_run(view, *make_scheduler("lws"), &fast, true);
  EXPECT_TRUE(std::isinf(until_later.seconds));
  EXPECT_TRUE(std::isinf(in_race.seconds));
  EXPECT_LT(until_later.num_tasks, slow.num_tasks);
  EXPECT_LT(in_race.num_tasks, until_later.num_tasks);
  EXPECT_GE(in_race.num_tasks, graph.num_tasks() / 4);
  EXPECT_EQ(expected_run(view, *make_scheduler("data-aware"), &slow, true).seconds, fast.seconds);
}
TEST(Simulator, SchedulersThatPassOnChangeNothing) {
  const TaskDag graph = tiled_graph(TiledKind::Lu, 8, 1920).graph;
  const Machine machine = v100(3, 20 * tile_bytes, true);
  for (const std::string& name : scheduler_names()) {
    const auto other = make_scheduler(name);
    ForwardingScheduler referring(*other), owning(make_scheduler(name));
    const std::vector<TaskId> order = run(graph, machine, name).order;
    EXPECT_EQ(simulate(graph, machine, referring).order, order) << name;
    EXPECT_EQ(simulate(graph, machine, owning).order, order) << name;
  }
}
TEST(Simulator, DecisionsAreMeasuredByEitherClock) {
  const TaskDag graph = tiled_graph(TiledKind::Cholesky, 20, 1920).graph;
  for (const DecisionClock clock : {DecisionClock::Wall, DecisionClock::Processor}) {
    const auto scheduler = make_scheduler("data-aware");
    const Simulation result = simulate(graph, v100(), *scheduler, false, clock);
    EXPECT_GT(result.decision_seconds, 0);
    EXPECT_LT(result.longest_decisions, result.decision_seconds);
  }
}
TEST(Simulator, ReadyTasksAreCountedUntilTheyAreAssigned) {
  EXPECT_EQ(run(tiled_graph(TiledKind::Gemm, 5, 1920).graph, v100(), "data-aware").most_ready, 25);
  EXPECT_EQ(cholesky(1, "eager").most_ready, 1);
}
TEST(Simulator, TheSameRunGivesTheSameResult) {
  for (const std::string& name : scheduler_names()) {
    const Simulation first = cholesky(14, name), second = cholesky(14, name);
    EXPECT_EQ(first.order, second.order) << name;
    EXPECT_EQ(first.seconds, second.seconds) << name;
    const TaskDag graph = tiled_graph(TiledKind::Cholesky, 10, 1920).graph;
    EXPECT_EQ(run(graph, v100(3, 25 * tile_bytes), name).order,
              run(graph, v100(3, 25 * tile_bytes), name).order)
        << name;
  }
}

// The fewer tasks a device knows of, the less the Ready rule finds in them.
TEST(Simulator, JitterChangesEachDurationAndIsTheSameBySeed) {
  TaskDag graph;
  for (int k = 0; k < 1000; ++k)
    graph.add_task(std::to_string(k), "k", 1, {{graph.add_array(std::to_string(k), 10), inout}});
  const Machine machine("m", {{"d", 10000, {{"*", 1}}}}, {{"bus", 10, 0, true}}, {{host, 0, 0}});
  const auto seconds_of = [&](const Jitter& jitter) {
    std::vector<double> seconds;
    for (const SimulatedStep& step :
         simulate(graph, machine, *make_scheduler("eager"), true, DecisionClock::Wall, jitter).steps)
      seconds.push_back(step.end - step.begin);  // 1 without jitter
    return seconds;
  };

  const std::vector<double> drawn = seconds_of({0.25, 1});

  EXPECT_EQ(drawn, seconds_of({0.25, 1}));
  EXPECT_NE(drawn, seconds_of({0.25, 2}));
  EXPECT_NE(drawn, seconds_of({0.25, 1 + (std::uint64_t{1} << 32)}));
  EXPECT_NE(drawn, seconds_of({0.25, 1 + (std::uint64_t{1} << 63)}));
  const auto [least, most] = std::minmax_element(drawn.begin(), drawn.end());
  EXPECT_NEAR(*least, 0.75, 1e-3);
  EXPECT_NEAR(*most, 1.25, 1e-3);
  EXPECT_NEAR(std::accumulate(drawn.begin(), drawn.end(), 0.0), static_cast<double>(drawn.size()), 30);
  EXPECT_THROW(seconds_of({1, 1}), TaskError);
}

TEST(Simulator, EagerPrefetchLoadsMoreWhereDevicesTakeFewerTasksAhead) {
  const TaskDag graph = tiled_graph(TiledKind::Lu, 25, 1920).graph;
  const Machine machine = v100(2, index_t{1000} << 20, true);
  SchedulerOptions options;
  const double many = gib_in(run(graph, machine, "eager-prefetch"));
  options.tasks_queued = 2;
  const double few = gib_in(run(graph, machine, "eager-prefetch", options));
  EXPECT_GT(few, 1.7 * many);
  options.tasks_queued = 1000;
  EXPECT_EQ(gib_in(run(graph, machine, "eager-prefetch", options)), many);
}
// What docs/scheduling.md says of its trace: nearly all that it loads are tiles that are still updated, less
// than one for each task, so that no more than these could come from a queue without a bound.
TEST(Simulator, DmdaLoadsMostlyTilesThatAreStillUpdated) {
  const TaskDag graph = tiled_graph(TiledKind::Cholesky, 40, 1920).graph;
  const auto scheduler = make_scheduler("dmda");
  const Simulation result = simulate(graph, v100(), *scheduler, true);
  std::vector<double> last_update(static_cast<std::size_t>(graph.num_arrays()));
  for (const SimulatedStep& step : result.steps)
    if (step.command.kind == TaskCommand::Kind::Run)
      for (const TaskAccess& access : graph.task(step.command.task).accesses)
        if (access.writes()) last_update[static_cast<std::size_t>(access.array)] = step.end;
  double updated = 0, finished = 0;
  for (const SimulatedStep& step : result.steps)
    if (step.command.kind == TaskCommand::Kind::Load)
      ++(step.begin < last_update[static_cast<std::size_t>(step.command.array)] ? updated : finished);
  EXPECT_NEAR(updated / (updated + finished), 0.89, 0.02);
  EXPECT_NEAR(updated / graph.num_tasks(), 0.59, 0.02);
}

}  // namespace
