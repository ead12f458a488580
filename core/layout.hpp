// Layouts: map a multi-index to an offset. This file has what all layouts share.
//
// A layout is an empty class with a member template `mapping<E>` over extents `E`. A mapping is a small
// trivially copyable object; it travels into kernels. Its interface is the concept LayoutMapping below, by
// which users may supply their own layouts. Offsets are counted in elements from the address that the view
// holds, which is that of the first *resident* row.
//
// Every mapping of the library carries, apart from its extents, a base shift and a leading stride. The
// extents are the array's; memory may hold only its rows [begin, end) (a streamed slice, a partial copy, a
// halo). Then the shift, -offset(begin, 0, ...), makes global indices address the slice, and
// the leading stride (between rows, between columns of the left layout, between tiles) is that of the slice.
// unshifted(i...) is the offset without the shift: on GPUs views hold the address that index 0 has or would
// have, so that an access does not add it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <strata/core/extents.hpp>
#include <strata/core/lane_index.hpp>
#include <strata/core/layout_descriptor.hpp>

namespace strata::inline STRATA_ABI {

/// The rows (left-most indices) [begin, end) of an array that a memory holds.
struct ResidentRows {
  index_t begin;  ///< the first row
  index_t end;    ///< one past the last row
};

/// The interface of a mapping for views: its extents, the offset of a multi-index in elements, and the number
/// of elements of its storage. `resident()`, where there is one, are rows within [begin(0), end(0)).
/// `describe()` returns the descriptor for the copy engine; without it (user-supplied layouts) copies are
/// done element by element on a host.
template <class M>
concept LayoutMapping = requires(const M& m) {
  typename M::extents_type;
  typename M::index_type;
  { m.extents() } -> std::convertible_to<const typename M::extents_type&>;
  { m.required_span_size() } -> std::convertible_to<index_t>;
}
&&std::constructible_from<M, typename M::extents_type>;

/// A layout: has a mapping over extents.
template <class L>
concept Layout = requires {
  typename L::template mapping<Extents<dynamic, 2>>;
}
&&LayoutMapping<typename L::template mapping<Extents<dynamic, 2>>>;

/// A mapping whose offsets are shift() + unshifted(i...), and which keeps its shift when it is converted.
template <class M>
concept ShiftedMapping = LayoutMapping<M> && requires(const M& m) {
  m.shift();
  m.unshifted(index_t{});
};

/// A mapping that can address a slice of resident rows with global indices.
template <class M>
concept SliceableMapping =
    LayoutMapping<M> && std::constructible_from<M, typename M::extents_type, ResidentRows>;

/// `L` with offsets computed in 32 bits: fewer registers and cheaper arithmetic on GPUs. Creation checks that
/// the array has at most 2^31 - 1 elements.
template <class L>
struct Index32 {
  /// As the concept Layout asks for, of the layout whose offsets these are.
  using base_layout = L;
  static constexpr bool contiguous_rows = L::contiguous_rows;
  template <class E>
  using mapping = typename L::template indexed_mapping<E, std::int32_t>;
};

namespace detail {

// Whether extents of type `From` always are extents of type `To`, another type that fixes less: fewer
// extents, or not the rank.
template <class From, class To>
constexpr bool widens() {
  if constexpr (std::is_same_v<From, To>) {
    return false;
  } else if constexpr (To::has_dynamic_rank) {
    return From::max_rank_value <= To::max_rank_value;
  } else if constexpr (From::has_dynamic_rank) {
    return false;
  } else {
    bool good = From::rank() == To::rank();
    for (int r = 0; good && r < To::rank(); ++r)
      good = To::static_extent(r) == dynamic || To::static_extent(r) == From::static_extent(r);
    return good;
  }
}
// Whether some are, which only the run time knows.
template <class From, class To>
constexpr bool may_narrow() {
  if constexpr (std::is_same_v<From, To> || widens<From, To>()) {
    return false;
  } else if constexpr (From::has_dynamic_rank || To::has_dynamic_rank) {
    return To::has_dynamic_rank || To::max_rank_value <= From::max_rank_value;
  } else {
    bool good = From::rank() == To::rank();
    for (int r = 0; good && r < To::rank(); ++r)
      good = To::static_extent(r) == dynamic || From::static_extent(r) == dynamic ||
             To::static_extent(r) == From::static_extent(r);
    return good;
  }
}
// The same extents as another type; ExtentError where they are not of that type.
template <class To, class From>
STRATA_FUNCTION constexpr To converted(const From& extents) {
  index_t all[max_rank + 1] = {};
  for (int r = 0; r < extents.rank(); ++r) all[r] = extents.extent(r);
  if constexpr (!To::has_dynamic_rank)
    if (extents.rank() != To::rank())
      fail_rank(extents.rank(), To::rank(), "a view converted to one of fixed rank");
  return To(all, extents.rank());
}

// The state that all mappings of the library share. Checked builds also carry the resident rows.
template <class E, class Index>
class MappingBase {
 public:
  using extents_type = E;
  using index_type = Index;

  STRATA_FUNCTION constexpr const E& extents() const { return extents_; }
  /// Added to every offset: minus the offset of the first resident row.
  STRATA_FUNCTION constexpr index_t shift() const { return shift_; }
  /// The stride, in elements, between rows (right), columns (left) or tiles (tiled).
  STRATA_FUNCTION constexpr index_t leading_stride() const { return leading_; }

  /// The first index of dimension `r`; 0 except for offset layouts.
  STRATA_FUNCTION static constexpr index_t begin(int) { return 0; }
  STRATA_FUNCTION constexpr index_t end(int r) const { return extents_.extent(r); }

#if defined(STRATA_CHECKED) && STRATA_CHECKED
  STRATA_FUNCTION constexpr ResidentRows resident() const { return resident_; }
#endif

 protected:
  constexpr MappingBase() = default;
  constexpr explicit MappingBase(const E& extents) : MappingBase(extents, whole(extents)) {}
  constexpr MappingBase(const E& extents, [[maybe_unused]] ResidentRows rows)
      : extents_(extents)
#if defined(STRATA_CHECKED) && STRATA_CHECKED
        ,
        resident_(within(extents, rows))
#endif
  {
    checked_size(extents, sizeof(Index) == 4 ? INT32_MAX : INT64_MAX);
  }
  // The same shape, of which the type of `other` knows more or less at compile time.
  template <class Other>
  STRATA_FUNCTION constexpr explicit MappingBase(const MappingBase<Other, Index>& other)
      : extents_(converted<E>(other.extents())),
        shift_(static_cast<Index>(other.shift())),
        leading_(static_cast<Index>(other.leading_stride()))
#if defined(STRATA_CHECKED) && STRATA_CHECKED
        ,
        resident_(other.resident())
#endif
  {
  }

  STRATA_FUNCTION static constexpr ResidentRows whole(const E& extents) {
    return {0, extents.rank() > 0 ? extents.extent(0) : 1};
  }

  // Those of `rows` that the array has: an index that is resident needs no further check.
  STRATA_FUNCTION static constexpr ResidentRows within(const E& extents, ResidentRows rows) {
    const index_t last = whole(extents).end;
    const index_t begin = rows.begin < 0 ? 0 : rows.begin < last ? rows.begin : last;
    const index_t end = rows.end < last ? rows.end : last;
    return {begin, begin < end ? end : begin};
  }

  // The product of extents first..rank-1: the elements of one row for first = 1. For an empty array it may be
  // too large for index_t; then it has no meaning, and unsigned arithmetic avoids undefined behaviour.
  STRATA_FUNCTION constexpr index_t product_from(int first) const {
    std::uint64_t n = 1;
    for (int r = first; r < extents_.rank(); ++r) n *= static_cast<std::uint64_t>(extents_.extent(r));
    return static_cast<index_t>(n);
  }

  // With 32-bit indices, ExtentError unless `count` steps of `stride` and their offsets fit: padding makes
  // offsets larger than the number of elements.
  STRATA_FUNCTION static constexpr void check_stride([[maybe_unused]] index_t count,
                                                     [[maybe_unused]] index_t stride) {
    if constexpr (sizeof(Index) == 4) {
      const index_t padded[] = {count, stride < 0 ? -stride : stride};
      if (bounded_product(padded[0], padded[1], INT32_MAX) < 0)
        fail_extents_overflow(padded, 2, "int32 indices");
    }
  }

  E extents_{};
  Index shift_ = 0;
  Index leading_ = 1;
#if defined(STRATA_CHECKED) && STRATA_CHECKED
  ResidentRows resident_{0, 0};
#endif
};

// Horner's scheme over dimensions 1, 2, ... with the right-most fastest: the offset within one row.
template <class Index, class E, class... I>
STRATA_FUNCTION constexpr Index row_offset([[maybe_unused]] const E& extents, I... i) {
  Index offset = 0;
  [[maybe_unused]] int r = 1;
  ((offset = offset * static_cast<Index>(extents.extent(r++)) + static_cast<Index>(i)), ...);
  return offset;
}

// Horner's scheme from the left: i1 + n1 * (i2 + n2 * (...)).
template <class Index, class E>
STRATA_FUNCTION constexpr Index column_offset(const E&, int) {
  return 0;
}
template <class Index, class E, class First, class... Rest>
STRATA_FUNCTION constexpr Index column_offset(const E& extents, int r, First first, Rest... rest) {
  if constexpr (sizeof...(Rest) == 0) return static_cast<Index>(first);
  else
    return static_cast<Index>(first) +
           static_cast<Index>(extents.extent(r)) * column_offset<Index>(extents, r + 1, rest...);
}

// LayoutError unless a stride is that of `layout`, to which a view is converted.
STRATA_FUNCTION constexpr void require_stride(const char* layout, index_t stride, index_t wanted) {
  if (stride != wanted) fail_stride(layout, stride, wanted);
}

template <class E>
STRATA_FUNCTION constexpr void describe_extents(LayoutDescriptor& d, const E& extents) {
  d.rank = extents.rank();
  for (int r = 0; r < d.rank; ++r) d.extent[r] = extents.extent(r);
}

// A number from -2^31 to 2^31 - 1. A GPU multiplies an index of 32 bits by it in one instruction, where the
// compiler knows that, and else in four. (nvcc does not see it in a cast to std::int32_t and back.)
STRATA_FUNCTION constexpr index_t in_32_bits(index_t n) {
#if defined(__CUDA_ARCH__)
  if (!std::is_constant_evaluated()) {
    std::int32_t low;
    asm("cvt.u32.u64 %0, %1;" : "=r"(low) : "l"(n));
    return low;
  }
#endif
  return n;
}

STRATA_FUNCTION constexpr int log2_of(int power_of_two) {
  int log = 0;
  while ((1 << log) < power_of_two) ++log;
  return log;
}

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
