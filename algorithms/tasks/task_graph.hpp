// TaskGraph: tasks that declare how they use coherent arrays, and run in any order that these allow, on
// several devices at once, with arrays larger than the devices' memories.
//
//   TaskGraph graph("cholesky");
//   graph.launch("scale", n, Scale{2}, inout(x));                           // a kernel, as launch() takes it
//   graph.call("gemm", Gemm{}, in(a(i, k)), in(a(j, k)), inout(a(i, j)));   // f(queue, a, b, c)
//   TaskReport report = graph.run(across(Cuda{0}, Cuda{1}));
//
// Whatever the schedule, arrays have the values that the tasks would give them one after the other, in the
// order in which they were added: a task waits for those before it that use what it writes, or write what it
// uses. A scheduler (plan/schedulers.hpp) decides where tasks run, what is loaded ahead of them and what
// leaves a memory that is full; coherent::set_budget bounds the memories.
//
// An array is what moves: to schedule parts of a matrix, make an array of each tile. Tasks may use parts of
// an array, which then takes memory as a whole where they run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include <strata/algorithms/tasks/task_adder.hpp>
#include <strata/algorithms/tasks/task_handle.hpp>
#include <strata/algorithms/tasks/task_options.hpp>
#include <strata/algorithms/tasks/task_report.hpp>

namespace strata::inline STRATA_ABI {

/// See the head of the file. Tasks may be added from several threads, and by tasks that run on hosts, which
/// does not move the graph's end forward: run() returns when all have run.
class TaskGraph {
 public:
  /// `label` is for messages and reports.
  explicit TaskGraph(std::string label = "tasks");
  ~TaskGraph();
  TaskGraph(const TaskGraph&) = delete;
  TaskGraph& operator=(const TaskGraph&) = delete;

  /// A task that is a launch: kernel(index..., views...) for all of `work`, over coherent arrays as launch()
  /// takes them. `Devices`: for which it is compiled; it is sent to no others. Throws what launch() throws
  /// for ranges and regions that do not fit.
  template <class Devices = KernelDevices, WorkRange R, class K, class... Accesses>
  TaskHandle launch(const std::string& label, const R& work, const K& kernel, const Accesses&... accesses) {
    return handle(adder().launch<Devices>(label, work, kernel, accesses...));
  }
  /// A task that calls f(queue, views...), with a Queue<D> and a view for each access: f enqueues work on the
  /// queue, or on a host may do it directly. There is a version for each D of `Devices` with which f can be
  /// called; it is sent to no other device. Accesses are of all of an array, or of their region. The function
  /// uses nothing but its views and queue: a launch over coherent arrays in it throws Error.
  template <class Devices = KernelDevices, class F, class... Accesses>
  TaskHandle call(const std::string& label, const F& f, const Accesses&... accesses) {
    return handle(adder().call<Devices>(label, f, accesses...));
  }

  /// A hint that after the tasks so far none uses the array for a while: devices free it, and the host gets
  /// its values. Throws Error without an array, or where its memory mode has no copies.
  template <class T, int Rank, class L>
  void wont_use(const BasicCoherentArray<T, Rank, L>& array) {
    adder().wont_use(array);
  }
  /// A hint that the values which the tasks so far leave in the array are not needed: devices free it without
  /// a copy. The next task that uses it writes all of it. Throws as wont_use().
  template <class T, int Rank, class L>
  void discard(const BasicCoherentArray<T, Rank, L>& array) {
    adder().discard(array);
  }

  /// Runs all tasks. Throws TaskFailed when tasks failed, once all others are done that do not depend on
  /// them; Error where no device of the place has a version of a task, tasks::TaskError where a task is
  /// larger than all memories, AccessConflict where the calling thread has a view of an array. Another use of
  /// the arrays by other threads waits until the run is over. The graph may be run again.
  template <Place Where>
  TaskReport run(const Where& where, const TaskRunOptions& options = {}) {
    return run_on(detail::task_parts(where), options);
  }
  template <Place Where>
  TaskReport run(const Where& where, const std::string& scheduler) {
    TaskRunOptions options;
    options.scheduler = scheduler;
    return run(where, options);
  }
  /// By a scheduler of the program's own: a copy of it, as it is now, for each window.
  template <Place Where, class Scheduler>
  requires std::is_base_of_v<tasks::TaskScheduler, Scheduler> TaskReport run(const Where& where,
                                                                             const Scheduler& scheduler,
                                                                             TaskRunOptions options = {}) {
    options.set_scheduler(scheduler);
    return run(where, options);
  }

  /// The number of tasks, without hints.
  long size() const;
  /// Forgets all tasks.
  void clear();
  /// The graph as JSON, for strata-simulate: the work of a task is that of TaskHandle::work, or its bytes.
  /// FileError.
  void write_json(const std::string& path) const;
  /// The same, with the times of tasks by kind of device that `costs` has: the simulation uses them on
  /// devices of that kind.
  void write_json(const std::string& path, const TaskCosts& costs) const;

 private:
  void write_graph(const std::string& path, const TaskCosts* costs) const;
  detail::TaskAdder& adder();
  TaskHandle handle(int number) const;
  TaskReport run_on(const std::vector<detail::TaskPart>& parts, const TaskRunOptions& options);

  class Tasks;
  Tasks* const tasks_;  // owned
};

}  // namespace strata::inline STRATA_ABI
