// TaskExecutor: carries out what a scheduler decides for a graph of tasks, on devices. It decides nothing
// itself: TaskDriver (plan/task_driver.hpp) gives commands, which are enqueued, and gets their ends.
//
//   window of tasks -> TaskPlan (arrays, tasks, machine as the driver has them) -> TaskRound: commands until
//   all tasks are done, or something failed -> next window, or the rest of this one planned anew
//
// After a failure all that is under way ends, the directories of arrays are corrected, the tasks that depend
// on the one that failed are dropped, and the rest is planned from where values are then: not all of it at
// once, so that a window in which many tasks fail is not planned as often as tasks fail.
//
// The tasks of a graph are there, those of a scope come from a TaskFeed, and are forgotten when they are
// over.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <strata/algorithms/tasks/device_turns.hpp>
#include <strata/algorithms/tasks/task_arrays.hpp>
#include <strata/algorithms/tasks/task_failures.hpp>
#include <strata/algorithms/tasks/task_feed.hpp>
#include <strata/algorithms/tasks/task_graph_json.hpp>
#include <strata/algorithms/tasks/task_graph_state.hpp>
#include <strata/algorithms/tasks/task_options.hpp>
#include <strata/algorithms/tasks/task_report.hpp>
#include <strata/algorithms/tasks/task_round.hpp>

namespace strata::inline STRATA_ABI::detail {

class TaskExecutor {
 public:
  /// `join_contributions` adds tasks that join what is pending. `feed`: of a scope; null for a graph.
  TaskExecutor(TaskGraphState& graph, const std::vector<TaskPart>& parts, const TaskRunOptions& options,
               std::function<void()> join_contributions, TaskFeed* feed = nullptr);
  /// As TaskGraph::run.
  TaskReport run();

  /// Throws Error where no device has a version of a task, TaskError where none has memory for it.
  void check(const TaskEntry& task) const;
  TaskArrays& arrays() { return arrays_; }
  /// On the thread of the run, after it: others get arrays and devices.
  void release();
  /// After a run of a scope: arrays to which something happened that the report of the run says.
  std::vector<Ref<CoherentState>> reported_arrays() const { return failures_.reported_arrays(); }

 private:
  using Entry = TaskPlan::Entry;
  struct Outcome {
    bool is_broken;
    std::string cause;
    Entry without_room = {nullptr, 0};  // a task for which a part lacked memory, if there is one
    index_t bytes_without_room = 0;     // its bytes, or those of an array that a scheduler sent there
    std::size_t full_part = 0;          // that part
  };

  void make_runners();
  bool next_window(int begun, int& end);
  void begin_window(int begun, int end);
  void end_window(int begun, int end);
  std::vector<ArrayHold> wanted_of(const TaskEntry& task);
  void reserve_arrays(int first, int end);
  void reserve_added_arrays(int begun, int first, int end);
  void reserve_wanted_arrays(int begun, int end);
  void keep_for_host(int begun, int end);
  void flush(const std::vector<Ref<CoherentState>>& arrays);
  void forget_old_arrays();
  void run_window(int begun, int end);
  void note_given_up(const std::vector<Ref<CoherentState>>& arrays, const std::vector<Entry>& tasks);
  void note_unwritten(const std::vector<TaskEntry*>& tasks);
  Outcome run_round(const std::vector<Entry>& tasks, bool is_last);
  void give_up(const std::vector<Entry>& tasks, const std::string& cause);
  void leave_out(const Outcome& outcome, const std::vector<Entry>& tasks);
  std::vector<TaskEntry*> known_tasks() const;
  void make_largest_fit();
  std::unique_ptr<tasks::TaskScheduler> make_scheduler(const TaskPlan& plan) const;
  int tasks_at_once(const TaskPlan& plan) const;
  void flush_all();
  void write_files();
  void add_to_report(const TaskRound& round);

  TaskGraphState& graph_;
  const TaskRunOptions options_;
  const std::function<void()> join_contributions_;
  TaskFeed* const feed_;
  TaskMailbox mailbox_;
  std::vector<TaskRound::Runner> runners_;
  const std::vector<TaskPart> parts_;
  std::vector<index_t> memories_;          // of parts, when this was made
  std::vector<TaskPlan::Device> devices_;  // of parts
  DeviceTurns turns_;
  TaskArrays arrays_;
  TaskFailures failures_;
  TaskCosts own_costs_;                // where a file is written, and the caller has none
  TaskCosts* const costs_;             // null: no task is measured
  std::optional<TaskGraphJson> json_;  // of what has run
  std::unordered_map<const CoherentState*, bool> is_written_;  // of a graph's arrays that are held
  // Of a scope: to be on the host in the end.
  struct ForHost {
    Ref<CoherentState> array;
    int last_window;  // that used it: its first task
  };
  std::unordered_map<const CoherentState*, ForHost> for_host_;
  std::unordered_map<const CoherentState*, Ref<CoherentState>> given_up_;  // in rounds of this window
  std::vector<Ref<CoherentState>> unwritten_;                              // to their files, once
  std::vector<TaskArrays::Denied> denied_;  // arrays that tasks have added, and that cannot be had
  int reserved_ = 0;                        // tasks of a graph whose arrays are held
  int window_begin_ = 0;                    // the first task of the window that runs
  std::size_t most_planned_ = 0;            // tasks at once
  bool has_less_memory_ = false;            // a device, than it was to have
  TaskReport report_;
  std::vector<std::unique_ptr<TaskWorker>> workers_;  // last: their threads end before what they use
};

}  // namespace strata::inline STRATA_ABI::detail
