// PlannedRuns: what graphs of tasks a run gives to its scheduler, so that the same graphs are simulated on a
// machine with the rates that the run had. Schedulers decide there by what they were told in the run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <strata/algorithms/tasks/plan/forwarding_scheduler.hpp>
#include <strata/algorithms/tasks/plan/schedulers.hpp>
#include <strata/algorithms/tasks/simulator/simulator.hpp>
#include <strata/algorithms/tasks/task_options.hpp>

namespace perf {

/// How the machine of a simulation differs from what schedulers were told.
struct SimulatedMachine {
  std::map<std::string, double> rates = {};  ///< of tasks, by label: work a second; others as they know them
  double host_bytes_per_second = 0;          ///< of each device's link of the host, each way; 0: the same
};

/// Of several graphs, one after the other.
struct PlannedSimulation : strata::tasks::Simulation {
  double limit_seconds =
      0;  ///< of each graph the longer: its longest device computes, or the host's links carry
};

class PlannedRuns {
  using SchedulerOptions = strata::tasks::SchedulerOptions;

 public:
  /// By the scheduler of this name.
  explicit PlannedRuns(std::string scheduler) : scheduler_(std::move(scheduler)) {}
  PlannedRuns(const PlannedRuns&) = delete;

  /// For TaskRunOptions::make_scheduler, while this lives. What was noted before is forgotten.
  auto maker() {
    runs_.clear();
    return [this](const SchedulerOptions& options) -> strata::tasks::TaskScheduler* {
      return new Noting(*this, options);
    };
  }
  /// All graphs, one after the other, on devices whose kernels run in turn; by the scheduler that they had,
  /// or another one.
  PlannedSimulation simulate(const SimulatedMachine& change = {}, const std::string& scheduler = "") const {
    using namespace strata;
    PlannedSimulation all;
    for (const Run& run : runs_) {
      Believing by(run.machine,
                   tasks::make_scheduler(scheduler.empty() ? scheduler_ : scheduler, run.options));
      const tasks::Machine machine = changed(run.machine, change);
      const tasks::Simulation one = tasks::simulate(run.graph, machine, by);
      all.limit_seconds += std::max(*std::max_element(one.busy_seconds.begin(), one.busy_seconds.end()),
                                    link_seconds(machine, one));
      all.seconds += one.seconds;
      all.traffic.to_devices += one.traffic.to_devices;
      all.traffic.from_devices += one.traffic.from_devices;
      all.traffic.between_devices += one.traffic.between_devices;
    }
    return all;
  }

 private:
  struct Run {
    SchedulerOptions options;
    strata::tasks::TaskDag graph;
    strata::tasks::Machine machine;
  };
  // That the host's links carry what was copied, all together.
  static double link_seconds(const strata::tasks::Machine& machine, const strata::tasks::Simulation& run) {
    using namespace strata;
    double bytes_per_second = 0;
    bool is_duplex = true;
    std::set<int> links;
    for (tasks::DeviceId device = 0; device < machine.num_devices(); ++device)
      links.insert(machine.link_between(tasks::host, device));
    for (const int number : links) {
      const tasks::Link& link = machine.links()[static_cast<std::size_t>(number)];
      bytes_per_second += link.bytes_per_second;
      is_duplex = is_duplex && link.duplex;
    }
    const auto to = static_cast<double>(run.traffic.to_devices),
               from = static_cast<double>(run.traffic.from_devices);
    return (is_duplex ? std::max(to, from) : to + from) / bytes_per_second;
  }
  // Kernels of a run are called LABEL/BYTES/VERSIONS.
  static strata::tasks::Machine changed(const strata::tasks::Machine& known, const SimulatedMachine& change) {
    using namespace strata;
    std::vector<tasks::MachineDevice> devices;
    std::vector<tasks::Link> links = known.links();
    std::vector<tasks::Joint> joints;
    for (tasks::DeviceId device = 0; device < known.num_devices(); ++device) {
      devices.push_back(known.device(device));
      devices.back().runs_in_turn = true;
      for (auto& [kernel, rate] : devices.back().rates)
        if (const auto found = change.rates.find(kernel.substr(0, kernel.find('/')));
            found != change.rates.end())
          rate = found->second;
      const int of_host = known.link_between(tasks::host, device);
      double& speed = links[static_cast<std::size_t>(of_host)].bytes_per_second;
      if (change.host_bytes_per_second > 0) speed = change.host_bytes_per_second;
      joints.push_back({tasks::host, device, of_host});
      for (tasks::DeviceId other = 0; other < device; ++other)
        if (const int link = known.link_between(other, device); link != tasks::none)
          joints.push_back({other, device, link});
    }
    return tasks::Machine(known.name(), std::move(devices), std::move(links), std::move(joints));
  }
  // Tells a scheduler of another machine than the one on which it runs.
  class Believing final : public strata::tasks::ForwardingScheduler {
   public:
    Believing(const strata::tasks::Machine& machine, std::unique_ptr<strata::tasks::TaskScheduler> scheduler)
        : ForwardingScheduler(std::move(scheduler)), machine_(machine) {}
    void start(const strata::tasks::SchedulerView& view) override {
      ForwardingScheduler::start({view.graph, machine_, view.memory, view.now, view.end});
    }

   private:
    const strata::tasks::Machine& machine_;
  };
  class Noting final : public strata::tasks::ForwardingScheduler {
   public:
    Noting(PlannedRuns& runs, const SchedulerOptions& options)
        : ForwardingScheduler(strata::tasks::make_scheduler(runs.scheduler_, options)),
          runs_(runs),
          options_(options) {}
    void start(const strata::tasks::SchedulerView& view) override {
      runs_.runs_.push_back({options_, view.graph, view.machine});
      ForwardingScheduler::start(view);
    }

   private:
    PlannedRuns& runs_;
    const SchedulerOptions options_;
  };

  const std::string scheduler_;
  std::vector<Run> runs_;
};

}  // namespace perf
