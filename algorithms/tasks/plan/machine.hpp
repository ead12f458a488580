// Machine: devices with their memories and rates, and the links over which arrays go. What schedulers
// estimate with, and what the simulator runs on; data only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include <strata/algorithms/tasks/plan/task_dag.hpp>

namespace strata::inline STRATA_ABI::tasks {

using DeviceId = int;  ///< of a machine, from 0

/// In place of a device: the memory in which all arrays begin and end.
inline constexpr DeviceId host = -1;

/// What runs tasks.
struct MachineDevice {
  std::string name;                     ///< for reports and errors
  index_t memory = 0;                   ///< bytes for arrays
  std::map<std::string, double> rates;  ///< work per second, by kernel; of the kernel "*": of all others
  int queues = 1;                       ///< tasks that it is given at a time
  /// Whether those run one after the other, as large kernels of a GPU do; else at once, each at its rate.
  bool runs_in_turn = false;
};

/// What copies share: one after the other, or where it is duplex, one each way.
struct Link {
  std::string name;             ///< for reports
  double bytes_per_second = 0;  ///< each way, where it is duplex
  double latency = 0;           ///< seconds that a copy takes beside its bytes
  bool duplex = true;           ///< copies go both ways at a time
};

/// A link joins two memories, each a device or the host.
struct Joint {
  DeviceId first;   ///< one of the two
  DeviceId second;  ///< the other
  int link;         ///< of the machine's links
};

/// See the head of the file.
class Machine {
 public:
  /// A machine of several links between two memories uses the fastest. TaskError where a number is no rate,
  /// size or device, and where a device is not joined to the host.
  Machine(std::string name, std::vector<MachineDevice> devices, std::vector<Link> links,
          std::vector<Joint> joints);

  /// For reports and errors.
  const std::string& name() const { return name_; }
  /// Devices are numbered from 0 to this.
  int num_devices() const { return static_cast<int>(devices_.size()); }
  /// One of them.
  const MachineDevice& device(DeviceId device) const { return devices_[static_cast<std::size_t>(device)]; }
  /// In the order in which they were given.
  const std::vector<Link>& links() const { return links_; }
  /// The link over which arrays go from one memory to another; none where there is none.
  int link_between(DeviceId from, DeviceId to) const {
    return routes_[index_of(from) * (devices_.size() + 1) + index_of(to)];
  }
  /// Of a copy that has the link for itself. The two are joined.
  double copy_seconds(DeviceId from, DeviceId to, index_t bytes) const;
  /// Whether a device has a rate of the task's kernel, and memory for all that the task uses.
  bool can_run(const TaskDag& graph, TaskId task, DeviceId device) const;
  /// Of a task on a device; where that has no rate of its kernel, on the fastest that has one. TaskError
  /// where none has.
  double run_seconds(const TaskDag& graph, TaskId task, DeviceId device) const;

  /// TaskError where no device can run a task: its arrays do not fit a memory, or its kernel has no rate.
  void require_fit(const TaskDag& graph) const;

 private:
  std::size_t index_of(DeviceId device) const { return static_cast<std::size_t>(device + 1); }

  std::string name_;
  std::vector<MachineDevice> devices_;
  std::vector<Link> links_;
  std::vector<int> routes_;  // link of each pair of memories, the host first
};

}  // namespace strata::inline STRATA_ABI::tasks
