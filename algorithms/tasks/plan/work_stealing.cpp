// lws and lfq: queues of devices, by priority, with stealing. A device's neighbours are those with the
// nearest numbers.
#include <deque>
#include <set>

#include <strata/algorithms/tasks/plan/lru_scheduler.hpp>
#include <strata/algorithms/tasks/plan/scheduler_kinds.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

namespace {

using Queue = std::set<PriorityEntry>;

TaskId take_first(Queue& queue) {
  const TaskId task = queue.begin()->task;
  queue.erase(queue.begin());
  return task;
}

// Of the highest priority the task that came last.
TaskId take_newest(Queue& queue) {
  const double highest = queue.begin()->priority;
  auto last = queue.begin();
  for (auto next = last; next != queue.end() && next->priority == highest; ++next) last = next;
  const TaskId task = last->task;
  queue.erase(last);
  return task;
}

// The queues, from the nearest to the one of `device` on, until one gives a task.
template <class Take>
TaskId steal(std::vector<Queue>& queues, DeviceId device, const Take& take) {
  const int count = static_cast<int>(queues.size());
  for (int distance = 1; distance < count; ++distance)
    for (const int other : {device - distance, device + distance})
      if (other >= 0 && other < count && !queues[static_cast<std::size_t>(other)].empty())
        return take(queues[static_cast<std::size_t>(other)]);
  return none;
}

class WorkStealing final : public LruScheduler {
 public:
  using LruScheduler::LruScheduler;

  // On the device that released it.
  void ready(TaskId task, DeviceId released_by) override {
    if (released_by == host) released_by = next_++ % view().machine.num_devices();
    queues_[static_cast<std::size_t>(released_by)].insert(entry(task));
  }
  TaskId assign(DeviceId device) override {
    Queue& own = queues_[static_cast<std::size_t>(device)];
    return own.empty() ? steal(queues_, device, take_newest) : take_first(own);
  }

 private:
  void begin() override { queues_.resize(num_devices()); }
  int default_window() const override { return 2; }

  std::vector<Queue> queues_;
  DeviceId next_ = 0;
};

class LocalQueues final : public LruScheduler {
 public:
  using LruScheduler::LruScheduler;

  void ready(TaskId task, DeviceId released_by) override {
    Queue& own = queues_[static_cast<std::size_t>(released_by == host ? 0 : released_by)];
    if (own.size() < most_queued) own.insert(entry(task));
    else shared_.push_back(task);
  }
  TaskId assign(DeviceId device) override {
    Queue& own = queues_[static_cast<std::size_t>(device)];
    if (!own.empty()) return take_first(own);
    if (const TaskId task = steal(queues_, device, take_first); task != none) return task;
    if (shared_.empty()) return none;
    const TaskId task = shared_.front();
    shared_.pop_front();
    return task;
  }

 private:
  static constexpr std::size_t most_queued = 4;  // for each thread, of PaRSEC

  void begin() override { queues_.resize(num_devices()); }
  int default_window() const override { return 4; }

  std::vector<Queue> queues_;
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
