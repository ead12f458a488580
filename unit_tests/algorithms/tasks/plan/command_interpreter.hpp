// Carries out the commands of a TaskDriver in an order drawn at random among those that may end, over values
// that are numbers, and compares with the sequential program. Values are looked at when a command begins and
// when it ends: they may not change in between. After every event the memories are what admission and
// coherence promise: see check_memories.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include <strata/algorithms/tasks/plan/task_driver.hpp>

#include "core/random.hpp"

namespace strata_tests {

using strata::index_t;
using namespace strata::tasks;

using Number = std::uint64_t;

inline Number mixed(Number a, Number b) {
  return (a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdULL;
}

// What a task writes to one of its arrays.
inline Number result_of(const TaskDag& graph, TaskId task, ArrayId array,
                        const std::map<ArrayId, Number>& inputs) {
  Number value = mixed(static_cast<Number>(task), static_cast<Number>(array));
  for (const TaskAccess& access : graph.task(task).accesses)
    if (access.reads()) value = mixed(value, inputs.at(access.array));
  return value;
}

inline std::vector<Number> run_in_order(const TaskDag& graph) {
  std::vector<Number> values(static_cast<std::size_t>(graph.num_arrays()));
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = k;
  for (const TaskId task : graph.order()) {
    std::map<ArrayId, Number> inputs;
    for (const TaskAccess& access : graph.task(task).accesses)
      inputs[access.array] = values[static_cast<std::size_t>(access.array)];
    for (const TaskAccess& access : graph.task(task).accesses)
      if (access.writes())
        values[static_cast<std::size_t>(access.array)] = result_of(graph, task, access.array, inputs);
  }
  return values;
}

class CommandInterpreter {
 public:
  CommandInterpreter(const TaskDag& graph, const Machine& machine, TaskScheduler& scheduler, Random& draw)
      : graph_(graph),
        machine_(machine),
        driver_(graph, machine, scheduler),
        draw_(draw),
        is_done_(static_cast<std::size_t>(graph.num_tasks())) {
    for (ArrayId array = 0; array < graph.num_arrays(); ++array) {
      values_[{array, host}] = static_cast<Number>(array);
      current_.push_back(static_cast<Number>(array));
    }
  }

  void run() {
    driver_.start();
    double now = 0;
    while (!testing::Test::HasFatalFailure()) {
      TaskCommand command;
      while (driver_.next(command)) begin(command);
      check_memories();
      if (driver_.is_finished()) break;
      if (running_.empty()) driver_.fail_stuck();
      const auto at = running_.begin() + draw_(0, static_cast<index_t>(running_.size()) - 1);
      const Running ended = *at;
      running_.erase(at);
      end(ended);
      driver_.done(ended.command, now += 1);
    }
  }
  std::vector<Number> host_values() const {
    std::vector<Number> values;
    for (ArrayId array = 0; array < graph_.num_arrays(); ++array) values.push_back(values_.at({array, host}));
    return values;
  }
  const TaskDriver& driver() const { return driver_; }

 private:
  using Kind = TaskCommand::Kind;
  struct Running {
    TaskCommand command;
    std::map<ArrayId, Number> seen;
  };

  std::map<ArrayId, Number> look(const TaskCommand& command) const {
    std::map<ArrayId, Number> seen;
    if (command.kind == Kind::Load) seen[command.array] = values_.at({command.array, command.source});
    if (command.kind == Kind::Store) seen[command.array] = values_.at({command.array, command.device});
    if (command.kind == Kind::Run)
      for (const TaskAccess& access : graph_.task(command.task).accesses)
        if (access.reads()) seen[access.array] = values_.at({access.array, command.device});
    return seen;
  }
  void begin(const TaskCommand& command) {
    if (command.kind == Kind::Drop) {
      values_.erase({command.array, command.device});
      return;
    }
    if (command.kind == Kind::Run) {
      ASSERT_TRUE(machine_.can_run(graph_, command.task, command.device)) << graph_.describe(command.task);
      for (const TaskId before : graph_.predecessors(command.task))
        ASSERT_TRUE(is_done_[static_cast<std::size_t>(before)]) << graph_.describe(command.task);
      for (const Running& other : running_)
        ASSERT_FALSE(other.command.kind == Kind::Run && other.command.device == command.device)
            << "two tasks at once";
    } else if (command.kind == Kind::Load) {
      ASSERT_NE(machine_.link_between(command.source, command.device), none);
    }
    const std::map<ArrayId, Number> seen = look(command);
    for (const auto& [array, value] : seen)
      ASSERT_EQ(value, current_[static_cast<std::size_t>(array)])
          << "old values of " << graph_.array(array).label << " are read";
    running_.push_back({command, seen});
  }
  void end(const Running& running) {
    const TaskCommand& command = running.command;
    // A copy from the host that nobody needs any more may see the host change.
    if (command.kind != Kind::Load || command.source != host) {
      ASSERT_EQ(look(command), running.seen) << "what a command reads has changed";
    }
    if (command.kind == Kind::Load) values_[{command.array, command.device}] = running.seen.at(command.array);
    if (command.kind == Kind::Store) values_[{command.array, host}] = running.seen.at(command.array);
    if (command.kind != Kind::Run) return;
    is_done_[static_cast<std::size_t>(command.task)] = true;
    for (const TaskAccess& access : graph_.task(command.task).accesses)
      if (access.writes())
        values_[{access.array, command.device}] = current_[static_cast<std::size_t>(access.array)] =
            result_of(graph_, command.task, access.array, running.seen);
  }

  // A memory is as full as the copies in it, and never fuller than it is large; what is pinned adds up, and
  // has all arrays of running tasks; and of every array there is a copy with its values, on the host unless
  // it is dirty, unless a task is about to overwrite it.
  void check_memories() const {
    const Residency& memory = driver_.memory();
    for (DeviceId device = 0; device < machine_.num_devices(); ++device) {
      index_t used = 0, pinned = 0;
      for (ArrayId array = 0; array < graph_.num_arrays(); ++array) {
        if (memory.holds(array, device) || is_leaving(array, device)) used += graph_.array(array).bytes;
        if (memory.is_pinned(array, device)) pinned += graph_.array(array).bytes;
      }
      ASSERT_EQ(memory.capacity(device) - memory.free(device), used);
      ASSERT_EQ(memory.pinned(device), pinned);
      ASSERT_LE(used, memory.capacity(device));
      ASSERT_LE(pinned, memory.capacity(device));
    }
    for (const Running& running : running_)
      if (running.command.kind == Kind::Run)
        for (const TaskAccess& access : graph_.task(running.command.task).accesses) {
          ASSERT_TRUE(memory.is_pinned(access.array, running.command.device) &&
                      memory.is_present(access.array, running.command.device))
              << graph_.describe(running.command.task) << " runs without "
              << graph_.array(access.array).label;
        }
    for (ArrayId array = 0; array < graph_.num_arrays(); ++array) check_values(array);
  }
  void check_values(ArrayId array) const {
    const Residency& memory = driver_.memory();
    const Number current = current_[static_cast<std::size_t>(array)];
    bool is_somewhere = !memory.is_dirty(array);
    if (is_somewhere) {
      ASSERT_EQ(values_.at({array, host}), current) << graph_.array(array).label;
    }
    for (DeviceId device = 0; device < machine_.num_devices(); ++device) {
      if (!memory.is_present(array, device) && !is_leaving(array, device)) continue;
      const auto value = values_.find({array, device});
      const bool is_current = value != values_.end() && value->second == current;
      is_somewhere = is_somewhere || is_current;
      if (memory.is_present(array, device) && !is_overwritten(array)) {
        ASSERT_TRUE(is_current) << graph_.array(array).label << " is there with old values";
      }
    }
    ASSERT_TRUE(is_somewhere || is_overwritten(array)) << graph_.array(array).label << " is lost";
  }
  // The values go on, and the room is not free yet: it is being stored, or its load is of no use any more.
  bool is_leaving(ArrayId array, DeviceId device) const {
    if (driver_.memory().holds(array, device)) return false;
    return std::any_of(running_.begin(), running_.end(), [&](const Running& running) {
      return running.command.array == array && running.command.device == device;
    });
  }
  // A task that is next to use it writes all of it.
  bool is_overwritten(ArrayId array) const {
    for (const TaskId task : graph_.users(array)) {
      if (is_done_[static_cast<std::size_t>(task)]) continue;
      const std::vector<TaskId>& before = graph_.predecessors(task);
      if (!std::all_of(before.begin(), before.end(),
                       [&](TaskId other) { return is_done_[static_cast<std::size_t>(other)]; }))
        continue;
      for (const TaskAccess& access : graph_.task(task).accesses)
        if (access.array == array && !access.reads()) return true;
    }
    return false;
  }

  const TaskDag& graph_;
  const Machine& machine_;
  TaskDriver driver_;
  Random& draw_;
  std::vector<bool> is_done_;    // of tasks
  std::vector<Number> current_;  // of arrays: what the last task that was done wrote
  std::map<std::pair<ArrayId, DeviceId>, Number> values_;
  std::vector<Running> running_;
};

}  // namespace strata_tests
