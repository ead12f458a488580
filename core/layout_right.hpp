// LayoutRight: the right-most index is fastest, as in C. Rows are contiguous, so slices and halos are one
// copy.
//
// Where the rank is known at run time only, an access needs as many indices as the array has dimensions; only
// indices of trailing dimensions of extent 1 may be left out. One index is treated as that of an array of
// rank 1, so that the compiler sees the unit stride; several as those of an array of that many dimensions.
// Checked builds refuse other accesses. `x(i)` as element (i, 0, ...) works with LayoutLeft, and so with
// MultiVector.
#pragma once

#include <strata/core/layout.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

// offset = i0 * leading + ((i1 * n2 + i2) * n3 + ...) + shift; for rank 1 the leading stride is 1.
template <class E, class Index>
class RightMapping : public MappingBase<E, Index> {
  using Base = MappingBase<E, Index>;

 public:
  static constexpr bool is_strided = true;

  constexpr RightMapping() = default;
  /// The same mapping, of extents that are fixed at compile time where these are not.
  template <class Narrow>
  requires(widens<Narrow, E>()) STRATA_FUNCTION
      constexpr explicit RightMapping(const RightMapping<Narrow, Index>& other)
      : Base(static_cast<const MappingBase<Narrow, Index>&>(other)) {}
  STRATA_FUNCTION constexpr explicit RightMapping(const E& extents)
      : RightMapping(extents, Base::whole(extents)) {}
  /// The rows [rows.begin, rows.end) are resident, `row_stride` elements apart (0: densely).
  STRATA_FUNCTION constexpr RightMapping(const E& extents, ResidentRows rows, index_t row_stride = 0)
      : Base(extents, rows) {
    Base::check_stride(extents.rank() > 0 ? extents.extent(0) : 1, row_stride);
    this->leading_ = static_cast<Index>(row_stride != 0 ? row_stride : this->product_from(1));
    this->shift_ = static_cast<Index>(-rows.begin * this->leading_);
  }

  STRATA_FUNCTION constexpr Index operator()() const { return this->shift_; }
  template <IndexLike I0, IndexLike... I>
  STRATA_FUNCTION constexpr Index operator()(I0 i0, I... i) const {
    const Index row = static_cast<Index>(static_cast<index_t>(i0));
    if constexpr (sizeof...(I) == 0) return row + this->shift_;
    else
      return row * this->leading_ + row_offset<Index>(this->extents_, static_cast<index_t>(i)...) +
             this->shift_;
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
