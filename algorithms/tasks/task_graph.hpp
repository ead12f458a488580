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
#pragma once

#include <string>

#include <strata/algorithms/tasks/task_body.hpp>
#include <strata/algorithms/tasks/task_contributions.hpp>
#include <strata/algorithms/tasks/task_report.hpp>
#include <strata/core/function.hpp>

namespace strata::inline STRATA_ABI {

class TaskCosts;  // task_costs.hpp
namespace tasks {
class TaskScheduler;  // plan/scheduler.hpp
struct SchedulerOptions;
}  // namespace tasks

namespace detail {

class TaskGraphState;
/// While it lives, no other thread adds tasks that contribute to arrays, or joins contributions.
class ContributionsLock {
 public:
  explicit ContributionsLock(TaskGraphState& graph);
  ~ContributionsLock();
  ContributionsLock(const ContributionsLock&) = delete;
  ContributionsLock& operator=(const ContributionsLock&) = delete;

 private:
  TaskGraphState& graph_;
};

}  // namespace detail

/// A task of a graph, as long as the graph lives; Error after its clear().
class TaskHandle {
 public:
  /// Among tasks that could run, those of higher priority sooner; where no task of a graph has one, the
  /// longer the path from it to the end the sooner. Error where it is not a number.
  TaskHandle priority(double value) const;
  /// How much work it is, for estimates: floating-point operations. Without it its bytes count.
  TaskHandle work(double operations) const;
  /// It also waits for `other`, a task before it of the same graph. Error for others.
  TaskHandle after(const TaskHandle& other) const;

 private:
  friend class TaskGraph;
  TaskHandle(detail::TaskGraphState& graph, int number, int clears)
      : graph_(&graph), number_(number), clears_(clears) {}

  detail::TaskGraphState* graph_;
  int number_;
  int clears_;  // of the graph, when it was added
};

/// How a graph is run.
struct TaskRunOptions {
  std::string scheduler = "data-aware";  ///< one of tasks::scheduler_names()
  /// In place of `scheduler`: makes one's own by `new`; the run deletes it.
  detail::Function<tasks::TaskScheduler*(const tasks::SchedulerOptions&)> make_scheduler = {};
  int window = 20000;  ///< tasks that a scheduler sees at a time: those before them are done first
  int queues = 4;      ///< tasks that run at a time on a device that works asynchronously
  /// Bytes that hosts of the place may hold of arrays in files, which are read ahead of their tasks and
  /// written back; 0: as the system does it. Arrays in memory count, and stay there.
  index_t host_memory = 0;
  TaskCosts* costs = nullptr;  ///< what tasks took before, and where this run's times are added
  double watchdog_seconds =
      60;                ///< when nothing has ended for so long, stderr says what is under way; 0: never
  bool on_host = false;  ///< whether the host gets all values in the end; else they stay where they are
};

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
    const detail::ContributionsLock lock(*state_);  // until the task is added, nobody joins its copies
    check_contributions(label, accesses...);
    return add_launch<Devices>(label, work, kernel, without_contribution<Devices>(accesses)...);
  }
  /// A task that is a function: f(queue, views...), a Queue<D> and a view for each access, enqueues what it
  /// likes on the queue, or on a host does it. There is a version for each D of `Devices` with which f can be
  /// called; it is sent to no other device. Accesses are of all of an array, or of the part that they say.
  /// The function uses nothing but its views and queue: a launch over coherent arrays in it throws Error.
  template <class Devices = KernelDevices, class F, class... Accesses>
  TaskHandle call(const std::string& label, const F& f, const Accesses&... accesses) {
    const detail::ContributionsLock lock(*state_);
    check_contributions(label, accesses...);
    return add_call<Devices>(label, f, detail::access_of_call(without_contribution<Devices>(accesses))...);
  }

  /// No task uses the array for a while after those so far: devices give it up, and the host gets its values.
  template <class T, int Rank, class L>
  void wont_use(const BasicCoherentArray<T, Rank, L>& array) {
    add_hint(detail::task_use(in(array, everything), {}), false);
  }
  /// The values that the tasks so far leave in the array are not needed any more: devices give it up without
  /// a copy. The next task that uses it writes all of it.
  template <class T, int Rank, class L>
  void discard(const BasicCoherentArray<T, Rank, L>& array) {
    add_hint(detail::task_use(out(array, everything), {}), true);
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

  /// The number of tasks, without hints.
  long size() const;
  /// Forgets all tasks.
  void clear();
  /// The graph as JSON, for strata-simulate: the work of a task is what it was given, or its bytes.
  /// FileError.
  void write_json(const std::string& path) const;

 private:
  template <class Devices, class R, class K, class... Accesses>
  TaskHandle add_launch(const std::string& label, const R& work, const K& kernel,
                        const Accesses&... accesses) {
    static_assert((detail::is_coherent_access_v<Accesses> && ...) && sizeof...(Accesses) > 0,
                  "strata: TaskGraph::launch: declare coherent arrays: in(x), out(y), inout(z), commute(z), "
                  "reduce(z)");
    detail::check_all_fit<K>(label.c_str(), work, accesses...);
    const ResidentRows rows = detail::LeftMost<R>::of(work);
    return add(label,
               detail::Ref<detail::TaskBody>(
                   new detail::LaunchBody<Devices, R, K, Accesses...>(work, kernel, accesses...)),
               {detail::task_use(accesses, rows)...});
  }
  // An array to which a task contributes is not used by it otherwise.
  template <class... Accesses>
  static void check_contributions(const std::string& label, const Accesses&... accesses) {
    if constexpr ((detail::is_contribution_v<Accesses> || ...)) {
      const detail::CoherentState* const arrays[] = {accesses.array.state().get()...};
      constexpr bool contributes[] = {detail::is_contribution_v<Accesses>...};
      for (std::size_t k = 0; k < sizeof...(Accesses); ++k)
        for (std::size_t other = 0; other < sizeof...(Accesses); ++other)
          if (k != other && contributes[k] && arrays[k] != nullptr && arrays[k] == arrays[other])
            detail::fail_contribution(label, *arrays[k]);
    }
  }
  // What contributes to an array updates a private copy of it.
  template <class Devices, class Access>
  auto without_contribution(const Access& access) {
    if constexpr (detail::is_contribution_v<Access>) {
      using Copies = detail::ContributionCopies<Devices, typename Access::array_type, decltype(access.join)>;
      if (!access.array) detail::fail_no_array();
      detail::PendingContributions& pending = pending_contributions(
          access.array.state(), typeid(Copies).name(),
          [&] { return detail::Ref<detail::PendingContributions>(new Copies(access.array, access.join)); });
      return commute(static_cast<Copies&>(pending).next(*this), everything);
    } else {
      return access;
    }
  }
  void join_contributions(const detail::CoherentState* array);  // null: of all
  detail::PendingContributions& pending_contributions(
      const detail::Ref<detail::CoherentState>& array, const char* type,
      const detail::Function<detail::Ref<detail::PendingContributions>()>& make);

  template <class Devices, class F, class... Accesses>
  TaskHandle add_call(const std::string& label, const F& f, const Accesses&... accesses) {
    using Body = detail::CallBody<Devices, F, Accesses...>;
    static_assert(Body::template has_versions<>,
                  "strata: TaskGraph::call: no device can call the function as f(queue, views...), with a "
                  "view for each access; the queue is a Queue<D>, on Serial, Threads and Tbb Queue<AnyHost>");
    const auto rows = [](const auto& access) {
      return ResidentRows{0, access.array && access.array.rank > 0 ? access.array.extent(0) : 1};
    };
    return add(label, detail::Ref<detail::TaskBody>(new Body(f, accesses...)),
               {detail::task_use(accesses, rows(accesses))...});
  }
  TaskHandle add(const std::string& label, detail::Ref<detail::TaskBody> body,
                 std::vector<detail::TaskUse> uses);
  void add_hint(detail::TaskUse use, bool discards);
  TaskReport run_on(const std::vector<detail::TaskPart>& parts, const TaskRunOptions& options);

  detail::TaskGraphState* const state_;  // owned
};

namespace detail {

template <class Devices, class Array, class Join>
Array ContributionCopies<Devices, Array, Join>::next(TaskGraph& graph) {
  if (num_open_ < most_contribution_copies) {
    const std::string label = std::string("contributions to ") + array_.label();
    if (num_open_ == copies_.size())
      copies_.push_back(new_copy(label, std::make_index_sequence<std::size_t{Array::rank}>()));
    const Array copy = copies_[num_open_++];
    graph.launch<Devices>("clear " + label, rows(), ClearContributions<Join>{}, out(copy, everything));
    return copy;
  }
  next_ = (next_ + 1) % num_open_;
  return copies_[next_];
}

template <class Devices, class Array, class Join>
void ContributionCopies<Devices, Array, Join>::join(TaskGraph& graph) {
  for (; num_open_ > 0; --num_open_) {
    const Array& copy = copies_[num_open_ - 1];
    graph.launch<Devices>(std::string("join ") + copy.label(), rows(), JoinContributions<Join>{join_},
                          in(copy, everything), inout(array_, everything));
    graph.discard(copy);
  }
}

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
