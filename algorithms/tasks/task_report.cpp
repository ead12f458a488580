// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <strata/algorithms/tasks/task_report.hpp>
#include <strata/core/bytes.hpp>

namespace strata::inline STRATA_ABI {

std::string TaskReport::text() const {
  std::string result = std::to_string(tasks) + " tasks in " + std::to_string(seconds) + " s by " + scheduler +
                       ": " + string_from_bytes(bytes_to_devices) + " to devices (" +
                       string_from_bytes(bytes_reloaded) + " again), " +
                       string_from_bytes(bytes_from_devices) + " from devices, " +
                       string_from_bytes(bytes_between_devices) + " between devices; " +
                       std::to_string(decision_seconds) + " s for decisions\n";
  for (const TaskDeviceReport& device : devices)
    result += "  " + device.device + ": " + std::to_string(device.tasks) + " tasks, " +
              string_from_bytes(device.bytes_in) + " in, " + string_from_bytes(device.bytes_out) + " out\n";
  return result;
}

TaskFailed::TaskFailed(const std::string& what, std::vector<std::string> failed_tasks,
                       std::vector<std::string> dropped_tasks, std::vector<std::string> lost_arrays)
    : Error(what),
      failed(std::move(failed_tasks)),
      dropped(std::move(dropped_tasks)),
      lost(std::move(lost_arrays)),
      num_failed(static_cast<long>(failed.size())),
      num_dropped(static_cast<long>(dropped.size())) {}

}  // namespace strata::inline STRATA_ABI
