// What TaskDriver does beside what schedulers decide: where arrays begin and end, updates that commute,
// several tasks at a time, devices that cannot run a task, arrays that are given up.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>

#include <gtest/gtest.h>

#include <strata/algorithms/tasks/plan/forwarding_scheduler.hpp>
#include <strata/algorithms/tasks/plan/schedulers.hpp>
#include <strata/algorithms/tasks/plan/task_driver.hpp>

namespace {

using namespace strata;
using namespace strata::tasks;
using Kind = TaskCommand::Kind;

Machine machine(std::vector<MachineDevice> devices) {
  std::vector<Joint> joints;
  for (int k = 0; k < static_cast<int>(devices.size()); ++k) joints.push_back({host, k, 0});
  return {"m", std::move(devices), {{"bus", 1e9, 0, true}}, joints};
}

// Carries out commands in their order; gives them all.
std::vector<TaskCommand> run(TaskDriver& driver) {
  std::vector<TaskCommand> all;
  std::deque<TaskCommand> running;
  driver.start();
  double now = 0;
  while (true) {
    TaskCommand command;
    while (driver.next(command)) {
      all.push_back(command);
      if (command.kind != Kind::Drop) running.push_back(command);
    }
    if (driver.is_finished()) return all;
    if (running.empty()) driver.fail_stuck();
    const TaskCommand ended = running.front();
    running.pop_front();
    driver.done(ended, now += 1);
  }
}
long count(const std::vector<TaskCommand>& commands, Kind kind) {
  return std::count_if(commands.begin(), commands.end(),
                       [&](const TaskCommand& c) { return c.kind == kind; });
}

TEST(TaskDriver, BeginsWithWhatIsOnDevicesAndLeavesIt) {
  TaskDag graph;
  const ArrayId a = graph.add_array("a", 10), b = graph.add_array("b", 10);
  graph.add_task("t", "k", 1, {{a, AccessMode::In}, {b, AccessMode::InOut}});
  const Machine one = machine({{"d", 20, {{"*", 1}}}});
  for (const std::string& name : scheduler_names()) {
    for (const TaskEnd end : {TaskEnd::OnHost, TaskEnd::InPlace}) {
      const auto scheduler = make_scheduler(name);
      TaskDriver driver(graph, one, *scheduler, end);
      driver.place(a, 0, true);
      driver.place(b, 0, false);
      const std::vector<TaskCommand> commands = run(driver);
      EXPECT_EQ(count(commands, Kind::Load), 0) << name;
      EXPECT_EQ(count(commands, Kind::Store), end == TaskEnd::OnHost ? 2 : 0) << name;
      EXPECT_EQ(driver.memory().is_dirty(b), end == TaskEnd::InPlace) << name;
    }
  }
  const auto scheduler = make_scheduler("eager");
  const Machine other = machine({{"d", 20, {{"*", 1}}}, {"small", 5, {{"*", 1}}}});
  TaskDriver driver(graph, other, *scheduler);
  EXPECT_THROW(driver.place(a, 1, false), TaskError);
}

TEST(TaskDriver, TellsWhenCopiesAreOnTheirWayAndWhenTheHostHasValues) {
  struct Watching : ForwardingScheduler {
    using ForwardingScheduler::ForwardingScheduler;
    void loading(ArrayId array, DeviceId) override { events += " loading" + std::to_string(array); }
    void loaded(ArrayId array, DeviceId device) override {
      events += " loaded" + std::to_string(array);
      ForwardingScheduler::loaded(array, device);
    }
    void stored(ArrayId array) override { events += " stored" + std::to_string(array); }
    void done(TaskId task, DeviceId device) override {
      events += " done";
      ForwardingScheduler::done(task, device);
    }
    std::string events;
  };
  TaskDag graph;
  const ArrayId a = graph.add_array("a", 10), b = graph.add_array("b", 10);
  graph.add_task("t", "k", 1, {{a, AccessMode::In}, {b, AccessMode::Out}});
  for (const bool discards : {false, true}) {
    if (discards) graph.add_release(b, true);
    Watching scheduler(make_scheduler("eager"));
    const Machine one = machine({{"d", 20, {{"*", 1}}}});
    TaskDriver driver(graph, one, scheduler);
    run(driver);
    EXPECT_EQ(scheduler.events, " loading0 loaded1 loaded0 done stored1");  // discarded: nobody lacks them
  }
}

TEST(TaskDriver, UpdatesThatCommuteRunOneAtATimeInAnyOrder) {
  for (const std::string& name : scheduler_names()) {
    TaskDag graph;
    const ArrayId sum = graph.add_array("sum", 10);
    std::vector<TaskId> updates;
    for (int k = 0; k < 6; ++k) {
      const ArrayId x = graph.add_array("x", 10);
      updates.push_back(
          graph.add_task("update", "k", 1, {{x, AccessMode::In}, {sum, AccessMode::InOut, true}}));
    }
    const TaskId last = graph.add_task("read", "k", 1, {{sum, AccessMode::In}});
    for (const TaskId update : updates) EXPECT_TRUE(graph.predecessors(update).empty());
    EXPECT_EQ(graph.predecessors(last).size(), 6u);

    const auto scheduler = make_scheduler(name);
    const Machine two = machine({{"a", 60, {{"*", 1}}, 3}, {"b", 60, {{"*", 1}}, 3}});
    TaskDriver driver(graph, two, *scheduler);
    driver.start();
    std::deque<TaskCommand> running;
    int updating = 0;
    while (!driver.is_finished()) {
      TaskCommand command;
      while (driver.next(command)) {
        if (command.kind == Kind::Drop) continue;
        if (command.kind == Kind::Run && command.task != last) {
          ASSERT_EQ(++updating, 1) << name;
        }
        running.push_back(command);
      }
      if (driver.is_finished()) break;
      ASSERT_FALSE(running.empty()) << name;
      const TaskCommand ended = running.front();
      running.pop_front();
      if (ended.kind == Kind::Run && ended.task != last) --updating;
      driver.done(ended, 0);
    }
  }
}

TEST(TaskDriver, ReadsAndWritesAfterUpdatesThatCommute) {
  TaskDag graph;
  const ArrayId a = graph.add_array("a", 1);
  const TaskId write = graph.add_task("write", "k", 1, {{a, AccessMode::Out}});
  const TaskId first = graph.add_task("first", "k", 1, {{a, AccessMode::InOut, true}});
  const TaskId second = graph.add_task("second", "k", 1, {{a, AccessMode::InOut, true}});
  const TaskId read = graph.add_task("read", "k", 1, {{a, AccessMode::In}});
  const TaskId third = graph.add_task("third", "k", 1, {{a, AccessMode::InOut, true}});
  const TaskId order = graph.add_task("order", "k", 1, {{a, AccessMode::InOut}});
  EXPECT_EQ(graph.predecessors(first), std::vector<TaskId>{write});
  EXPECT_EQ(graph.predecessors(second), std::vector<TaskId>{write});
  EXPECT_EQ(graph.predecessors(read), (std::vector<TaskId>{first, second}));
  EXPECT_EQ(graph.predecessors(third), (std::vector<TaskId>{first, second, read}));
  EXPECT_EQ(graph.predecessors(order), std::vector<TaskId>{third});
}

TEST(TaskDriver, HandsTasksToDevicesThatCanRunThem) {
  TaskDag graph;
  for (int k = 0; k < 12; ++k) {
    const ArrayId x = graph.add_array("x", k % 3 == 2 ? 20 : 10);
    graph.add_task("t", k % 3 == 0 ? "first" : k % 3 == 1 ? "second" : "both", 1, {{x, AccessMode::InOut}});
  }
  const Machine two =
      machine({{"a", 20, {{"first", 1}, {"both", 1}}}, {"b", 10, {{"second", 1}, {"both", 1}}}});
  for (const std::string& name : scheduler_names()) {
    const auto scheduler = make_scheduler(name);
    TaskDriver driver(graph, two, *scheduler);
    for (const TaskCommand& command : run(driver))
      if (command.kind == Kind::Run) {
        // The second device has too little memory for those that both have a rate of.
        EXPECT_EQ(command.device, command.task % 3 == 1 ? 1 : 0) << name;
      }
  }
}

TEST(TaskDriver, RunsAsManyTasksAsADeviceHasQueues) {
  TaskDag graph;
  for (int k = 0; k < 8; ++k) graph.add_task("t", "k", 1, {{graph.add_array("x", 1), AccessMode::InOut}});
  SchedulerOptions options;
  options.tasks_ahead = 8;
  for (const int queues : {1, 3}) {
    const auto scheduler = make_scheduler("eager", options);
    const Machine one = machine({{"d", 8, {{"*", 1}}, queues}});
    TaskDriver driver(graph, one, *scheduler);
    driver.start();
    std::deque<TaskCommand> loads, runs;
    std::size_t most = 0;
    while (!driver.is_finished()) {
      TaskCommand command;
      while (driver.next(command)) (command.kind == Kind::Run ? runs : loads).push_back(command);
      most = std::max(most, runs.size());
      std::deque<TaskCommand>& from = loads.empty() ? runs : loads;
      if (from.empty()) break;
      const TaskCommand ended = from.front();
      from.pop_front();
      driver.done(ended, 0);
    }
    EXPECT_EQ(most, static_cast<std::size_t>(queues));
  }
}

TEST(TaskDriver, GivesUpWhatIsNotUsedForAWhile) {
  for (const bool discards : {false, true}) {
    TaskDag graph;
    const ArrayId a = graph.add_array("a", 10), b = graph.add_array("b", 10);
    graph.add_task("write", "k", 1, {{a, AccessMode::Out}});
    graph.add_release(a, discards);
    graph.add_task("other", "k", 1, {{b, AccessMode::InOut}});
    const auto scheduler = make_scheduler("eager");
    const Machine one = machine({{"d", 100, {{"*", 1}}}});
    TaskDriver driver(graph, one, *scheduler, TaskEnd::InPlace);
    const std::vector<TaskCommand> commands = run(driver);
    EXPECT_EQ(count(commands, Kind::Store), discards ? 0 : 1);
    EXPECT_EQ(count(commands, Kind::Drop), 1);
    EXPECT_FALSE(driver.memory().holds(a, 0));
    EXPECT_TRUE(driver.memory().holds(b, 0));
  }
  TaskDag graph;
  EXPECT_THROW(graph.add_release(0, true), TaskError);
}

}  // namespace
