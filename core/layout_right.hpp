// LayoutRight: the right-most index is fastest, as in C. Rows are contiguous, so slices and halos are one
// copy.
//
// Where the rank is known at run time only, an access needs as many indices as the array has dimensions; only
// indices of trailing dimensions of extent 1 may be left out. One index is treated as that of an array of
// rank 1, so that the compiler sees the unit stride; several as those of an array of that many dimensions.
// Checked builds refuse other accesses. `x(i)` as element (i, 0, ...) works with LayoutLeft, and so with
// MultiVector.
//
// Rows whose length the type fixes, as of MDArray<T, D, 3>, are less than 2^27 elements apart, LayoutError of
// others: of elements of 8 to 16 bytes that is a number of bytes that takes 32 bits, and a GPU finds a row
// with an index of 32 bits by one instruction; of smaller ones it multiplies the index by 32 bits, too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/layout.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

// offset = i0 * leading + ((i1 * n2 + i2) * n3 + ...) + shift; for rank 1 the leading stride is 1.
template <class E, class Index>
class RightMapping : public MappingBase<E, Index> {
  using Base = MappingBase<E, Index>;

  // Whether the type fixes the elements of a row. Such rows are short, and not far apart.
  static constexpr index_t short_row_limit = index_t{1} << 27;
  static constexpr bool has_short_rows = sizeof(Index) == 8 && E::max_rank_value > 1 &&
                                         static_product<E>(1) > 0 && static_product<E>(1) < short_row_limit;

 public:
  static constexpr bool is_strided = true;
  static constexpr bool has_unit_stride_of_one_dimension = true;

  constexpr RightMapping() = default;
  /// The same mapping, of extents of which the type knows more or less. ExtentError where they are not of
  /// this type.
  template <class Other>
  requires(widens<Other, E>() || may_narrow<Other, E>()) STRATA_FUNCTION
      constexpr explicit RightMapping(const RightMapping<Other, Index>& other)
      : Base(static_cast<const MappingBase<Other, Index>&>(other)) {
    check_row_stride();
  }
  STRATA_FUNCTION constexpr explicit RightMapping(const E& extents)
      : RightMapping(extents, Base::whole(extents)) {}
  /// Whether a mapping of that type may have other strides than this layout: of one dimension both left and
  /// right have a stride of 1.
  template <class Other>
  static constexpr bool may_refuse =
      !(Other::has_unit_stride_of_one_dimension && !E::has_dynamic_rank && E::max_rank_value <= 1);
  /// A mapping with the same strides. LayoutError where they are not those of this layout.
  template <class Other>
  requires(Other::is_strided && !std::is_same_v<Other, RightMapping> &&
           std::is_base_of_v<MappingBase<E, Index>, Other>) STRATA_FUNCTION
      constexpr explicit RightMapping(const Other& other)
      : Base(static_cast<const Base&>(other)) {
    const int rank = this->extents_.rank();
    this->leading_ = static_cast<Index>(this->product_from(1));
    if (this->product_from(0) == 0) return;
    for (int r = 0; r < rank; ++r) {
      if (this->extents_.extent(r) == 1) continue;
      if (r == 0 && rank > 1) this->leading_ = static_cast<Index>(other.stride(0));
      else require_stride("LayoutRight", other.stride(r), this->product_from(r + 1));
    }
    check_row_stride();
  }
  /// The rows [rows.begin, rows.end) are resident, `row_stride` elements apart (0: densely).
  STRATA_FUNCTION constexpr RightMapping(const E& extents, ResidentRows rows, index_t row_stride = 0)
      : Base(extents, rows) {
    Base::check_stride(extents.rank() > 0 ? extents.extent(0) : 1, row_stride);
    this->leading_ = static_cast<Index>(row_stride != 0 ? row_stride : this->product_from(1));
    check_row_stride();
    this->shift_ = static_cast<Index>(-rows.begin * this->leading_);
  }

  template <IndexLike... I>
  STRATA_FUNCTION constexpr Index operator()(I... i) const {
    return unshifted(i...) + this->shift_;
  }
  STRATA_FUNCTION constexpr Index unshifted() const { return 0; }
  template <IndexLike I0, IndexLike... I>
  STRATA_FUNCTION constexpr Index unshifted(I0 i0, I... i) const {
    const Index row = static_cast<Index>(static_cast<index_t>(i0));
    if constexpr (sizeof...(I) == 0) return row;
    else return row * row_stride() + row_offset<Index>(this->extents_, static_cast<index_t>(i)...);
  }
  /// For views on GPUs: the address of the element at a multi-index where that of index 0 is `origin`, by a
  /// stride of bytes. Of elements of 4 bytes gradients of hexahedra took 1.02 of the time so, of 8 0.99.
  template <class T, IndexLike I0, IndexLike... I>
  requires(has_short_rows && sizeof...(I) > 0 && sizeof(T) >= 8 &&
           sizeof(T) <= 16) STRATA_FUNCTION T* address(T* origin, I0 i0, I... i) const {
    using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
    const index_t bytes = in_32_bits(this->leading_ * static_cast<index_t>(sizeof(T)));
    return reinterpret_cast<T*>(reinterpret_cast<Byte*>(origin) + static_cast<index_t>(i0) * bytes) +
           row_offset<Index>(this->extents_, static_cast<index_t>(i)...);
  }

  STRATA_FUNCTION constexpr index_t stride(int r) const {
    return r == 0 && this->extents_.rank() > 1 ? this->leading_ : this->product_from(r + 1);
  }
  /// The number of elements in storage for the resident `rows`.
  STRATA_FUNCTION constexpr index_t span_size(ResidentRows rows) const {
    if (this->extents_.rank() == 0) return 1;
    const index_t row = this->product_from(1), count = rows.end - rows.begin;
    return count == 0 || row == 0 ? 0 : (count - 1) * stride(0) + row;
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
    for (int r = 0; r < d.rank; ++r) d.stride[r] = stride(r);
    d.shift = this->shift_;
    d.span = required_span_size();
    return d;
  }

 private:
  STRATA_FUNCTION constexpr Index row_stride() const {
    if constexpr (has_short_rows) return in_32_bits(this->leading_);
    else return this->leading_;
  }
  STRATA_FUNCTION constexpr void check_row_stride() const {
    const index_t stride = this->leading_;
    if (has_short_rows && (stride <= -short_row_limit || stride >= short_row_limit)) fail_row_stride(stride);
  }
};

}  // namespace detail

/// Right-most index fastest.
struct LayoutRight {
  /// As the concept Layout asks for.
  static constexpr bool contiguous_rows = true;
  template <class E, class Index>
  using indexed_mapping = detail::RightMapping<E, Index>;
  template <class E>
  using mapping = detail::RightMapping<E, index_t>;
};

}  // namespace strata::inline STRATA_ABI
