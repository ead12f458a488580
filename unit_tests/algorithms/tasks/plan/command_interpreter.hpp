// Carries out the commands of a TaskDriver in an order drawn at random among those that may end, over values
// that are numbers, and compares with the sequential program. Values are looked at when a command begins and
// when it ends: they may not change in between.
#pragma once

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
inline Number result_of(const TaskGraph& graph, TaskId task, ArrayId array,
                        const std::map<ArrayId, Number>& inputs) {
  Number value = mixed(static_cast<Number>(task), static_cast<Number>(array));
  for (const TaskAccess& access : graph.task(task).accesses)
    if (access.reads()) value = mixed(value, inputs.at(access.array));
  return value;
}

inline std::vector<Number> run_in_order(const TaskGraph& graph) {
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
  CommandInterpreter(const TaskGraph& graph, const Machine& machine, TaskScheduler& scheduler, Random& draw)
      : graph_(graph), machine_(machine), driver_(graph, machine, scheduler), draw_(draw) {
    for (ArrayId array = 0; array < graph.num_arrays(); ++array)
      values_[{array, host}] = static_cast<Number>(array);
  }

  void run() {
    driver_.start();
    double now = 0;
    while (true) {
      TaskCommand command;
      while (driver_.next(command)) begin(command);
      check_room();
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
      for (const TaskAccess& access : graph_.task(command.task).accesses)
        ASSERT_TRUE(driver_.memory().is_present(access.array, command.device))
            << graph_.describe(command.task);
      for (const Running& other : running_)
        ASSERT_FALSE(other.command.kind == Kind::Run && other.command.device == command.device)
            << "two tasks at once";
    } else if (command.kind == Kind::Load) {
      ASSERT_NE(machine_.link_between(command.source, command.device), none);
    }
    running_.push_back({command, look(command)});
  }
  void end(const Running& running) {
    const TaskCommand& command = running.command;
    // A copy from the host that nobody needs any more may see the host change.
    if (command.kind != Kind::Load || command.source != host) {
      ASSERT_EQ(look(command), running.seen) << "what a command reads has changed";
    }
    if (command.kind == Kind::Load) values_[{command.array, command.device}] = running.seen.at(command.array);
    if (command.kind == Kind::Store) values_[{command.array, host}] = running.seen.at(command.array);
    if (command.kind == Kind::Run)
      for (const TaskAccess& access : graph_.task(command.task).accesses)
        if (access.writes())
          values_[{access.array, command.device}] =
              result_of(graph_, command.task, access.array, running.seen);
  }
  void check_room() const {
    for (DeviceId device = 0; device < machine_.num_devices(); ++device) {
      ASSERT_GE(driver_.memory().free(device), 0);
      ASSERT_LE(driver_.memory().pinned(device), driver_.memory().capacity(device));
      index_t held = 0;
      for (ArrayId array = 0; array < graph_.num_arrays(); ++array)
        if (driver_.memory().holds(array, device)) held += graph_.array(array).bytes;
      ASSERT_LE(held, driver_.memory().capacity(device));
    }
  }

  const TaskGraph& graph_;
  const Machine& machine_;
  TaskDriver driver_;
  Random& draw_;
  std::map<std::pair<ArrayId, DeviceId>, Number> values_;
  std::vector<Running> running_;
};

}  // namespace strata_tests
