// dmda and dmdas: a task that is released goes at once to the device that is expected to finish it first, and
// what it reads is prefetched there. Of its queue a device runs by the Ready rule; dmdas keeps queues sorted
// by priority, so that the rule chooses within the highest one only.
// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <utility>

#include <strata/algorithms/tasks/plan/prefetching_scheduler.hpp>
#include <strata/algorithms/tasks/plan/scheduler_kinds.hpp>
#include <strata/algorithms/tasks/plan/slow_devices.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

namespace {

class Dmda final : public PrefetchingScheduler {
 public:
  Dmda(const SchedulerOptions& options, bool sorts, bool leaves_out_slow)
      : PrefetchingScheduler(options), sorts_(sorts), leaves_out_slow_(leaves_out_slow) {}

  void ready(TaskId task, DeviceId) override {
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
        if (access.reads() && !view().memory.holds(access.array, device) &&
            !prefetches(device).is_requested(access.array))
          transfer += transfer_seconds(view(), access.array, device);
      const double begin = std::max(end_of(device), view().now + transfer);
      const double end = begin + view().machine.run_seconds(view().graph, task, device);
      first_end = std::min(first_end, end);
      expected.push_back({device, end, transfer});
    }
    const auto best = std::min_element(expected.begin(), expected.end(), [&](const auto& a, const auto& b) {
      return a.end - first_end + a.transfer < b.end - first_end + b.transfer;
    });
    // Of the transfer what is not hidden behind tasks that are before it.
    const double before = end_of(best->device), seconds = best->end - std::max(before, view().now);
    Device& chosen = devices_[static_cast<std::size_t>(best->device)];
    chosen.begin = std::max(chosen.begin, view().now);
    chosen.queued += seconds;
    seconds_[static_cast<std::size_t>(task)] = seconds;
    enqueue(task, best->device, sorts_ ? priority(task) : 0);  // its programs know of none otherwise
  }
  void done(TaskId task, DeviceId device) override {
    PrefetchingScheduler::done(task, device);
    Device& own = devices_[static_cast<std::size_t>(device)];
    own.given -= std::exchange(seconds_[static_cast<std::size_t>(task)], 0);
    own.begin = std::max(own.begin, view().now + own.given);
  }

 private:
  struct Device {
    double begin = 0;   // expected, of the first task in the queue
    double queued = 0;  // seconds of tasks in the queue, with what they wait for transfers
    double given = 0;   // of those that it was given
  };

  void begin() override {
    devices_.resize(num_devices());
    seconds_.resize(static_cast<std::size_t>(view().graph.num_tasks()));
    left_out_ = leaves_out_slow_ ? slow_devices(view()) : std::vector<bool>(num_devices());
  }
  int default_tasks_ahead() const override { return 2; }
  bool fetches_in_turn() const override { return !leaves_out_slow_; }
  TaskId next(DeviceId device) override {
    const TaskId task = dequeue(device);
    if (task == none) return none;
    Device& own = devices_[static_cast<std::size_t>(device)];
    const double seconds = seconds_[static_cast<std::size_t>(task)];
    own.queued = num_queued(device) == 0 ? 0 : own.queued - seconds;  // without rounding errors
    own.given += seconds;
    own.begin = view().now + own.given;
    return task;
  }
  // Expected, of all that the device was given.
  double end_of(DeviceId device) const {
    const Device& own = devices_[static_cast<std::size_t>(device)];
    return std::max(own.begin, view().now) + own.queued;
  }
  // A device that is left out runs what no other one can.
  bool is_candidate(TaskId task, DeviceId device) const {
    if (!can_run(task, device)) return false;
    if (!left_out_[static_cast<std::size_t>(device)]) return true;
    for (DeviceId other = 0; other < view().machine.num_devices(); ++other)
      if (!left_out_[static_cast<std::size_t>(other)] && can_run(task, other)) return false;
    return true;
  }

  bool sorts_, leaves_out_slow_;
  std::vector<Device> devices_;
  std::vector<double> seconds_;  // of tasks that are queued or given: what they add to `queued` and `given`
  std::vector<bool> left_out_;   // of devices
};

}  // namespace

std::unique_ptr<TaskScheduler> make_dmda(const SchedulerOptions& options, bool sorts, bool leaves_out_slow) {
  return std::make_unique<Dmda>(options, sorts, leaves_out_slow);
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
