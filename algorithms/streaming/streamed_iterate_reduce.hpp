// streamed_iterate_reduce: steps as those of streamed_iterate, each of which also reduces: the energy, or the
// largest change, of every step.
//
//   struct heat {                    // as that of streamed_iterate, and a value
//     STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next, double& change) const {
//       next(i) = old(i) + 0.1 * (old(i - 1) - 2 * old(i) + old(i + 1));
//       change += (next(i) - old(i)) * (next(i) - old(i));
//     }
//   };
//   std::vector<double> changes;     // afterwards one value a step
//   streamed_iterate_reduce(streamed(Cuda{0}, 2_GiB), 1000, heat{}, each_step(Sum, changes),
//                           state(u, halo(1, 1)));
//
// The results of a functor with value_type, init and join go to a std::vector of its value_type. If it
// declares `static constexpr bool any_order = true`, as for a minimum, slices may be cut anywhere.
// Others are cut at nodes of the tree of reductions: over one index at multiples of 512 rows, to which chunks
// are rounded up; each step of a pass lags the previous one by that many rows, instead of a halo.
//
// Each point must be computed once in each step, as carry and naive do. The default is carry, with steps and
// slices that the model chooses; with cyclic edges it is naive. Choosing overlap, which computes points
// twice, or even_odd, whose slices are not nodes, throws Error.
//
// Results count within the budget: those of as many passes as fit an eighth of it, at least one, stay on the
// device until they are copied to the host together. After an error `into` is as before. One device; one step
// a launch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/streaming/step_results.hpp>
#include <strata/algorithms/streaming/streamed_iterate.hpp>
#include <strata/core/min_max.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// The options of steps that reduce. Throws Error if the scheduler does not compute each point once, in
/// pieces that are nodes. `problem` must be complete.
streaming::StreamOptions step_reduction_options(const streaming::StreamProblem& problem,
                                                const streaming::StreamOptions& options);
/// How slices are cut: at multiples of so many rows, which are a node of the tree.
index_t step_reduction_align(const streaming::StreamProblem& problem, index_t block, index_t budget,
                             const streaming::StreamOptions& options);

/// How the steps of passes reduce.
struct StepReductionPlan {
  index_t block;  // rows of a node of level 0
  bool any_order;
  int passes = 1;      // whose results are on the device at once,
  index_t groups = 0;  // at most so many results

  /// Plans `run` and this, so that slices and results of `value_bytes` fit the budget. Throws OutOfMemory.
  void plan(streaming::StreamRun& run, index_t budget, const streaming::StreamOptions& options,
            const std::string& kernel, index_t value_bytes);
  /// The groups of each step of the next `passes` passes, from number `first` on.
  std::vector<std::vector<ReductionGroup>> groups_from(streaming::StreamRun& run, int first) const;

 private:
  std::vector<std::vector<ReductionGroup>> groups_of(streaming::StreamRun& run, int first, int end) const;
};

template <class D, class R, class K, class Into, class... Accesses>
StreamReport iterate_reduce_streamed(const char* label, const Streamed<On<D>>& where, const R& work,
                                     int steps, const K& kernel, Into&& into, const Accesses&... accesses) {
  using Reduction = sequences::StepReduction<K, std::remove_cvref_t<Into>>;
  using T = typename Reduction::value_type;
  static_assert(!std::is_array_v<T>,
                "strata: streamed_iterate_reduce: values of run-time length are reduced in core");
  StepReductionPlan plan{WorkOf<R>::rank == 1 ? reduction_block : 1, reduces_in_any_order<FunctorOf<K>>()};
  const auto reducer = Reduction::reducer(kernel);
  std::vector<T>& values = sequences::values_of<T>(into);
  if (steps < 0) fail_steps(steps);
  streaming::StreamProblem problem = iterated_problem(label, work, steps, accesses...);
  if (steps == 0 || problem.work.begin >= problem.work.end) {
    if (where.only_plan) return {};
    values.resize(static_cast<std::size_t>(steps));
    for (T& value : values) reducer.init(value);
    return {};
  }
  problem.once = true;
  complete_problem(problem, stream_states(accesses...));  // edges, and bytes of rows
  const streaming::StreamOptions options = step_reduction_options(problem, where.options);
  if (!plan.any_order)
    problem.align =
        larger_of(problem.align, step_reduction_align(problem, plan.block, where.budget, options));
  streaming::StreamRun run(where.where.device.backend(), queue_of(where.where),
                           static_cast<streaming::StreamProblem&&>(problem), stream_states(accesses...));
  plan.plan(run, where.budget, options, typeid(FunctorOf<K>).name(), static_cast<index_t>(sizeof(T)));
  if (where.only_plan) return run.report();

  std::vector<T> found;
  StepResults<T, D> results;
  results.reserve(where.where, plan.groups);
  int pass = 0, begin = 0, end = 0;  // the steps of these passes have their results on the device
  const auto next_passes = [&] {
    auto groups = plan.groups_from(run, pass);
    pass += plan.passes;
    begin = end;
    end += static_cast<int>(groups.size());
    results.set_groups(static_cast<decltype(groups)&&>(groups));
  };
  next_passes();
  run.run(
      [&](const streaming::StreamSite& site) {
        if (site.step >= end) {  // passes follow each other
          queue_of(where.where).wait();
          results.finish(reducer, found);
          next_passes();
        }
        constexpr int indices = WorkOf<R>::rank;
        carry_all_rows<false, indices>(label, where.where, site, accesses...);
        with_iterated<D, indices>(
            site,
            [&](const auto&... resolved) {
              const auto bound = bind_views(kernel, view_to_bind(resolved)...);
              results.for_groups(site.step - begin, site.work.end,
                                 [&](ResidentRows items, const auto& value) {
                                   launch_reduce_into(label, where.where, LeftMost<R>::part(work, items),
                                                      bound, Reduction::into(value));
                                 });
            },
            accesses...);
      },
      where.progress);
  try {
    results.finish(reducer, found);
  } catch (...) {
    fail_results(label);
  }
  values = static_cast<std::vector<T>&&>(found);
  return run.report();
}

// Says in one line why reducing steps do not go where they are launched, or where their results do.
template <class Where, class Into>
constexpr bool check_reducing_steps() {
  using Traits = PlaceTraits<Where>;
  static_assert(
      Traits::is_streamed,
      "strata: streamed_iterate_reduce: the place is not a streamed one: give streamed(device, budget), or "
      "launch and reduce step after step");
  static_assert(Traits::is_one_part,
                "strata: streamed_iterate_reduce: steps reduce on one device: give streamed(device, budget); "
                "over several call streamed_iterate for some steps, then launch_reduce");
  static_assert(!makes_several_steps<Where>,
                "strata: streamed_iterate_reduce: several steps in one launch have no result of each; leave "
                "steps_per_launch out");
  sequences::check_step_results<Into>();
  return Traits::is_streamed && Traits::is_one_part && !makes_several_steps<Where> &&
         sequences::is_step_results_v<std::remove_cvref_t<Into>>;
}

}  // namespace detail

/// `steps` steps of kernel(index..., views..., value&) over `work`, with the result of each in `into`; the
/// head of this file says more. Errors are those of streamed_iterate, and Error of schedulers that do not
/// reduce.
template <Place Where, WorkRange R, class K, class Into, class... Accesses>
requires(detail::IteratedAccesses<Accesses...>) StreamReport
    streamed_iterate_reduce(const Where& where, const R& work, int steps, const K& kernel, Into&& into,
                            const Accesses&... accesses) {
  if constexpr (detail::check_reducing_steps<Where, Into>())
    return detail::iterate_reduce_streamed(detail::label_of(where), where, work, steps, kernel,
                                           static_cast<Into&&>(into), accesses...);
  else return {};
}
/// Over all rows whose neighbours that the kernel reads exist.
template <Place Where, class K, class Into, class... Accesses>
requires(detail::IteratedAccesses<Accesses...>) StreamReport
    streamed_iterate_reduce(const Where& where, int steps, const K& kernel, Into&& into,
                            const Accesses&... accesses) {
  return streamed_iterate_reduce(where, detail::rows_within_halos(accesses...), steps, kernel,
                                 static_cast<Into&&>(into), accesses...);
}
/// Does not compile: a label is that of the place.
template <class... Rest>
StreamReport streamed_iterate_reduce(const char*, const Rest&...) {
  static_assert(detail::never<Rest...>,
                "strata: streamed_iterate_reduce: the label belongs to the place: streamed_iterate_reduce("
                "streamed(device, budget).named(\"x\"), ...)");
  return {};
}

}  // namespace strata::inline STRATA_ABI
