// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <strata/core/runtime.hpp>
#include <strata/devices/host/execution.hpp>
#include <strata/devices/recording.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

/// The label of a launch that is done again later.
struct KeptLabel {
  char text[64] = {};
  explicit KeptLabel(const char* label) {
    for (int k = 0; k < 63 && label[k] != 0; ++k) text[k] = label[k];
  }
};

/// A launch that is done again later.
class RecordedLaunch final : public RecordedStep {
 public:
  RecordedLaunch(EventKind kind, const LaunchInfo& info, HeldTask&& task)
      : kind_(kind),
        label_(info.label),
        kernel_type_(info.kernel_type),
        tag_type_(info.tag_type),
        host_(info.host),
        task_(std::move(task)) {}
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
  HeldTask task_;
};

}  // namespace

void run_task(EventKind kind, const LaunchInfo& info, index_t items, TaskCall task) {
  const KernelScope scope(kind, info, info.host->name, 0, info.queue ? info.queue->id() : 0, items);
  task.call(task.task, info.host->runner(), info);
}

void record_task(EventKind kind, const LaunchInfo& info, bool wait, HeldTask task) {
  record_step(info, info.queue ? *info.queue : info.host->backend().default_queue(), wait,
              new RecordedLaunch(kind, info, std::move(task)));
}

void check_host_launch(const LaunchInfo& info) {
  require_running("a kernel launch");
  if (info.views->wrong != nullptr) [[unlikely]]
    fail_wrong_space(info, info.host->name, 0, *info.views->wrong);
}

}  // namespace strata::inline STRATA_ABI::detail
