// StreamedSequence: several loops, one after the other and again and again, over arrays that the device
// cannot hold: the time steps of a simulation on a mesh, or several launches that use the same arrays.
//
//   StreamedSequence steps("steps", streamed(Cuda{0}, 2_GiB));
//   steps.temporary(force);                                    // made and used on the device only
//   steps.loop("elements", elements, stress{}, in(corners), in(x, rows(nodes_of)), inout(state), out(force));
//   steps.loop("nodes", nodes, motion{}, in(force, rows(elements_of)), inout(x));
//   steps.run(1000);
//
// means: 1000 times, launch the first loop over all its work items, then the second one. It does so with
// slices of the arrays: while a slice is on the device as many of the loops go over it as what they read of
// its neighbours allows, each some rows behind the one before. The bits are those of the loops in core.
//
// Work items write their own rows (own), and read any: own, halo(l, r), rows(f), `all` of arrays that no loop
// writes. rows(f) may neither begin nor end earlier for later items: number the items so that rows lie close
// together, as the model's plans hold what the loops read of each other at once. Arrays are changed in place.
//
// Each run excludes other uses of its arrays; it returns when the results are with the host. Errors are those
// of streamed launches; after one that began, arrays that loops write are part old, part new, and run() goes
// on with the first loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <strata/algorithms/streaming/step_results.hpp>
#include <strata/algorithms/streaming/streamed.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// The loops of a sequence, and the runs over them.
class SequenceRuns {
 public:
  struct Loop {
    StreamLoop data;  // arrays by their number here
    index_t align = 1;
    std::string kernel;
    /// `step`: how often the loops have begun anew in this run; `time`: how often this one was done before.
    std::function<void(const StreamSite&, int step, int time)> launch;
    /// Of reductions: the bytes that the results of a run with a plan take, and room for them; and behind it,
    /// also behind a part of a run that is not its first.
    std::function<index_t(const StreamProblem&, const StreamPlan&)> results;
    std::function<void(bool make)> prepare;  // gives up what has another size; then makes it
    std::function<void(bool first)> finish;
  };

  SequenceRuns(DeviceInstance& device, QueueState& queue, const char* label, index_t budget,
               const StreamOptions& options, bool progress, bool only_plan);
  ~SequenceRuns();
  /// The number of an array, with what one more loop declares.
  int add_array(const Ref<CoherentState>& state, const StreamArray& declared);
  void add_loop(Loop&& loop);
  void set_temporary(const Ref<CoherentState>& state);
  /// `count` loops, from the one behind the last on.
  StreamReport run(int count);
  StreamReport planned(int count);
  int loop_count() const { return static_cast<int>(loops_.size()); }
  void begin_with(int loop);
  /// Gives the device's memory back until the next run.
  void release();

 private:
  struct Plan;
  void complete();
  void declare_modes(int count);
  void set_count(int count);
  bool plan(int count);
  index_t result_bytes();
  int part_of(int count);
  int plan_part(int count);
  StreamReport run_part(int count, int begin, int done);

  DeviceInstance& device_;
  QueueState& queue_;
  const std::string label_;
  const index_t budget_;
  const StreamOptions options_;
  const bool progress_, only_plan_;
  std::vector<Loop> loops_;
  std::vector<StreamArray> arrays_;
  std::vector<Ref<CoherentState>> states_;
  std::vector<Ref<CoherentState>> temporary_;
  std::unique_ptr<StreamRun> run_;
  std::string kernels_;
  std::vector<std::unique_ptr<Plan>> plans_;
  int next_ = 0;
};

/// The nodes of the tree of reductions that each time of loop `loop` in a run has, time after time; or, for
/// reductions in any order, the pieces that it is done in.
std::vector<std::vector<ReductionGroup>> sequence_groups(const StreamProblem& problem, const StreamPlan& plan,
                                                         int loop, index_t block, bool any_order);

template <class K>
struct ByStep {
  K make;
};
template <class>
inline constexpr bool is_by_step = false;
template <class K>
inline constexpr bool is_by_step<ByStep<K>> = true;
template <class K>
decltype(auto) kernel_at(const K& kernel, int step) {
  if constexpr (is_by_step<K>) return kernel.make(step);
  else return (kernel);
}
template <class K>
using KernelOf = std::remove_cvref_t<decltype(kernel_at(std::declval<const K&>(), 0))>;

template <class Access>
StreamArray sequence_array(const Access& access) {
  using Region = typename Access::region_type;
  static_assert(Access::mode == AccessMode::In || is_own<Region>,
                "strata: in a sequence work items write their own rows: out(x), inout(x) without a region");
  if constexpr (requires { access.region.edge; })
    static_assert(std::is_same_v<decltype(access.region.edge), edge::None>,
                  "strata: sequences have no edges: use halo(l, r), and let the work items be those inside");
  if (!access.array) fail_no_array();
  StreamArray array = stream_array(access);
  array.regular = is_own<Region>;
  return array;
}

}  // namespace detail

/// A kernel that differs from step to step: make(step) is that of a step of this run, from 0. A run that does
/// not begin with the first loop begins within step 0.
template <class F>
detail::ByStep<F> by_step(const F& make) {
  return {make};
}

/// See the head of this file. Loops are declared before the first run; kernels and arrays are kept. Not
/// copied. One thread at a time.
template <Device D>
class StreamedSequence {
 public:
  /// No loops yet. `where` is a streamed(device, budget); of its options chunk (work items of the loop that a
  /// run begins with), slots and steps_per_pass count here.
  StreamedSequence(const char* label, const Streamed<On<D>>& where)
      : where_(where),
        runs_(where.where.device.backend(), detail::queue_of(where.where), label, where.budget, where.options,
              where.progress, where.only_plan) {}

  /// Loops write the array before others read it, and nobody needs it behind a run: it is never copied. Its
  /// values are undefined afterwards, and memory of it that the host never touches costs nothing.
  template <class T, int Rank, class L>
  void temporary(const CoherentArray<T, Rank, L>& array) {
    runs_.set_temporary(array.state());
  }

  /// One more loop: kernel(index..., views...) for every index of `work`. The kernel may be a
  /// by_step(function).
  template <WorkRange R, class K, class... Accesses>
  requires(detail::is_coherent_access_v<Accesses>&&...) void loop(const char* label, const R& work,
                                                                  const K& kernel,
                                                                  const Accesses&... accesses) {
    using Kernel = detail::KernelOf<K>;
    auto made = make_loop<Kernel>(label, work, accesses...);
    made.launch = [where = where_.where, name = std::string(label), work, kernel,
                   numbers = numbers_of(made.data),
                   accesses...](const detail::StreamSite& site, int step, int) {
      const auto mine = detail::LeftMost<R>::part(work, site.work);
      launch_places<Kernel>(
          name.c_str(), where, site, numbers,
          [&](const auto&... resolved) {
            detail::launch_for(name.c_str(), where, mine,
                               detail::bind_kernel<D, std::remove_const_t<decltype(mine)>>(
                                   detail::kernel_at(kernel, step), resolved...));
          },
          accesses...);
    };
    runs_.add_loop(static_cast<detail::SequenceRuns::Loop&&>(made));
  }

  /// One more loop that reduces: kernel(index..., views..., value&), as parallel_reduce takes it. After a run
  /// `into` has a value for each time that the loop was done: a std::vector of the functor's value_type, or
  /// each_step(Sum, vector) and its like. The vector outlives this. Bits are those of the reduction in core.
  /// Functors whose result does not depend on the order, as that of a minimum, may say `static constexpr bool
  /// any_order = true`: slices may then be cut anywhere.
  template <WorkRange R, class K, class Into, class... Accesses>
  requires(detail::is_coherent_access_v<Accesses>&&...) void loop_reduce(const char* label, const R& work,
                                                                         const K& kernel, Into&& into,
                                                                         const Accesses&... accesses) {
    detail::check_step_results<Into>();
    using Kernel = detail::KernelOf<K>;
    using Reduction = detail::StepReduction<Kernel, std::remove_cvref_t<Into>>;
    using T = typename Reduction::value_type;
    using Results = detail::StepResults<T, D>;
    constexpr bool any_order = detail::reduces_in_any_order<detail::FunctorOf<Kernel>>();
    constexpr index_t block = detail::WorkOf<R>::rank == 1 ? detail::reduction_block : 1;
    const auto results = std::make_shared<Results>();
    auto made = make_loop<Kernel>(label, work, accesses...);
    if constexpr (!any_order) made.align = std::max(made.align, block);

    made.results = [results, number = runs_.loop_count()](const detail::StreamProblem& problem,
                                                          const detail::StreamPlan& plan) {
      return results->set_groups(detail::sequence_groups(problem, plan, number, block, any_order));
    };
    made.prepare = [results, where = where_.where](bool make) { results->prepare(where, make); };
    made.launch = [results, where = where_.where, name = std::string(label), work, kernel,
                   numbers = numbers_of(made.data),
                   accesses...](const detail::StreamSite& site, int step, int time) {
      launch_places<Kernel>(
          name.c_str(), where, site, numbers,
          [&](const auto&... resolved) {
            const auto bound =
                detail::bind_views(detail::kernel_at(kernel, step), detail::view_to_bind(resolved)...);
            results->for_groups(time, site.work.end, [&](ResidentRows items, const auto& value) {
              detail::launch_reduce_into(name.c_str(), where, detail::LeftMost<R>::part(work, items), bound,
                                         Reduction::into(value));
            });
          },
          accesses...);
    };
    std::vector<T>* const values = &detail::values_of<T>(into);
    made.finish = [results, values, kernel](bool first) {
      if (first) values->clear();
      results->finish(Reduction::reducer(detail::kernel_at(kernel, 0)), *values);
    };
    runs_.add_loop(static_cast<detail::SequenceRuns::Loop&&>(made));
  }

  /// All loops, `steps` times, beginning with the one behind the last that was done. Waits. Errors as at the
  /// head of this file; AccessConflict where loops declare an array in ways that exclude each other.
  StreamReport run(int steps) { return runs_.run(steps * runs_.loop_count()); }
  /// So many loops: a part of the steps.
  StreamReport run_loops(int count) { return runs_.run(count); }
  /// What run(steps) is going to do, or its first part where results of all steps take too much room, without
  /// doing it. Throws OutOfMemory.
  StreamReport planned(int steps) { return runs_.planned(steps * runs_.loop_count()); }
  /// The next run begins with this loop, counted from 0.
  void begin_with(int loop) { runs_.begin_with(loop); }
  /// Gives the device's memory back until the next run.
  void release() { runs_.release(); }

 private:
  template <class K, class R, class... Accesses>
  detail::SequenceRuns::Loop make_loop(const char* label, const R& work, const Accesses&... accesses) {
    detail::check_all_fit<K, false>(label, work, accesses...);
    detail::SequenceRuns::Loop made;
    made.data.label = label;
    made.data.work = detail::LeftMost<R>::of(work);
    const auto add = [&](const auto& access) {
      const detail::StreamArray array = detail::sequence_array(access);
      detail::StreamLoop::Use use{runs_.add_array(access.array.state(), array), array.mode, {}};
      if (!array.regular) use.rows_of = array.rows_of;
      made.data.uses.push_back(use);
    };
    (add(accesses), ...);
    made.align = detail::alignment_of_all<Accesses...>();
    made.kernel = typeid(detail::FunctorOf<K>).name();
    return made;
  }
  static std::vector<int> numbers_of(const detail::StreamLoop& loop) {
    std::vector<int> numbers;
    for (const detail::StreamLoop::Use& use : loop.uses) numbers.push_back(use.array);
    return numbers;
  }
  // Calls f with the accesses as bind_kernel takes them; it launches a kernel `K` on `where`.
  template <class K, class F, class... Accesses>
  static void launch_places(const char* label, const On<D>& where, const detail::StreamSite& site,
                            const std::vector<int>& numbers, const F& f, const Accesses&... accesses) {
    const auto place = [&](std::size_t k) -> const auto& {
      return site.places[static_cast<std::size_t>(numbers[k])];
    };
    detail::launch_written<K>(
        label, where, site, place,
        [&] {
          [&]<std::size_t... I>(std::index_sequence<I...>) {
            f(detail::resolve_streamed<D>(place(I), accesses)...);
          }
          (std::index_sequence_for<Accesses...>());
        },
        accesses...);
  }

  Streamed<On<D>> where_;
  detail::SequenceRuns runs_;
};
/// Of the device that it streams through.
template <class D>
StreamedSequence(const char*, const Streamed<On<D>>&) -> StreamedSequence<D>;

}  // namespace strata::inline STRATA_ABI
