// TaskGraphState: the tasks of a graph as data.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <strata/algorithms/tasks/task_body.hpp>
#include <strata/algorithms/tasks/task_contributions.hpp>
#include <strata/algorithms/tasks/task_handle.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Of memory for the array of a use, on a device that has room for it; at least 1.
index_t bytes_of(const TaskUse& use);

struct TaskEntry {
  /// A task, or a hint for an array that is not used for a while, or whose values are not needed any more.
  enum class Kind : unsigned char { Task, WontUse, Discard } kind = Kind::Task;
  std::string label;
  Ref<TaskBody> body;
  std::vector<TaskUse> uses;  // each array once
  std::vector<int> after;     // tasks before it for which it also waits
  Ref<TaskOutcome> outcome;   // of a scope: its own, and those of `after`
  std::vector<Ref<TaskOutcome>> outcomes_before;
  double priority = 0;
  bool has_priority = false;
  double work = 0;  // operations; 0: its bytes

  // Of its last run.
  enum class State : unsigned char { Waiting, Done, Failed, Dropped } state = State::Waiting;

  /// Uses of one array become one. Throws AccessConflict where they overlap, and one of them writes.
  void join_uses();
  /// Of all that it uses.
  index_t bytes() const;
  /// Its operations, or its bytes.
  double work_or_bytes() const { return work > 0 ? work : work_of(bytes()); }
  /// That of so many bytes: more than 0, as rates of known costs are, also where a task uses no element.
  static double work_of(index_t bytes) { return static_cast<double>(bytes > 0 ? bytes : 1); }
};

/// Tasks are numbered from 0 in the order in which they come. Those of a scope run while it is filled: they
/// begin when they are closed, and are forgotten when they have run.
class TaskGraphState {
 public:
  TaskGraphState(std::string its_label, bool of_scope) : label(std::move(its_label)), is_scope(of_scope) {}

  /// Its uses are joined. A task of a scope is open until close(), or close_of_thread() by the same thread.
  int add(TaskEntry&& entry);
  void close(int task);
  /// Whether there was one.
  bool close_of_thread();
  void close_all();
  /// Error where a task cannot be changed any more.
  void set_priority(int task, double value);
  void set_work(int task, double operations);
  void add_after(int task, int before, const Ref<TaskOutcome>& outcome);
  /// Of a task of a scope; null: it is forgotten.
  Ref<TaskOutcome> outcome_of(int task) const;
  /// Of entries, with those that are forgotten; of tasks among them.
  int size() const;
  long num_tasks() const;
  /// Up to which entries are closed; the label of the one that follows.
  int closed_end() const;
  std::string label_of_open() const;
  /// An entry that is not forgotten; it stays where it is.
  TaskEntry& entry(int task);
  /// Those from `first` to `end`.
  std::vector<TaskEntry*> entries(int first, int end);
  void forget_before(int task);
  /// How many are not forgotten.
  std::size_t num_kept() const;
  void clear();
  /// How often that was done.
  int clears() const;
  /// Throws Error where tasks that were added after so many of these are gone.
  void require_known(int clears) const;
  /// Contributions to arrays that have not joined these, by array.
  struct Pending {
    Ref<CoherentState> array;
    std::string type;  // of the contributions
    Ref<PendingContributions> contributions;
  };
  /// Those of an array, or null; taken ones are not pending any more.
  PendingContributions* pending(const CoherentState& array, const std::string& type) const;
  void add_pending(Pending&& pending);
  /// Also without the mutex of contributions.
  bool has_pending() const { return num_pending_ > 0; }
  /// Whether there have been any for so long.
  bool has_pending_for(std::chrono::steady_clock::duration time);
  std::vector<Pending> take_pending(const CoherentState* array = nullptr);
  /// Those that have joined, whose copies are used again; null: none.
  void add_joined(Pending&& joined) { joined_.push_back(std::move(joined)); }
  Ref<PendingContributions> take_joined(const CoherentState& array, const std::string& type);
  /// Held while contributions are added or joined.
  std::recursive_mutex contributions_mutex;

  /// Throws Error while the graph runs; until end_run() it does.
  void begin_run();
  void end_run();

  const std::string label;
  const bool is_scope;

 private:
  TaskEntry& known(int task) { return tasks_[static_cast<std::size_t>(task - forgotten_)]; }
  int end() const { return forgotten_ + static_cast<int>(tasks_.size()); }
  TaskEntry& changeable(int task);

  mutable std::mutex mutex_;
  std::deque<TaskEntry> tasks_;
  int forgotten_ = 0;  // entries before those of tasks_
  struct Open {
    int task;
    std::thread::id thread;
  };
  std::vector<Open> open_;  // one of a thread
  std::atomic<std::size_t> num_open_ = 0;
  long num_tasks_ = 0;
  int clears_ = 0;
  std::vector<Pending> pending_, joined_;
  std::atomic<std::size_t> num_pending_ = 0;
  std::chrono::steady_clock::time_point pending_since_;  // where there are any
  bool is_running_ = false;
};

}  // namespace strata::inline STRATA_ABI::detail
