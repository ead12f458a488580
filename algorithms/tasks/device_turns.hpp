// DeviceTurns: runs of graphs of tasks on one device take turns, as each plans with all of its budget.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <strata/algorithms/tasks/task_place.hpp>

namespace strata::inline STRATA_ABI::detail {

class DeviceTurns {
 public:
  /// Of the parts that are no hosts. Nothing is taken yet.
  explicit DeviceTurns(const std::vector<TaskPart>& parts);
  ~DeviceTurns();
  DeviceTurns(const DeviceTurns&) = delete;
  DeviceTurns& operator=(const DeviceTurns&) = delete;

  /// Waits until all devices are free. All take them in one order, so that none waits for one that waits for
  /// it.
  void take();
  void give_back();

  /// Devices for which anybody takes turns now.
  static std::size_t num_known();

 private:
  std::vector<std::shared_ptr<std::mutex>> turns_;  // in the order of the devices
  bool has_them_ = false;
};

}  // namespace strata::inline STRATA_ABI::detail
