// LruScheduler: what schedulers share that evict what was not used for longest, and order tasks by priority.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include <strata/algorithms/tasks/plan/lru_order.hpp>
#include <strata/algorithms/tasks/plan/schedulers.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

/// A queue by priority, of equal ones the first that came.
struct PriorityEntry {
  double priority;
  long number;
  TaskId task;
  bool operator<(const PriorityEntry& other) const {
    return priority > other.priority || (priority == other.priority && number < other.number);
  }
};

/// Priorities of `options`, or bottom levels. TaskError where there are not as many as tasks, or one is no
/// number.
inline std::vector<double> priorities_of(const SchedulerOptions& options, const TaskDag& graph) {
  if (options.priorities.empty()) return bottom_levels(graph);
  if (options.priorities.size() != static_cast<std::size_t>(graph.num_tasks()))
    throw TaskError("there are " + std::to_string(options.priorities.size()) + " priorities for " +
                    std::to_string(graph.num_tasks()) + " tasks: each has one, or none has");
  for (TaskId task = 0; task < graph.num_tasks(); ++task)
    if (std::isnan(options.priorities[static_cast<std::size_t>(task)]))
      throw TaskError("the priority of the task " + graph.describe(task) +
                      " is not a number: priorities are compared with each other");
  return options.priorities;
}

/// Of copying an array to a device from where it comes soonest, each link unused; over the host where there
/// is no other way.
inline double transfer_seconds(const SchedulerView& view, ArrayId array, DeviceId device) {
  const index_t bytes = view.graph.array(array).bytes;
  double best = -1;
  DeviceId holder = none;
  for (DeviceId from = host; from < view.machine.num_devices(); ++from) {
    if (from == host ? view.memory.is_dirty(array) : from == device || !view.memory.holds(array, from))
      continue;
    holder = from;
    if (view.machine.link_between(from, device) == none) continue;
    const double seconds = view.machine.copy_seconds(from, device, bytes);
    if (best < 0 || seconds < best) best = seconds;
  }
  if (best >= 0) return best;
  const double up = view.machine.copy_seconds(host, device, bytes);
  return holder == none || holder == host ? up : up + view.machine.copy_seconds(holder, host, bytes);
}

class LruScheduler : public TaskScheduler {
 public:
  explicit LruScheduler(const SchedulerOptions& options) : options_(options) {}

  void start(const SchedulerView& view) override {
    view_.emplace(view);
    lru_.start(view);
    priorities_ = priorities_of(options_, view.graph);
    begin();
  }
  void loaded(ArrayId array, DeviceId device) override { lru_.loaded(array, device); }
  void evicted(ArrayId array, DeviceId device) override { lru_.evicted(array, device); }
  void done(TaskId task, DeviceId device) override { lru_.done(task, device); }
  void victims(const RoomRequest& request, std::vector<ArrayId>& chosen) override {
    lru_.victims(request, chosen);
  }
  int tasks_ahead(DeviceId) const override {
    return options_.tasks_ahead > 0 ? options_.tasks_ahead : default_tasks_ahead();
  }

 protected:
  /// The view is there.
  virtual void begin() = 0;
  virtual int default_tasks_ahead() const = 0;

  const SchedulerView& view() const { return *view_; }
  std::size_t num_devices() const { return static_cast<std::size_t>(view().machine.num_devices()); }
  bool can_run(TaskId task, DeviceId device) const {
    return view().machine.can_run(view().graph, task, device);
  }
  double priority(TaskId task) const { return priorities_[static_cast<std::size_t>(task)]; }
  PriorityEntry entry(TaskId task) { return {priority(task), next_number_++, task}; }
  const LruOrder& lru() const { return lru_; }

 private:
  SchedulerOptions options_;
  std::optional<SchedulerView> view_;  // from start() on
  LruOrder lru_;
  std::vector<double> priorities_;
  long next_number_ = 0;
};

}  // namespace strata::inline STRATA_ABI::tasks::detail
