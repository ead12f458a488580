// HostExecution: how Serial, Threads and Tbb launch kernels: at once, on the calling thread and its helpers.
// Errors of the kernel are thrown by the launch. `Device` names the device and gives `runner()`.
#pragma once

#include <strata/core/runtime.hpp>
#include <strata/devices/host_space.hpp>
#include <strata/devices/task_execution.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class Device>
struct HostExecution : TaskExecution<HostExecution<Device>> {
  template <class Task, class... Arguments>
  static void run(EventKind kind, const LaunchInfo& info, bool /*wait*/, const Arguments&... arguments) {
    require_running("a kernel launch");
    const Task task(arguments...);
    if (info.views->wrong != nullptr) [[unlikely]]
      fail_wrong_space(info, Device::name, 0, *info.views->wrong);
    const KernelScope scope(kind, info, Device::name, 0, info.queue ? info.queue->id() : 0, task.items());
    task(Device::runner(), info);
  }
};

}  // namespace strata::inline STRATA_ABI::detail
