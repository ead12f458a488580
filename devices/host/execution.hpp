// HostExecution: how Serial, Threads and Tbb launch kernels: at once, on the calling thread and its helpers.
// Errors of the kernel are thrown by the launch. The launch says which device it is (LaunchInfo::host), so
// that a kernel is compiled once for all of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/host/space.hpp>
#include <strata/devices/host/task_execution.hpp>
#include <strata/devices/recording.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Runs a task of so many items, and reports it to the listeners.
void run_task(EventKind kind, const LaunchInfo& info, index_t items, TaskCall task);
/// Records it, to be done whenever the graph runs.
void record_task(EventKind kind, const LaunchInfo& info, bool wait, HeldTask task);
/// Throws RuntimeEnded or WrongDevice where a launch must not begin.
void check_host_launch(const LaunchInfo& info);

struct HostExecution : TaskExecution<HostExecution> {
  static const char* device_name(const LaunchInfo& info) { return info.host->name; }
  template <class Task, class... Arguments>
  static void run(EventKind kind, const LaunchInfo& info, bool wait, const Arguments&... arguments) {
    check_host_launch(info);
    if (current_recording != nullptr) [[unlikely]] {
      const Task* const task = new Task(arguments...);
      return record_task(kind, info, wait,
                         HeldTask({task, AnyTask<Task>::call}, AnyTask<Task>::destroy, task->items()));
    }
    const Task task(arguments...);
    run_task(kind, info, task.items(), {&task, AnyTask<Task>::call});
  }
};

}  // namespace strata::inline STRATA_ABI::detail
