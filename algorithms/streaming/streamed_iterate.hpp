// streamed_iterate: steps of a kernel over double-buffered fields, of which the device holds a few slices.
//
//   struct heat {                    // new(i) from old(i-1), old(i), old(i+1)
//     STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next) const {
//       next(i) = old(i) + 0.1 * (old(i - 1) - 2 * old(i) + old(i + 1));
//     }
//   };
//   streamed_iterate(streamed(Cuda{0}, 2_GiB), 1000, heat{}, state(u, halo(1, 1)));
//
// A state is handed to the kernel as two views, old and new; other accesses are `in`, one view each. A work
// item writes its own row of the new values (or elements of it, over several indices); elements that nobody
// writes keep their values, from the beginning on. After the call the array has the values after the last
// step.
//
// Without a range the work items are all rows; where a state has a halo without edges, those whose halo lies
// within it: the others are fixed. Bits are those of the same steps in core. Steps that also reduce are in
// streamed_iterate_reduce.hpp.
#pragma once

#include <tuple>

#include <strata/algorithms/streaming/streamed.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

template <class Array, class Edge>
struct StreamedState {
  using array_type = Array;
  using region_type = Halo<Edge>;
  Array array;
  Halo<Edge> region;
};
template <class>
inline constexpr bool is_streamed_state_v = false;
template <class A, class E>
inline constexpr bool is_streamed_state_v<StreamedState<A, E>> = true;
template <class A>
inline constexpr bool is_iterated_access_v = is_streamed_state_v<A> || is_coherent_access_v<A>;
template <class... A>
concept IteratedAccesses = (is_iterated_access_v<A> && ...) && (is_streamed_state_v<A> || ...);

}  // namespace detail

/// A field of old and new values; a work item reads the rows of the halo around its own of the old ones.
template <class T, int Rank, class L, class Edge>
detail::StreamedState<CoherentArray<T, Rank, L>, Edge> state(const CoherentArray<T, Rank, L>& array,
                                                             const Halo<Edge>& region) {
  static_assert(Rank > 0, "strata: state: a value has no rows");
  return {array, region};
}

namespace detail {

// Whether work items write all elements of the rows that they own: over one index a row is one element or
// left to the kernel; over several all of them have to be in the range.
template <class R, class A>
bool covers_rows(const R& work, const A& array) {
  if constexpr (A::rank == 1) return true;
  else if constexpr (requires { work.lower[A::rank - 1]; }) {
    for (int r = 1; r < A::rank; ++r)
      if (work.lower[r] > 0 || work.upper[r] < array.extent(r)) return false;
    return true;
  } else {
    return false;
  }
}

template <class R, class Access>
StreamArray iterated_array(const R& work, const Access& access) {
  if constexpr (is_streamed_state_v<Access>) {
    StreamArray array;
    array.use = StreamArray::Use::State;
    array.left = access.region.left;
    array.right = access.region.right;
    array.cyclic = std::is_same_v<decltype(access.region.edge), edge::Cyclic>;
    array.keeps = !covers_rows(work, access.array);
    return array;
  } else {
    static_assert(Access::mode == AccessMode::In,
                  "strata: streamed_iterate: arrays that steps write are states; others are in(...)");
    return stream_array(access);
  }
}

// The views of an access, as bind_kernel takes them: a tuple of two for a state.
template <class D, class Access>
auto resolve_iterated(const StreamSite::Place& place, const Access& access) {
  if constexpr (is_streamed_state_v<Access>) {
    using A = typename Access::array_type;
    using Old = CoherentAccess<AccessMode::In, A, typename Access::region_type>;
    using New = CoherentAccess<AccessMode::Out, A, Own>;
    const StreamSite::Place next{{place.base[1], place.base[1]}, place.rows};
    return std::make_tuple(resolve_streamed<D>(place, Old{access.array, access.region}),
                           resolve_streamed<D>(next, New{access.array, own}));
  } else {
    return std::make_tuple(resolve_streamed<D>(place, access));
  }
}

template <class Access>
index_t rows_of_access(const Access& access) {
  if constexpr (is_streamed_state_v<Access>) return access.array.extent(0);
  else return -1;
}
template <class... Accesses>
Range rows_within_halos(const Accesses&... accesses) {
  index_t rows = 0, left = 0, right = 0;
  const auto look = [&]([[maybe_unused]] const auto& access) {
    if constexpr (is_streamed_state_v<std::remove_cvref_t<decltype(access)>>) {
      if (!access.array) fail_no_array();
      rows = access.array.extent(0);
      if constexpr (std::is_same_v<decltype(access.region.edge), edge::None>) {
        left = std::max(left, access.region.left);
        right = std::max(right, access.region.right);
      }
    }
  };
  (look(accesses), ...);
  return left + right < rows ? range(left, rows - right) : range(0, 0);
}

[[noreturn]] void fail_steps(int steps);

template <class R, class... Accesses>
StreamProblem iterated_problem(const char* label, const R& work, int steps, const Accesses&... accesses) {
  StreamProblem problem;
  problem.label = label;
  problem.work = LeftMost<R>::of(work);
  problem.steps = steps;
  problem.arrays = {iterated_array(work, accesses)...};
  return problem;
}

template <class D, class R, class K, class... Accesses>
StreamReport iterate_streamed(const char* label, const Streamed<D>& where, const R& work, int steps,
                              const K& kernel, const Accesses&... accesses) {
  if (steps < 0) fail_steps(steps);
  StreamProblem problem = iterated_problem(label, work, steps, accesses...);
  if (steps == 0 || problem.work.begin >= problem.work.end) return {};
  StreamRun run(where.where.device.backend(), queue_of(where.where), static_cast<StreamProblem&&>(problem),
                stream_states(accesses...));
  run.plan(where.budget, where.options, typeid(FunctorOf<K>).name());
  if (where.only_plan) return run.report();
  run.run(
      [&](const StreamSite& site) {
        const auto mine = LeftMost<R>::part(work, site.work);
        [&]<std::size_t... I>(std::index_sequence<I...>) {
          std::apply(
              [&](const auto&... resolved) {
                launch_for(label, where.where, mine,
                           bind_kernel<D, std::remove_const_t<decltype(mine)>>(kernel, resolved...));
              },
              std::tuple_cat(resolve_iterated<D>(site.places[I], accesses)...));
        }
        (std::index_sequence_for<Accesses...>());
      },
      where.progress);
  return run.report();
}

}  // namespace detail

/// `steps` steps of kernel(index..., views...) over `work`; the head of this file says more.
template <class D, WorkRange R, class K, class... Accesses>
requires(detail::IteratedAccesses<Accesses...>) StreamReport
    streamed_iterate(const Streamed<D>& where, const R& work, int steps, const K& kernel,
                     const Accesses&... accesses) {
  return detail::iterate_streamed("", where, work, steps, kernel, accesses...);
}
template <class D, WorkRange R, class K, class... Accesses>
requires(detail::IteratedAccesses<Accesses...>) StreamReport
    streamed_iterate(const char* label, const Streamed<D>& where, const R& work, int steps, const K& kernel,
                     const Accesses&... accesses) {
  return detail::iterate_streamed(label, where, work, steps, kernel, accesses...);
}
/// Over all rows that have the rows around them that kernels read.
template <class D, class K, class... Accesses>
requires(detail::IteratedAccesses<Accesses...>) StreamReport
    streamed_iterate(const Streamed<D>& where, int steps, const K& kernel, const Accesses&... accesses) {
  return detail::iterate_streamed("", where, detail::rows_within_halos(accesses...), steps, kernel,
                                  accesses...);
}
template <class D, class K, class... Accesses>
requires(detail::IteratedAccesses<Accesses...>) StreamReport
    streamed_iterate(const char* label, const Streamed<D>& where, int steps, const K& kernel,
                     const Accesses&... accesses) {
  return detail::iterate_streamed(label, where, detail::rows_within_halos(accesses...), steps, kernel,
                                  accesses...);
}

}  // namespace strata::inline STRATA_ABI
