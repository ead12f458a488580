// Sequence over streamed(device, budget): loops over arrays that the device cannot hold. While a slice is on
// the device all loops run over it. Each lags the previous one by some rows, as the rows that it reads
// require. The bits are those of the loops in core (algorithms/sequence/sequence.hpp).
//
// Work items write their own rows (own), and read any: own, halo(l, r), rows(f), `everything` of arrays that
// no loop writes. Arrays for which the device has room may stay there: resident(in(x, everything)) and the
// like, with any region; a part of one that a loop writes must not be used by other loops of the run. rows(f)
// may neither begin nor end earlier for later items: number the items so that the rows of an item are close
// together, as all rows between the loops have to be on the device. Arrays are changed in place. Of the
// place's options only chunk (work items of the loop that a run begins with), slots and steps_per_pass apply.
//
// attempt() leaves the results of arrays in their second copies, so that steps can be done again from their
// begin; accept() exchanges the copies.
//
// A run returns when the results are in host memory; other uses of its arrays wait until then. Results of
// reductions go to the host. Functors whose result does not depend on the order, as that of a minimum, may
// declare `static constexpr bool any_order = true`: slices may then be cut anywhere. Errors are those of
// streamed launches.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/algorithms/sequence/loop_cursor.hpp>
#include <strata/algorithms/sequence/sequence.hpp>
#include <strata/algorithms/streaming/resident_arrays.hpp>
#include <strata/algorithms/streaming/step_results.hpp>
#include <strata/algorithms/streaming/streamed.hpp>
#include <strata/core/min_max.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The loops of a streamed sequence, and the runs over them.
class SequenceRuns {
 public:
  struct Loop {
    streaming::StreamLoop data;  // arrays by their number here
    index_t align = 1;
    std::string kernel;
    /// `step`: how often the first loop has begun again in this run; `time`: how often this loop ran before.
    Function<void(const streaming::StreamSite&, int step, int time)> launch;
    /// Of reductions: the bytes that the results of a run with a plan need; allocates memory for them; joins
    /// them after the run, or after each part of it.
    Function<index_t(const streaming::StreamProblem&, const streaming::StreamPlan&)> results;
    Function<void(bool make)> prepare;  // false: frees memory of another size; true: allocates
    Function<void(bool first)> finish;
  };

  SequenceRuns(DeviceInstance& device, QueueState& queue, const char* label, index_t budget,
               const streaming::StreamOptions& options, bool progress, bool only_plan);
  ~SequenceRuns();
  /// The number of an array, to which one more loop's declaration is added.
  int add_array(const Ref<CoherentState>& state, const streaming::StreamArray& declared);
  void add_loop(Loop&& loop);
  void set_temporary(const Ref<CoherentState>& state);
  void set_second(const Ref<CoherentState>& first, const Ref<CoherentState>& second);
  /// Runs `count` loops, beginning after the last one that ran.
  StreamReport run(int count) { return run(count, false); }
  /// The same, of whole steps, with the results in the second copies of arrays that have some.
  StreamReport attempt(int count);
  /// Exchanges the copies, unless the attempt was of no loops.
  void accept();
  StreamReport planned(int count);
  int loop_count() const { return static_cast<int>(loops_.size()); }
  const sequences::LoopCursor& cursor() const { return cursor_; }
  /// All arrays, and how the next `count` loops use them, in an attempt with the second copies.
  std::vector<streaming::ResidentArrays::Sliced> arrays(int count, bool to_second) const;
  /// Whether the last run, or the one under way, has launched a kernel.
  bool has_begun() const { return has_begun_; }
  void begin_with(int loop) { cursor_.begin_with(loop); }
  /// Frees the device's memory; the next run allocates it again.
  void release();

 private:
  struct Plan;
  // An array's two copies, and its number.
  struct Copies {
    Ref<CoherentState> first, second;
    std::size_t array;
  };
  void complete();
  void check_copies();
  void check_repeatable(int count) const;
  void set_copies(bool to_second, bool from_first);
  StreamReport run(int count, bool to_second);
  void declare_modes(int count);
  void set_count(int count);
  bool plan(int count, bool is_planned);
  index_t result_bytes();
  int part_of(int count);
  int plan_part(int count);
  StreamReport run_part(int count, int begin, int done);

  DeviceInstance& device_;
  QueueState& queue_;
  const index_t budget_;
  const streaming::StreamOptions options_;
  const bool progress_, only_plan_;
  std::vector<Loop> loops_;
  std::vector<streaming::StreamArray> arrays_;
  std::vector<Ref<CoherentState>> states_;
  std::vector<Ref<CoherentState>> temporary_;
  std::vector<Copies> copies_;
  Ref<streaming::StreamRun> run_;
  std::string kernels_;
  std::vector<Plan> plans_;
  sequences::LoopCursor cursor_;
  bool has_begun_ = false;
  int attempted_ = -1;  // loops of the attempt whose results are in the second copies, if there is one
};

/// For each time that loop `loop` runs, its nodes of the tree of reductions, or, for reductions in any order,
/// its pieces.
std::vector<std::vector<ReductionGroup>> sequence_groups(const streaming::StreamProblem& problem,
                                                         const streaming::StreamPlan& plan, int loop,
                                                         index_t block, bool any_order);

template <class Access>
void check_no_edges(const Access& access) {
  if constexpr (requires { access.region.edge; })
    static_assert(std::is_same_v<decltype(access.region.edge), edge::None>,
                  "strata: sequences have no edges: use halo(l, r), and let the work items be those inside");
}
template <class Access>
streaming::StreamArray sequence_array(const Access& access) {
  using Region = typename Access::region_type;
  static_assert(Access::mode == AccessMode::In || is_own<Region>,
                "strata: in a sequence work items write their own rows: out(x), inout(x) without a region");
  if (!access.array) fail_no_array();
  streaming::StreamArray array = stream_array(access);
  array.regular = is_own<Region>;
  return array;
}

namespace sequences {

template <class D>
class SequenceOver<Streamed<On<D>>> {
 public:
  SequenceOver(const char* label, const Streamed<On<D>>& where)
      : where_(where),
        runs_(where.where.device.backend(), queue_of(where.where), label, where.budget, where.options,
              where.progress, where.only_plan),
        resident_(new streaming::ResidentArrays(where.where.device.backend(), queue_of(where.where), label)) {
  }

  template <class A>
  void temporary(const A& array) {
    if (!array) fail_no_array();
    runs_.set_temporary(array.state());
    resident_->set_temporary(array.state());
  }
  template <class A>
  void second_copy(const A& array, const A& second) {
    if (!array || !second) fail_no_array();
    runs_.set_second(array.state(), second.state());
  }

  template <class R, class K, class... Accesses>
  void loop(const char* label, const R& work, const K& kernel, const Accesses&... accesses) {
    using Kernel = KernelOf<K>;
    Places places{resident_, {}};
    streaming::ResidentArrays::Loop kept;
    auto made = make_loop<Kernel>(label, work, places, kept, accesses...);
    made.launch = [where = where_.where, name = std::string(label), work = work, kernel = kernel,
                   places = places, accesses...](const streaming::StreamSite& site, int step, int) {
      const auto mine = LeftMost<R>::part(work, site.work);
      launch_places<Kernel>(
          name.c_str(), where, site, places,
          [&](const auto&... resolved) {
            launch_for(
                name.c_str(), where, mine,
                bind_kernel<D, std::remove_const_t<decltype(mine)>>(kernel_at(kernel, step), resolved...));
          },
          accesses...);
    };
    add(static_cast<SequenceRuns::Loop&&>(made), kept);
  }

  template <class R, class K, class Into, class... Accesses>
  void loop_reduce(const char* label, const R& work, const K& kernel, Into& into,
                   const Accesses&... accesses) {
    check_step_results<Into>();
    using Kernel = KernelOf<K>;
    using Reduction = StepReduction<Kernel, std::remove_cvref_t<Into>>;
    using T = typename Reduction::value_type;
    using Results = StepResults<T, D>;
    constexpr bool any_order = reduces_in_any_order<FunctorOf<Kernel>>();
    constexpr index_t block = WorkOf<R>::rank == 1 ? reduction_block : 1;
    const Ref<Results> results(new Results);
    Places places{resident_, {}};
    streaming::ResidentArrays::Loop kept;
    auto made = make_loop<Kernel>(label, work, places, kept, accesses...);
    if constexpr (!any_order) made.align = larger_of(made.align, block);

    made.results = grouper(results, runs_.loop_count(), block, any_order);
    made.prepare = preparer(where_.where, results);
    made.launch = [results, where = where_.where, name = std::string(label), work = work, kernel = kernel,
                   places = places, accesses...](const streaming::StreamSite& site, int step, int time) {
      launch_places<Kernel>(
          name.c_str(), where, site, places,
          [&](const auto&... resolved) {
            const auto bound = bind_views(kernel_at(kernel, step), view_to_bind(resolved)...);
            results->for_groups(time, site.work.end, [&](ResidentRows items, const auto& value) {
              launch_reduce_into(name.c_str(), where, LeftMost<R>::part(work, items), bound,
                                 Reduction::into(value));
            });
          },
          accesses...);
    };
    std::vector<T>* const values = &values_of<T>(into);
    made.finish = [results, values, kernel](bool first) {
      if (first) values->clear();
      results->finish(Reduction::reducer(kernel_at(kernel, 0)), *values);
    };
    add(static_cast<SequenceRuns::Loop&&>(made), kept);
  }

  StreamReport run(int count) {
    return run_by(count, false, [&] { return runs_.run(count); });
  }
  StreamReport attempt(int count) {
    if (!where_.only_plan) resident_->check_repeatable(cursor().next, count);
    return run_by(count, true, [&] { return runs_.attempt(count); });
  }
  void accept() { runs_.accept(); }
  StreamReport planned(int count) { return runs_.planned(count); }
  const LoopCursor& cursor() const { return runs_.cursor(); }
  void begin_with(int loop) { runs_.begin_with(loop); }
  void release() { runs_.release(); }

 private:
  // Where the arrays of a loop are, in the order of the kernel's views: the number of an array in slices, or
  // -1 - that of a use that is resident.
  struct Places {
    Ref<streaming::ResidentArrays> resident;
    std::vector<int> numbers;

    const streaming::StreamSite::Place& operator()(const streaming::StreamSite& site, std::size_t k) const {
      const int number = numbers[k];
      return number < 0 ? resident->place(-1 - number) : site.places[static_cast<std::size_t>(number)];
    }
  };

  StreamReport run_by(int count, bool to_second, const Function<StreamReport()>& run) {
    cursor().check_count(count);
    if (where_.only_plan) {
      resident_->check(cursor().next, count, runs_.arrays(count, to_second));
      return run();
    }
    StreamReport report;
    resident_->during(
        cursor().next, count, runs_.arrays(count, to_second), [&] { report = run(); },
        [&] { return runs_.has_begun(); });
    return report;
  }
  template <class K, class R, class... Accesses>
  SequenceRuns::Loop make_loop(const char* label, const R& work, Places& places,
                               streaming::ResidentArrays::Loop& kept, const Accesses&... accesses) {
    static_assert(
        WorkOf<R>::rank != teams_rank,
        "strata: a Sequence over streamed(...): teams do not say which rows they touch; give a range");
    check_all_fit<K, false>(label, work, accesses...);
    SequenceRuns::Loop made;
    made.data.label = kept.label = label;
    made.data.work = LeftMost<R>::of(work);
    (add_access(made, places, kept, accesses), ...);
    made.align = alignment_of_all<Accesses...>();
    made.kernel = typeid(FunctorOf<K>).name();
    return made;
  }
  // Compiled once for all loops with such results.
  template <class Results>
  static Function<void(bool)> preparer(const On<D>& where, const Ref<Results>& results) {
    return [results, where](bool make) { results->prepare(where, make); };
  }
  template <class Results>
  static Function<index_t(const streaming::StreamProblem&, const streaming::StreamPlan&)> grouper(
      const Ref<Results>& results, int loop, index_t block, bool any_order) {
    return [results, loop, block, any_order](const streaming::StreamProblem& problem,
                                             const streaming::StreamPlan& plan) {
      return results->set_groups(sequence_groups(problem, plan, loop, block, any_order));
    };
  }
  // A function of its own: compiled once for all loops with such an access.
  template <class Access>
  [[gnu::noinline]] void add_access(SequenceRuns::Loop& made, Places& places,
                                    streaming::ResidentArrays::Loop& kept, const Access& access) {
    check_no_edges(access);
    if constexpr (is_resident_v<Access>) {
      places.numbers.push_back(-1 - resident_->next() - static_cast<int>(kept.uses.size()));
      kept.is_own.push_back(is_own<typename Access::region_type>);
      resident_->add_use(kept, access, made.data.work);
    } else {
      const streaming::StreamArray array = sequence_array(access);
      streaming::StreamLoop::Use use{runs_.add_array(access.array.state(), array), array.mode, {}};
      if (!array.regular) use.rows_of = array.rows_of;
      places.numbers.push_back(use.array);
      made.data.uses.push_back(use);
    }
  }
  // Both have the same loops, as only the first of these calls throws.
  void add(SequenceRuns::Loop&& loop, streaming::ResidentArrays::Loop& kept) {
    runs_.add_loop(static_cast<SequenceRuns::Loop&&>(loop));
    resident_->add_loop(static_cast<streaming::ResidentArrays::Loop&&>(kept));
  }
  // Calls f with the accesses as bind_kernel takes them; it launches a kernel `K` on `where`.
  template <class K, class F, class... Accesses>
  static void launch_places(const char* label, const On<D>& where, const streaming::StreamSite& site,
                            const Places& places, const F& f, const Accesses&... accesses) {
    const auto place = [&](std::size_t k) -> const auto& { return places(site, k); };
    launch_written<K>(
        label, where, site, place,
        [&] {
          [&]<std::size_t... I>(std::index_sequence<I...>) { f(resolve_streamed<D>(place(I), accesses)...); }
          (std::index_sequence_for<Accesses...>());
        },
        accesses...);
  }

  Streamed<On<D>> where_;
  SequenceRuns runs_;
  Ref<streaming::ResidentArrays> resident_;
};

}  // namespace sequences
}  // namespace strata::inline STRATA_ABI::detail
