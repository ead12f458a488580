// dmda and dmdas: a task that is released goes at once to the device that is expected to finish it first, and
// what it reads is prefetched there. Of its queue a device runs by the Ready rule; dmdas keeps queues sorted
// by priority, so that the rule chooses within the highest one only.
#include <limits>
#include <map>
#include <set>

#include <strata/algorithms/tasks/plan/lru_scheduler.hpp>
#include <strata/algorithms/tasks/plan/ready_rule.hpp>
#include <strata/algorithms/tasks/plan/scheduler_kinds.hpp>
#include <strata/algorithms/tasks/plan/slow_devices.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

namespace {

class Dmda final : public LruScheduler {
 public:
  Dmda(const SchedulerOptions& options, bool sorts, bool leaves_out_slow)
      : LruScheduler(options), sorts_(sorts), leaves_out_slow_(leaves_out_slow) {}

  void ready(TaskId task, DeviceId) override {
    DeviceId best = none;
    double best_fitness = 0, best_end = 0;
    struct Expected {
      DeviceId device;
      double end, transfer;
    };
    std::vector<Expected> expected;
    double first_end = std::numeric_limits<double>::max();
    for (DeviceId device = 0; device < view().machine.num_devices(); ++device) {
      if (!is_candidate(task, device)) continue;
      double transfer = 0;
      for (const TaskAccess& access : view().graph.task(task).accesses)
        if (access.reads() && !view().memory.holds(access.array, device))
          transfer += transfer_seconds(view(), access.array, device);
      const double start = std::max(devices_[static_cast<std::size_t>(device)].end, view().now + transfer);
      const double end = start + view().machine.run_seconds(view().graph, task, device);
      first_end = std::min(first_end, end);
      expected.push_back({device, end, transfer});
    }
    for (const auto& [device, end, transfer] : expected) {
      const double fitness = end - first_end + transfer;
      if (best != none && fitness >= best_fitness) continue;
      best = device;
      best_fitness = fitness;
      best_end = end;
    }
    Device& chosen = devices_[static_cast<std::size_t>(best)];
    chosen.end = best_end;
    PriorityEntry at = entry(task);
    for (const TaskAccess& access : view().graph.task(task).accesses)
      if (access.reads()) chosen.prefetches.request(access.array, at.priority);
    if (!sorts_) at.priority = 0;
    chosen.queue[at.priority].push_back(task);
  }
  TaskId assign(DeviceId device) override {
    auto& queue = devices_[static_cast<std::size_t>(device)].queue;
    if (queue.empty()) return none;
    std::vector<TaskId>& first = queue.begin()->second;
    const TaskId task =
        take_by_ready_rule(first, view(), devices_[static_cast<std::size_t>(device)].prefetches, device,
                           [&](TaskId candidate) { return priority(candidate); });
    if (first.empty()) queue.erase(queue.begin());
    return task;
  }
  ArrayId prefetch(DeviceId device) override {
    return devices_[static_cast<std::size_t>(device)].prefetches.take(view().memory, device);
  }
  void victims(const RoomRequest& request, std::vector<ArrayId>& chosen) override {
    const PrefetchQueue& prefetches = devices_[static_cast<std::size_t>(request.device)].prefetches;
    lru().victims(request, chosen,
                  [&](ArrayId array) { return request.is_prefetch && prefetches.is_waited_for(array); });
  }

 private:
  struct Device {
    double end = 0;                                               // expected, of all that it was given
    std::map<double, std::vector<TaskId>, std::greater<>> queue;  // by priority
    PrefetchQueue prefetches;
  };

  void begin() override {
    devices_.resize(num_devices());
    for (Device& device : devices_) device.prefetches.start(view());
    left_out_ = leaves_out_slow_ ? slow_devices(view()) : std::vector<bool>(num_devices());
  }
  // A device that is left out runs what no other one can.
  bool is_candidate(TaskId task, DeviceId device) const {
    if (!can_run(task, device)) return false;
    if (!left_out_[static_cast<std::size_t>(device)]) return true;
    for (DeviceId other = 0; other < view().machine.num_devices(); ++other)
      if (!left_out_[static_cast<std::size_t>(other)] && can_run(task, other)) return false;
    return true;
  }
  int default_tasks_ahead() const override { return 2; }

  bool sorts_, leaves_out_slow_;
  std::vector<Device> devices_;
  std::vector<bool> left_out_;  // of devices
};

}  // namespace

std::unique_ptr<TaskScheduler> make_dmda(const SchedulerOptions& options, bool sorts, bool leaves_out_slow) {
  return std::make_unique<Dmda>(options, sorts, leaves_out_slow);
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
