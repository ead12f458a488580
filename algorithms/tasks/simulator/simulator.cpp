// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include <strata/algorithms/tasks/simulator/simulator.hpp>

namespace strata::inline STRATA_ABI::tasks {

using Kind = TaskCommand::Kind;

Simulation simulate(const TaskDag& graph, const Machine& machine, TaskScheduler& scheduler, bool keep_steps,
                    DecisionClock decision_clock, const Jitter& jitter) {
  Simulation result;
  TimedScheduler timed(scheduler, decision_clock);
  TaskDriver driver(graph, machine, timed);
  CommandClock clock(graph, machine, jitter);
  result.links.resize(machine.links().size());
  result.busy_seconds.resize(static_cast<std::size_t>(machine.num_devices()));
  driver.start();
  while (true) {
    TaskCommand command;
    while (driver.next(command)) {
      if (command.kind == Kind::Drop) continue;
      const TimedCommand& timed_command = clock.begin(command);
      const double seconds = timed_command.end - timed_command.begin;
      if (command.kind == Kind::Run) {
        result.busy_seconds[static_cast<std::size_t>(command.device)] += seconds;
        continue;
      }
      SimulatedLink& link = result.links[static_cast<std::size_t>(timed_command.link)];
      link.bytes += graph.array(command.array).bytes;
      link.busy_seconds += seconds;
    }
    if (driver.is_finished()) break;
    if (clock.is_idle()) driver.fail_stuck();
    const SimulatedStep step = clock.end_one();
    if (keep_steps) result.steps.push_back(step);
    driver.done(step.command, clock.now());
  }
  result.seconds = clock.now();
  result.traffic = driver.traffic();
  result.order = driver.order();
  result.decision_seconds = timed.seconds();
  result.most_ready = timed.most_ready();
  std::vector<double> decisions = timed.decisions();
  if (!decisions.empty()) {
    const auto at = decisions.begin() + static_cast<std::ptrdiff_t>(decisions.size() * 99 / 100);
    std::nth_element(decisions.begin(), at, decisions.end());
    result.longest_decisions = *at;
  }
  return result;
}

double TaskBounds::seconds() const { return std::max({work_seconds, path_seconds, link_seconds}); }

TaskBounds bounds_of(const TaskDag& graph, const Machine& machine, index_t least_bytes_in) {
  machine.require_fit(graph);
  TaskBounds bounds;
  std::vector<double> path(static_cast<std::size_t>(graph.num_tasks()));
  for (const TaskId task : graph.order()) {
    double seconds = std::numeric_limits<double>::max();
    for (DeviceId device = 0; device < machine.num_devices(); ++device)
      if (machine.can_run(graph, task, device))
        seconds = std::min(seconds, machine.run_seconds(graph, task, device));
    bounds.work_seconds += seconds / machine.num_devices();
    double begin = 0;
    for (const TaskId before : graph.predecessors(task))
      begin = std::max(begin, path[static_cast<std::size_t>(before)]);
    path[static_cast<std::size_t>(task)] = begin + seconds;
    bounds.path_seconds = std::max(bounds.path_seconds, begin + seconds);
  }
  for (ArrayId array = 0; array < graph.num_arrays(); ++array) {
    bool is_written = false, is_read_first = false, is_first = true;
    for (const TaskId task : graph.users(array))
      for (const TaskAccess& access : graph.task(task).accesses) {
        if (access.array != array) continue;
        is_read_first = is_read_first || (is_first && access.reads());
        is_written = is_written || access.writes();
        is_first = false;
      }
    if (is_read_first) bounds.bytes_in += graph.array(array).bytes;
    if (is_written) bounds.bytes_out += graph.array(array).bytes;
  }
  bounds.bytes_in = std::max(bounds.bytes_in, least_bytes_in);

  // The host's links, each once: of duplex ones both ways work at the same time.
  double one_way = 0, shared = 0;
  std::vector<bool> is_counted(machine.links().size());
  for (DeviceId device = 0; device < machine.num_devices(); ++device) {
    const std::size_t link = static_cast<std::size_t>(machine.link_between(host, device));
    if (is_counted[link]) continue;
    is_counted[link] = true;
    (machine.links()[link].duplex ? one_way : shared) += machine.links()[link].bytes_per_second;
  }
  const double in = static_cast<double>(bounds.bytes_in), out = static_cast<double>(bounds.bytes_out);
  // A link that is shared may serve one way only: neither way is faster than all links, both together not
  // than duplex ones twice.
  bounds.link_seconds =
      std::max({in / (one_way + shared), out / (one_way + shared), (in + out) / (2 * one_way + shared)});
  return bounds;
}

}  // namespace strata::inline STRATA_ABI::tasks
