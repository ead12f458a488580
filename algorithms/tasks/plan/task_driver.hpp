// TaskDriver: carries a graph through a scheduler's decisions: what is ready, what is admitted to a memory,
// which copies are to be made and which tasks to run. It gives commands and is told when they are done; the
// order in which commands end is free. Who executes the commands decides nothing.
//
//   TaskDriver driver(graph, machine, scheduler);
//   driver.start();
//   while (!driver.is_finished())
//     { while (driver.next(command)) begin(command); ... driver.done(one that ended, now); }
//
// Admission: a task that was assigned takes its turn when the pinned bytes and all that it needs beside them
// fit the memory. All of it is pinned then, so that two inputs of a task never drive each other out, and a
// memory as large as the largest task is enough: with nothing admitted nothing is pinned.
//
//   assigned --room for all operands--> admitted --all present--> running --> done
//
// Coherence: the writer of an array has the only valid copy; the others are dropped when it is done. A victim
// that is the only valid copy is stored to the host before its room is free.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <vector>

#include <strata/algorithms/tasks/plan/scheduler.hpp>

namespace strata::inline STRATA_ABI::tasks {

/// What is to be done next.
struct TaskCommand {
  /// What kind of thing.
  enum class Kind : unsigned char {
    Load,   ///< copy `array` from `source` to `device`
    Store,  ///< copy `array` from `device` to the host
    Run,    ///< run `task` on `device`
    Drop    ///< give up the copy of `array` on `device`; at once, done() is not called for it
  };
  Kind kind;                 ///< which of them
  DeviceId device;           ///< to which, from which or on which
  TaskId task = none;        ///< of Run
  ArrayId array = none;      ///< of Load, Store and Drop
  DeviceId source = host;    ///< of Load
  bool is_prefetch = false;  ///< of Load: no task that was admitted waits for it
};

/// Bytes that were moved, and what came again.
struct TaskTraffic {
  index_t to_devices = 0;       ///< from the host
  index_t from_devices = 0;     ///< to the host
  index_t between_devices = 0;  ///< from one to another
  index_t reloads = 0;          ///< copies to devices that had held the array before
};

/// See the head of the file. Not thread safe.
class TaskDriver {
 public:
  /// All are referred to. TaskError for a graph with a cycle, and where Machine::require_fit has one.
  TaskDriver(const TaskDag& graph, const Machine& machine, TaskScheduler& scheduler,
             TaskEnd end = TaskEnd::OnHost);

  /// Before start(): a device has an array; `is_dirty`: the host's values are old. TaskError where the memory
  /// has no room for it.
  void place(ArrayId array, DeviceId device, bool is_dirty);
  /// Events of the start; then there are commands.
  void start();
  /// The next command to begin; false: none until another one ends.
  bool next(TaskCommand& command);
  /// A command ended. TaskError where the scheduler assigns, prefetches or evicts what it may not, and where
  /// it only moves arrays while no device has a task.
  void done(const TaskCommand& command, double now);
  /// All tasks are done, and arrays are where they are to be.
  bool is_finished() const {
    return num_done_ == graph_.num_tasks() && num_pending_ == 0 &&
           (end_ == TaskEnd::InPlace || num_dirty_ == 0);
  }
  /// To be called when no command is under way, none is next, and the run is not finished: TaskError that
  /// names the tasks and arrays that block.
  [[noreturn]] void fail_stuck() const;

  /// Which memory holds what.
  const Residency& memory() const { return memory_; }
  /// A task writes it now, or writes all of it before any reads it: what else has its values may be dropped.
  bool is_written(ArrayId array) const { return is_written_[static_cast<std::size_t>(array)]; }
  /// Of commands that were given.
  const TaskTraffic& traffic() const { return traffic_; }
  /// In the order in which they ended.
  const std::vector<TaskId>& order() const { return order_; }

 private:
  using State = Residency::State;
  enum class Phase : unsigned char { Waiting, Ready, Assigned, Admitted, Running, Done };
  struct DeviceState {
    TaskId assigned = none;        // waits for room
    std::vector<TaskId> admitted;  // in the order of admission, without those done
    int running = 0;
    std::deque<TaskId> handed;   // that the scheduler assigned to a device which cannot run them
    std::deque<ArrayId> wanted;  // of admitted tasks, not yet on their way
    index_t wanted_bytes = 0;
    ArrayId prefetch = none;  // waits for room
    int prefetches = 0;       // under way
    int stores = 0;           // the same
  };

  void pump();
  bool pump(DeviceId device);  // and the like: whether something changed
  bool admit(DeviceId device);
  bool start_loads(DeviceId device);
  bool start_prefetches(DeviceId device);
  bool start_stores(DeviceId device);
  bool start_run(DeviceId device);
  TaskId next_assigned(DeviceId device);
  void require_ready(TaskId task);
  DeviceId device_for(TaskId task) const;
  bool may_update(TaskId task, DeviceId device) const;
  void want(ArrayId array, DeviceId device);
  bool make_room(DeviceId device, index_t bytes, bool is_prefetch);
  void evict(ArrayId array, DeviceId device);
  void drop(ArrayId array, DeviceId device);
  void free(ArrayId array, DeviceId device);
  void load(ArrayId array, DeviceId device, DeviceId source, bool is_prefetch);
  void store(ArrayId array, DeviceId device);
  bool find_source(ArrayId array, DeviceId device, DeviceId& source);
  bool relay(ArrayId array, DeviceId device);
  bool is_lent(ArrayId array) const;
  void command(const TaskCommand& command);
  index_t& link_bytes(const TaskCommand& command);
  void load_done(const TaskCommand& command);
  void store_done(const TaskCommand& command);
  void run_done(const TaskCommand& command);
  void written(ArrayId array, DeviceId device);
  void host_has(ArrayId array);
  void release_after(ArrayId array, int uses);
  void release(ArrayId array, bool discards);
  void make_ready(TaskId task, DeviceId released_by);
  std::string name_of(ArrayId array) const;
  std::string idle_text() const;
  [[noreturn]] void fail(const std::string& what) const;

  DeviceState& state(DeviceId device) { return devices_[static_cast<std::size_t>(device)]; }
  Phase& phase(TaskId task) { return phases_[static_cast<std::size_t>(task)]; }
  index_t bytes_of(ArrayId array) const { return graph_.array(array).bytes; }

  // Updates that commute exclude each other: one device has the array for them, and runs one at a time.
  struct Updates {
    DeviceId device = none;
    int admitted = 0;
    bool is_running = false;
  };

  const TaskDag& graph_;
  const Machine& machine_;
  TaskScheduler& scheduler_;
  const TaskEnd end_;
  Residency memory_;
  double now_ = 0;
  std::vector<DeviceState> devices_;
  std::vector<Phase> phases_;
  std::vector<int> waits_;             // predecessors that are not done
  std::vector<bool> is_storing_;       // of arrays: the host gets it
  std::vector<bool> is_written_;       // of arrays: a task writes it now, or will before any reads it
  std::vector<unsigned char> relays_;  // of arrays and devices: how often it was loaded for another one
  std::vector<bool> was_held_;         // of arrays and devices
  std::vector<Updates> updates_;       // of arrays: by admitted tasks whose updates commute
  std::vector<int> uses_done_;         // of arrays: users that are done
  std::vector<index_t> on_link_;       // bytes of commands under way, by link
  std::deque<TaskCommand> commands_;
  std::vector<TaskId> order_;
  std::vector<ArrayId> chosen_;  // of make_room
  TaskTraffic traffic_;
  int num_assigned_ = 0, num_done_ = 0, num_dirty_ = 0;
  int num_pending_ = 0;           // commands that have not ended
  long most_useless_ = 1000;      // answers of prefetch() in a row, beside one for each access of a task
  long num_idle_prefetches_ = 0;  // since a task was assigned, while no device had one
};

}  // namespace strata::inline STRATA_ABI::tasks
