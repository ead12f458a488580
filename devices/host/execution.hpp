// HostExecution: how Serial, Threads and Tbb launch kernels: at once, on the calling thread and its helpers.
// Errors of the kernel are thrown by the launch. The launch says which device it is (LaunchInfo::host), so
// that a kernel is compiled once for all of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/runtime.hpp>
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

template <class Task>
class RecordedTask final : public RecordedStep {
 public:
  template <class... Arguments>
  RecordedTask(EventKind kind, const LaunchInfo& info, const Arguments&... arguments)
      : kind_(kind),
        label_(info.label),
        kernel_type_(info.kernel_type),
        tag_type_(info.tag_type),
        host_(info.host),
        task_(arguments...) {}
  void run(QueueState& queue) const override {
    const Capture no_views{HostSpace::kind};
    const LaunchInfo info{label_.text, kernel_type_, &queue, -1, &no_views, tag_type_, host_};
    const KernelScope scope(kind_, info, host_->name, 0, queue.id(), task_.items());
    task_(host_->runner(), info);
  }

 private:
  EventKind kind_;
  KeptLabel label_;
  const char* kernel_type_;
  const char* tag_type_;
  const HostKind* host_;
  Task task_;
};

struct HostExecution : TaskExecution<HostExecution> {
  static const char* device_name(const LaunchInfo& info) { return info.host->name; }
  template <class Task, class... Arguments>
  static void run(EventKind kind, const LaunchInfo& info, bool wait, const Arguments&... arguments) {
    require_running("a kernel launch");
    if (info.views->wrong != nullptr) [[unlikely]]
      fail_wrong_space(info, info.host->name, 0, *info.views->wrong);
    if (current_recording != nullptr) [[unlikely]]
      return record_step(info, info.queue ? *info.queue : info.host->backend().default_queue(), wait,
                         new RecordedTask<Task>(kind, info, arguments...));
    const Task task(arguments...);
    const KernelScope scope(kind, info, info.host->name, 0, info.queue ? info.queue->id() : 0, task.items());
    task(info.host->runner(), info);
  }
};

}  // namespace strata::inline STRATA_ABI::detail
