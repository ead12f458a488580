// HostExecution: how Serial, Threads and Tbb launch kernels: at once, on the calling thread and its helpers.
// Errors of the kernel are thrown by the launch. The launch says which device it is (LaunchInfo::host), so
// that a kernel is compiled once for all of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/host/space.hpp>
#include <strata/devices/host/task_execution.hpp>
#include <strata/devices/recording.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The label of a launch that is done again later.
struct KeptLabel {
  char text[64] = {};
  explicit KeptLabel(const char* label) {
    for (int k = 0; k < 63 && label[k] != 0; ++k) text[k] = label[k];
  }
};

/// A launch that is done again later; what is the same for all tasks.
class RecordedLaunch : public RecordedStep {
 public:
  RecordedLaunch(EventKind kind, const LaunchInfo& info)
      : kind_(kind),
        label_(info.label),
        kernel_type_(info.kernel_type),
        tag_type_(info.tag_type),
        host_(info.host) {}
  void run(QueueState& queue) const final;

 private:
  virtual index_t items() const = 0;
  virtual void call(const Runner& runner, const LaunchInfo& info) const = 0;

  EventKind kind_;
  KeptLabel label_;
  const char* kernel_type_;
  const char* tag_type_;
  const HostKind* host_;
};
template <class Task>
class RecordedTask final : public RecordedLaunch {
 public:
  template <class... Arguments>
  RecordedTask(EventKind kind, const LaunchInfo& info, const Arguments&... arguments)
      : RecordedLaunch(kind, info), task_(arguments...) {}

 private:
  index_t items() const override { return task_.items(); }
  void call(const Runner& runner, const LaunchInfo& info) const override { task_(runner, info); }

  Task task_;
};

/// A task of any type, for the call.
struct TaskCall {
  const void* task;
  void (*call)(const void* task, const Runner& runner, const LaunchInfo& info);
};
/// Runs a task of so many items, and reports it to the listeners.
void run_task(EventKind kind, const LaunchInfo& info, index_t items, TaskCall task);
/// Throws RuntimeEnded or WrongDevice where a launch must not begin.
void check_host_launch(const LaunchInfo& info);

struct HostExecution : TaskExecution<HostExecution> {
  static const char* device_name(const LaunchInfo& info) { return info.host->name; }
  template <class Task, class... Arguments>
  static void run(EventKind kind, const LaunchInfo& info, bool wait, const Arguments&... arguments) {
    check_host_launch(info);
    if (current_recording != nullptr) [[unlikely]]
      return record_step(info, info.queue ? *info.queue : info.host->backend().default_queue(), wait,
                         new RecordedTask<Task>(kind, info, arguments...));
    const Task task(arguments...);
    run_task(kind, info, task.items(),
             {&task, [](const void* of, const Runner& runner, const LaunchInfo& launch) {
                (*static_cast<const Task*>(of))(runner, launch);
              }});
  }
};

}  // namespace strata::inline STRATA_ABI::detail
