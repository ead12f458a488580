// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>

#include <strata/algorithms/tasks/plan/command_clock.hpp>
#include <strata/algorithms/tasks/plan/task_error.hpp>

namespace strata::inline STRATA_ABI::tasks {

using Kind = TaskCommand::Kind;

CommandClock::CommandClock(const TaskDag& graph, const Machine& machine, const Jitter& jitter)
    : graph_(graph),
      machine_(machine),
      jitter_(jitter),
      free_at_(2 * machine.links().size()),
      idle_at_(static_cast<std::size_t>(machine.num_devices())) {
  if (!(jitter.share >= 0 && jitter.share < 1))
    throw TaskError("durations that vary by " + std::to_string(100 * jitter.share) +
                    " percent were asked for: give 0 to less than 100");
}

const TimedCommand& CommandClock::begin(const TaskCommand& command) {
  last_ = {command, now_, now_, none};
  if (command.kind == Kind::Run) {
    const std::size_t device = static_cast<std::size_t>(command.device);
    const double seconds = factor() * machine_.run_seconds(graph_, command.task, command.device);
    if (machine_.device(command.device).runs_in_turn) last_.begin = std::max(now_, idle_at_[device]);
    last_.end = idle_at_[device] = last_.begin + seconds;
  } else {
    const bool is_load = command.kind == Kind::Load;
    const DeviceId from = is_load ? command.source : command.device, to = is_load ? command.device : host;
    last_.link = machine_.link_between(from, to);
    const std::size_t link = static_cast<std::size_t>(last_.link);
    const bool is_backwards = machine_.links()[link].duplex && from > to;
    double& free_at = free_at_[2 * link + (is_backwards ? 1 : 0)];
    last_.begin = std::max(now_, free_at);
    const double seconds = factor() * machine_.copy_seconds(from, to, graph_.array(command.array).bytes);
    last_.end = free_at = last_.begin + seconds;
  }
  running_.push({last_, next_++});
  return last_;
}

// SplitMix64's: of 0 it is 0.
static std::uint64_t hash(std::uint64_t bits) {
  bits *= 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

// Of the next command, by its number and all bits of the seed.
double CommandClock::factor() const {
  if (jitter_.share == 0) return 1;
  const std::uint64_t first = (jitter_.seed << 32) ^ hash(jitter_.seed >> 32);
  const std::uint64_t bits = hash(first + static_cast<std::uint64_t>(next_) + 1);
  return 1 + jitter_.share * (std::ldexp(static_cast<double>(bits >> 11), -52) - 1);
}

TimedCommand CommandClock::end_one() {
  const TimedCommand command = running_.top().command;
  running_.pop();
  now_ = command.end;
  return command;
}

namespace {

// Whether it is not worth going on with a run that takes `now` seconds so far.
bool is_slower(double now, const ExpectedRun& run, const ExpectedRun& other, bool is_race) {
  constexpr std::size_t first_part = 4;
  constexpr double most = 1.1;
  if (now >= other.seconds) return true;
  if (!is_race) return false;
  const std::size_t parts = run.part_ends.size();
  return parts >= first_part && run.part_ends.back() > most * other.part_ends[parts - 1];
}

}  // namespace

ExpectedRun expected_run(const SchedulerView& view, TaskScheduler& scheduler, const ExpectedRun* other,
                         bool is_race) {
  TaskDriver driver(view.graph, view.machine, scheduler, view.end);
  for (ArrayId array = 0; array < view.graph.num_arrays(); ++array)
    for (DeviceId device = 0; device < view.machine.num_devices(); ++device)
      if (view.memory.is_present(array, device)) driver.place(array, device, view.memory.is_dirty(array));
  CommandClock clock(view.graph, view.machine);
  ExpectedRun run;
  driver.start();
  while (true) {
    TaskCommand command;
    while (driver.next(command))
      if (command.kind != Kind::Drop) clock.begin(command);
    run.num_tasks = static_cast<long>(driver.order().size());
    while (run.part_ends.size() < ExpectedRun::num_parts &&
           driver.order().size() * ExpectedRun::num_parts >=
               (run.part_ends.size() + 1) * static_cast<std::size_t>(view.graph.num_tasks()))
      run.part_ends.push_back(clock.now());
    if (driver.is_finished()) {
      run.seconds = clock.now();
      return run;
    }
    if (other && is_slower(clock.now(), run, *other, is_race)) return run;
    if (clock.is_idle()) driver.fail_stuck();
    const TimedCommand ended = clock.end_one();
    driver.done(ended.command, ended.end);
  }
}

}  // namespace strata::inline STRATA_ABI::tasks
