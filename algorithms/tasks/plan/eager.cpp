// eager: one queue in the order of release. eager-prefetch is what StarPU calls modular-eager-prefetching:
// each device takes a long part of the queue, prefetches what its tasks use, and runs of it by the Ready
// rule.
// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include <strata/algorithms/tasks/plan/prefetching_scheduler.hpp>
#include <strata/algorithms/tasks/plan/scheduler_kinds.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

namespace {

class Eager final : public LruScheduler {
 public:
  using LruScheduler::LruScheduler;

  void ready(TaskId task, DeviceId) override { queue_.push_back(task); }

 private:
  TaskId next(DeviceId) override {
    if (queue_.empty()) return none;
    const TaskId task = queue_.front();
    queue_.pop_front();
    return task;
  }
  void begin() override {}
  int default_tasks_ahead() const override { return 2; }

  std::deque<TaskId> queue_;
};

class EagerPrefetch final : public PrefetchingScheduler {
 public:
  using PrefetchingScheduler::PrefetchingScheduler;

  void ready(TaskId task, DeviceId) override { queue_.push_back(task); }
  ArrayId prefetch(DeviceId device) override {
    fill(device);
    return PrefetchingScheduler::prefetch(device);
  }

 private:
  static constexpr int default_tasks_queued = 1000;  // of the paper's runs

  void begin() override {}
  int default_tasks_ahead() const override { return 4; }
  TaskId next(DeviceId device) override {
    fill(device);
    return dequeue(device);
  }
  // Its programs know of no priorities.
  void fill(DeviceId device) {
    const int most = options().tasks_queued > 0 ? options().tasks_queued : default_tasks_queued;
    // A share each: the first that asks does not take all.
    const std::size_t share = (queue_.size() + num_devices() - 1) / num_devices();
    for (std::size_t k = 0; k < share && num_queued(device) < static_cast<std::size_t>(most); ++k) {
      enqueue(queue_.front(), device, 0);
      queue_.pop_front();
    }
  }

  std::deque<TaskId> queue_;
};

}  // namespace

std::unique_ptr<TaskScheduler> make_eager(const SchedulerOptions& options, bool prefetches) {
  if (prefetches) return std::make_unique<EagerPrefetch>(options);
  return std::make_unique<Eager>(options);
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
