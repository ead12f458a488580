// TaskPlan: tasks of a window, their arrays and the devices of a run, as the driver has them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <strata/algorithms/tasks/plan/machine.hpp>
#include <strata/algorithms/tasks/plan/task_graph.hpp>
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

  /// `entries` are those of `graph` in their order; what is before them and not among them is done. What
  /// tasks took is known from `costs`, or null.
  TaskPlan(TaskGraphState& graph, const std::vector<int>& entries, const std::vector<Device>& devices,
           const TaskCosts* costs);

  /// "Cuda{0}".
  static std::string name_of(const TaskPart& part);

  std::vector<int> numbers;                // in the graph, of the tasks of `tasks`
  std::vector<Ref<CoherentState>> arrays;  // those of `tasks`
  tasks::TaskDag tasks;
  std::vector<double> priorities;  // empty where no task has one
  std::unique_ptr<tasks::Machine> machine;

 private:
  void add_arrays(TaskGraphState& graph, const std::vector<int>& entries);
  void add_tasks(TaskGraphState& graph, const std::vector<int>& entries, const std::vector<Device>& devices,
                 const TaskCosts* costs);
  void make_machine(const std::string& label, const std::vector<Device>& devices);
  std::string add_kernel(const TaskEntry& entry, double work, index_t bytes,
                         const std::vector<Device>& devices, const TaskCosts* costs);

  std::unordered_map<const CoherentState*, tasks::ArrayId> ids_;
  std::vector<std::map<std::string, double>> rates_;  // of devices, by kernel
};

}  // namespace strata::inline STRATA_ABI::detail
