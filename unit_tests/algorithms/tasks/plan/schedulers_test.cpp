// All schedulers over graphs and machines drawn at random, their commands carried out in any order; and
// schedulers that do what they may not.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>
#include <optional>

#include <gtest/gtest.h>

#include <strata/algorithms/tasks/plan/schedulers.hpp>

#include "algorithms/tasks/plan/command_interpreter.hpp"
#include "algorithms/tasks/plan/drawn_graphs.hpp"
#include "algorithms/tasks/plan/drawn_scheduler.hpp"
#include "messages.hpp"

namespace strata_tests {

namespace {

void check(const TaskDag& graph, const Machine& machine, TaskScheduler& scheduler, Random& draw) {
  CommandInterpreter interpreter(graph, machine, scheduler, draw);
  ASSERT_NO_THROW(interpreter.run());
  ASSERT_EQ(interpreter.host_values(), run_in_order(graph));
  ASSERT_EQ(interpreter.driver().order().size(), static_cast<std::size_t>(graph.num_tasks()));
}

// Those that do not give a device what it cannot run.
bool knows_rates(const std::string& name) {
  for (const char* one : {"lws", "lfq", "dmda", "dmdas", "ap", "drawn"})
    if (name == one) return true;
  return false;
}

void check_drawn(int count) {
  Random draw;
  std::vector<std::string> names = scheduler_names();
  names.push_back("drawn");
  for (int k = 0; k < count && !testing::Test::HasFailure(); ++k) {
    const std::string& name = names[static_cast<std::size_t>(k) % names.size()];
    const TaskDag graph = drawn_graph(draw);
    const Machine machine = drawn_machine(draw, graph, knows_rates(name) && draw(0, 1) == 1);
    SchedulerOptions options;
    if (draw(0, 2) == 0) options.tasks_ahead = static_cast<int>(draw(1, 6));
    if (draw(0, 2) == 0)
      for (TaskId task = 0; task < graph.num_tasks(); ++task)
        options.priorities.push_back(static_cast<double>(draw(-3, 3)));
    SCOPED_TRACE(name + ", trial " + std::to_string(k));
    if (name != "drawn") check(graph, machine, *make_scheduler(name, options), draw);
    else {
      DrawnScheduler scheduler(static_cast<std::uint64_t>(draw(0, 1 << 30)));
      check(graph, machine, scheduler, draw);
    }
  }
}

TEST(Schedulers, EveryOrderOfTheirCommandsComputesWhatTheProgramDoes) { check_drawn(trials(800)); }
TEST(SchedulersSlow, EveryOrderOfTheirCommandsComputesWhatTheProgramDoes) { check_drawn(trials(100000)); }

TEST(Schedulers, UnknownNamesAreListed) {
  EXPECT_NE(
      message_of<TaskError>([] { make_scheduler("fifo"); }).find("there are eager, eager-prefetch, lws"),
      std::string::npos);
}

TEST(Schedulers, PrioritiesAreThoseOfAllTasks) {
  TaskDag graph;
  graph.add_task("t", "k", 1, {});
  const Machine machine("m", {{"d", 8, {{"*", 1}}}}, {{"bus", 1, 0, false}}, {{host, 0, 0}});
  const auto message = [&](const std::vector<double>& priorities) {
    const auto scheduler = make_scheduler("dmdas", {priorities, 0});
    TaskDriver driver(graph, machine, *scheduler);
    return message_of<TaskError>([&] { driver.start(); });
  };
  EXPECT_NE(message({1, 2}).find("2 priorities for 1 tasks"), std::string::npos);
  EXPECT_NE(message({std::nan("")}).find("the priority of the task t is not a number"), std::string::npos);
}

// What no task writes any more is stored before the end, but not where values stay on devices.
TEST(Schedulers, StoreFinishedArraysOnlyWhereTheHostIsToHaveThem) {
  TaskDag graph;
  const ArrayId a = graph.add_array("a", 8), b = graph.add_array("b", 8);
  graph.add_task("first", "k", 1, {{a, AccessMode::InOut}});
  graph.add_task("second", "k", 1, {{b, AccessMode::InOut}});
  const Machine machine("m", {{"d", 16, {{"*", 1}}}}, {{"bus", 1, 0, false}}, {{host, 0, 0}});
  for (const TaskEnd end : {TaskEnd::OnHost, TaskEnd::InPlace})
    for (const std::string& name : scheduler_names()) {
      if (name == "data-aware") continue;  // plans for memories that are short
      const auto scheduler = make_scheduler(name);
      TaskDriver driver(graph, machine, *scheduler, end);
      driver.start();
      std::vector<TaskCommand> running;
      bool is_stored_early = false;
      while (!driver.is_finished()) {
        for (TaskCommand command; driver.next(command);) {
          if (command.kind == TaskCommand::Kind::Drop) continue;
          is_stored_early |= command.kind == TaskCommand::Kind::Store && driver.order().size() < 2;
          running.push_back(command);
        }
        const TaskCommand first = running.front();
        running.erase(running.begin());
        driver.done(first, 0);
      }
      EXPECT_EQ(is_stored_early, end == TaskEnd::OnHost) << name;
      EXPECT_EQ(driver.traffic().from_devices, end == TaskEnd::OnHost ? 16 : 0) << name;
    }
}

// Two arrays of 8 bytes, a memory of 8: a task for each, and one that waits for the first; a third array that
// no task uses and no memory holds.
class WrongSchedulers : public testing::Test {
 protected:
  // Decides by the functions that it is given.
  struct Scripted : TaskScheduler {
    std::function<TaskId()> on_assign;
    std::function<void(std::vector<ArrayId>&)> on_victims;
    std::function<ArrayId()> on_prefetch;
    int ahead = 2;
    std::vector<TaskId> is_ready;
    std::optional<SchedulerView> view;
    void start(const SchedulerView& given) override { view.emplace(given); }
    void ready(TaskId task, DeviceId) override { is_ready.push_back(task); }
    TaskId assign(DeviceId) override { return on_assign(); }
    ArrayId prefetch(DeviceId) override { return on_prefetch ? on_prefetch() : none; }
    int tasks_ahead(DeviceId) const override { return ahead; }
    void victims(const RoomRequest&, std::vector<ArrayId>& chosen) override {
      if (on_victims) on_victims(chosen);
    }
    TaskId next() {
      if (is_ready.empty()) return none;
      const TaskId task = is_ready.front();
      is_ready.erase(is_ready.begin());
      return task;
    }
  };
  WrongSchedulers() {
    const ArrayId a = graph_.add_array("a", 8), b = graph_.add_array("b", 8);
    graph_.add_array("large", 9);
    graph_.add_task("first", "k", 1, {{a, AccessMode::InOut}});
    graph_.add_task("second", "k", 1, {{a, AccessMode::In}});
    graph_.add_task("other", "k", 1, {{b, AccessMode::InOut}});
  }
  std::string message(Scripted& scheduler) {
    return message_of<TaskError>([&] { CommandInterpreter(graph_, machine_, scheduler, draw_).run(); });
  }

  TaskDag graph_;
  Machine machine_{"m", {{"gpu", 8, {{"*", 1}}}}, {{"bus", 1, 0, false}}, {{host, 0, 0}}};
  Random draw_;
};

TEST_F(WrongSchedulers, OneThatNeverAssignsIsStoppedWithTheTasksThatWait) {
  Scripted scheduler;
  scheduler.on_assign = [] { return none; };
  EXPECT_EQ(message(scheduler),
            "the run stands still after 0 of 3 tasks; all devices are idle, and 2 tasks are ready: first of "
            "a; other of b. "
            "assign() has to return each task that ready() named");
}

TEST_F(WrongSchedulers, OneThatAssignsTwiceIsStopped) {
  Scripted scheduler;
  scheduler.on_assign = [] { return 0; };
  EXPECT_NE(message(scheduler).find("assigns first of a a second time"), std::string::npos);
}

TEST_F(WrongSchedulers, OneThatAssignsTooEarlyIsStopped) {
  Scripted scheduler;
  scheduler.on_assign = [] { return 1; };
  EXPECT_NE(message(scheduler).find("assigns second of a before first of a is done"), std::string::npos);
  scheduler.on_assign = [] { return 7; };
  EXPECT_NE(message(scheduler).find("task number 7"), std::string::npos);
}

TEST_F(WrongSchedulers, OneWithoutVictimsIsStoppedWithTheArraysThatHaveNoRoom) {
  Scripted scheduler;
  scheduler.on_assign = [&] { return scheduler.next(); };
  const std::string text = message(scheduler);
  EXPECT_NE(
      text.find(
          "the device \"gpu\" has no room for b, which the task other of b needs: victims() has to name 8 B"),
      std::string::npos)
      << text;
}

TEST_F(WrongSchedulers, VictimsThatAreNotThereAreAnError) {
  Scripted scheduler;
  scheduler.on_assign = [&] { return scheduler.next(); };
  scheduler.on_victims = [](std::vector<ArrayId>& chosen) { chosen.push_back(1); };
  EXPECT_NE(message(scheduler).find("names as a victim on the device \"gpu\" b, which is not there"),
            std::string::npos);
}

TEST_F(WrongSchedulers, AVictimThatIsNamedTwiceIsAnError) {
  Scripted scheduler;
  scheduler.on_assign = [&] { return scheduler.next(); };
  scheduler.on_victims = [](std::vector<ArrayId>& chosen) { chosen = {0, 0}; };
  EXPECT_NE(
      message(scheduler).find("names as a victim on the device \"gpu\" a, which is not there or in use"),
      std::string::npos);
}

TEST_F(WrongSchedulers, OneWithoutAWindowIsToldSo) {
  Scripted scheduler;
  scheduler.on_assign = [&] { return scheduler.next(); };
  scheduler.ahead = 0;
  EXPECT_NE(message(scheduler).find(
                "first of a; other of b. tasks_ahead() has to be 1 at least, and is less for the "
                "devices gpu"),
            std::string::npos);
}

TEST_F(WrongSchedulers, OneThatPrefetchesWhatIsThereWithoutEndIsStopped) {
  Scripted scheduler;
  scheduler.on_assign = [] { return none; };
  scheduler.on_prefetch = [] { return 1; };
  EXPECT_NE(message(scheduler).find("prefetches b to the device \"gpu\" again and again"), std::string::npos);
}

TEST_F(WrongSchedulers, OneThatOnlyPrefetchesIsStoppedWithTheTasksThatWait) {
  Scripted scheduler;
  int count = 0;
  scheduler.on_assign = [] { return none; };
  scheduler.on_prefetch = [&] {  // a and b in turn, each when the other one is there
    return scheduler.view->memory.is_present(count % 2, 0) || count == 0 ? ++count % 2 : none;
  };
  scheduler.on_victims = [&](std::vector<ArrayId>& chosen) {
    for (const ArrayId array : {0, 1})
      if (scheduler.view->memory.is_evictable(array, 0)) chosen.push_back(array);
  };
  EXPECT_NE(
      message(scheduler).find("the run stands still after 0 of 3 tasks; all devices are idle, and 2 tasks "
                              "are ready: first of a; other of b"),
      std::string::npos);
  EXPECT_GT(count, 2);
}

TEST_F(WrongSchedulers, WhatCannotBePrefetchedIsNamed) {
  Scripted scheduler;
  scheduler.on_assign = [] { return none; };
  scheduler.on_prefetch = [] { return 2; };
  EXPECT_NE(message(scheduler).find("prefetches large, which has 9 B, to the device \"gpu\", which has 8 B"),
            std::string::npos);
  scheduler.on_prefetch = [] { return 3; };
  EXPECT_NE(message(scheduler).find("prefetches the array number 3 of a graph that has 3"),
            std::string::npos);
}

}  // namespace

}  // namespace strata_tests
