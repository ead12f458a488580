// eager: one queue in the order of release. eager-prefetch is what StarPU calls modular-eager-prefetching:
// each device takes a long part of the queue, prefetches what its tasks use, and runs of it by the Ready
// rule.
#include <deque>

#include <strata/algorithms/tasks/plan/lru_scheduler.hpp>
#include <strata/algorithms/tasks/plan/ready_rule.hpp>
#include <strata/algorithms/tasks/plan/scheduler_kinds.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

namespace {

class Eager final : public LruScheduler {
 public:
  using LruScheduler::LruScheduler;

  void ready(TaskId task, DeviceId) override { queue_.push_back(task); }
  TaskId assign(DeviceId) override {
    if (queue_.empty()) return none;
    const TaskId task = queue_.front();
    queue_.pop_front();
    return task;
  }

 private:
  void begin() override {}
  int default_tasks_ahead() const override { return 2; }

  std::deque<TaskId> queue_;
};

class EagerPrefetch final : public LruScheduler {
 public:
  using LruScheduler::LruScheduler;

  void ready(TaskId task, DeviceId) override { queue_.push_back(task); }
  TaskId assign(DeviceId device) override {
    fill(device);
    Device& own = devices_[static_cast<std::size_t>(device)];
    if (own.queue.empty()) return none;
    return take_by_ready_rule(own.queue, view(), own.prefetches, device,
                              [&](TaskId task) { return priority(task); });
  }
  ArrayId prefetch(DeviceId device) override {
    fill(device);
    return devices_[static_cast<std::size_t>(device)].prefetches.take(view().memory, device);
  }
  void victims(const RoomRequest& request, std::vector<ArrayId>& chosen) override {
    const PrefetchQueue& prefetches = devices_[static_cast<std::size_t>(request.device)].prefetches;
    lru().victims(request, chosen, [&](ArrayId array) { return prefetches.is_waited_for(array); });
  }

 private:
  static constexpr std::size_t most_queued = 1000;  // of the paper's runs
  struct Device {
    std::deque<TaskId> queue;
    PrefetchQueue prefetches;  // with the priorities of their tasks, though tasks run in the order of release
  };

  void begin() override {
    devices_.resize(num_devices());
    for (Device& device : devices_) device.prefetches.start(view());
  }
  int default_tasks_ahead() const override { return 4; }
  void fill(DeviceId device) {
    Device& own = devices_[static_cast<std::size_t>(device)];
    // A share each: the first that asks does not take all.
    const std::size_t share = (queue_.size() + num_devices() - 1) / num_devices();
    for (std::size_t k = 0; k < share && own.queue.size() < most_queued; ++k) {
      own.queue.push_back(queue_.front());
      for (const TaskAccess& access : view().graph.task(queue_.front()).accesses)
        if (access.reads()) own.prefetches.request(access.array, priority(queue_.front()));
      queue_.pop_front();
    }
  }

  std::deque<TaskId> queue_;
  std::vector<Device> devices_;
};

}  // namespace

std::unique_ptr<TaskScheduler> make_eager(const SchedulerOptions& options, bool prefetches) {
  if (prefetches) return std::make_unique<EagerPrefetch>(options);
  return std::make_unique<Eager>(options);
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
