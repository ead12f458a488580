// LayoutLeft: the left-most index is fastest, as in Fortran; coalesced on GPUs, where it is the default.
// The leading stride is BLAS's leading dimension: the distance between columns, at least the number of
// resident rows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/layout.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

// offset = i0 + leading * (i1 + n1 * (i2 + n2 * (...))) + shift
template <class E, class Index>
class LeftMapping : public MappingBase<E, Index> {
  using Base = MappingBase<E, Index>;

 public:
  static constexpr bool is_strided = true;
  static constexpr bool has_unit_stride_of_one_dimension = true;

  constexpr LeftMapping() = default;
  /// The same mapping, of extents of which the type knows more or less. ExtentError where they are not of
  /// this type.
  template <class Other>
  requires(widens<Other, E>() || may_narrow<Other, E>()) STRATA_FUNCTION
      constexpr explicit LeftMapping(const LeftMapping<Other, Index>& other)
      : Base(static_cast<const MappingBase<Other, Index>&>(other)) {}
  STRATA_FUNCTION constexpr explicit LeftMapping(const E& extents)
      : LeftMapping(extents, Base::whole(extents)) {}
  /// Whether a mapping of that type may have other strides than this layout: of one dimension both left and
  /// right have a stride of 1.
  template <class Other>
  static constexpr bool may_refuse =
      !(Other::has_unit_stride_of_one_dimension && !E::has_dynamic_rank && E::max_rank_value <= 1);
  /// A mapping with the same strides. LayoutError where they are not those of this layout.
  template <class Other>
  requires(Other::is_strided && !std::is_same_v<Other, LeftMapping> &&
           std::is_base_of_v<MappingBase<E, Index>, Other>) STRATA_FUNCTION
      constexpr explicit LeftMapping(const Other& other)
      : Base(static_cast<const Base&>(other)) {
    const int rank = this->extents_.rank();
    this->leading_ = static_cast<Index>(rank > 0 ? this->extents_.extent(0) : 1);
    if (this->product_from(0) == 0) return;
    if (rank > 0 && this->extents_.extent(0) > 1) require_stride("LayoutLeft", other.stride(0), 1);
    index_t inner = 0;  // columns that follow each other, none before the first of several
    for (int r = 1; r < rank; ++r) {
      const index_t n = this->extents_.extent(r);
      if (n == 1) continue;
      if (inner == 0) this->leading_ = static_cast<Index>(other.stride(r));
      else require_stride("LayoutLeft", other.stride(r), this->leading_ * inner);
      inner = inner == 0 ? n : inner * n;
    }
  }
  /// The rows [rows.begin, rows.end) are resident, columns are `column_stride` elements apart (0: densely).
  STRATA_FUNCTION constexpr LeftMapping(const E& extents, ResidentRows rows, index_t column_stride = 0)
      : Base(extents, rows) {
    Base::check_stride(this->product_from(0) == 0 ? 0 : this->product_from(1), column_stride);
    this->leading_ = static_cast<Index>(column_stride != 0 ? column_stride : rows.end - rows.begin);
    this->shift_ = static_cast<Index>(-rows.begin);
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
    else return row + this->leading_ * column_offset<Index>(this->extents_, 1, static_cast<index_t>(i)...);
  }

  STRATA_FUNCTION constexpr index_t stride(int r) const {
    if (r == 0) return 1;
    // Unsigned, like product_from: strides of empty arrays may be too large.
    auto s = static_cast<std::uint64_t>(this->leading_);
    for (int q = 1; q < r; ++q) s *= static_cast<std::uint64_t>(this->extents_.extent(q));
    return static_cast<index_t>(s);
  }
  /// The number of elements in storage for the resident `rows`.
  STRATA_FUNCTION constexpr index_t span_size(ResidentRows rows) const {
    const index_t columns = this->product_from(1), count = rows.end - rows.begin;
    return count == 0 || columns == 0 ? 0 : (columns - 1) * this->leading_ + count;
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
};

}  // namespace detail

/// Left-most index fastest.
struct LayoutLeft {
  /// As the concept Layout asks for.
  static constexpr bool contiguous_rows = false;
  template <class E, class Index>
  using indexed_mapping = detail::LeftMapping<E, Index>;
  template <class E>
  using mapping = detail::LeftMapping<E, index_t>;
};

}  // namespace strata::inline STRATA_ABI
