// lws and lfq: queues of devices, by priority, with stealing. A device's neighbours are those with the
// nearest numbers.
// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <iterator>
#include <limits>
#include <set>

#include <strata/algorithms/tasks/plan/lru_scheduler.hpp>
#include <strata/algorithms/tasks/plan/scheduler_kinds.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

namespace {

using Queue = std::set<PriorityEntry>;

TaskId take(Queue& queue, Queue::iterator at) {
  const TaskId task = at->task;
  queue.erase(at);
  return task;
}

// A queue a device, and what is taken out of them.
class Queues : public LruScheduler {
 public:
  using LruScheduler::LruScheduler;

 protected:
  void begin() override { queues_.resize(num_devices()); }
  Queue& queue(DeviceId device) { return queues_[static_cast<std::size_t>(device)]; }

  // The first task of a queue that the device can run.
  TaskId take_first(Queue& queue, DeviceId device) {
    for (auto at = queue.begin(); at != queue.end(); ++at)
      if (can_run(at->task, device)) return take(queue, at);
    return none;
  }
  // Of the highest priority the task that came last, if the device can run it; else the first that it can.
  TaskId take_newest(Queue& queue, DeviceId device) {
    if (queue.empty()) return none;
    const auto last =
        std::prev(queue.upper_bound({queue.begin()->priority, std::numeric_limits<long>::max(), none}));
    return can_run(last->task, device) ? take(queue, last) : take_first(queue, device);
  }
  // From the queues of the other devices, the nearest first, until one gives a task.
  TaskId steal(DeviceId device, TaskId (Queues::*take)(Queue&, DeviceId)) {
    const DeviceId count = view().machine.num_devices();
    for (int distance = 1; distance < count; ++distance)
      for (const DeviceId other : {device - distance, device + distance})
        if (other >= 0 && other < count)
          if (const TaskId task = (this->*take)(queue(other), device); task != none) return task;
    return none;
  }

 private:
  std::vector<Queue> queues_;
};

class WorkStealing final : public Queues {
 public:
  using Queues::Queues;

  // On the device that released it.
  void ready(TaskId task, DeviceId released_by) override {
    if (released_by == host) released_by = next_++ % view().machine.num_devices();
    queue(released_by).insert(entry(task));
  }

 private:
  TaskId next(DeviceId device) override {
    const TaskId task = take_first(queue(device), device);
    return task != none ? task : steal(device, &WorkStealing::take_newest);
  }
  int default_tasks_ahead() const override { return 2; }

  DeviceId next_ = 0;
};

class LocalQueues final : public Queues {
 public:
  using Queues::Queues;

  void ready(TaskId task, DeviceId released_by) override {
    Queue& own = queue(released_by == host ? 0 : released_by);
    if (own.size() < most_queued) own.insert(entry(task));
    else shared_.push_back(task);
  }

 private:
  static constexpr std::size_t most_queued = 4;  // for each thread, of PaRSEC

  int default_tasks_ahead() const override { return 4; }
  bool fetches_in_turn() const override { return false; }
  TaskId next(DeviceId device) override {
    if (const TaskId task = take_first(queue(device), device); task != none) return task;
    if (const TaskId task = steal(device, &LocalQueues::take_first); task != none) return task;
    const auto at = std::find_if(shared_.begin(), shared_.end(),
                                 [&](TaskId candidate) { return can_run(candidate, device); });
    if (at == shared_.end()) return none;
    const TaskId task = *at;
    shared_.erase(at);
    return task;
  }

  std::deque<TaskId> shared_;
};

}  // namespace

std::unique_ptr<TaskScheduler> make_work_stealing(const SchedulerOptions& options) {
  return std::make_unique<WorkStealing>(options);
}
std::unique_ptr<TaskScheduler> make_local_queues(const SchedulerOptions& options) {
  return std::make_unique<LocalQueues>(options);
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
