// PlannedRuns: what graphs of tasks a run gives to its scheduler, so that the same graphs are simulated on a
// machine with the rates that the run had.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <strata/algorithms/tasks/plan/forwarding_scheduler.hpp>
#include <strata/algorithms/tasks/plan/schedulers.hpp>
#include <strata/algorithms/tasks/simulator/simulator.hpp>
#include <strata/algorithms/tasks/task_options.hpp>
#include <strata/views/coherent/whole_copies.hpp>

namespace perf {

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
  /// All graphs, one after the other, on a device whose kernels run in turn, with its queues and its link.
  strata::tasks::Simulation simulate(strata::detail::DeviceInstance& device, strata::index_t memory) const {
    using namespace strata;
    const strata::detail::CopyCost link = strata::detail::WholeCopies::link(nullptr, &device);
    tasks::Simulation all;
    for (const Run& run : runs_) {
      tasks::MachineDevice only = run.device;
      only.memory = memory;
      only.runs_in_turn = true;
      const tasks::Machine machine(only.name, {only}, {{"link", link.bytes_per_second, link.seconds, true}},
                                   {{tasks::host, 0, 0}});
      const tasks::Simulation one =
          tasks::simulate(run.graph, machine, *tasks::make_scheduler(scheduler_, run.options));
      all.seconds += one.seconds;
      all.traffic.to_devices += one.traffic.to_devices;
      all.traffic.from_devices += one.traffic.from_devices;
    }
    return all;
  }

 private:
  struct Run {
    SchedulerOptions options;
    strata::tasks::TaskDag graph;
    strata::tasks::MachineDevice device;
  };
  class Noting final : public strata::tasks::ForwardingScheduler {
   public:
    Noting(PlannedRuns& runs, const SchedulerOptions& options)
        : ForwardingScheduler(strata::tasks::make_scheduler(runs.scheduler_, options)),
          runs_(runs),
          options_(options) {}
    void start(const strata::tasks::SchedulerView& view) override {
      runs_.runs_.push_back({options_, view.graph, view.machine.device(0)});
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
