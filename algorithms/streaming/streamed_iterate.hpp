// streamed_iterate: steps of a kernel over double-buffered fields, of which the device holds a few slices.
//
//   struct heat {                    // new(i) from old(i-1), old(i), old(i+1)
//     STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next) const {
//       next(i) = old(i) + 0.1 * (old(i - 1) - 2 * old(i) + old(i + 1));
//     }
//   };
//   streamed_iterate(streamed(Cuda{0}, 2_GiB), 1000, heat{}, state(u, halo(1, 1)));
//
// The kernel gets a state as two views, old and new; other accesses are `in`, one view each. A work
// item writes its own row of the new values (or elements of it, over several indices). Elements that a step
// does not write, because the kernel or the range leaves them out, keep their values. After the call the
// array has the values after the last step.
//
// For that, before a work item runs, the old values are copied to the elements that it may write. Compilers
// omit the copy where they see that the kernel overwrites it, but rarely in rows that a kernel loops over
// itself. For kernels that always write all of it, state(u, halo(1, 1)).writes_all() saves the copy. Checked
// builds find kernels that break this promise, for which they may call a kernel again; not kernels of
// factories, nor states of fewer dimensions than the range.
//
// Without a range the work items are all rows; where a state has a halo without edges, those whose halo lies
// within it: the others are fixed. Bits are those of the same steps in core. Steps that also reduce are in
// streamed_iterate_reduce.hpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>

#include <strata/algorithms/streaming/new_values.hpp>
#include <strata/algorithms/streaming/streamed.hpp>
#include <strata/core/min_max.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

template <class Array, class Edge, bool WritesAll = false>
struct StreamedState {
  using array_type = Array;
  using region_type = Halo<Edge>;
  static constexpr bool all_are_written = WritesAll;
  Array array;
  Halo<Edge> region;

  /// Each work item writes all of its row, or its element, in each step.
  StreamedState<Array, Edge, true> writes_all() const { return {array, region}; }
};
template <class>
inline constexpr bool is_streamed_state_v = false;
template <class A, class E, bool WritesAll>
inline constexpr bool is_streamed_state_v<StreamedState<A, E, WritesAll>> = true;
template <class A>
inline constexpr bool is_iterated_access_v = is_streamed_state_v<A> || is_coherent_access_v<A>;
template <class... A>
concept IteratedAccesses = (is_iterated_access_v<A> && ...) && (is_streamed_state_v<A> || ...);

}  // namespace detail

/// A field of old and new values; a work item reads the rows of the halo around its own of the old ones.
/// `.writes_all()` promises that each work item writes all of its row or element.
template <class T, int Rank, class L, class Edge>
detail::StreamedState<BasicCoherentArray<T, Rank, L>, Edge> state(const BasicCoherentArray<T, Rank, L>& array,
                                                                  const Halo<Edge>& region) {
  static_assert(Rank > 0, "strata: state: a value has no rows");
  return {array, region};
}
/// The same: steps are cut in rows. ShapeMismatch where the array lacks a dimension that the halo names, or
/// has fewer elements there than a cyclic one.
template <class T, int Rank, class L, int Dimensions, class Edge>
detail::StreamedState<BasicCoherentArray<T, Rank, L>, Edge> state(const BasicCoherentArray<T, Rank, L>& array,
                                                                  const BoxHalo<Dimensions, Edge>& region) {
  if (!array) detail::fail_no_array();
  detail::check_other_dimensions(in(array, region));
  return state(array, static_cast<const Halo<Edge>&>(region));
}

namespace detail {

// Whether the range, of several indices, leaves out elements of the rows that work items own.
template <class R, class A>
bool leaves_columns_out([[maybe_unused]] const R& work, [[maybe_unused]] const A& array) {
  constexpr int indices = WorkOf<R>::rank < A::rank ? WorkOf<R>::rank : A::rank;
  bool leaves = false;
  if constexpr (indices > 1) {
    const auto range = WorkOf<R>::get(work);
    for (int r = 1; r < indices; ++r)
      leaves = leaves || range.lower[r] > 0 || range.upper[r] < array.extent(r);
  }
  return leaves;
}

template <class R, class Access>
streaming::StreamArray iterated_array(const R& work, const Access& access) {
  if constexpr (is_streamed_state_v<Access>) {
    streaming::StreamArray array;
    array.use = streaming::StreamArray::Use::State;
    const ResidentRows halo = halo_rows_of(access, true);
    array.left = halo.begin;
    array.right = halo.end;
    array.cyclic = std::is_same_v<decltype(access.region.edge), edge::Cyclic>;
    array.keeps = leaves_columns_out(work, access.array);
    return array;
  } else {
    static_assert(Access::mode == AccessMode::In,
                  "strata: streamed_iterate: arrays that steps write are states; others are in(...)");
    return stream_array(access);
  }
}

// Whether work items of so many indices copy old values themselves, each those that it owns.
template <class Access, int Indices>
inline constexpr bool carries_by_item = Access::array_type::rank >= Indices;

template <class D, class Access>
auto resolve_new(const streaming::StreamSite::Place& place, const Access& access) {
  using New = CoherentAccess<AccessMode::Out, typename Access::array_type, Own>;
  return resolve_streamed<D>(streaming::StreamSite::Place{{place.base[1], place.base[1]}, place.rows},
                             New{access.array, own});
}
// The views of an access, as bind_kernel takes them: a tuple of two for a state.
template <class D, int Indices, class Access>
auto resolve_iterated(const streaming::StreamSite::Place& place, const Access& access) {
  if constexpr (is_streamed_state_v<Access>) {
    using Old = CoherentAccess<AccessMode::In, typename Access::array_type, typename Access::region_type>;
    const auto old = resolve_streamed<D>(place, Old{access.array, access.region});
    const auto next = resolve_new<D>(place, access);
    using V = typename decltype(next)::view_type;
    if constexpr (carries_by_item<Access, Indices>)
      return std::make_tuple(old, streaming::ResolvedNew<V, Access::all_are_written>{next.view});
    else return std::make_tuple(old, next);
  } else {
    return std::make_tuple(resolve_streamed<D>(place, access));
  }
}
template <class D, int Indices, class F, class... Accesses>
void with_iterated(const streaming::StreamSite& site, const F& f, const Accesses&... accesses) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    std::apply(f, std::tuple_cat(resolve_iterated<D, Indices>(site.places[I], accesses)...));
  }
  (std::index_sequence_for<Accesses...>());
}

// Whether K makes functors of the views.
template <class D, class R, class K, class... Resolved>
constexpr bool is_factory() {
  using W = WorkOf<R>;
  if constexpr (can_call<D, typename W::tag, With<K, BoundTo<Resolved>...>, W::rank>) return false;
  else return std::is_invocable_v<const K&, const typename Resolved::view_type&...>;
}
// Where work items do not copy old values themselves, a launch over all rows does, before them.
template <bool All, int Indices, class D, class Access>
void carry_rows(const char* label, const On<D>& where, ResidentRows rows,
                const streaming::StreamSite::Place& place, const Access& access) {
  if constexpr (is_streamed_state_v<Access>) {
    if constexpr (!Access::all_are_written && (All || !carries_by_item<Access, Indices>)) {
      using Old = CoherentAccess<AccessMode::In, typename Access::array_type, Own>;
      launch_for(
          label, where, range(rows.begin, rows.end),
          bind_views(streaming::CarryRow{}, view_to_bind(resolve_streamed<D>(place, Old{access.array, own})),
                     view_to_bind(resolve_new<D>(place, access))));
    }
  }
}
template <bool All, int Indices, class D, class... Accesses>
void carry_all_rows(const char* label, const On<D>& where, const streaming::StreamSite& site,
                    const Accesses&... accesses) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (carry_rows<All, Indices>(label, where, site.work, site.places[I], accesses), ...);
  }
  (std::index_sequence_for<Accesses...>());
}

// Enqueues a step of the rows of `site`.
template <class D, class R, class K, class... Accesses>
void launch_step(const char* label, const On<D>& where, const R& work, const K& kernel,
                 const streaming::StreamSite& site, const Accesses&... accesses) {
  constexpr int indices = WorkOf<R>::rank;
  const auto mine = LeftMost<R>::part(work, site.work);
  using Mine = std::remove_const_t<decltype(mine)>;
  with_iterated<D, indices>(
      site,
      [&](const auto&... resolved) {
        constexpr bool all = is_factory<D, Mine, K, std::remove_cvref_t<decltype(resolved)>...>();
        carry_all_rows<all, indices>(label, where, site, accesses...);
        launch_for(label, where, mine, bind_kernel<D, Mine>(kernel, resolved...));
      },
      accesses...);
}

template <class... Accesses>
Range rows_within_halos(const Accesses&... accesses) {
  index_t rows = 0, left = 0, right = 0;
  const auto look = [&]([[maybe_unused]] const auto& access) {
    if constexpr (is_streamed_state_v<std::remove_cvref_t<decltype(access)>>) {
      if (!access.array) fail_no_array();
      rows = access.array.extent(0);
      if constexpr (std::is_same_v<decltype(access.region.edge), edge::None>) {
        const ResidentRows halo = halo_rows_of(access, true);
        left = larger_of(left, halo.begin);
        right = larger_of(right, halo.end);
      }
    }
  };
  (look(accesses), ...);
  return left < rows - right ? range(left, rows - right) : range(0, 0);
}

[[noreturn]] void fail_steps(int steps);

template <class R, class... Accesses>
streaming::StreamProblem iterated_problem(const char* label, const R& work, int steps,
                                          const Accesses&... accesses) {
  streaming::StreamProblem problem;
  problem.label = label;
  problem.work = LeftMost<R>::of(work);
  problem.steps = steps;
  problem.arrays = {iterated_array(work, accesses)...};
  return problem;
}

// The function that the threads of runs call, as in streamed.hpp.
template <class D, class R, class K, class... Accesses>
streaming::StreamGroup::Launch iterate_launch(const char* label, const On<D>& on, const R& work,
                                              const K& kernel, const Accesses&... accesses) {
  return [label, on, &work, &kernel, &accesses...](const streaming::StreamSite& site) {
    launch_step(label, on, work, kernel, site, accesses...);
  };
}

template <class Where, class R, class K, class... Accesses>
StreamReport iterate_streamed(const char* label, const Where& where, const R& work, int steps,
                              const K& kernel, const Accesses&... accesses) {
  if (steps < 0) fail_steps(steps);
  streaming::StreamProblem problem = iterated_problem(label, work, steps, accesses...);
  if (steps == 0 || problem.work.begin >= problem.work.end) return {};
  streaming::StreamGroup group(static_cast<streaming::StreamProblem&&>(problem), stream_states(accesses...));
  return stream(group, where, typeid(FunctorOf<K>).name(),
                [&](const auto& on) { return iterate_launch(label, on, work, kernel, accesses...); });
}

/// iterate(label, where, work, steps, kernel, accesses...), with one step a launch, or several:
/// fused_steps.hpp.
template <bool SeveralSteps>
struct IterateBy;
template <>
struct IterateBy<false> {
  template <class Where, class R, class K, class... Accesses>
  static StreamReport iterate(const char* label, const Where& where, const R& work, int steps,
                              const K& kernel, const Accesses&... accesses) {
    return iterate_streamed(label, where, work, steps, kernel, accesses...);
  }
};

// Explains in one line why steps do not run at a place.
template <class Where>
constexpr bool check_steps_place() {
  constexpr bool streamed = PlaceTraits<Where>::is_streamed;
  static_assert(
      streamed,
      "strata: streamed_iterate: the place is not a streamed one: give streamed(device, budget), or launch "
      "step after step");
  constexpr bool included = IsIncluded<IterateBy<makes_several_steps<Where>>>;
  static_assert(
      !streamed || included,
      "strata: streamed_iterate: steps_per_launch needs <strata/algorithms/streaming/fused_steps.hpp>");
  return streamed && included;
}

}  // namespace detail

/// `steps` steps of kernel(index..., views...) over `work`, on one device or several; the head of this file
/// says more.
template <Place Where, WorkRange R, class K, class... Accesses>
requires(detail::IteratedAccesses<Accesses...>) StreamReport
    streamed_iterate(const Where& where, const R& work, int steps, const K& kernel,
                     const Accesses&... accesses) {
  if constexpr (detail::check_steps_place<Where>())
    return detail::IterateBy<detail::makes_several_steps<Where>>::iterate(detail::label_of(where), where,
                                                                          work, steps, kernel, accesses...);
  else return {};
}
/// Over all rows whose neighbours that the kernel reads exist; with several steps in a launch, states have
/// one dimension.
template <Place Where, class K, class... Accesses>
requires(detail::IteratedAccesses<Accesses...>) StreamReport
    streamed_iterate(const Where& where, int steps, const K& kernel, const Accesses&... accesses) {
  return streamed_iterate(where, detail::rows_within_halos(accesses...), steps, kernel, accesses...);
}
/// Does not compile: a label is that of the place.
template <class... Rest>
StreamReport streamed_iterate(const char*, const Rest&...) {
  static_assert(detail::never<Rest...>,
                "strata: streamed_iterate: the label belongs to the place: streamed_iterate(streamed(device, "
                "budget).named(\"x\"), ...)");
  return {};
}

}  // namespace strata::inline STRATA_ABI
