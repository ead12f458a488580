// Planning of copies: from two layouts to a handful of affine pieces. Pure logic: no memory is touched, no
// thread or device is used, so that a plan can be tested, and executed by any device in its own way.
//
// One engine serves every rank, layout and element type: it sees extents, strides and an element size. A
// piece is a nest of loops over runs of bytes that are contiguous on both sides; it is normalised, so that a
// copy between two arrays of the same layout in memory is one contiguous piece, whatever their descriptions.
// The number of pieces depends on the layouts only, never on the extents: 1 without tiles, at most 3 where
// the tiles of both sides have one width and line up (or only one side is tiled), at most 5 where one width
// divides the other, at most 9 where they do not line up.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <strata/core/config.hpp>
#include <strata/core/layout_descriptor.hpp>
#include <strata/core/short_list.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The simplest kind of copy that can carry out a piece.
enum class CopyKind : std::uint8_t {
  Contiguous,   ///< rank 0: one run of bytes
  Pitched2d,    ///< rank 1: runs at one positive pitch a side, none shorter than the run
  Pitched3d,    ///< rank 2: as above, and the plane pitch a multiple of the row pitch that holds all rows
  Strided,      ///< any rank: the innermost loop is the one with the smallest stride on both sides
  Transpose,    ///< any rank: the smallest strides of the two sides belong to different loops
  ElementWise,  ///< no strides: only `copy_elementwise` and `fill_elementwise` can do it, on a host
};

/// The most loops of a piece: one for each index, and two more for the tile and sub-tile digits of index 0.
inline constexpr int max_piece_rank = max_rank + 2;

/// A nest of `rank` loops, the outermost first, over runs of `run_bytes` contiguous bytes. All lengths are in
/// bytes.
///
/// No extent is 0 or 1, destination strides are positive and descend (the layout of the destination being
/// injective); source strides may be negative or, from a broadcast source, zero. The run of a strided piece
/// is one element.
struct CopyPiece {
  /// The loops: their number, lengths and strides, where they begin, and the run inside them.
  CopyKind kind = CopyKind::Contiguous;
  int rank = 0;
  index_t extent[max_piece_rank] = {};
  index_t dst_stride[max_piece_rank] = {};
  index_t src_stride[max_piece_rank] = {};
  index_t dst_offset = 0;
  index_t src_offset = 0;
  index_t run_bytes = 0;
};

/// Nearly always one.
using CopyPieces = ShortList<CopyPiece, 1>;

/// Plans the copy of every element of `src`, of `element_bytes` > 0 bytes each, to the same index of `dst`.
///
/// The pieces are disjoint, in no particular order, and none for an empty array. Where either layout is
/// user-supplied the plan is one piece of kind `element_wise`. Throws ShapeMismatch where the extents differ.
CopyPieces plan_copy(const LayoutDescriptor& dst, const LayoutDescriptor& src, std::size_t element_bytes);

/// Plans the assignment of one value to every element of `dst`; the source fields of the pieces are 0.
CopyPieces plan_fill(const LayoutDescriptor& dst, std::size_t element_bytes);

/// The number of bytes that a piece writes.
index_t bytes_of(const CopyPiece& piece);

/// Whether every element is its own source, where the destination's base is `distance` bytes after the
/// source's.
bool copies_onto_itself(std::span<const CopyPiece> pieces, index_t distance);

/// Whether the plan writes a byte that it also reads, where the destination's base is `distance` bytes after
/// the source's. Exact for arrays that interleave (two columns of one matrix do not overlap) as long as the
/// strides nest; where the search would be long it answers true. No piece may be of kind `element_wise`.
bool sides_overlap(std::span<const CopyPiece> pieces, index_t distance);

}  // namespace strata::inline STRATA_ABI::detail
