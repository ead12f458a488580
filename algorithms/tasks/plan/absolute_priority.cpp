// ap: as PaRSEC's scheduler of that name. Released tasks lie in one list by priority; there is no
// back-pressure, so that each goes on at once to a device: the one that wrote last what the task writes; else
// the one that wrote last the first array that it only reads, unless another one is expected to finish it 1.2
// times as early. A device's own list is sorted by priority too. Clean copies are evicted before dirty ones.
// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <set>

#include <strata/algorithms/tasks/plan/lru_scheduler.hpp>
#include <strata/algorithms/tasks/plan/scheduler_kinds.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

namespace {

class AbsolutePriority final : public LruScheduler {
 public:
  using LruScheduler::LruScheduler;

  void ready(TaskId task, DeviceId) override {
    const DeviceId device = place(task);
    loads_[static_cast<std::size_t>(device)] += view().machine.run_seconds(view().graph, task, device);
    queues_[static_cast<std::size_t>(device)].insert(entry(task));
  }
  void done(TaskId task, DeviceId device) override {
    LruScheduler::done(task, device);
    loads_[static_cast<std::size_t>(device)] -= view().machine.run_seconds(view().graph, task, device);
    for (const TaskAccess& access : view().graph.task(task).accesses)
      if (access.writes()) owners_[static_cast<std::size_t>(access.array)] = device;
  }

 private:
  static constexpr double skew = 1.2;  // PaRSEC's device_load_balance_skew

  void begin() override {
    queues_.resize(num_devices());
    loads_.resize(num_devices());
    owners_.assign(static_cast<std::size_t>(view().graph.num_arrays()), none);
  }
  int default_tasks_ahead() const override { return 4; }
  bool fetches_in_turn() const override { return false; }
  TaskId next(DeviceId device) override {
    std::set<PriorityEntry>& queue = queues_[static_cast<std::size_t>(device)];
    if (queue.empty()) return none;
    const TaskId task = queue.begin()->task;
    queue.erase(queue.begin());
    return task;
  }

  DeviceId place(TaskId task) const {
    const std::vector<TaskAccess>& accesses = view().graph.task(task).accesses;
    for (const TaskAccess& access : accesses)
      if (const DeviceId owner = owners_[static_cast<std::size_t>(access.array)];
          access.writes() && owner != none && can_run(task, owner))
        return owner;
    DeviceId best = none;
    for (const TaskAccess& access : accesses)
      if (!access.writes()) {
        best = owners_[static_cast<std::size_t>(access.array)];
        break;
      }
    if (best != none && !can_run(task, best)) best = none;
    const auto end = [&](DeviceId device) {
      return loads_[static_cast<std::size_t>(device)] +
             view().machine.run_seconds(view().graph, task, device);
    };
    const double most = best == none ? std::numeric_limits<double>::max() : end(best) / skew;
    for (DeviceId device = 0; device < view().machine.num_devices(); ++device)
      if (can_run(task, device) && (best == none || (end(device) < end(best) && end(device) < most)))
        best = device;
    return best;
  }

  std::vector<std::set<PriorityEntry>> queues_;
  std::vector<double> loads_;     // seconds of work given and not done
  std::vector<DeviceId> owners_;  // of arrays: which device wrote them last
};

}  // namespace

std::unique_ptr<TaskScheduler> make_absolute_priority(const SchedulerOptions& options) {
  return std::make_unique<AbsolutePriority>(options);
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
