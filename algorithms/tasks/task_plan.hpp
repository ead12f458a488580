// TaskPlan: tasks of a window, their arrays and the devices of a run, as the driver has them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <strata/algorithms/tasks/plan/machine.hpp>
#include <strata/algorithms/tasks/plan/task_dag.hpp>
#include <strata/algorithms/tasks/task_costs.hpp>
#include <strata/algorithms/tasks/task_graph_state.hpp>

namespace strata::inline STRATA_ABI::detail {

struct TaskPlan {
  /// What runs tasks: as the driver's devices, in this order.
  struct Device {
    TaskPart part;
    index_t memory;  // bytes for arrays
    int queues;      // tasks at a time
  };

  /// An entry, and its number in the graph.
  struct Entry {
    TaskEntry* entry;
    int number;
  };

  /// `entries` are those of a graph in their order; what is before them and not among them is done. What
  /// tasks took is known from `costs`, or null.
  TaskPlan(const std::string& label, const std::vector<Entry>& entries, const std::vector<Device>& devices,
           const TaskCosts* costs);

  /// "Cuda{0}".
  static std::string name_of(const TaskPart& part);

  std::vector<Entry> sources;              // of the tasks of `tasks`
  std::vector<Ref<CoherentState>> arrays;  // those of `tasks`
  tasks::TaskDag tasks;
  std::vector<double> priorities;  // empty where no task has one
  std::unique_ptr<tasks::Machine> machine;

 private:
  // Tasks of one label and so many bytes.
  struct KernelKey {
    std::string_view label;
    index_t bytes;
    bool operator==(const KernelKey&) const = default;
  };
  struct HashOfKernel {
    std::size_t operator()(const KernelKey& key) const {
      return std::hash<std::string_view>()(key.label) * 31 + static_cast<std::size_t>(key.bytes);
    }
  };
  struct Kernel {
    std::vector<bool> versions;  // of devices
    bool has_work;               // which the program says; else its bytes count
    std::string name;
  };

  void add_arrays(const std::vector<Entry>& entries);
  void add_tasks(const std::vector<Entry>& entries, const std::vector<Device>& devices,
                 const TaskCosts* costs);
  void make_machine(const std::string& label, const std::vector<Device>& devices);
  const std::string& kernel_of(const TaskEntry& entry, double work, index_t bytes,
                               const std::vector<Device>& devices, const TaskCosts* costs);

  std::vector<tasks::ArrayId> ids_;                   // of all uses of all entries, one after the other
  std::vector<std::map<std::string, double>> rates_;  // of devices, by kernel
  std::unordered_map<KernelKey, std::vector<Kernel>, HashOfKernel> kernels_;
  std::vector<bool> versions_;  // of a task
};

}  // namespace strata::inline STRATA_ABI::detail
