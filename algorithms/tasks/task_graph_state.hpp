// TaskGraphState: the tasks of a graph as data, apart from the types of kernels and arrays.
//
// Thread safe; what run() works on does not move when tasks are added.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include <strata/algorithms/tasks/task_body.hpp>
#include <strata/algorithms/tasks/task_contributions.hpp>

namespace strata::inline STRATA_ABI::detail {

struct TaskEntry {
  /// A task, or a hint for an array that is not used for a while, or whose values are not needed any more.
  enum class Kind : unsigned char { Task, WontUse, Discard } kind = Kind::Task;
  std::string label;
  Ref<TaskBody> body;
  std::vector<TaskUse> uses;  // each array once
  std::vector<int> after;     // tasks before it for which it also waits
  double priority = 0;
  bool has_priority = false;
  double work = 0;  // operations; 0: its bytes

  // Of its last run.
  enum class State : unsigned char { Waiting, Done, Failed, Dropped } state = State::Waiting;
};

class TaskGraphState {
 public:
  explicit TaskGraphState(std::string graph_label) : label(std::move(graph_label)) {}

  /// Throws AccessConflict where uses of one array overlap, and one of them writes.
  int add(TaskEntry&& entry);
  void set_priority(int task, double value);
  void set_work(int task, double operations);
  void add_after(int task, int before);
  /// Of entries; of tasks among them.
  int size() const;
  long num_tasks() const;
  TaskEntry& entry(int task);
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
  void add_pending(Pending&& pending) { pending_.push_back(std::move(pending)); }
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

 private:
  mutable std::mutex mutex_;
  std::deque<TaskEntry> tasks_;
  long num_tasks_ = 0;
  int clears_ = 0;
  std::vector<Pending> pending_, joined_;
  bool is_running_ = false;
};

}  // namespace strata::inline STRATA_ABI::detail
