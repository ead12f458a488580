// data-aware: packages of outputs (data_aware.cpp) where memory is short. Where each device has room for all
// arrays nothing has to leave, and what counts is when tasks end: then by expected ends (dmda.cpp), in the
// order of priorities. Where accesses have no structure that packages could use: by the array that frees most
// tasks (darts.cpp). Where there are several devices and time for it, these and others are tried in a
// simulation of the run, and the fastest is taken. Devices that are far slower than others run what only they
// can (slow_devices.hpp), and do not count here.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include <strata/algorithms/tasks/plan/command_clock.hpp>
#include <strata/algorithms/tasks/plan/forwarding_scheduler.hpp>
#include <strata/algorithms/tasks/plan/scheduler_kinds.hpp>
#include <strata/algorithms/tasks/plan/slow_devices.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

namespace {

// Devices that are not left out.
using Devices = std::vector<DeviceId>;

// Whether each device has room for all arrays, or several have as much for what they share.
bool has_room(const SchedulerView& view, const Devices& devices) {
  constexpr std::size_t most_copies = 3;  // of an array, on average
  index_t bytes = 0, room = 0;
  for (ArrayId array = 0; array < view.graph.num_arrays(); ++array) bytes += view.graph.array(array).bytes;
  for (const DeviceId device : devices) room += view.memory.capacity(device);
  return (devices.size() > most_copies && room / static_cast<index_t>(most_copies) >= bytes) ||
         std::all_of(devices.begin(), devices.end(),
                     [&](DeviceId device) { return view.memory.capacity(device) >= bytes; });
}

// Of the tasks, shared by the devices.
double work_seconds(const SchedulerView& view, const Devices& devices) {
  double seconds = 0;
  for (TaskId task = 0; task < view.graph.num_tasks(); ++task)
    seconds += view.machine.run_seconds(view.graph, task, devices.front());
  return seconds / static_cast<double>(devices.size());
}

// Of what is loaded, and of storing each array once, over the links of the host.
double link_seconds(const SchedulerView& view, const Devices& devices, double loads) {
  double stores = 0, bytes_per_second = 0;
  for (ArrayId array = 0; array < view.graph.num_arrays(); ++array)
    stores += static_cast<double>(view.graph.array(array).bytes);
  bool is_duplex = true;
  std::set<int> links;
  for (const DeviceId device : devices) {
    const int number = view.machine.link_between(host, device);
    if (!links.insert(number).second) continue;
    const Link& link = view.machine.links()[static_cast<std::size_t>(number)];
    bytes_per_second += link.bytes_per_second;
    is_duplex = is_duplex && link.duplex;
  }
  return (is_duplex ? std::max(loads, stores) : loads + stores) / bytes_per_second;
}

// Where several devices have few tasks each, packages keep more of them at work; but not where links have
// time for more than they are to carry.
constexpr int few_tasks = 400;

// Whether links have time for more than `loads` and stores: then what counts is that no device waits.
bool has_fast_links(const SchedulerView& view, const Devices& devices, double loads) {
  constexpr double most_of_work = 0.5;
  return link_seconds(view, devices, loads) < most_of_work * work_seconds(view, devices);
}

class DataAwareChoice final : public ForwardingScheduler {
 public:
  explicit DataAwareChoice(const SchedulerOptions& options) : options_(options) {}

  void start(const SchedulerView& view) override {
    const std::vector<bool> left_out = slow_devices(view);
    Devices devices;
    for (DeviceId device = 0; device < view.machine.num_devices(); ++device)
      if (!left_out[static_cast<std::size_t>(device)]) devices.push_back(device);
    keep_queues_busy(view, devices);
    const double budget = tasks_to_try(view, devices, bound_seconds(view, devices));
    const bool tries = budget > 0 && budget >= 2.0 * view.graph.num_tasks();
    const std::vector<Maker> makers = makers_of(view, devices, left_out, tries);
    forward_to(tries ? fastest_of(view, devices, makers) : makers.front()());
    ForwardingScheduler::start(view);
  }

 private:
  using Maker = std::function<std::unique_ptr<TaskScheduler>()>;

  // A device that is left alone by slow ones is given as many tasks at a time as one that is alone in the
  // place, see TaskExecutor::tasks_at_once.
  void keep_queues_busy(const SchedulerView& view, const Devices& devices) {
    const bool are_left_out = static_cast<int>(devices.size()) < view.machine.num_devices();
    if (options_.tasks_ahead > 0 || devices.size() > 1 || !are_left_out || !has_room(view, devices)) return;
    options_.tasks_ahead = 2 * view.machine.device(devices.front()).queues;
  }

  // What may be chosen, first what the sizes of the memories and the costs speak for; `all`: more than that.
  std::vector<Maker> makers_of(const SchedulerView& view, const Devices& devices,
                               const std::vector<bool>& left_out, bool all) const {
    const int count = static_cast<int>(devices.size());
    // The other choices give slow devices tasks, of which one that takes longer than expected holds up all.
    const bool none_is_slow = count == view.machine.num_devices();
    const bool has_few_tasks = count > 1 && view.graph.num_tasks() < few_tasks * count;
    const bool may_be_by_ends = !has_few_tasks || has_fast_links(view, devices, 0);
    const Maker by_ends = [this] { return make_dmda(options_, true, true); };
    const Maker by_data = [this, left_out] { return make_darts(options_, DartsKind::Corrected, left_out); };
    const Maker by_local_queues = [this] { return make_local_queues(options_); };
    std::vector<Maker> makers;
    const bool is_by_ends = has_room(view, devices) && may_be_by_ends;
    if (is_by_ends) makers.push_back(by_ends);
    if (is_by_ends && !all) return makers;

    StructuralOrder order = structural_order(view.graph);
    index_t memory = view.memory.capacity(devices.front());
    for (const DeviceId device : devices) memory = std::min(memory, view.memory.capacity(device));
    const auto plan_of = [&](PackageSize size) {
      return plan_packages(view.graph, order, priorities_of(options_, view.graph), memory, count, size);
    };
    PackagePlan plan = plan_of(PackageSize::Large);
    if (count > 1 && plan.is_found && plan.fits && has_fast_links(view, devices, plan.loads)) {
      PackagePlan small = plan_of(PackageSize::Small);
      if (small.is_found) plan = std::move(small);
    }
    if (plan.is_found) {
      const TakeOver expected = take_over(view, devices, plan);
      const auto packages = [&](TakeOver how) -> Maker {
        return [this, order, plan, how, left_out] {
          return make_packages(options_, order, plan.packages, how, left_out);
        };
      };
      makers.push_back(packages(expected));
      if (!all) return makers;
      if (!is_by_ends) makers.push_back(by_ends);
      if (none_is_slow) makers.push_back(by_local_queues);
      for (const TakeOver how : {TakeOver::Early, TakeOver::Late, TakeOver::Never})
        if (how != expected) makers.push_back(packages(how));
    } else {
      makers.push_back(by_data);
      if (!all) return makers;
      if (!is_by_ends) makers.push_back(by_ends);
      if (none_is_slow) makers.push_back(by_local_queues);
    }
    if (!none_is_slow) return makers;
    makers.push_back([this] { return make_absolute_priority(options_); });
    makers.push_back([this] { return make_dmda(options_, true); });
    makers.push_back([this] { return make_dmda(options_, false); });
    if (plan.is_found) makers.push_back(by_data);
    makers.push_back([this] { return make_darts(options_, DartsKind::Published); });
    makers.push_back([this] { return make_work_stealing(options_); });
    return makers;
  }

  // What is taken over is copied: where links are what takes longest, only what the memories hold together,
  // so that it comes from another device and not from the host.
  static TakeOver take_over(const SchedulerView& view, const Devices& devices, const PackagePlan& plan) {
    if (devices.size() == 1) return TakeOver::Never;
    if (link_seconds(view, devices, plan.loads) < work_seconds(view, devices)) return TakeOver::Early;
    return plan.fits ? TakeOver::Late : TakeOver::Never;
  }

  // Neither the work nor the links let a run take less.
  static double bound_seconds(const SchedulerView& view, const Devices& devices) {
    return std::max(work_seconds(view, devices), link_seconds(view, devices, 0));
  }
  // How many tasks may be simulated before a run that takes `seconds` at least, to see which choice is the
  // fastest: several devices wait for each other's results, and what comes of that no bound says. Trying
  // takes a share of that time, by the costs that the machine has: the same graph on the same machine is
  // always run by the same one. A device beside slow ones, which are left out, waits for none of them: it
  // takes what it takes alone, and no time is lost.
  static double tasks_to_try(const SchedulerView& view, const Devices& devices, double seconds) {
    constexpr double seconds_a_task = 3e-6, share = 0.05;
    constexpr double most_tasks = 100'000;
    if (devices.size() == 1 || view.graph.num_tasks() == 0) return 0;
    return std::min(share * seconds / seconds_a_task, most_tasks);
  }
  // Each until it takes longer than the fastest before; where the time is not enough for all, as many as it
  // is enough for, of which those that fall behind are given up.
  static std::unique_ptr<TaskScheduler> fastest_of(const SchedulerView& view, const Devices& devices,
                                                   const std::vector<Maker>& makers) {
    constexpr double most_of_first = 0.99;  // what speaks for the first is that it loads least
    const double tasks = view.graph.num_tasks();
    std::size_t fastest = 0;
    ExpectedRun least = expected_run(view, *makers.front()());
    double tried = static_cast<double>(least.num_tasks);
    for (std::size_t k = 1; k < makers.size(); ++k) {
      const double left =
          tasks_to_try(view, devices, std::max(bound_seconds(view, devices), least.seconds)) - tried;
      if (left < tasks) break;
      const bool is_race = left < tasks * static_cast<double>(makers.size() - k);
      ExpectedRun run = expected_run(view, *makers[k](), &least, is_race);
      tried += static_cast<double>(run.num_tasks);
      if (!(run.seconds < (fastest == 0 ? most_of_first : 1) * least.seconds)) continue;
      least = std::move(run);
      fastest = k;
    }
    return makers[fastest]();
  }

  SchedulerOptions options_;
};

}  // namespace

std::unique_ptr<TaskScheduler> make_data_aware(const SchedulerOptions& options) {
  return std::make_unique<DataAwareChoice>(options);
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
