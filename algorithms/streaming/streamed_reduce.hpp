// launch_reduce and launch_scan over arrays that go through a device in slices.
//
//   launch_reduce(streamed(device, budget), n, kernel, Sum(total), in(x));           // kernel(i, x, value&)
//   launch_reduce(streamed(device, budget), n, functor, finalize(f, out(dt)), in(x));
//   launch_scan(streamed(device, budget), n, kernel, Sum(total), in(x), out(y));     // kernel(i, x, y,
//   value&, final)
//
// `into` is that of launch_reduce over coherent arrays. Slices are whole nodes of the one tree of reductions,
// so that the bits are those of a launch in core. Sums are joined on the host, a finalize functor runs on the
// device once. A scan carries its total from slice to slice.
#pragma once

#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/algorithms/streaming/streamed.hpp>
#include <strata/views/mdarray.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// How slices of a reduction are cut: at multiples of so many rows, which are a node of the tree.
index_t reduction_align(const StreamProblem& problem, index_t block, index_t budget);
/// The nodes that slices of a plan have.
std::vector<ReductionGroup> stream_groups(const StreamProblem& problem, const StreamPlan& plan,
                                          index_t block);

// Does with the value of a reduction what was asked for; finalize runs on `on`.
template <class D, class Reducer, class T, class Into>
void store_reduced(const char* label, const On<D>& on, const Reducer& reducer, const T& value, Into&& into) {
  using I = std::remove_cvref_t<Into>;
  if constexpr (std::is_same_v<I, T>) {
    into = value;
  } else if constexpr (IsCoherent<I>) {
    *into.write() = value;
  } else if constexpr (has_coherent_target<I>) {
    *into.target.write() = value;
  } else if constexpr (is_finalize_v<I>) {
    const CoherentArray<T, 1> result("result", 1);
    result.write()(0) = value;
    std::apply(
        [&](const auto&... a) {
          launch(label, on, 1, join_groups(reducer, into.functor, {}), inout(result, strata::all), a...);
        },
        into.accesses);
  } else {
    *into.target = value;
  }
}

template <class D, class R, class K, class Into, class... Accesses>
StreamReport launch_reduce_streamed(const char* label, const Streamed<D>& where, const R& work,
                                    const K& kernel, Into&& into, const Accesses&... accesses) {
  using I = std::remove_cvref_t<Into>;
  using Reduction = ReductionOf<K, I>;
  using T = typename Reduction::value_type;
  static_assert(!std::is_array_v<T>,
                "strata: launch_reduce in slices: values of run-time length are reduced in core");
  using Left = LeftMost<R>;
  constexpr index_t block = WorkOf<R>::rank == 1 ? reduction_block : 1;
  StreamProblem problem = stream_problem(label, work, accesses...);
  complete_problem(problem, stream_states(accesses...));  // bytes of rows
  problem.align = std::max(problem.align, reduction_align(problem, block, where.budget));
  StreamRun run(where.where.device.backend(), queue_of(where.where), static_cast<StreamProblem&&>(problem),
                stream_states(accesses...));
  check_all_fit<K, false>(label, work, accesses...);
  // Partial results take room, too.
  std::vector<ReductionGroup> groups;
  index_t room = 0;
  do {
    room = static_cast<index_t>(groups.size() * sizeof(T));
    room += groups.empty() ? 0 : 1536;  // in whole granules, and what reductions need themselves
    run.plan(where.budget - room, where.options, typeid(FunctorOf<K>).name());
    groups = stream_groups(run.problem(), run.plan(), block);
  } while (static_cast<index_t>(groups.size() * sizeof(T)) > room);
  if (where.only_plan) return run.report();

  const auto reducer = Reduction::reducer(kernel, into);
  std::vector<T> values(std::max<std::size_t>(groups.size(), 1));
  if (groups.empty()) reducer.init(values[0]);
  {
    using Partials = MDArray<T, D, rank<1>>;
    const Partials partials =
        create<Partials>("partial results", static_cast<index_t>(values.size()), uninitialized, where.where);
    std::size_t next = 0;
    run.run(
        [&](const StreamSite& site) {
          launch_slice<K>(
              label, where.where, site,
              [&](const auto&... resolved) {
                const auto bound = bind_views(kernel, view_to_bind(resolved)...);
                for (; next < groups.size() && groups[next].items.begin < site.work.end; ++next)
                  launch_reduce_into(label, where.where, Left::part(work, groups[next].items), bound,
                                     into_view(into, ValueView<T, D>(partials.data() + next)));
              },
              accesses...);
        },
        where.progress);
    if (!groups.empty()) {
      const View<T, Serial, typename Partials::extents_type, LayoutRight, Unmanaged<DefaultAccess>> host(
          values.data(),
          typename LayoutRight::template mapping<typename Partials::extents_type>(partials.extents()));
      deep_copy(host, partials);
    }
  }
  for (const Join& join : joins_of(groups))
    reducer.join(values[static_cast<std::size_t>(join.a)], values[static_cast<std::size_t>(join.b)]);
  store_reduced(label, where.where, reducer, values[0], static_cast<Into&&>(into));
  return run.report();
}

// A scan that begins with the total `start` of what lies before.
template <class D, class R, class K, class Into, class T, class... Accesses>
StreamReport scan_streamed_part(const char* label, const Streamed<D>& where, const R& work, const K& kernel,
                                Into&& into, const T& begin_with, const Accesses&... accesses) {
  using I = std::remove_cvref_t<Into>;
  using Left = LeftMost<R>;
  StreamProblem problem = stream_problem(label, work, accesses...);
  problem.align = std::max(problem.align, reduction_block);
  StreamRun run(where.where.device.backend(), queue_of(where.where), static_cast<StreamProblem&&>(problem),
                stream_states(accesses...));
  run.plan(where.budget, where.options, typeid(FunctorOf<K>).name());
  if (where.only_plan) return run.report();
  T total = begin_with;
  run.run(
      [&](const StreamSite& site) {
        const T start = total;
        launch_slice<K>(
            label, where.where, site,
            [&](const auto&... resolved) {
              const auto bound = bind_views(kernel, view_to_bind(resolved)...);
              const auto part = Left::part(work, site.work);
              if constexpr (is_reducer_v<I>)
                scan_into(label, where.where, part, bound, Reducer<typename I::operation, T, T*>{&total},
                          start);
              else scan_into(label, where.where, part, bound, total, start);
            },
            accesses...);
      },
      where.progress);
  if constexpr (std::is_same_v<I, T>) into = total;
  else if constexpr (is_reducer_v<I>)
    if constexpr (!std::is_same_v<typename I::target_type, NoTarget>) *into.target = total;
  return run.report();
}

template <class D, class R, class K, class Into, class... Accesses>
StreamReport launch_scan_streamed(const char* label, const Streamed<D>& where, const R& work, const K& kernel,
                                  Into&& into, const Accesses&... accesses) {
  check_all_fit<K, false>(label, work, accesses...);
  return scan_streamed_part(label, where, work, kernel, static_cast<Into&&>(into),
                            neutral_value<K, std::remove_cvref_t<Into>>(kernel, into), accesses...);
}

}  // namespace detail

/// Calls kernel(index..., views..., value&) slice by slice and joins the values into `into`.
template <class D, WorkRange R, class K, class Into, class... Accesses>
requires(detail::is_any_access_v<Accesses>&&...) StreamReport
    launch_reduce(const Streamed<D>& where, const R& work, const K& kernel, Into&& into,
                  const Accesses&... accesses) {
  return detail::launch_reduce_streamed("", where, work, kernel, static_cast<Into&&>(into), accesses...);
}
template <class D, WorkRange R, class K, class Into, class... Accesses>
requires(detail::is_any_access_v<Accesses>&&...) StreamReport
    launch_reduce(const char* label, const Streamed<D>& where, const R& work, const K& kernel, Into&& into,
                  const Accesses&... accesses) {
  return detail::launch_reduce_streamed(label, where, work, kernel, static_cast<Into&&>(into), accesses...);
}

/// Calls kernel(index, views..., value&, final) slice by slice as launch_scan does; `into` is a host
/// variable.
template <class D, WorkRange R, class K, class Into, class... Accesses>
requires(detail::is_any_access_v<Accesses>&&...) StreamReport
    launch_scan(const Streamed<D>& where, const R& work, const K& kernel, Into&& into,
                const Accesses&... accesses) {
  return detail::launch_scan_streamed("", where, work, kernel, static_cast<Into&&>(into), accesses...);
}
template <class D, WorkRange R, class K, class Into, class... Accesses>
requires(detail::is_any_access_v<Accesses>&&...) StreamReport
    launch_scan(const char* label, const Streamed<D>& where, const R& work, const K& kernel, Into&& into,
                const Accesses&... accesses) {
  return detail::launch_scan_streamed(label, where, work, kernel, static_cast<Into&&>(into), accesses...);
}

}  // namespace strata::inline STRATA_ABI
