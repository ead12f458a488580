// TaskScope: tasks as those of a TaskGraph, which run as they are added.
//
//   TaskScope scope("cholesky", across(Cuda{0}, Cuda{1}));
//   scope.launch("scale", n, Scale{2}, inout(x));
//   scope.call("gemm", Gemm{}, in(a(i, k)), in(a(j, k)), inout(a(i, j))).priority(2);
//   TaskReport report = scope.wait();                                       // throws TaskFailed
//
// Use it for more tasks than should be kept in memory: completed ones are forgotten, and a thread that adds
// tasks blocks while too many are pending, so that options.window bounds memory. Use a TaskGraph for what
// runs several times; it knows all tasks before it begins the first one.
//
// A window of tasks runs while the next one is collected: what could begin early waits for the window before
// it.
//
// Other uses of the arrays of tasks that were added and are not done wait: a host view of such an array, or a
// launch over it, blocks until these tasks are done.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <strata/algorithms/tasks/task_adder.hpp>
#include <strata/algorithms/tasks/task_handle.hpp>
#include <strata/algorithms/tasks/task_options.hpp>
#include <strata/algorithms/tasks/task_report.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {
class TaskFeed;
}

/// A task of a scope that was just added. It begins when this object is destroyed, at the end of the
/// statement, or when the same thread adds another task or waits for an array; to refer to it later keep a
/// TaskHandle.
class NewTask {
 public:
  ~NewTask();
  NewTask(const NewTask&) = delete;
  NewTask& operator=(const NewTask&) = delete;

  /// As those of TaskHandle.
  const NewTask& priority(double value) const;
  const NewTask& work(double operations) const;
  const NewTask& after(const TaskHandle& other) const;
  operator TaskHandle() const { return task_; }

 private:
  friend class TaskScope;
  NewTask(detail::TaskGraphState& graph, detail::TaskFeed& feed, int number,
          const detail::Ref<detail::TaskOutcome>& outcome)
      : task_(graph, number, 0, outcome), feed_(feed) {}

  TaskHandle task_;
  detail::TaskFeed& feed_;
};

/// See the head of the file. Tasks may be added from several threads, and by tasks that run on hosts: those
/// of this scope do not wait for room.
class TaskScope {
 public:
  /// `label` is for messages and reports. Throws what TaskGraph::run throws for options and places.
  template <Place Where>
  TaskScope(std::string label, const Where& where, const TaskRunOptions& options = {})
      : TaskScope(std::move(label), detail::task_parts(where), options) {}
  template <Place Where>
  TaskScope(std::string label, const Where& where, const std::string& scheduler)
      : TaskScope(std::move(label), detail::task_parts(where), with_scheduler(scheduler)) {}
  /// By copies of a scheduler of the program's own.
  template <Place Where, class Scheduler>
  requires std::is_base_of_v<tasks::TaskScheduler, Scheduler> TaskScope(std::string label, const Where& where,
                                                                        const Scheduler& scheduler,
                                                                        TaskRunOptions options = {})
      : TaskScope(std::move(label), detail::task_parts(where), with_scheduler(scheduler, options)) {}
  /// Waits for all tasks; if wait() was not called, failures are printed to stderr.
  ~TaskScope();
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;

  /// As TaskGraph::launch. Also throws AccessConflict where the calling thread has a view of an array, or a
  /// view for which the holders of the array wait; Error where no device has a version of the task, and after
  /// wait(); tasks::TaskError where none has memory for it; and the error that has ended the run.
  template <class Devices = KernelDevices, WorkRange R, class K, class... Accesses>
  NewTask launch(const std::string& label, const R& work, const K& kernel, const Accesses&... accesses) {
    return new_task(adder().launch<Devices>(label, work, kernel, accesses...));
  }
  /// As TaskGraph::call, with the errors of launch().
  template <class Devices = KernelDevices, class F, class... Accesses>
  NewTask call(const std::string& label, const F& f, const Accesses&... accesses) {
    return new_task(adder().call<Devices>(label, f, accesses...));
  }
  /// As TaskGraph::wont_use, and TaskGraph::discard, with the errors of launch() besides.
  template <class T, int Rank, class L>
  void wont_use(const BasicCoherentArray<T, Rank, L>& array) {
    adder().wont_use(array);
  }
  template <class T, int Rank, class L>
  void discard(const BasicCoherentArray<T, Rank, L>& array) {
    adder().discard(array);
  }

  /// Waits for all tasks. After it none can be added, and a second call throws Error, as does one by a task
  /// of the scope. Throws TaskFailed for tasks that failed since the scope began, with all that is lost.
  TaskReport wait();
  /// How many tasks were added, without hints.
  long size() const;
  /// How many tasks and hints are remembered: at most about twice options.window.
  std::size_t num_kept() const;

 private:
  TaskScope(std::string label, const std::vector<detail::TaskPart>& parts, const TaskRunOptions& options);
  static TaskRunOptions with_scheduler(const std::string& scheduler) {
    TaskRunOptions options;
    options.scheduler = scheduler;
    return options;
  }
  template <class Scheduler>
  static TaskRunOptions with_scheduler(const Scheduler& scheduler, TaskRunOptions options) {
    options.set_scheduler(scheduler);
    return options;
  }
  detail::TaskAdder& adder();
  NewTask new_task(int number);

  class Tasks;
  Tasks* const tasks_;  // owned
};

}  // namespace strata::inline STRATA_ABI
