// Extents: the shape of an array, rank 0 to 8, each extent known at compile time or at run time.
//
// `Extents<dynamic, 3, 8>` has a fixed rank and stores only its run-time extents; `DynamicRank<Max>` also
// chooses its rank at run time, as the arrays of the Kokkos Array paper do (section 3.1).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <strata/core/config.hpp>
#include <strata/core/fail.hpp>
#include <strata/core/lane_index.hpp>

namespace strata::inline STRATA_ABI {

/// Marks an extent that is given at run time.
inline constexpr index_t dynamic = -1;

namespace detail {

template <int Count>
struct DynamicExtents {
  index_t value[Count];
};
template <>
struct DynamicExtents<0> {};

// The product of two non-negative numbers, or -1 where it exceeds `limit`.
STRATA_FUNCTION constexpr index_t bounded_product(index_t a, index_t b, index_t limit) {
  return a != 0 && b > limit / a ? -1 : a * b;
}

// The product of the extents from dimension `first` on, where the type fixes all of them; else 0.
template <class E>
constexpr index_t static_product(int first) {
  if constexpr (E::has_dynamic_rank) return 0;
  index_t n = 1;
  constexpr int rank = E::max_rank_value;
  for (int r = first; r < rank; ++r) {
    const index_t extent = E::static_extent(r);
    if (extent == dynamic || (n = bounded_product(n, extent, INT64_MAX)) < 0) return 0;
  }
  return n;
}

}  // namespace detail

/// The shape of an array of fixed rank; `dynamic` extents are given at run time.
template <index_t... N>
class Extents : private detail::DynamicExtents<((N == dynamic) + ... + 0)> {
  static_assert(sizeof...(N) <= max_rank, "strata: an array has at most 8 dimensions");
  static_assert(((N == dynamic || N >= 0) && ...), "strata: a compile-time extent is not negative");

 public:
  /// Whether the rank is given at run time, the largest it may be, and how many extents are given at run
  /// time.
  static constexpr bool has_dynamic_rank = false;
  static constexpr int max_rank_value = sizeof...(N);
  static constexpr int dynamic_count = ((N == dynamic) + ... + 0);

  STRATA_FUNCTION constexpr Extents() : detail::DynamicExtents<dynamic_count>{} {}

  /// From the run-time extents alone, or from all of them; ExtentError when one is negative or contradicts a
  /// compile-time extent.
  template <class... I>
  requires(sizeof...(I) > 0 && (sizeof...(I) == dynamic_count || sizeof...(I) == sizeof...(N)) &&
           (IndexLike<I> && ...)) constexpr explicit Extents(I... extent) {
    const index_t given[] = {static_cast<index_t>(extent)...};
    assign(given, sizeof...(I));
  }

  /// From `count` extents, which must be as many as the rank or as the run-time extents.
  STRATA_FUNCTION constexpr Extents(const index_t* given, int count)
      : detail::DynamicExtents<dynamic_count>{} {
    if (count != dynamic_count && count != max_rank_value)
      detail::fail_rank(count, max_rank_value, "extents");
    if (count > 0) assign(given, count);
  }

  /// The number of dimensions.
  STRATA_FUNCTION static constexpr int rank() { return sizeof...(N); }
  /// The extent of dimension `r` fixed at compile time, or `dynamic`. A fold, not an array: device code has
  /// no static members.
  STRATA_FUNCTION static constexpr index_t static_extent(int r) {
    index_t extent = 0;
    [[maybe_unused]] int q = 0;
    ((q++ == r ? void(extent = N) : void()), ...);
    return extent;
  }

  /// The extent of dimension `r`, 0 <= r < rank().
  STRATA_FUNCTION constexpr index_t extent(int r) const {
    if constexpr (dynamic_count == 0) {
      return static_extent(r);
    } else if constexpr (dynamic_count == sizeof...(N)) {
      return this->value[r];
    } else {
      return static_extent(r) == dynamic ? this->value[slot(r)] : static_extent(r);
    }
  }

  friend STRATA_FUNCTION constexpr bool operator==(const Extents& a, const Extents& b) {
    for (int r = 0; r < rank(); ++r)
      if (a.extent(r) != b.extent(r)) return false;
    return true;
  }

 private:
  STRATA_FUNCTION static constexpr int slot(int r) {
    int s = 0;
    for (int q = 0; q < r; ++q) s += static_extent(q) == dynamic;
    return s;
  }

  STRATA_FUNCTION constexpr void assign(const index_t* given, int count) {
    const bool complete = count == max_rank_value;
    for (int r = 0, g = 0; r < max_rank_value; ++r) {
      if (static_extent(r) == dynamic) {
        const index_t n = given[complete ? r : g++];
        if (n < 0) detail::fail_extent(r, n, "an extent is not negative");
        if constexpr (dynamic_count > 0) this->value[slot(r)] = n;
      } else if (complete && given[r] != static_extent(r)) {
        detail::fail_extent(r, given[r], "it contradicts the extent fixed at compile time");
      }
    }
  }
};

/// The shape of an array whose rank, too, is given at run time; at most `Max` dimensions.
template <int Max>
class DynamicRank {
  static_assert(Max >= 0 && Max <= max_rank, "strata: an array has at most 8 dimensions");

 public:
  /// Whether the rank is given at run time, the largest it may be, and how many extents are given at run
  /// time.
  static constexpr bool has_dynamic_rank = true;
  static constexpr int max_rank_value = Max;
  static constexpr int dynamic_count = Max;

  STRATA_FUNCTION constexpr DynamicRank() : rank_(0), extent_{} {}

  /// From one extent for each dimension; ExtentError when one is negative or there are more than Max.
  template <class... I>
  requires(sizeof...(I) > 0 && sizeof...(I) <= Max &&
           (IndexLike<I> && ...)) constexpr explicit DynamicRank(I... extent)
      : rank_(0), extent_{} {
    const index_t given[] = {static_cast<index_t>(extent)...};
    assign(given, sizeof...(I));
  }

  /// From `count` extents at `given`; ExtentError as above.
  STRATA_FUNCTION constexpr DynamicRank(const index_t* given, int count) : rank_(0), extent_{} {
    assign(given, count);
  }

  /// The number of dimensions; no extent is known at compile time.
  STRATA_FUNCTION constexpr int rank() const { return rank_; }
  STRATA_FUNCTION static constexpr index_t static_extent(int) { return dynamic; }
  /// The extent of dimension `r`; 1 from the rank on.
  STRATA_FUNCTION constexpr index_t extent(int r) const { return extent_[r]; }

  friend STRATA_FUNCTION constexpr bool operator==(const DynamicRank& a, const DynamicRank& b) {
    for (int r = 0; r < Max; ++r)
      if (a.extent_[r] != b.extent_[r]) return false;
    return a.rank_ == b.rank_;
  }

 private:
  STRATA_FUNCTION constexpr void assign(const index_t* given, int count) {
    if (count > Max) detail::fail_rank(count, Max, "at most so many extents fit this array type");
    rank_ = count;
    for (int r = 0; r < Max; ++r) {
      extent_[r] = r < count ? given[r] : 1;
      if (extent_[r] < 0) detail::fail_extent(r, extent_[r], "an extent is not negative");
    }
  }

  int rank_;
  index_t extent_[Max > 0 ? Max : 1];
};

/// Whether it is an Extents<...> or a DynamicRank<N>.
template <class>
inline constexpr bool is_extents_v = false;
template <index_t... N>
inline constexpr bool is_extents_v<Extents<N...>> = true;
template <int Max>
inline constexpr bool is_extents_v<DynamicRank<Max>> = true;

namespace detail {

template <int Rank, index_t... N>
struct DynamicExtentsOf {
  using type = typename DynamicExtentsOf<Rank - 1, dynamic, N...>::type;
};
template <index_t... N>
struct DynamicExtentsOf<0, N...> {
  using type = Extents<N...>;
};

}  // namespace detail

/// `Rank` run-time extents.
template <int Rank>
using RankExtents = typename detail::DynamicExtentsOf<Rank>::type;

/// The number of elements, at most `limit`; ExtentError beyond it.
template <class E>
STRATA_FUNCTION constexpr index_t checked_size(const E& extents, index_t limit = INT64_MAX) {
  index_t n = 1;
  for (int r = 0; r < extents.rank(); ++r)
    if (extents.extent(r) == 0) return 0;
  for (int r = 0; r < extents.rank(); ++r) {
    n = detail::bounded_product(n, extents.extent(r), limit);
    if (n < 0) {
      index_t shape[max_rank + 1] = {};
      for (int q = 0; q < extents.rank(); ++q) shape[q] = extents.extent(q);
      detail::fail_extents_overflow(shape, extents.rank(),
                                    limit == INT64_MAX ? "64-bit indices" : "int32 indices");
    }
  }
  return n;
}

}  // namespace strata::inline STRATA_ABI
