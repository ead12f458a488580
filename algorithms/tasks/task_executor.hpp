// TaskExecutor: carries out what a scheduler decides for a graph of tasks, on devices. It decides nothing
// itself: TaskDriver (plan/task_driver.hpp) gives commands, which are enqueued, and is told when they ended.
//
//   window of tasks -> TaskPlan (arrays, tasks, machine as the driver has them) -> TaskRound: commands until
//   all tasks are done, or something failed -> next window, or the rest of this one planned anew
//
// After a failure all that is under way ends, the directories of arrays are corrected, the tasks that depend
// on the one that failed are dropped, and the rest is planned from where values are then.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <strata/algorithms/tasks/task_graph.hpp>
#include <strata/algorithms/tasks/task_graph_state.hpp>
#include <strata/algorithms/tasks/task_round.hpp>
#include <strata/views/coherent/array_reservation.hpp>

namespace strata::inline STRATA_ABI::detail {

class TaskExecutor {
 public:
  /// `join_contributions` adds tasks that join what is pending.
  TaskExecutor(TaskGraphState& graph, const std::vector<TaskPart>& parts, const TaskRunOptions& options,
               std::function<void()> join_contributions);
  /// As TaskGraph::run.
  TaskReport run();

 private:
  void make_runners(const std::vector<TaskPart>& parts);
  void take_turns();
  void check_versions();
  void reserve_arrays(int first, int end);
  void run_window(const std::vector<int>& window, bool is_last);
  std::string run_round(const std::vector<int>& tasks, bool is_last);
  std::vector<int> tasks_left(const std::vector<int>& window) const;
  void give_up(const std::vector<int>& tasks, const std::string& cause);
  void reduce_memory(int part);
  std::unique_ptr<tasks::TaskScheduler> make_scheduler(const TaskPlan& plan) const;
  void note_losses(const std::string& cause);
  bool is_lost(const CoherentState& array) const;
  bool has_lost() const;
  void add_missing(int number);
  void forget_replaced(int number);
  bool lacks_results(int number);
  void drop_dependents(const std::vector<int>& tasks);
  void flush_all();
  void add_to_report(const TaskRound& round);
  [[noreturn]] void fail() const;

  TaskGraphState& graph_;
  const TaskRunOptions options_;
  const std::function<void()> join_contributions_;
  TaskMailbox mailbox_;
  std::vector<TaskRound::Runner> runners_;
  std::vector<TaskPart> parts_;
  std::vector<TaskPlan::Device> devices_;            // of parts
  std::vector<std::unique_lock<std::mutex>> turns_;  // runs on one device come one after the other
  std::vector<ArrayReservation> reservations_;
  std::vector<Ref<CoherentState>> arrays_;                       // those that are reserved
  std::unordered_map<const CoherentState*, std::size_t> index_;  // of these
  std::vector<bool> is_to_write_;                                // of these
  std::vector<TransferCounters> counters_before_;
  std::vector<std::uint64_t> losses_;  // WholeCopies::losses() of arrays, as far as they were noted
  std::string cause_of_losses_;
  std::vector<TaskRound::Failure> failures_;
  struct Missing {
    int task;
    ArrayPart part;
    bool commutes;
  };
  std::unordered_map<const CoherentState*, std::vector<Missing>> missing_;  // what such tasks were to write
  std::set<const CoherentState*> lost_;  // arrays of which a failure has left parts without values
  int num_checked_ = 0;                  // tasks that have a version
  TaskReport report_;
  std::vector<std::unique_ptr<TaskWorker>> workers_;  // last: their threads end before what they use
};

}  // namespace strata::inline STRATA_ABI::detail
