// TaskRunOptions: how tasks are run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <type_traits>

#include <strata/core/config.hpp>
#include <strata/core/function.hpp>

namespace strata::inline STRATA_ABI {

class TaskCosts;  // task_costs.hpp
namespace tasks {
class TaskScheduler;  // plan/scheduler.hpp
struct SchedulerOptions;
}  // namespace tasks

/// How a graph or a scope is run.
struct TaskRunOptions {
  std::string scheduler = "data-aware";  ///< one of tasks::scheduler_names()
  /// In place of `scheduler`: makes a scheduler of your own by `new`; the run deletes it.
  detail::Function<tasks::TaskScheduler*(const tasks::SchedulerOptions&)> make_scheduler = {};
  /// Tasks that a scheduler sees at a time: those before them are done first. In a scope also how many more
  /// may be pending.
  int window = 20000;
  int queues = 4;  ///< tasks that run at a time on a device that works asynchronously
  /// Bytes that hosts of the place may hold of arrays in files, which are read ahead of their tasks and
  /// written back; 0: the operating system decides. Arrays that are not in files count, and stay in memory.
  /// With a bound, arrays in files that tasks on devices use are in host memory only while on a device, whose
  /// budget bounds them.
  index_t host_memory = 0;
  TaskCosts* costs = nullptr;  ///< what tasks took before, and where this run's times are added
  /// A file for strata-simulate: the tasks that ran, those of a scope, too, and what they took, by `costs` or
  /// else by this run; written in the end, unless tasks failed. Empty: none. It takes memory for all tasks.
  std::string json = {};
  double watchdog_seconds =
      60;                ///< if no task or copy ends for so long, stderr lists those under way; 0: never
  bool on_host = false;  ///< whether the host gets all values in the end; else they stay where they are
  /// On Emulated devices alone: what ends sooner in their virtual time ends sooner for the run, as in a
  /// simulation. A graph then runs in the same way each time, and more slowly.
  bool in_virtual_time = false;

  /// Runs by copies of a scheduler of the program's own.
  template <class Scheduler>
  requires std::is_base_of_v<tasks::TaskScheduler, Scheduler>
  void set_scheduler(const Scheduler& its) {
    constexpr bool can_be_copied = std::is_copy_constructible_v<Scheduler>;
    static_assert(can_be_copied,
                  "strata: TaskGraph, TaskScope: a scheduler that is given as an object is copied, once for "
                  "each window: make its class copyable, or give options.make_scheduler");
    if constexpr (can_be_copied)
      make_scheduler = [its](const tasks::SchedulerOptions&) -> tasks::TaskScheduler* {
        return new Scheduler(its);
      };
  }
};

}  // namespace strata::inline STRATA_ABI
