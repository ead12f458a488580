// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/tasks/plan/residency.hpp>

namespace strata::inline STRATA_ABI::tasks {

Residency::Residency(const TaskDag& graph, const Machine& machine)
    : graph_(graph),
      memories_(static_cast<std::size_t>(machine.num_devices())),
      copies_(static_cast<std::size_t>(graph.num_arrays()) * memories_.size()),
      host_is_valid_(static_cast<std::size_t>(graph.num_arrays()), true) {
  for (DeviceId device = 0; device < machine.num_devices(); ++device)
    memory(device).capacity = machine.device(device).memory;
}

index_t Residency::missing_bytes(TaskId task, DeviceId device) const {
  index_t bytes = 0;
  for (const TaskAccess& access : graph_.task(task).accesses)
    if (!holds(access.array, device)) bytes += graph_.array(access.array).bytes;
  return bytes;
}

}  // namespace strata::inline STRATA_ABI::tasks
