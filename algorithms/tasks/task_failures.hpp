// TaskFailures: of a run, what failed, what depends on it and is dropped, and which arrays lost values.
//
// Of a scope, which may have any number of tasks, it remembers so much as a window has: the first labels, and
// arrays as long as anybody else has them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <strata/algorithms/tasks/task_plan.hpp>
#include <strata/core/error_text.hpp>
#include <strata/views/coherent/array_reservation.hpp>

namespace strata::inline STRATA_ABI::detail {

/// "a", "b" and 3 more: of `count` names the first ones.
std::string list_of(const std::vector<std::string>& names, long count);
std::string list_of(const std::vector<std::string>& names);

class TaskFailures {
 public:
  using Entry = TaskPlan::Entry;

  /// `label` is that of the graph or scope.
  TaskFailures(std::string label, bool is_of_scope, int window);

  /// The task failed.
  void add(const Entry& task, const std::string& error);
  /// Drops those of `tasks`, which are in program order, that depend on what failed or was dropped.
  void drop_dependents(const std::vector<Entry>& tasks);
  /// Failures, of tasks or of others, have lost values of these.
  void note_losses(const std::vector<Ref<CoherentState>>& arrays, const std::string& cause);
  /// Values of an array, which are in memory, cannot be written to its file.
  void add_unwritten(const std::string& label, const std::string& error);
  /// The array's next use by this thread, and by the one that gets the report, does not report it once more.
  void set_reported(const Ref<CoherentState>& array);
  /// Nobody can use arrays that only this knows.
  void forget_dead_arrays();

  long num_failed() const { return num_failed_; }
  /// Whether tasks failed, or values are lost, or could not be written.
  bool has_any() const;
  /// Of a scope: arrays to which something happened that the report of the run says.
  std::vector<Ref<CoherentState>> reported_arrays() const;
  /// Throws TaskFailed; so many tasks are done.
  [[noreturn]] void fail(long num_done) const;

 private:
  struct Missing {
    int task;
    ArrayPart part;
    bool commutes;
  };
  // An array to which failures did something.
  struct Harmed {
    Ref<CoherentState> array;
    std::vector<Missing> parts;  // what tasks that failed, or were dropped, were to write
    bool has_lost = false;       // parts without values
    bool is_reported = false;    // by the report of a scope
  };

  Harmed& harmed(const Ref<CoherentState>& array);
  void set_not_done(const Entry& task);
  void add_missing(const Entry& task);
  void forget_replaced(const Entry& task);
  bool lacks_results(const Entry& task) const;

  const std::string label_;
  const bool is_of_scope_;
  const std::size_t most_labels_;
  long num_failed_ = 0, num_dropped_ = 0;
  std::string first_error_, cause_of_losses_, cause_of_unwritten_;
  std::vector<std::string> unwritten_;  // labels of arrays
  std::vector<std::string> failed_;     // labels
  std::map<int, std::string> dropped_;  // labels by number
  std::unordered_set<int> not_done_;    // numbers of both, of a graph; a scope's tasks have outcomes
  std::unordered_map<const CoherentState*, Harmed> harmed_;
  std::size_t many_harmed_;  // when those that are gone are forgotten
};

}  // namespace strata::inline STRATA_ABI::detail
