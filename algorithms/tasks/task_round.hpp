// TaskRound: one driver's run: commands are begun and their ends reported to it, until all tasks of a plan
// are done or something failed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <strata/algorithms/tasks/plan/task_driver.hpp>
#include <strata/algorithms/tasks/task_plan.hpp>
#include <strata/algorithms/tasks/task_worker.hpp>
#include <strata/devices/emulated/control.hpp>
#include <strata/views/coherent/file_storage.hpp>
#include <strata/views/coherent/whole_copies.hpp>

namespace strata::inline STRATA_ABI::detail {

class TaskRound {
 public:
  /// What runs tasks of a part of the place: a thread of a host, or queues of a device.
  struct Runner {
    TaskPart part;
    TaskWorker* worker = nullptr;         // of a host
    TaskWorker* files = nullptr;          // reads and writes files, where the host's memory is bounded
    std::vector<Ref<QueueState>> queues;  // elsewhere
  };
  struct Failure {
    tasks::TaskId task;  // of the plan
    std::string error;
  };

  /// How a round goes.
  struct Options {
    tasks::TaskEnd end;
    const TaskCosts* costs;   // null: no task is measured
    double watchdog_seconds;  // 0: never
    bool in_virtual_time;     // see TaskRunOptions
  };

  /// All are referred to. `label` is that of the graph. `scheduler` is begun.
  TaskRound(const std::string& label, const TaskPlan& plan, std::vector<Runner>& runners,
            TaskMailbox& mailbox, tasks::TaskScheduler& scheduler, const Options& options);

  /// Runs until all is done, or something failed and all that was under way has ended. The driver's errors.
  void run();

  /// Tasks that failed, and why.
  const std::vector<Failure>& failures() const { return failures_; }
  /// Whether anything failed: a task, a copy, or work of others; then some tasks may not have run.
  bool is_broken() const { return is_stopping_; }
  /// What broke it, where no task failed by itself.
  const std::string& cause() const { return cause_; }
  /// The part of which memory was lacking; -1: none.
  int part_without_room() const { return without_room_; }
  /// For which task: of an array, the first that uses it, can run on that part, and is not done.
  tasks::TaskId task_without_room() const;
  /// The bytes of that task, or of an array that was sent there for none.
  index_t bytes_without_room() const;
  /// Tasks that were done, of each part.
  const std::vector<long>& tasks_done() const { return tasks_done_; }
  index_t bytes_reloaded() const { return bytes_reloaded_; }
  const std::vector<index_t>& bytes_in() const { return bytes_in_; }
  const std::vector<index_t>& bytes_out() const { return bytes_out_; }
  /// In the scheduler and the driver, which asks it. Its functions are too short to be measured one by one.
  double decision_seconds() const { return decision_seconds_; }
  /// What tasks took.
  struct Measure {
    tasks::TaskId task;  // of the plan
    std::size_t part;
    double seconds;
  };
  const std::vector<Measure>& measures() const { return measures_; }
  /// Arrays whose last values were given up while a task was to write them.
  const std::vector<Ref<CoherentState>>& given_up() const { return given_up_; }
  /// Arrays whose values could not be written to their files.
  const std::vector<Ref<CoherentState>>& unwritten() const { return unwritten_; }

 private:
  using Kind = tasks::TaskCommand::Kind;
  struct Running {
    tasks::TaskCommand command;
    Ref<EventState> event;            // null: it has ended, or a worker reports its end
    Ref<EventState> start;            // of a task that is measured, on a queue
    int queue = -1;                   // on which a task runs
    int work = -1;                    // its number, where a worker does it
    FileStorage* file = nullptr;      // of a copy to or from a device: is read before it, or written after it
    WholeCopies::Launch launch = {};  // of a task on a queue
    std::uint64_t recoveries = 0;     // there had been when a copy began
  };

  void place_copies();
  // Where an error comes from, which decides what it means: others' work that failed before this was begun;
  // the preparation of a command, of which nothing was done; or the work of the command itself, however late
  // it is reported.
  enum class Origin : unsigned char { OtherWork, Preparation, Work };

  const TaskEntry& entry_of(const tasks::TaskCommand& command) const {
    return *plan_.sources[static_cast<std::size_t>(command.task)].entry;
  }
  void begin(const tasks::TaskCommand& command);
  void begin_copy(const tasks::TaskCommand& command);
  void begin_file_work(Running& running, FileStorage& file);
  void begin_device_copy(Running& running);
  void end_file_read(std::size_t running);
  void begin_run(const tasks::TaskCommand& command);
  void drop(const tasks::TaskCommand& command);
  void count(const tasks::TaskCommand& command);
  bool end_some();
  void end_next_in_virtual_time();
  void end_event(std::size_t running);
  void require_done(const Running& running);
  void end(std::size_t running, const std::exception_ptr& error, Origin origin);
  void wait_for_end();
  void report_standstill() const;
  bool is_measured(const tasks::TaskCommand& command) const;
  void stop(const tasks::TaskCommand& command, const std::exception_ptr& error, Origin origin);
  void task_done(const tasks::TaskCommand& command);
  double now() const;

  Runner& runner(tasks::DeviceId device) { return runners_[static_cast<std::size_t>(device)]; }
  DeviceInstance* device_of(tasks::DeviceId device) {
    return device == tasks::host || runner(device).part.host != nullptr ? nullptr
                                                                        : runner(device).part.device;
  }

  const std::string& label_;
  const TaskPlan& plan_;
  std::vector<Runner>& runners_;
  TaskMailbox& mailbox_;
  tasks::TaskDriver driver_;
  WholeCopies copies_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<Running> running_;
  int next_work_ = 0;
  std::vector<std::vector<bool>> is_busy_;  // queues of runners
  std::vector<Failure> failures_;
  bool is_stopping_ = false;
  std::string cause_;
  int without_room_ = -1;
  tasks::TaskCommand needs_room_ = {};  // that lacked it
  std::vector<long> tasks_done_;
  double decision_seconds_ = 0;
  index_t bytes_reloaded_ = 0;
  std::vector<index_t> bytes_in_, bytes_out_;
  std::vector<bool> was_there_;  // of arrays and parts
  const Options options_;
  std::vector<Measure> measures_;
  std::vector<Ref<CoherentState>> given_up_, unwritten_;
  int idle_polls_ = 0;
  double last_end_ = 0;                            // when something ended, or the watchdog reported
  std::optional<emulated::HeldClock> held_clock_;  // where ends are taken in virtual time
  Ref<EventState> virtual_start_;                  // the same
  double virtual_now_ = 0;                         // seconds since then
};

}  // namespace strata::inline STRATA_ABI::detail
