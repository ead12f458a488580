// OutputPackages: which arrays a device writes next, all of them while they stay in its memory. A package is
// grown around the most urgent ready task so that few arrays have to be loaded beside it for many tasks.
//
// The arrays that the next task of each output reads, its front, are the vertices of a graph, and outputs
// join them: in a product the output (m, n) joins row m of one factor with column n of the other, in a
// symmetric one two rows. A package is a set of vertices and the outputs among them: each vertex costs one
// load for each step of the inner loop, each output gives one task. Always taking the vertex that adds most
// outputs makes squares of products, and triangles where factors are shared, without knowing either.
//
// Only outputs are taken that can be finished: whatever their tasks wait for is done, in the package, or in
// that of another device. So each output is loaded and stored once.
#pragma once

#include <set>
#include <vector>

#include <strata/algorithms/tasks/plan/lru_scheduler.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

/// See the head of the file. A task belongs to the first array that it writes; tasks that write nothing to
/// none.
class OutputPackages {
 public:
  void start(const SchedulerView& view);
  /// A task that no package has is ready.
  void add_ready(const PriorityEntry& task) { ready_.insert(task); }
  void done(TaskId task) { is_done_[static_cast<std::size_t>(task)] = true; }

  /// Takes outputs of at most `bytes`, but at least one, for `device`, and returns their tasks in program
  /// order; none where no task is ready.
  std::vector<TaskId> take(DeviceId device, index_t bytes);
  /// The device whose package has a task; none: no package has.
  DeviceId device_of(TaskId task) const { return devices_[static_cast<std::size_t>(task)]; }
  /// The array to which a task belongs, or none.
  ArrayId output_of(TaskId task) const { return outputs_[static_cast<std::size_t>(task)]; }
  /// Bytes of outputs whose tasks are not all taken.
  index_t bytes_left() const { return bytes_left_; }

 private:
  bool is_taken(TaskId task) const { return device_of(task) != none; }
  bool can_finish(ArrayId output) const;
  bool is_enabled(TaskId task) const;
  void take_output(ArrayId output, DeviceId device, std::vector<TaskId>& tasks);
  std::vector<ArrayId> front(ArrayId output) const;
  void add_vertex(ArrayId vertex);
  std::vector<ArrayId> outputs_with(ArrayId vertex) const;
  std::vector<ArrayId> gains(ArrayId vertex, index_t bytes);
  std::vector<ArrayId> grow(ArrayId seed, index_t bytes);
  std::vector<ArrayId> neighbours();
  double worth(const std::vector<ArrayId>& outputs);
  std::vector<ArrayId> seeds();

  const TaskGraph* graph_ = nullptr;
  std::vector<ArrayId> outputs_;             // of tasks
  std::vector<DeviceId> devices_;            // of tasks
  std::vector<bool> is_done_;                // of tasks
  std::vector<std::vector<TaskId>> chains_;  // of arrays: the tasks of an output, in program order
  std::vector<std::size_t> next_;            // of arrays: the first of its chain that is not taken
  std::vector<bool> is_chosen_;              // of arrays: outputs of the package that is growing
  std::vector<bool> is_vertex_;              // of arrays: those of the package that is growing
  std::vector<ArrayId> vertices_;
  std::set<PriorityEntry> ready_;
  index_t bytes_left_ = 0;
};

}  // namespace strata::inline STRATA_ABI::tasks::detail
