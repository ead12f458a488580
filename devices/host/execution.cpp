// SPDX-License-Identifier: Apache-2.0
#include <strata/core/runtime.hpp>
#include <strata/devices/host/execution.hpp>

namespace strata::inline STRATA_ABI::detail {

void RecordedLaunch::run(QueueState& queue) const {
  const Capture no_views{HostSpace::kind};
  const LaunchInfo info{label_.text, kernel_type_, &queue, -1, &no_views, tag_type_, host_};
  const KernelScope scope(kind_, info, host_->name, 0, queue.id(), items());
  call(host_->runner(), info);
}

void run_task(EventKind kind, const LaunchInfo& info, index_t items, TaskCall task) {
  const KernelScope scope(kind, info, info.host->name, 0, info.queue ? info.queue->id() : 0, items);
  task.call(task.task, info.host->runner(), info);
}

void check_host_launch(const LaunchInfo& info) {
  require_running("a kernel launch");
  if (info.views->wrong != nullptr) [[unlikely]]
    fail_wrong_space(info, info.host->name, 0, *info.views->wrong);
}

}  // namespace strata::inline STRATA_ABI::detail
