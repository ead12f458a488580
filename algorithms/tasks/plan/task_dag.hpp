// TaskDag: tasks, the arrays that they use, and which task waits for which.
//
//   TaskDag graph;
//   const ArrayId a = graph.add_array("a", 1_MiB), b = graph.add_array("b", 1_MiB);
//   graph.add_task("fill a", "fill", 1e6, {{a, AccessMode::Out}});
//   graph.add_task("b += a", "add", 1e6, {{a, AccessMode::In}, {b, AccessMode::InOut}});  // waits for "fill
//   a"
//
// Tasks are added in the order of a sequential program, which the graph keeps: a task waits for the last one
// before it that writes what it reads or writes, and for those that read what it writes. So the graph of
// accesses has no cycle. Dependencies that are added one by one may have: require_acyclic() finds it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include <strata/algorithms/tasks/plan/task_error.hpp>
#include <strata/core/access_mode.hpp>

namespace strata::inline STRATA_ABI::tasks {

using TaskId = int;    ///< of a graph, in program order from 0
using ArrayId = int;   ///< of a graph, from 0
using KernelId = int;  ///< of a graph: which tasks have the same rate

/// No task, or no array.
inline constexpr int none = -1;

/// How a task uses an array.
struct TaskAccess {
  ArrayId array;    ///< of the graph
  AccessMode mode;  ///< of all of it
  bool commutes =
      false;  ///< InOut: the order among updates that commute is free, but they exclude each other

  /// What was in it is needed.
  bool reads() const { return mode != AccessMode::Out; }
  /// There are other values in it after.
  bool writes() const { return mode != AccessMode::In; }
};

/// What is moved and held as a whole.
struct TaskArray {
  std::string label;      ///< for reports and errors
  index_t bytes;          ///< at least 1
  bool by_parts = false;  ///< see TaskDag::add_array
};

/// A piece of work, run on one device while all that it uses is there.
struct Task {
  std::string label;  ///< for reports and errors
  KernelId kernel;    ///< of the graph's kernels
  double work;        ///< in the unit of the rates of devices: floating-point operations, mostly
  std::vector<TaskAccess> accesses;  ///< each array once
  index_t bytes = 0;                 ///< of all that it uses
};

/// Not thread safe while it grows.
class TaskDag {
 public:
  /// TaskError for fewer than 1 byte. Tasks use it as a whole; `by_parts`: only parts of it, so that their
  /// dependencies are given one by one, and devices may have different parts of it. Then who carries out the
  /// run copies the parts that a task needs before it runs; a load only means that there is memory.
  ArrayId add_array(std::string label, index_t bytes, bool by_parts = false);
  /// A task after all those before it with which its accesses conflict. An array that is named several times
  /// is used in all these modes, and then does not commute. TaskError for an unknown array, and for work that
  /// is no number of at least 0.
  TaskId add_task(std::string label, const std::string& kernel, double work,
                  const std::vector<TaskAccess>& accesses);
  /// After all tasks so far that use the array devices give it up: its values go to the host where that lacks
  /// them, or with `discards` nowhere, as nobody needs them. A hint: where a copy is in use just then, it
  /// stays. TaskError for an unknown array.
  void add_release(ArrayId array, bool discards);
  /// `after` waits for `before`, whatever they use. TaskError for unknown tasks.
  void add_dependency(TaskId before, TaskId after);
  /// TaskError that names the tasks of a cycle.
  void require_acyclic() const;

  /// Tasks are numbered from 0 to this.
  int num_tasks() const { return static_cast<int>(tasks_.size()); }
  /// Arrays are numbered from 0 to this.
  int num_arrays() const { return static_cast<int>(arrays_.size()); }
  /// One of them.
  const Task& task(TaskId task) const { return tasks_[static_cast<std::size_t>(task)]; }
  /// One of them.
  const TaskArray& array(ArrayId array) const { return arrays_[static_cast<std::size_t>(array)].array; }
  /// What a task waits for.
  const std::vector<TaskId>& predecessors(TaskId task) const {
    return predecessors_[static_cast<std::size_t>(task)];
  }
  /// What waits for a task.
  const std::vector<TaskId>& successors(TaskId task) const {
    return successors_[static_cast<std::size_t>(task)];
  }
  /// The tasks that use an array, in program order.
  const std::vector<TaskId>& users(ArrayId array) const {
    return arrays_[static_cast<std::size_t>(array)].users;
  }
  /// When devices give up an array.
  struct Release {
    int uses;       ///< of the array's users, so many are before it
    bool discards;  ///< the values are not needed
  };
  /// Of an array, in program order.
  const std::vector<Release>& releases(ArrayId array) const {
    return arrays_[static_cast<std::size_t>(array)].releases;
  }
  /// Their names, in the order in which they came.
  const std::vector<std::string>& kernels() const { return kernels_; }

  /// Of all that a task uses.
  index_t bytes_of(TaskId task) const { return this->task(task).bytes; }
  /// "gemm(2,1,0) of A(2,1), A(2,0) and A(1,0)".
  std::string describe(TaskId task) const;
  /// A topological order: of the tasks that can be next always the first in program order. Those of cycles
  /// are left out.
  std::vector<TaskId> order() const;

 private:
  struct ArrayUses {
    TaskArray array;
    std::vector<TaskId> users;
    std::vector<TaskId> writers;  // the last one, or the last updates that commute
    std::vector<TaskId> readers;  // since then
    std::vector<TaskId> before;   // of updates that commute: what each of them waits for
    bool commutes = false;        // the last writers
    std::vector<Release> releases;
  };

  std::vector<ArrayUses> arrays_;
  std::vector<Task> tasks_;
  std::vector<std::string> kernels_;
  std::unordered_map<std::string, KernelId> kernel_ids_;
  std::vector<std::vector<TaskId>> predecessors_, successors_;
  std::vector<TaskId> before_;  // of add_task()
  bool is_in_order_ = true;     // every task waits for earlier ones only
};

/// How many tasks are on the longest path from each task to the end, itself among them: the priorities of
/// most schedulers. TaskError for a cycle.
std::vector<double> bottom_levels(const TaskDag& graph);

}  // namespace strata::inline STRATA_ABI::tasks
