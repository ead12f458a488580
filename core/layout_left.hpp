// LayoutLeft: the left-most index is fastest, as in Fortran; coalesced on GPUs, where it is the default.
// The leading stride is BLAS's leading dimension: the distance between columns, at least the number of
// resident rows.
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

  constexpr LeftMapping() = default;
  /// The same mapping, of extents that are fixed at compile time where these are not.
  template <class Narrow>
  requires(widens<Narrow, E>()) STRATA_FUNCTION
      constexpr explicit LeftMapping(const LeftMapping<Narrow, Index>& other)
      : Base(static_cast<const MappingBase<Narrow, Index>&>(other)) {}
  STRATA_FUNCTION constexpr explicit LeftMapping(const E& extents)
      : LeftMapping(extents, Base::whole(extents)) {}
  /// The rows [rows.begin, rows.end) are resident, columns are `column_stride` elements apart (0: densely).
  STRATA_FUNCTION constexpr LeftMapping(const E& extents, ResidentRows rows, index_t column_stride = 0)
      : Base(extents, rows) {
    Base::check_stride(this->product_from(0) == 0 ? 0 : this->product_from(1), column_stride);
    this->leading_ = static_cast<Index>(column_stride != 0 ? column_stride : rows.end - rows.begin);
    this->shift_ = static_cast<Index>(-rows.begin);
  }

  STRATA_FUNCTION constexpr Index operator()() const { return this->shift_; }
  template <IndexLike I0, IndexLike... I>
  STRATA_FUNCTION constexpr Index operator()(I0 i0, I... i) const {
    const Index row = static_cast<Index>(static_cast<index_t>(i0));
    if constexpr (sizeof...(I) == 0) return row + this->shift_;
    else
      return row + this->leading_ * column_offset<Index>(this->extents_, 1, static_cast<index_t>(i)...) +
             this->shift_;
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
