// CommandClock: when commands of a TaskDriver begin and end on a machine that is only described. Discrete
// events: a device runs one task at a time, or as many as it has queues; a link (a duplex one each way) makes
// one copy at a time, first come, first served. For simulations, and for schedulers that want to know what
// comes of a choice.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <queue>
#include <vector>

#include <strata/algorithms/tasks/plan/task_driver.hpp>

namespace strata::inline STRATA_ABI::tasks {

/// A command, and when it ran.
struct TimedCommand {
  TaskCommand command;  ///< what was done
  double begin;         ///< in seconds since the start
  double end;           ///< the same
  int link = none;      ///< over which; none: it was no copy
};

/// How far durations are from those of the machine, as measured ones are: each has a factor of its own, drawn
/// at random from [1 - share, 1 + share]. The same seed gives the same factors.
struct Jitter {
  double share = 0;        ///< less than 1
  std::uint64_t seed = 1;  ///< of the draws
};

/// See the head of the file.
class CommandClock {
 public:
  /// Both are referred to.
  CommandClock(const TaskDag& graph, const Machine& machine, const Jitter& jitter = {});

  /// Now. The result says when it will have ended.
  const TimedCommand& begin(const TaskCommand& command);
  /// Nothing is under way.
  bool is_idle() const { return running_.empty(); }
  /// Goes on to the end of the next command; of equal times, of the one that began first.
  TimedCommand end_one();
  /// Seconds since the start.
  double now() const { return now_; }

 private:
  struct Entry {
    TimedCommand command;
    long number;
    bool operator<(const Entry& other) const {  // a priority_queue has the largest on top
      return command.end > other.command.end || (command.end == other.command.end && number > other.number);
    }
  };

  double factor() const;

  const TaskDag& graph_;
  const Machine& machine_;
  const Jitter jitter_;
  std::vector<double> free_at_;  // of links, there and back
  std::vector<double> idle_at_;  // of devices whose tasks run in turn
  std::priority_queue<Entry> running_;
  TimedCommand last_;
  double now_ = 0;
  long next_ = 0;
};

/// What comes of a run that was only simulated.
struct ExpectedRun {
  /// As many parts of a run are compared.
  static constexpr std::size_t num_parts = 16;

  double seconds =
      std::numeric_limits<double>::infinity();  ///< of the whole run; infinity where it was given up
  long num_tasks = 0;                           ///< that were simulated: what finding out took
  std::vector<double> part_ends;                ///< when each sixteenth of the tasks was done
};

/// A run by a scheduler that has not started, from where arrays are in `view` on. It is given up where it
/// takes as long as `other`, and with `is_race` where it is a tenth slower at the end of a part, from the
/// fourth one on. TaskError as TaskDriver has it.
ExpectedRun expected_run(const SchedulerView& view, TaskScheduler& scheduler,
                         const ExpectedRun* other = nullptr, bool is_race = false);

}  // namespace strata::inline STRATA_ABI::tasks
