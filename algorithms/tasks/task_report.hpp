// What came of a run of a graph of tasks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/core/config.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI {

/// A device's share of a run.
struct TaskDeviceReport {
  std::string device;     ///< "Cuda{0}"
  long tasks = 0;         ///< that it ran
  index_t bytes_in = 0;   ///< copied to it, from the host and other devices
  index_t bytes_out = 0;  ///< copied from it to the host
};

/// What came of a run of a graph of tasks.
struct TaskReport {
  std::string scheduler;                  ///< its name
  double seconds = 0;                     ///< from the begin of the run to its end
  long tasks = 0;                         ///< that ran
  index_t bytes_to_devices = 0;           ///< from the host
  index_t bytes_from_devices = 0;         ///< to the host
  index_t bytes_between_devices = 0;      ///< from one to another
  index_t bytes_reloaded = 0;             ///< of copies to devices that had held the array before
  double decision_seconds = 0;            ///< in the scheduler and the driver, which asks it
  std::vector<TaskDeviceReport> devices;  ///< in the order of the place

  /// For people: several lines.
  std::string text() const;
};

/// Tasks failed. What they and the tasks that depend on them were to write is unchanged, or lost; what()
/// names these tasks and arrays. All other tasks ran.
class TaskFailed : public Error {
 public:
  /// Labels of tasks, and of arrays whose values are lost.
  TaskFailed(const std::string& what, std::vector<std::string> failed_tasks,
             std::vector<std::string> dropped_tasks, std::vector<std::string> lost_arrays);

  std::vector<std::string> failed;   ///< tasks, in the order in which they failed
  std::vector<std::string> dropped;  ///< tasks that depend on these, and did not run
  std::vector<std::string> lost;  ///< arrays to be written anew before they are read; not those that are gone
  long num_failed;   ///< how many failed: of a scope `failed` has the first 1000, or options.window if more
  long num_dropped;  ///< the same of `dropped`
};

}  // namespace strata::inline STRATA_ABI
