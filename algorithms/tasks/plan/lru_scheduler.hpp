// PriorityScheduler: what schedulers share that order tasks by priority. LruScheduler: those of them whose
// memories are as StarPU keeps them.
//
//   - A device is given no task before all arrays of the one before are there, but what is prefetched.
//   - An array counts as used when a task that uses it is given to the device, and when it comes.
//   - Of what may leave, copies that the host has too leave before those that are dirty, each from the
//     one that was not used for longest.
//   - An array that no task writes any more is stored as soon as the device stores nothing else, and comes
//     before the dirty ones until a task uses it: the programs of the paper say so by starpu_data_wont_use.
//     PaRSEC stores them as well (its pushout).
//   - A copy comes from the nearest memory that has the values now.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>

#include <strata/algorithms/tasks/plan/clean_first_order.hpp>
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

class PriorityScheduler : public TaskScheduler {
 public:
  explicit PriorityScheduler(const SchedulerOptions& options) : options_(options) {}

  void start(const SchedulerView& view) override {
    view_.emplace(view);
    priorities_ = priorities_of(options_, view.graph);
    begin();
  }
  int tasks_ahead(DeviceId) const override {
    return options_.tasks_ahead > 0 ? options_.tasks_ahead : default_tasks_ahead();
  }

 protected:
  /// The view is there.
  virtual void begin() = 0;
  virtual int default_tasks_ahead() const = 0;

  const SchedulerOptions& options() const { return options_; }
  const SchedulerView& view() const { return *view_; }
  std::size_t num_devices() const { return static_cast<std::size_t>(view().machine.num_devices()); }
  bool can_run(TaskId task, DeviceId device) const {
    return view().machine.can_run(view().graph, task, device);
  }
  double priority(TaskId task) const { return priorities_[static_cast<std::size_t>(task)]; }
  PriorityEntry entry(TaskId task) { return {priority(task), next_number_++, task}; }

 private:
  SchedulerOptions options_;
  std::optional<SchedulerView> view_;  // from start() on
  std::vector<double> priorities_;
  long next_number_ = 0;
};

/// See the head of the file.
class LruScheduler : public PriorityScheduler {
 public:
  using PriorityScheduler::PriorityScheduler;

  void start(const SchedulerView& view) override {
    lru_.start(view);
    finished_.resize(static_cast<std::size_t>(view.machine.num_devices()));
    fetching_.assign(finished_.size(), none);
    writes_left_.resize(static_cast<std::size_t>(view.graph.num_arrays()));
    for (TaskId task = 0; task < view.graph.num_tasks(); ++task)
      for (const TaskAccess& access : view.graph.task(task).accesses)
        writes_left_[static_cast<std::size_t>(access.array)] += access.writes() ? 1 : 0;
    PriorityScheduler::start(view);
  }
  void loaded(ArrayId array, DeviceId device) override { lru_.insert(array, device, kind_of(array, device)); }
  void evicted(ArrayId array, DeviceId device) override { lru_.remove(array, device); }
  void stored(ArrayId array) override {
    for (DeviceId device = 0; device < view().machine.num_devices(); ++device) kind_changed(array, device);
  }
  void done(TaskId task, DeviceId device) override {
    if (fetching(device) == task) fetching(device) = none;
    for (const TaskAccess& access : view().graph.task(task).accesses) {
      if (access.writes() && !view().graph.array(access.array).by_parts)
        lru_.set_kind(access.array, device, {true, is_kept(access.array, device)});
      if (!access.writes() || --writes_left_[static_cast<std::size_t>(access.array)] > 0) continue;
      lru_.put_before_dirty(access.array, device);
      if (view().end == TaskEnd::OnHost) finished_[static_cast<std::size_t>(device)].push_back(access.array);
    }
  }
  TaskId assign(DeviceId device) final {
    if (fetches_in_turn() && is_fetching(device)) return none;
    const TaskId task = next(device);
    if (task == none) return none;
    for (const TaskAccess& access : view().graph.task(task).accesses) lru_.use(access.array, device);
    if (can_run(task, device)) fetching(device) = task;  // else another one runs it
    return task;
  }
  ArrayId store(DeviceId device) override {
    std::deque<ArrayId>& arrays = finished_[static_cast<std::size_t>(device)];
    while (!arrays.empty()) {
      const ArrayId array = arrays.front();
      arrays.pop_front();
      if (view().memory.is_dirty(array) && view().memory.is_present(array, device)) return array;
    }
    return none;
  }
  bool awaits_copies() const override { return false; }
  void victims(const RoomRequest& request, std::vector<ArrayId>& chosen) override {
    lru_.victims(request, chosen);
  }

 protected:
  /// What the device is to run next.
  virtual TaskId next(DeviceId device) = 0;
  /// Whether it waits for the arrays of one task before it takes the next one.
  virtual bool fetches_in_turn() const { return true; }
  /// It changes by the events of memories, and where kind_changed() says so; as the next one.
  virtual bool counts_as_dirty(ArrayId array, DeviceId) const { return view().memory.is_dirty(array); }
  /// Does not leave for a prefetch.
  virtual bool is_kept(ArrayId, DeviceId) const { return false; }
  void kind_changed(ArrayId array, DeviceId device) { lru_.set_kind(array, device, kind_of(array, device)); }

  CleanFirstOrder& lru() { return lru_; }

 private:
  TaskId& fetching(DeviceId device) { return fetching_[static_cast<std::size_t>(device)]; }
  bool is_fetching(DeviceId device) {
    if (fetching(device) == none) return false;
    const std::vector<TaskAccess>& accesses = view().graph.task(fetching(device)).accesses;
    return std::any_of(accesses.begin(), accesses.end(), [&](const TaskAccess& access) {
      return !view().memory.is_present(access.array, device);
    });
  }

  CleanFirstOrder::Kind kind_of(ArrayId array, DeviceId device) const {
    return {counts_as_dirty(array, device), is_kept(array, device)};
  }

  CleanFirstOrder lru_;
  std::vector<TaskId> fetching_;  // of devices: the last task that it was given, until it is done
  std::vector<std::deque<ArrayId>> finished_;  // of devices: arrays that no task writes any more
  std::vector<int> writes_left_;               // of arrays
};

}  // namespace strata::inline STRATA_ABI::tasks::detail
