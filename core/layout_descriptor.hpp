// The type-erased form of a layout mapping, from which the copy engine copies arrays of any element type,
// rank and layout.
//
// A descriptor is a plain value. It refers to a user-supplied mapping by pointer and does not own it: the
// mapping must outlive every plan and copy that uses the descriptor. Indices count from 0 whatever the base
// of the view (the base shift of a view of a slice is part of `shift` and `phase`).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// Maps an index (i0, ..., i{rank-1}), each counted from 0, to an offset in elements from the base pointer:
///
///     f0(i0) + i1 * stride[1] + ... + i{rank-1} * stride[rank-1] + shift
///
/// with f0(i0) = i0 * stride[0] where `tile_log2` < 0, and otherwise, with p = i0 + phase and W =
/// 2^tile_log2, f0(i0) = floor(p / W) * tile_stride + (p mod W) * stride[0]. Strides may be negative; those
/// of empty or unit extents have no meaning. Where `offset` is set the layout has no strides: the offset is
/// `offset(mapping, index)`, and of the other fields only rank, extent and span are valid.
struct LayoutDescriptor {
  int rank = 0;                   ///< dimensions
  index_t extent[max_rank] = {};  ///< of each dimension
  index_t stride[max_rank] = {};  ///< in elements
  int tile_log2 = -1;             ///< >= 0: index 0 lies in tiles of 2^tile_log2 lanes
  index_t tile_stride = 0;        ///< in elements, from one tile to the next
  index_t phase = 0;              ///< the lane of index 0 in its tile, plus any number of whole tiles
  index_t shift = 0;              ///< in elements
  /// For layouts that strides cannot describe: a function that returns the offset of a multi-index, and the
  /// mapping, its first argument.
  index_t (*offset)(const void* mapping, const index_t* index) = nullptr;
  const void* mapping = nullptr;
  index_t span = 0;  ///< in elements, from the lowest to one past the highest offset
};

namespace detail {

/// The offset in elements that index 0 contributes, without `shift`.
STRATA_FUNCTION constexpr index_t leading_offset(const LayoutDescriptor& layout, index_t i) {
  if (layout.tile_log2 < 0) return i * layout.stride[0];
  const index_t p = i + layout.phase;
  const index_t lane = p & ((index_t{1} << layout.tile_log2) - 1);
  return (p >> layout.tile_log2) * layout.tile_stride + lane * layout.stride[0];
}

/// The offset in elements of `index`, an array of `layout.rank` indices.
STRATA_FUNCTION constexpr index_t offset_of(const LayoutDescriptor& layout, const index_t* index) {
  if (layout.offset != nullptr) return layout.offset(layout.mapping, index);
  if (layout.rank == 0) return layout.shift;
  index_t result = leading_offset(layout, index[0]) + layout.shift;
  for (int r = 1; r < layout.rank; ++r) result += index[r] * layout.stride[r];
  return result;
}

/// Offsets in elements, the highest inclusive.
struct OffsetBounds {
  index_t lowest;   ///< of any element
  index_t highest;  ///< of any element
};

/// The bounds of the offsets of the elements of an array that is not empty. A layout without strides is
/// assumed to begin at offset 0.
STRATA_FUNCTION constexpr OffsetBounds offset_bounds(const LayoutDescriptor& layout) {
  if (layout.offset != nullptr) return {0, layout.span - 1};
  OffsetBounds bounds{layout.shift, layout.shift};
  for (int r = 0; r < layout.rank; ++r) {
    index_t first = 0, last = (layout.extent[r] - 1) * layout.stride[r];
    // Tiles are at least as far apart as their lanes, so that the last row lies highest.
    if (r == 0) first = leading_offset(layout, 0), last = leading_offset(layout, layout.extent[0] - 1);
    bounds.lowest += first < last ? first : last;
    bounds.highest += first < last ? last : first;
  }
  return bounds;
}

/// The number of elements: the product of the extents, 1 for rank 0. An empty array may have other extents
/// whose product overflows.
STRATA_FUNCTION constexpr index_t element_count(const LayoutDescriptor& layout) {
  for (int r = 0; r < layout.rank; ++r)
    if (layout.extent[r] == 0) return 0;
  index_t result = 1;
  for (int r = 0; r < layout.rank; ++r) result *= layout.extent[r];
  return result;
}

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
