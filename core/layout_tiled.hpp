// LayoutTiled<W>: the left-most index in tiles of W lanes, the lanes innermost:
//
//   offset = (i0 / W) * tile_stride + ((i1 * n2 + i2) * n3 + ...) * W + i0 % W
//
// Coalesced on GPUs, SIMD on hosts, and contiguous in slices that are cut at tile boundaries: one layout for
// every memory. W is a power of two, so that / and % are a shift and a mask, which round down for negative
// indices, too. Storage is padded to whole tiles. With a lane index the address is that of the block plus the
// lane; with an integer index the compiler sees only a shift and a mask.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include <strata/core/layout.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

// The offset of index i0: its tile, and the lane in it. A block of L <= W lanes never crosses a tile
// boundary.
template <int W, class Index, class I>
STRATA_FUNCTION constexpr Index tiled_row(I i0, Index tile_stride) {
  constexpr int log2_w = log2_of(W);
  if constexpr (is_lane_index_v<I>) {
    if constexpr (I::lanes <= W) {
      const Index first = static_cast<Index>(i0.block * I::lanes);
      return (first >> log2_w) * tile_stride + (first & (W - 1)) + static_cast<Index>(i0.lane);
    }
  }
  const Index i = static_cast<Index>(static_cast<index_t>(i0));
  return (i >> log2_w) * tile_stride + (i & (W - 1));
}

// The number of elements of one tile; the padded size of the array, too, must fit the index type.
template <int W, class Index, class E>
STRATA_FUNCTION constexpr index_t checked_tile_stride(const E& extents) {
  if (extents.rank() == 0) return 1;
  constexpr index_t limit = sizeof(Index) == 4 ? INT32_MAX : INT64_MAX;
  for (int r = 0; r < extents.rank(); ++r)
    if (extents.extent(r) == 0) return W;
  index_t row = 1;
  for (int r = 1; r < extents.rank(); ++r) row *= extents.extent(r);
  const index_t tiles = extents.extent(0) / W + (extents.extent(0) % W != 0);
  const index_t tile_size = bounded_product(row, W, limit);
  if (tile_size < 0 || bounded_product(tiles, tile_size, limit) < 0) {
    const index_t padded[] = {tiles, row, W};
    fail_extents_overflow(padded, 3, limit == INT32_MAX ? "int32 indices" : "64-bit indices");
  }
  return tile_size;
}

template <int W, class E, class Index>
class TiledMapping : public MappingBase<E, Index> {
  using Base = MappingBase<E, Index>;
  static constexpr index_t mask = W - 1;

 public:
  static constexpr bool is_strided = false;
  static constexpr int tile = W;

  constexpr TiledMapping() = default;
  /// The same mapping, of extents of which the type knows more or less. ExtentError where they are not of
  /// this type.
  template <class Other>
  requires(widens<Other, E>() || may_narrow<Other, E>()) STRATA_FUNCTION
      constexpr explicit TiledMapping(const TiledMapping<W, Other, Index>& other)
      : Base(static_cast<const MappingBase<Other, Index>&>(other)) {}
  STRATA_FUNCTION constexpr explicit TiledMapping(const E& extents)
      : TiledMapping(extents, Base::whole(extents)) {}
  /// The tiles that hold rows [rows.begin, rows.end) are resident.
  STRATA_FUNCTION constexpr TiledMapping(const E& extents, ResidentRows rows) : Base(extents, rows) {
    const index_t tile_stride = checked_tile_stride<W, Index>(extents);
    this->leading_ = static_cast<Index>(tile_stride);
    this->shift_ = static_cast<Index>(-(rows.begin >> log2_of(W)) * tile_stride);
  }

  template <IndexLike... I>
  STRATA_FUNCTION constexpr Index operator()(I... i) const {
    return unshifted(i...) + this->shift_;
  }
  STRATA_FUNCTION constexpr Index unshifted() const { return 0; }
  template <IndexLike I0, IndexLike... I>
  STRATA_FUNCTION constexpr Index unshifted(I0 i0, I... i) const {
    return tiled_row<W, Index>(i0, this->leading_) +
           row_offset<Index>(this->extents_, static_cast<index_t>(i)...) * W;
  }

  /// The elements of one row, where they are known at compile time; else 0.
  static constexpr index_t static_row_size = E::max_rank_value == 0 ? 0 : static_product<E>(1);
  /// Prefetches, on a host, the rows of a whole block of lanes, which begins at `block`. They may be outside
  /// the array: nothing is read.
  template <class T, int Lanes>
  void prefetch_rows(const T* data, LaneIndex<Lanes> block) const {
    static_assert(Lanes <= W && static_row_size > 0);
    constexpr index_t line = 64, element = sizeof(T);
    // The lanes of one entry of the row; those of all entries where nothing lies between.
    constexpr index_t entries = Lanes == W ? 1 : static_row_size;
    constexpr index_t bytes = Lanes * element * (Lanes == W ? static_row_size : 1);
    constexpr index_t lines = (bytes + line - 1) / line;
    const index_t offset = tiled_row<W, index_t>(block, this->leading_) + this->shift_;
    const auto first = reinterpret_cast<std::uintptr_t>(data) + static_cast<std::uintptr_t>(offset * element);
    [&]<index_t... Q>(std::integer_sequence<index_t, Q...>) {
      // g++ 12 treats a function that only prefetches as one without effects, and drops calls of it.
      asm volatile("");
      (__builtin_prefetch(
           reinterpret_cast<const void*>(first + Q / lines * (W * element) + Q % lines * line)),
       ...);
    }
    (std::make_integer_sequence<index_t, entries * lines>());
  }

  /// The number of elements in storage for the resident `rows`: whole tiles.
  STRATA_FUNCTION constexpr index_t span_size(ResidentRows rows) const {
    if (this->extents_.rank() == 0) return 1;
    if (rows.begin == rows.end || this->product_from(1) == 0) return 0;
    return (((rows.end + mask) >> log2_of(W)) - (rows.begin >> log2_of(W))) * this->leading_;
  }
  STRATA_FUNCTION constexpr index_t required_span_size() const {
    return span_size(Base::whole(this->extents_));
  }
  STRATA_FUNCTION constexpr bool is_exhaustive() const {
    return required_span_size() == this->product_from(0);
  }

  STRATA_FUNCTION constexpr LayoutDescriptor describe() const {
    LayoutDescriptor d{};
    describe_extents(d, this->extents_);
    d.shift = this->shift_;
    d.span = required_span_size();
    if (d.rank == 0) return d;
    d.tile_log2 = log2_of(W);
    d.tile_stride = this->leading_;
    d.stride[0] = 1;
    for (int r = 1; r < d.rank; ++r) d.stride[r] = this->product_from(r + 1) * W;
    return d;
  }
};

// A part of a tiled array: like it, but the first row may be inside a tile (`phase`), and the inner strides
// are given. The mapping of subviews of tiled arrays that keep the left-most dimension.
template <int W, class E, class Index>
class TiledPartMapping : public MappingBase<E, Index> {
  using Base = MappingBase<E, Index>;

 public:
  static constexpr bool is_strided = false;

  constexpr TiledPartMapping() = default;
  /// Dense, beginning at a tile boundary.
  STRATA_FUNCTION constexpr explicit TiledPartMapping(const E& extents) : Base(extents) {
    this->leading_ = static_cast<Index>(checked_tile_stride<W, Index>(extents));
    for (int r = 1; r < extents.rank(); ++r) stride_[r] = static_cast<Index>(this->product_from(r + 1) * W);
  }
  STRATA_FUNCTION constexpr TiledPartMapping(const E& extents, index_t tile_stride, const index_t* strides,
                                             index_t phase, index_t shift)
      : Base(extents), phase_(static_cast<Index>(phase)) {
    this->leading_ = static_cast<Index>(tile_stride);
    this->shift_ = static_cast<Index>(shift);
    for (int r = 1; r < extents.rank(); ++r) stride_[r] = static_cast<Index>(strides[r]);
  }

  template <IndexLike... I>
  STRATA_FUNCTION constexpr Index operator()(I... i) const {
    return unshifted(i...) + this->shift_;
  }
  STRATA_FUNCTION constexpr Index unshifted() const { return 0; }
  template <IndexLike I0, IndexLike... I>
  STRATA_FUNCTION constexpr Index unshifted(I0 i0, I... i) const {
    const index_t row = static_cast<index_t>(i0) + phase_;
    Index offset = tiled_row<W, Index>(row, this->leading_);
    [[maybe_unused]] int r = 1;
    ((offset += static_cast<Index>(static_cast<index_t>(i)) * stride_[r++]), ...);
    return offset;
  }

  STRATA_FUNCTION constexpr index_t required_span_size() const {
    index_t span = 1;
    for (int r = 0; r < this->extents_.rank(); ++r) {
      if (this->extents_.extent(r) == 0) return 0;
      if (r > 0) span += (this->extents_.extent(r) - 1) * stride_[r];
    }
    return this->extents_.rank() == 0
               ? 1
               : span + ((this->extents_.extent(0) + phase_ - 1) >> log2_of(W)) * this->leading_ + W - 1;
  }
  STRATA_FUNCTION constexpr index_t span_size(ResidentRows) const { return required_span_size(); }
  STRATA_FUNCTION constexpr bool is_exhaustive() const { return false; }

  STRATA_FUNCTION constexpr LayoutDescriptor describe() const {
    LayoutDescriptor d{};
    describe_extents(d, this->extents_);
    d.shift = this->shift_;
    d.span = required_span_size();
    d.tile_log2 = log2_of(W);
    d.tile_stride = this->leading_;
    d.phase = phase_;
    d.stride[0] = 1;
    for (int r = 1; r < d.rank; ++r) d.stride[r] = stride_[r];
    return d;
  }

 private:
  Index phase_ = 0;
  Index stride_[E::max_rank_value > 0 ? E::max_rank_value : 1] = {};
};

}  // namespace detail

/// Tiles of `W` lanes of the left-most index, lanes innermost; `W` is a power of two.
template <int W = 8>
struct LayoutTiled {
  static_assert(W > 0 && (W & (W - 1)) == 0, "strata: a tile width is a power of two");
  /// As the concept Layout asks for.
  static constexpr bool contiguous_rows = true;  // in whole tiles
  static constexpr int tile = W;
  template <class E, class Index>
  using indexed_mapping = detail::TiledMapping<W, E, Index>;
  template <class E>
  using mapping = detail::TiledMapping<W, E, index_t>;
};

/// A part of an array with LayoutTiled<W>, beginning anywhere in a tile.
template <int W>
struct LayoutTiledPart {
  /// As the concept Layout asks for.
  static constexpr bool contiguous_rows = false;
  template <class E, class Index>
  using indexed_mapping = detail::TiledPartMapping<W, E, Index>;
  template <class E>
  using mapping = detail::TiledPartMapping<W, E, index_t>;
};

}  // namespace strata::inline STRATA_ABI
