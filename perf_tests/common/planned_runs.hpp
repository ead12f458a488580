// PlannedRuns: what graphs of tasks a run gives to its scheduler, so that the same graphs are simulated on a
// machine with the rates that the run had.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

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
  // Passes everything on.
  class Noting final : public strata::tasks::TaskScheduler {
    using ArrayId = strata::tasks::ArrayId;
    using DeviceId = strata::tasks::DeviceId;
    using TaskId = strata::tasks::TaskId;

   public:
    Noting(PlannedRuns& runs, const SchedulerOptions& options)
        : runs_(runs),
          options_(options),
          scheduler_(strata::tasks::make_scheduler(runs.scheduler_, options)) {}
    void start(const strata::tasks::SchedulerView& view) override {
      runs_.runs_.push_back({options_, view.graph, view.machine.device(0)});
      scheduler_->start(view);
    }
    void submitted(TaskId task) override { scheduler_->submitted(task); }
    void ready(TaskId task, DeviceId by) override { scheduler_->ready(task, by); }
    void loaded(ArrayId array, DeviceId device) override { scheduler_->loaded(array, device); }
    void evicted(ArrayId array, DeviceId device) override { scheduler_->evicted(array, device); }
    void done(TaskId task, DeviceId device) override { scheduler_->done(task, device); }
    TaskId assign(DeviceId device) override { return scheduler_->assign(device); }
    int tasks_ahead(DeviceId device) const override { return scheduler_->tasks_ahead(device); }
    ArrayId prefetch(DeviceId device) override { return scheduler_->prefetch(device); }
    ArrayId store(DeviceId device) override { return scheduler_->store(device); }
    bool sends_on() const override { return scheduler_->sends_on(); }
    void victims(const strata::tasks::RoomRequest& request, std::vector<ArrayId>& chosen) override {
      scheduler_->victims(request, chosen);
    }

   private:
    PlannedRuns& runs_;
    const SchedulerOptions options_;
    const std::unique_ptr<strata::tasks::TaskScheduler> scheduler_;
  };

  const std::string scheduler_;
  std::vector<Run> runs_;
};

}  // namespace perf
