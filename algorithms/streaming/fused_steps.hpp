// Temporal blocking of streamed_iterate: each launch makes several steps of a stencil, of which only the
// first reads device memory and only the last writes it. Values in between stay in registers and in the
// scratch memory of teams.
//
//   struct heat {
//     static constexpr int reach = 1;  // it reads at most the next cell, in each direction of each dimension
//     STRATA_FUNCTION void operator()(index_t i, index_t j, const auto& old, const auto& next) const {
//       const auto around = old(i - 1, j) + old(i + 1, j) + old(i, j - 1) + old(i, j + 1);
//       next(i, j) = old(i, j) + 0.1 * (around - 4 * old(i, j));
//     }
//   };
//   streamed_iterate(streamed(Cuda{0}, 2_GiB).steps_per_launch(8), mdrange({1, 1}, {n - 1, m - 1}), 1000,
//                    heat{}, state(u, halo(1, 1)));
//
// The kernel is the same, and so are the bits if the compiler translates its expressions alike: nvcc may
// contract multiply-adds of one expression differently in different kernels (-fmad=false forbids it). A
// kernel allows this by its member `reach`, and
//   - runs over as many indices as its states have dimensions, 1 to 3; states have one shape and LayoutRight;
//   - writes its own element of new values, and reads old ones within its reach; no halo is larger;
//   - knows what lies around its work items: halos have no edges.
// Its views have operator() and extent(r) only. Indices that differ from the work item's by compile-time
// constants are fast; others, such as old(i + k) in a loop that is not unrolled, are not.
// Read-only arrays, in(k, halo(1, 1)), are read where they are.
//
// The most steps of a launch: 128 / reach in one dimension, 8 / reach in two and 4 / reach in three; in two
// and three dimensions rounded down to a power of two, which several fields or large elements halve again.
// Steps that are left over are made one by one, in a pass of their own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/launch_hints.hpp>
#include <strata/algorithms/streaming/fused_line.hpp>
#include <strata/algorithms/streaming/fused_planes.hpp>
#include <strata/algorithms/streaming/streamed_iterate.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

template <class K>
concept HasReach = requires {
  { K::reach } -> std::convertible_to<int>;
}
&&!requires { requires std::is_member_pointer_v<decltype(&K::reach)>; };

/// The most steps of a launch, at most `wanted`, of states of `element_bytes` in all.
constexpr int fused_steps_of(int rank, int reach, std::size_t element_bytes, int wanted) {
  const int cells = reach < 1 ? 1 : reach;
  if (rank == 1) {
    constexpr int room = 128;
    return wanted < room / cells ? wanted : room / cells;
  }
  const int room = (rank == 2 ? 8 : 4) / (cells * static_cast<int>((element_bytes + 7) / 8));
  int steps = 1;
  while (2 * steps <= room && 2 * steps <= wanted) steps *= 2;
  return steps;
}

/// Whether launches make `wanted` steps, not fewer.
constexpr bool fused_uses(int rank, int reach, std::size_t element_bytes, int wanted) {
  return fused_steps_of(rank, reach, element_bytes, wanted) == wanted;
}

/// The rows that a team computes: few enough that there are teams for the whole device, many enough to be
/// worth the `lost` rows that two teams compute.
index_t fused_segment(index_t rows, index_t columns, index_t lost, bool many_members);
/// Reports of two launches, one after the other, as one.
StreamReport joined(const StreamReport& first, const StreamReport& second);
/// The remaining steps failed: DataLost, with the message `said`.
[[noreturn]] void fail_rest(const char* said, int done, int steps);
/// Throws Error: the kernel's reach is less than a halo.
[[noreturn]] void fail_reach(const char* label, int reach, const std::string& array, index_t left,
                             index_t right);
[[noreturn]] void fail_fused_shape(const char* label, const std::string& a, const std::string& b);

// GPUs, and what emulates them, have a thread a member; hosts take turns, and have caches.
template <class D>
inline constexpr bool many_members = !is_lane_index_v<typename D::index_type>;

template <class D, int Rank, int Reach, int Steps>
constexpr auto fused_tile() {
  if constexpr (Rank == 1) {
    if constexpr (many_members<D>) return streaming::FusedLine<Reach, 256, 8>();
    else return streaming::FusedLine<Reach, 1, 2048>();
  } else if constexpr (Rank == 2) {
    if constexpr (many_members<D>) return streaming::FusedPlane<2, Reach, Steps, 256, 1, 1, 1>();
    else return streaming::FusedPlane<2, Reach, Steps, 1, 512, 1, 1>();
  } else {
    if constexpr (!many_members<D>) return streaming::FusedPlane<3, Reach, Steps, 1, 64, 1, 64>();
    else if constexpr (Reach * Steps <= 2) return streaming::FusedPlane<3, Reach, Steps, 32, 1, 8, 4>();
    else return streaming::FusedPlane<3, Reach, Steps, 32, 1, 16, 2>();
  }
}

template <class Access>
struct FusedTraits {
  static constexpr bool is_state = false;
  static constexpr int rank = 0;
  static constexpr std::size_t bytes = 0;
};
template <class T, int Rank, class L, class Edge, bool WritesAll>
struct FusedTraits<StreamedState<BasicCoherentArray<T, Rank, L>, Edge, WritesAll>> {
  static_assert(
      std::is_same_v<Edge, edge::None>,
      "strata: steps_per_launch: halos have no edges; leave them out, and the work items at the edges");
  static_assert(std::is_same_v<L, LayoutRight>,
                "strata: steps_per_launch: states have LayoutRight: CoherentArray<T, rank<1>, LayoutRight>");
  static_assert(Rank <= 3, "strata: steps_per_launch: states have 1 to 3 dimensions");
  static constexpr bool is_state = true;
  static constexpr int rank = Rank;
  static constexpr std::size_t bytes = sizeof(T);
};
template <class... Accesses>
constexpr int fused_rank() {
  int rank = 0;
  ((rank = FusedTraits<Accesses>::is_state ? FusedTraits<Accesses>::rank : rank), ...);
  return rank;
}

template <class D, class Access>
auto fused_access(const streaming::StreamSite::Place& place, const Access& access) {
  if constexpr (FusedTraits<Access>::is_state) {
    using T = typename Access::array_type::value_type;
    return streaming::FusedField<T, typename D::memory_space, Access::all_are_written>{
        reinterpret_cast<const T*>(place.base[0]), reinterpret_cast<T*>(place.base[1])};
  } else {
    const auto bound = view_to_bind(resolve_streamed<D>(place, access));
    using V = typename std::remove_const_t<decltype(bound)>::unmanaged_type;
    return streaming::FusedView<V>{V(bound)};
  }
}

// The array of a plan for an access where a launch makes `steps` steps.
template <class R, class Access>
streaming::StreamArray fused_array(const R& work, int steps, ResidentRows halo, const Access& access) {
  streaming::StreamArray array = iterated_array(work, access);
  if constexpr (FusedTraits<Access>::is_state) {
    array.left = halo.begin * steps;
    array.right = halo.end * steps;
    array.keeps = false;  // all of a row is written
  } else if (array.use == streaming::StreamArray::Use::Rows) {
    const ResidentRows all = LeftMost<R>::of(work);
    array.rows_of = [=, rows_of = array.rows_of](ResidentRows made) {
      const index_t begin = made.begin - (steps - 1) * halo.begin, end = made.end + (steps - 1) * halo.end;
      return rows_of({begin > all.begin ? begin : all.begin, end < all.end ? end : all.end});
    };
  }
  return array;
}

// The shape of all states, and the work items; makes the checks that need run-time values.
template <int Rank, int Reach, class R, class... Accesses>
streaming::FusedShape<Rank> fused_shape(const char* label, const R& work, const Accesses&... accesses) {
  streaming::FusedShape<Rank> shape{};
  const auto range = WorkOf<R>::get(work);
  if constexpr (Rank == 1) {
    shape.lower[0] = range.begin;
    shape.upper[0] = range.end;
  } else {
    for (int r = 0; r < Rank; ++r) {
      shape.lower[r] = range.lower[r];
      shape.upper[r] = range.upper[r];
    }
  }
  std::string first;
  const auto look = [&](const auto& access) {
    using Access = std::remove_cvref_t<decltype(access)>;
    if constexpr (FusedTraits<Access>::is_state) {
      if (!access.array) fail_no_array();
      const std::string name = access.array.label();
      static_assert(FusedTraits<Access>::rank == Rank, "strata: steps_per_launch: states have one shape");
      if (access.region.left > Reach || access.region.right > Reach)
        fail_reach(label, Reach, name, access.region.left, access.region.right);
      shape.left = shape.left > access.region.left ? shape.left : access.region.left;
      shape.right = shape.right > access.region.right ? shape.right : access.region.right;
      for (int r = 0; r < Rank; ++r) {
        if (!first.empty() && shape.extent[r] != access.array.extent(r)) fail_fused_shape(label, first, name);
        shape.extent[r] = access.array.extent(r);
      }
      first = name.empty() ? "(no name)" : name;
    }
  };
  (look(accesses), ...);
  shape.stride[Rank - 1] = 1;
  for (int r = Rank - 2; r >= 0; --r) shape.stride[r] = shape.stride[r + 1] * shape.extent[r + 1];
  return shape;
}

// One launch: `steps` steps of the rows of `site`.
template <int Steps, class D, int Rank, class K, class... Accesses>
void launch_fused(const char* label, const On<D>& where, const streaming::StreamSite& site,
                  streaming::FusedShape<Rank> shape, const K& kernel, const Accesses&... accesses) {
  using Tile = decltype(fused_tile<D, Rank, K::reach, Steps>());
  shape.begin = site.work.begin;
  shape.end = site.work.end;
  const index_t rows = shape.end - shape.begin;
  index_t league = 1;
  if constexpr (Rank == 1) {
    league = (rows + Tile::rows(shape.steps) - 1) / Tile::rows(shape.steps);
  } else {
    for (int r = 1; r < Rank; ++r) {
      shape.tiles[r] = (shape.extent[r] + Tile::made(r) - 1) / Tile::made(r);
      league *= shape.tiles[r];
    }
    shape.segment = fused_segment(rows, league, Steps * (shape.left + Tile::lag), many_members<D>);
    shape.tiles[0] = (rows + shape.segment - 1) / shape.segment;
    league *= shape.tiles[0];
  }
  index_t bytes = 0;
  const auto add = [&](const auto& access) {
    using Access = std::remove_cvref_t<decltype(access)>;
    if constexpr (FusedTraits<Access>::is_state)
      bytes += scratch_bytes<typename Access::array_type::value_type>(Tile::scratch);
  };
  (add(accesses), ...);
  const auto work = teams(league, Tile::members).scratch(0, bytes);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto launch = [&](const auto&... resolved) {
      const auto body = [&] {
        if constexpr (Rank == 1)
          return streaming::FusedLineKernel<Tile, K, std::remove_cvref_t<decltype(resolved)>...>{
              kernel, shape, {{resolved}...}};
        else
          return streaming::FusedPlaneKernel<Tile, K, std::remove_cvref_t<decltype(resolved)>...>{
              kernel, shape, {{resolved}...}};
      }();
      if constexpr (Tile::members >= 32)
        launch_for(label, where, launch_bounds<Tile::members, Tile::teams>(work), body);
      else launch_for(label, where, work, body);
    };
    launch(fused_access<D>(site.places[I], accesses)...);
  }
  (std::index_sequence_for<Accesses...>());
}

// `Steps` is a number of steps that launches of such states make: for others no kernel is instantiated.
template <int Steps, class D, int Rank, class K, class... Accesses>
void launch_fused_steps(const char* label, const On<D>& on, const streaming::StreamSite& site,
                        const streaming::FusedShape<Rank>& shape, const K& kernel,
                        const Accesses&... accesses) {
  constexpr std::size_t bytes = (FusedTraits<Accesses>::bytes + ...);
  if constexpr (Rank == 1 || fused_steps_of(Rank, K::reach, bytes, Steps) == Steps)
    launch_fused<Steps>(label, on, site, shape, kernel, accesses...);
}
// The function that the threads of runs call, as in streamed.hpp.
template <class D, int Rank, class K, class... Accesses>
streaming::StreamGroup::Launch fused_launch(const char* label, const On<D>& on,
                                            const streaming::FusedShape<Rank>& shape, const K& kernel,
                                            const Accesses&... accesses) {
  return [label, on, shape, &kernel, &accesses...](const streaming::StreamSite& site) {
    if constexpr (Rank == 1) launch_fused_steps<1>(label, on, site, shape, kernel, accesses...);
    else if (shape.steps == 2) launch_fused_steps<2>(label, on, site, shape, kernel, accesses...);
    else if (shape.steps == 4) launch_fused_steps<4>(label, on, site, shape, kernel, accesses...);
    else launch_fused_steps<8>(label, on, site, shape, kernel, accesses...);
  };
}

// Makes as many steps a launch as the shape says, and the remaining ones one by one.
template <class Where, int Rank, class R, class K, class... Accesses>
StreamReport iterate_fused(const char* label, const Streamed<Where>& where, const R& work, int steps,
                           const streaming::FusedShape<Rank>& shape, const K& kernel,
                           const Accesses&... accesses) {
  const int each = shape.steps;
  streaming::StreamProblem problem;
  problem.label = label;
  problem.work = LeftMost<R>::of(work);
  problem.steps = steps / each;
  problem.arrays = {fused_array(work, each, {shape.left, shape.right}, accesses)...};
  if (problem.work.begin >= problem.work.end) return {};
  streaming::StreamGroup group(static_cast<streaming::StreamProblem&&>(problem), stream_states(accesses...));
  Streamed<Where> fused = where;
  int& in_pass = fused.options.steps_per_pass;
  if (in_pass > 0) in_pass = in_pass / each > 0 ? in_pass / each : 1;
  const std::string name = std::string(typeid(K).name()) + " x" + std::to_string(each);
  StreamReport report = stream(group, fused, name, [&](const auto& on) {
    return fused_launch(label, on, shape, kernel, accesses...);
  });
  report.steps_per_pass *= each;
  if (steps % each == 0) return report;
  try {
    return joined(report, iterate_streamed(label, where, work, steps % each, kernel, accesses...));
  } catch (const std::exception& error) {
    fail_rest(error.what(), steps - steps % each, steps);
  }
}

// Says in one line why a launch cannot make several steps.
template <class R, class K, class... Accesses>
constexpr bool check_fused() {
  constexpr bool allowed = HasReach<K>;
  static_assert(
      allowed,
      "strata: steps_per_launch: the kernel does not allow several steps in one launch: say how many cells "
      "around its own it reads, `static constexpr int reach = 1;`, or leave steps_per_launch out");
  constexpr bool fits = WorkOf<R>::rank == fused_rank<Accesses...>();
  static_assert(
      fits, "strata: steps_per_launch: the kernel runs over as many indices as its states have dimensions");
  if constexpr (allowed)
    static_assert(K::reach >= 0 && K::reach <= 8,
                  "strata: steps_per_launch: a kernel's reach is 0 to 8 cells");
  return allowed && fits;
}

template <>
struct IterateBy<true> {
  template <class Where, class R, class K, class... Accesses>
  static StreamReport iterate(const char* label, const Streamed<Where, true>& where, const R& work, int steps,
                              const K& kernel, const Accesses&... accesses) {
    if constexpr (!check_fused<R, K, Accesses...>()) {
      return {};
    } else {
      if (steps < 0) fail_steps(steps);
      constexpr int rank = fused_rank<Accesses...>();
      constexpr std::size_t bytes = (FusedTraits<Accesses>::bytes + ...);
      streaming::FusedShape<rank> shape = fused_shape<rank, K::reach>(label, work, accesses...);
      const int wanted = where.launch_steps < steps ? where.launch_steps : steps;
      shape.steps = fused_steps_of(rank, K::reach, bytes, wanted);
      const Streamed<Where> singly{where.where, where.budget, where.options, where.progress, where.only_plan};
      if (shape.steps <= 1) return iterate_streamed(label, singly, work, steps, kernel, accesses...);
      return iterate_fused(label, singly, work, steps, shape, kernel, accesses...);
    }
  }
};

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
