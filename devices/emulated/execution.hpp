// How kernels are enqueued on emulated instances.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/runtime.hpp>
#include <strata/devices/emulated/access.hpp>
#include <strata/devices/host/task_execution.hpp>

namespace strata::inline STRATA_ABI {

/// Memory of emulated instances: views hold addresses that fault; workers add a thread-local offset.
struct EmulatedSpace {
  /// As the concept MemorySpace asks for.
  static constexpr char kind[] = "Emulated";
  static constexpr bool host_accessible = false;

  /// The address that this thread may touch: on workers of the instance.
  template <class T>
  [[nodiscard]] STRATA_FUNCTION static T* resolve(T* address) {
#if defined(__CUDA_ARCH__)
    return address;
#else
    return detail::emulated_resolve(address);
#endif
  }
};

namespace detail {

/// Enqueues a kernel where `info` says or its views live. Throws WrongDevice. With `wait` returns when the
/// queue is done, throwing its error.
void enqueue_emulated(EventKind kind, const LaunchInfo& info, HeldTask kernel, bool wait);

struct EmulatedExecution : TaskExecution<EmulatedExecution> {
  static const char* device_name(const LaunchInfo&) { return "Emulated"; }
  template <class Task, class... Arguments>
  static void run(EventKind kind, const LaunchInfo& info, bool wait, const Arguments&... arguments) {
    require_running("a kernel launch");
    const Task* const task = new Task(arguments...);
    enqueue_emulated(kind, info, HeldTask({task, AnyTask<Task>::call}, AnyTask<Task>::destroy, task->items()),
                     wait);
  }
};

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
