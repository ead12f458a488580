// Policies: over which indices a kernel runs. A number n means [0, n); `range` (core/range.hpp) has offsets,
// chunks and a schedule; `mdrange` has 2 to 6 dimensions and tiles; `tagged` chooses one of a functor's
// operators by a work tag; `teams` (team.hpp) has teams of members that work together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/core/config.hpp>
#include <strata/core/fail.hpp>
#include <strata/core/range.hpp>
#include <strata/devices/launch_info.hpp>

namespace strata::inline STRATA_ABI {

/// The indices lower[r] <= i_r < upper[r]; kernels are called with one index a dimension. Devices work on
/// tiles; a tile extent of 0 leaves the choice to the device.
template <int Rank>
struct MDRange {
  static_assert(Rank >= 2 && Rank <= 6, "strata: a multi-dimensional range has rank 2 to 6");
  index_t lower[Rank];      ///< the first index of each dimension
  index_t upper[Rank];      ///< one past the last
  index_t tile[Rank];       ///< extents of a tile; 0: the device chooses
  bool is_dynamic = false;  ///< whether threads take tiles as they become free

  /// Threads take tiles as they become free.
  constexpr MDRange dynamic() const {
    MDRange r = *this;
    r.is_dynamic = true;
    return r;
  }
};

/// mdrange({n0, n1}): from 0.
template <int Rank>
constexpr MDRange<Rank> mdrange(const index_t (&upper)[Rank]) {
  MDRange<Rank> r{};
  for (int d = 0; d < Rank; ++d) r.upper[d] = upper[d];
  return r;
}
/// mdrange({b0, b1}, {e0, e1})
template <int Rank>
constexpr MDRange<Rank> mdrange(const index_t (&lower)[Rank], const index_t (&upper)[Rank]) {
  MDRange<Rank> r = mdrange(upper);
  for (int d = 0; d < Rank; ++d) r.lower[d] = lower[d];
  return r;
}
/// mdrange({b0, b1}, {e0, e1}, {t0, t1}); KernelError where an extent of the tile is negative.
template <int Rank>
constexpr MDRange<Rank> mdrange(const index_t (&lower)[Rank], const index_t (&upper)[Rank],
                                const index_t (&tile)[Rank]) {
  MDRange<Rank> r = mdrange(lower, upper);
  for (int d = 0; d < Rank; ++d) {
    if (tile[d] < 0)
      detail::fail_work("mdrange(..., tile): tile extent", tile[d],
                        "give at least 1, or 0 to leave it to the device");
    r.tile[d] = tile[d];
  }
  return r;
}

/// A range whose kernels are called with a `Tag` before the indices.
template <class Tag, class R>
struct Tagged {
  R work;  ///< the range
};
/// tagged<Assemble>(n): calls kernel(Assemble{}, i).
template <class Tag, class R>
constexpr Tagged<Tag, R> tagged(const R& work) {
  return {work};
}

namespace detail {

// The rank that stands for a league of teams: kernels are called with a member of a team, not with indices.
inline constexpr int teams_rank = 7;

template <class R>
struct WorkOf {
  static constexpr int rank = std::is_convertible_v<R, index_t> && !std::is_floating_point_v<R> ? 1 : 0;
  using tag = void;
  static ChunkRange get(const R& n) { return {0, static_cast<index_t>(n)}; }
};
template <>
struct WorkOf<Range> {
  static constexpr int rank = 1;
  using tag = void;
  static ChunkRange get(const Range& r) {
    return {r.first, r.last, r.chunk_size, 1, r.is_dynamic ? Schedule::Dynamic : Schedule::Static};
  }
};
template <int Rank>
struct WorkOf<MDRange<Rank>> {
  static constexpr int rank = Rank;
  using tag = void;
  static TileRange<Rank> get(const MDRange<Rank>& r) {
    TileRange<Rank> t{};
    for (int d = 0; d < Rank; ++d) {
      t.lower[d] = r.lower[d];
      t.upper[d] = r.upper[d];
      t.tile[d] = r.tile[d];
    }
    t.schedule = r.is_dynamic ? Schedule::Dynamic : Schedule::Static;
    return t;
  }
};
template <class Tag, class R>
struct WorkOf<Tagged<Tag, R>> {
  static constexpr int rank = WorkOf<R>::rank;
  using tag = Tag;
  static auto get(const Tagged<Tag, R>& t) { return WorkOf<R>::get(t.work); }
};

}  // namespace detail

/// The work of a launch.
template <class R>
concept WorkRange = detail::WorkOf<std::remove_cvref_t<R>>::rank >= 1;

}  // namespace strata::inline STRATA_ABI
