// What TaskDriver does with decisions of its scheduler that concern several memories: stores ahead of need,
// and copies from where an array comes soonest.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <strata/algorithms/tasks/plan/task_driver.hpp>

#include "messages.hpp"

namespace strata_tests {

namespace {

using namespace strata::tasks;
using strata::AccessMode;
using strata::index_t;
using Kind = TaskCommand::Kind;

// Gives each ready task to the device that the test says, and stores and evicts what it says.
struct ByHand final : TaskScheduler {
  std::vector<std::pair<TaskId, DeviceId>> places;
  ArrayId to_store = none;
  std::vector<ArrayId> to_evict;
  std::vector<bool> is_ready;

  void start(const SchedulerView& view) override {
    is_ready.resize(static_cast<std::size_t>(view.graph.num_tasks()));
  }
  void ready(TaskId task, DeviceId) override { is_ready[static_cast<std::size_t>(task)] = true; }
  TaskId assign(DeviceId device) override {
    for (const auto& [task, place] : places)
      if (place == device && is_ready[static_cast<std::size_t>(task)]) {
        is_ready[static_cast<std::size_t>(task)] = false;
        return task;
      }
    return none;
  }
  bool sends_on() const override { return true; }
  ArrayId store(DeviceId) override { return std::exchange(to_store, none); }
  void victims(const RoomRequest&, std::vector<ArrayId>& chosen) override { chosen = to_evict; }
};

std::vector<TaskCommand> commands_of(TaskDriver& driver) {
  std::vector<TaskCommand> commands;
  for (TaskCommand command; driver.next(command);)
    if (command.kind != Kind::Drop) commands.push_back(command);
  return commands;
}

TEST(TaskDriver, WhatWasStoredAheadStaysUsableAndLeavesAtOnce) {
  TaskDag graph;
  const ArrayId a = graph.add_array("a", 8), b = graph.add_array("b", 8);
  graph.add_task("write a", "k", 1, {{a, AccessMode::InOut}});
  graph.add_task("use b", "k", 1, {{b, AccessMode::In}});
  graph.add_dependency(0, 1);
  const Machine machine("m", {{"gpu", 8, {{"*", 1}}}}, {{"bus", 1, 0, false}}, {{host, 0, 0}});
  ByHand scheduler;
  scheduler.places = {{0, 0}, {1, 0}};
  TaskDriver driver(graph, machine, scheduler);
  driver.start();
  driver.done(commands_of(driver).at(0), 1);  // a is there
  const TaskCommand write = commands_of(driver).at(0);

  scheduler.to_store = a;
  driver.done(write, 2);
  const std::vector<TaskCommand> ahead = commands_of(driver);
  ASSERT_EQ(ahead.size(), 1u);
  EXPECT_EQ(ahead[0].kind, Kind::Store);
  EXPECT_TRUE(driver.memory().is_present(a, 0));
  EXPECT_FALSE(driver.memory().is_evictable(a, 0));

  scheduler.to_evict = {a};
  driver.done(ahead[0], 3);
  const std::vector<TaskCommand> next = commands_of(driver);
  ASSERT_EQ(next.size(), 1u);  // no store
  EXPECT_EQ(next[0].kind, Kind::Load);
  EXPECT_EQ(next[0].array, b);
}

TEST(TaskDriver, StoresOfWhatADeviceHasNotAreAnError) {
  TaskDag graph;
  graph.add_array("a", 8);
  graph.add_task("write a", "k", 1, {{0, AccessMode::InOut}});
  const Machine machine("m", {{"gpu", 8, {{"*", 1}}}}, {{"bus", 1, 0, false}}, {{host, 0, 0}});
  ByHand scheduler;
  scheduler.to_store = 0;
  TaskDriver driver(graph, machine, scheduler);
  EXPECT_NE(message_of<TaskError>([&] { driver.start(); }).find("stores from the device \"gpu\" a, of which"),
            std::string::npos);
}

TEST(TaskDriver, AnArrayComesFromANearDeviceToWhichItIsOnItsWay) {
  TaskDag graph;
  const ArrayId a = graph.add_array("a", 8);
  graph.add_task("first", "k", 1, {{a, AccessMode::In}});
  graph.add_task("second", "k", 1, {{a, AccessMode::In}});
  for (const double peer : {4.0, 0.5}) {
    const Machine machine("m", {{"d", 8, {{"*", 1}}}, {"e", 8, {{"*", 1}}}},
                          {{"bus", 1, 0, false}, {"peer", peer, 0, true}},
                          {{host, 0, 0}, {host, 1, 0}, {0, 1, 1}});
    ByHand scheduler;
    scheduler.places = {{0, 0}, {1, 1}};
    TaskDriver driver(graph, machine, scheduler);
    driver.start();
    const std::vector<TaskCommand> first = commands_of(driver);
    if (peer < 1) {  // slower than the host
      EXPECT_EQ(first.size(), 2u);
      continue;
    }
    ASSERT_EQ(first.size(), 1u);
    EXPECT_EQ(first[0].device, 0);
    driver.done(first[0], 8);
    const std::vector<TaskCommand> next = commands_of(driver);
    const auto load = std::find_if(next.begin(), next.end(),
                                   [](const TaskCommand& command) { return command.kind == Kind::Load; });
    ASSERT_NE(load, next.end());
    EXPECT_EQ(load->device, 1);
    EXPECT_EQ(load->source, 0);
  }
}

TEST(TaskDriver, AnArrayGoesOverADeviceThatIsNearToBothRatherThanOverTheSharedLink) {
  TaskDag graph;
  const ArrayId a = graph.add_array("a", 8);
  graph.add_task("write", "k", 1, {{a, AccessMode::InOut}});
  graph.add_task("read", "k", 1, {{a, AccessMode::In}});
  const MachineDevice device{"d", 8, {{"*", 1}}};
  const Machine machine("m", {device, device, device}, {{"bus", 1, 0, false}, {"near", 4, 0, true}},
                        {{host, 0, 0}, {host, 1, 0}, {host, 2, 0}, {0, 2, 0}, {0, 1, 1}, {1, 2, 1}});
  ByHand scheduler;
  scheduler.places = {{0, 0}, {1, 2}};
  TaskDriver driver(graph, machine, scheduler);
  driver.start();
  driver.done(commands_of(driver).at(0), 1);
  driver.done(commands_of(driver).at(0), 2);  // written on device 0

  const std::vector<TaskCommand> first = commands_of(driver);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(std::pair(first[0].source, first[0].device), std::pair(0, 1));
  driver.done(first[0], 3);
  const std::vector<TaskCommand> second = commands_of(driver);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(std::pair(second[0].source, second[0].device), std::pair(1, 2));
}

}  // namespace

}  // namespace strata_tests
