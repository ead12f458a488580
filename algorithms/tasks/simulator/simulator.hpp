// Simulator: runs a graph of tasks under a scheduler on a machine that is only described, and says how long
// it takes and what moves. Discrete events: a device runs one task at a time, a link (a duplex one each way)
// makes one copy at a time, first come, first served. The same graph, machine and scheduler give the same
// result.
//
// Simulated seconds are not measured ones: kernels take exactly the work by their rate, unless there is
// jitter; decisions take no time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/tasks/plan/command_clock.hpp>
#include <strata/algorithms/tasks/simulator/timed_scheduler.hpp>

namespace strata::inline STRATA_ABI::tasks {

/// A command, and when it ran.
using SimulatedStep = TimedCommand;

/// What a link was used for.
struct SimulatedLink {
  index_t bytes = 0;        ///< of both ways together
  double busy_seconds = 0;  ///< of both ways together
};

/// What came of a run.
struct Simulation {
  double seconds = 0;                ///< until the host has all arrays
  TaskTraffic traffic;               ///< all copies together
  std::vector<SimulatedLink> links;  ///< of the machine
  std::vector<double> busy_seconds;  ///< of devices, running tasks
  std::vector<TaskId> order;         ///< in which tasks ended
  std::vector<SimulatedStep> steps;  ///< in the order in which they ended; only where asked for
  double decision_seconds = 0;       ///< of this computer, in all functions of the scheduler
  double longest_decisions = 0;      ///< the 99th percentile of single decisions, in seconds
  int most_ready = 0;                ///< tasks that were ready and not assigned, at most
};

/// See the head of the file. TaskError as TaskDriver throws it, and where the scheduler leaves tasks out.
/// `keep_steps`: whether the result has steps. `clock`: by which decisions are measured. `jitter`: of
/// durations, of which schedulers know nothing.
Simulation simulate(const TaskDag& graph, const Machine& machine, TaskScheduler& scheduler,
                    bool keep_steps = false, DecisionClock clock = DecisionClock::Wall,
                    const Jitter& jitter = {});

/// What no order of the tasks can go below.
struct TaskBounds {
  double work_seconds = 0;  ///< all tasks at the best rates, on all devices at once
  double path_seconds = 0;  ///< the longest path at the best rates
  double link_seconds = 0;  ///< `bytes_in` and `bytes_out` over the host's links
  index_t bytes_in = 0;     ///< every array that is read before it is written, once
  index_t bytes_out = 0;    ///< every array that is written, once
  /// The largest of those in seconds.
  double seconds() const;
};
/// `least_bytes_in`: a larger bound on the bytes to devices, where one is known. TaskError where no device
/// can run a task.
TaskBounds bounds_of(const TaskDag& graph, const Machine& machine, index_t least_bytes_in = 0);

}  // namespace strata::inline STRATA_ABI::tasks
