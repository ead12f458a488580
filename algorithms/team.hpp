// Teams: a kernel runs on a league of teams, each a group of members that work together, each member with
// lanes for vectorised loops.
//
//   struct MatrixVector {                                    // y = A x, a row of A a team
//     STRATA_FUNCTION void operator()(const auto& member, auto A, auto x, auto y) const {
//       const index_t i = member.league_rank();
//       double sum;
//       parallel_reduce(team_vector_range(member, A.extent(1)),
//                       [&](index_t j, double& s) { s += A(i, j) * x(j); }, sum);
//       single(per_team(member), [&] { y(i) = sum; });
//     }
//   };
//   parallel_for(teams(n), with(MatrixVector{}, A, x, y));              // the device chooses the size
//   parallel_for(teams(n, 64).vector(4).scratch(0, bytes), kernel);     // 64 members of 4 lanes
//   parallel_reduce(teams(n), kernel, Sum(total));                      // kernel(member, views..., value&)
//
// Teams of a league run in any order, at the same time or not, and must not wait for each other. The members
// of a team do run together, on every device: a team is a thread block of a GPU, where lanes are neighbouring
// threads; on hosts it is one thread, on which the members run in turn, from barrier to barrier.
//
// A kernel's code runs once for each member (on GPUs once for each lane: put its writes to memory outside
// vector loops into single(per_member(member), ...)). The calls below that concern a team (barrier,
// broadcast, `single` with a value, loops over team_range and team_vector_range) must be made by all members
// of the team, in the same order. Bodies of nested loops write only elements that belong to their own index,
// and add only to the value of a reduction or scan.
//
// Nested results: every member gets the same value. How they are joined depends on n, the value type, the
// device and its team shape, never on chance. A league's reduction has the tree of core/reduction_tree.hpp
// with the league rank as the index: a team's contribution is what its members add, each to a value of its
// own that starts at the identity, joined pairwise by rank.
//
// Errors: KernelError where the device cannot have such teams, OutOfMemory where it has not that much scratch
// memory, both from the launch; others are those of parallel_for. On hosts it is a KernelError if some
// members wait for their team when others have returned.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/algorithms/parallel_for.hpp>
#include <strata/algorithms/parallel_reduce.hpp>
#include <strata/algorithms/team_nested.hpp>
#include <strata/core/fail.hpp>
#include <strata/devices/team_shape.hpp>
#include <strata/views/mdarray.hpp>

namespace strata::inline STRATA_ABI {

// ---- the work of a launch

/// A league of teams; made by `teams`.
struct Teams {
  detail::TeamShape shape;  ///< sizes and scratch memory

  /// Members have `lanes` lanes: a power of two, at most 32. Hosts vectorise whatever the number is.
  constexpr Teams vector(index_t lanes) const {
    Teams t = *this;
    t.shape.vector_length = lanes;
    return t;
  }
  /// Scratch memory of level 0 (small and fast: shared memory on GPUs) or 1 (large), in bytes, for the team
  /// and for each member. Not initialised; its content is lost when the team is done.
  /// Another level is a KernelError.
  constexpr Teams scratch(int level, index_t bytes_per_team, index_t bytes_per_member = 0) const {
    if (level < 0 || level >= detail::scratch_levels)
      detail::fail_work("teams(...).scratch", level,
                        "the levels of scratch memory are 0, small and fast, and 1, large");
    Teams t = *this;
    t.shape.scratch[level] = {bytes_per_team, bytes_per_member};
    return t;
  }
  /// Threads of hosts take `teams_at_a_time` teams as they become free: for teams of unequal cost.
  constexpr Teams dynamic(index_t teams_at_a_time = 0) const {
    Teams t = *this;
    if (teams_at_a_time < 0)
      detail::fail_work("teams(...).dynamic", teams_at_a_time,
                        "give at least 1 team, or 0 to leave it to the device");
    t.shape.schedule = detail::Schedule::Dynamic;
    t.shape.chunk = teams_at_a_time;
    return t;
  }
};

/// The team size that a device works best with: 1 on hosts, where the members of a team would only take
/// turns; a block of a few warps on GPUs.
struct AutoSize {};
/// That size, as an argument of `teams`.
inline constexpr AutoSize auto_size{};

/// `league_size` teams of `team_size` members; none where the league's size is not positive.
constexpr Teams teams(index_t league_size, index_t team_size) {
  return {{league_size, team_size, 1, {}, detail::Schedule::Static, 0}};
}
/// `league_size` teams of a size that the device chooses.
constexpr Teams teams(index_t league_size, AutoSize = {}) {
  return teams(league_size, detail::auto_team_size);
}

/// The member with which kernels over teams are called on device `D`; `const auto& member` will do.
///
///   member.league_rank()  member.league_size()     which team, of how many
///   member.team_rank()    member.team_size()       which member
///   member.vector_length()
///   member.barrier()                               waits for all members of the team; orders their memory
///   member.scratch<T>(level, count)                memory of the team: all members get the same
///   member.own_scratch<T>(level, count)            memory of the member
/// Each call of scratch takes the next part of the memory that the launch declared; OutOfMemory (on GPUs a
/// trap) when that is used up.
template <class D>
using TeamMember = typename D::execution::team_member;

namespace detail {

template <>
struct WorkOf<Teams> {
  static constexpr int rank = teams_rank;
  using tag = void;
  static TeamShape get(const Teams& t) { return t.shape; }
};

}  // namespace detail

// ---- scratch memory as arrays

/// The memory space of scratch memory on any device: plain addresses.
struct ScratchSpace {
  /// As the concept MemorySpace asks for.
  static constexpr char kind[] = "Scratch";
  static constexpr bool host_accessible = true;
  template <class T>
  [[nodiscard]] STRATA_FUNCTION static constexpr T* resolve(T* address) {
    return address;
  }
};

namespace detail {

template <class Layout>
struct ScratchDevice {
  using memory_space = ScratchSpace;
  using layout = Layout;
  using size_type = index_t;
};
template <class E, class T, class Layout>
using ScratchViewOf = View<T, ScratchDevice<Layout>, E, Layout, Unmanaged<>>;
// The extents that MDArray has for N..., or as many run-time ones as are given.
template <int Given, index_t... N>
using ScratchExtents = typename std::conditional_t<sizeof...(N) == 0, std::type_identity<RankExtents<Given>>,
                                                   ExtentsFrom<N...>>::type;

template <class V, class Take>
STRATA_FUNCTION V make_scratch_view(const typename V::extents_type& extents, const Take& take) {
  const typename V::mapping_type mapping(extents);
  return V(take(static_cast<index_t>(mapping.required_span_size())), mapping);
}

}  // namespace detail

/// An array in the scratch memory of the team, as large as `extents` say, spelled like MDArray:
/// scratch_view<double>(member, 0, n, m), scratch_view<double, 8>(member, 0, n). Its layout is that of the
/// device's arrays, its elements are not initialised. Its size: scratch_bytes.
template <class T, index_t... N, detail::Member M, class... I>
STRATA_FUNCTION auto scratch_view(const M& member, int level, I... extents) {
  using E = detail::ScratchExtents<sizeof...(I), N...>;
  using V = detail::ScratchViewOf<E, T, typename M::scratch_layout>;
  return detail::make_scratch_view<V>(E(static_cast<index_t>(extents)...), [&](index_t count) {
    return member.template scratch<T>(level, count);
  });
}
/// The same of the calling member alone.
template <class T, index_t... N, detail::Member M, class... I>
STRATA_FUNCTION auto own_scratch_view(const M& member, int level, I... extents) {
  using E = detail::ScratchExtents<sizeof...(I), N...>;
  using V = detail::ScratchViewOf<E, T, typename M::scratch_layout>;
  return detail::make_scratch_view<V>(E(static_cast<index_t>(extents)...), [&](index_t count) {
    return member.template own_scratch<T>(level, count);
  });
}
/// Bytes for `count` elements of scratch memory, including padding for alignment.
template <class T>
STRATA_FUNCTION constexpr index_t scratch_bytes(index_t count) {
  static_assert(alignof(T) <= detail::scratch_alignment,
                "strata: scratch memory is aligned to 64 bytes, the elements ask for more");
  return count * static_cast<index_t>(sizeof(T)) + static_cast<index_t>(alignof(T)) - 1;
}

}  // namespace strata::inline STRATA_ABI
