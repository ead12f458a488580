// LayoutStrided: any stride for each index, negative ones too. The layout of general subviews.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/core/layout.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

// offset = sum_r i_r * stride_r + shift
template <class E, class Index>
class StridedMapping : public MappingBase<E, Index> {
  using Base = MappingBase<E, Index>;

 public:
  static constexpr bool is_strided = true;
  static constexpr bool has_unit_stride_of_one_dimension = false;

  constexpr StridedMapping() = default;
  /// The same mapping, of extents of which the type knows more or less. ExtentError where they are not of
  /// this type.
  template <class Other>
  requires(widens<Other, E>() || may_narrow<Other, E>()) STRATA_FUNCTION
      constexpr explicit StridedMapping(const StridedMapping<Other, Index>& other)
      : Base(static_cast<const MappingBase<Other, Index>&>(other)) {
    for (int r = 0; r < this->extents_.rank(); ++r) stride_[r] = static_cast<Index>(other.stride(r));
  }
  /// The strides of LayoutRight.
  STRATA_FUNCTION constexpr explicit StridedMapping(const E& extents) : Base(extents) {
    for (int r = 0; r < extents.rank(); ++r) stride_[r] = static_cast<Index>(this->product_from(r + 1));
    if (extents.rank() > 0) this->leading_ = stride_[0];
  }
  /// From the extents and one stride, in elements, for each dimension.
  STRATA_FUNCTION constexpr StridedMapping(const E& extents, const index_t* strides, index_t shift = 0)
      : Base(extents) {
    for (int r = 0; r < extents.rank(); ++r) {
      Base::check_stride(extents.extent(r), strides[r]);
      stride_[r] = static_cast<Index>(strides[r]);
    }
    if (extents.rank() > 0) this->leading_ = stride_[0];
    this->shift_ = static_cast<Index>(shift);
  }
  /// The strides and the shift of a mapping that has strides.
  template <class Other>
  requires(Other::is_strided&& std::is_base_of_v<MappingBase<E, typename Other::index_type>, Other>)
      STRATA_FUNCTION constexpr explicit StridedMapping(const Other& other)
      : Base(other.extents()) {
    for (int r = 0; r < this->extents_.rank(); ++r) stride_[r] = static_cast<Index>(other.stride(r));
    if (this->extents_.rank() > 0) this->leading_ = stride_[0];
    this->shift_ = static_cast<Index>(other.shift());
    if constexpr (checked_build) this->resident_ = other.resident();
  }
  /// The rows [rows.begin, rows.end) are resident, with the strides of LayoutRight.
  STRATA_FUNCTION constexpr StridedMapping(const E& extents, ResidentRows rows) : StridedMapping(extents) {
    if constexpr (checked_build) this->resident_ = Base::within(extents, rows);
    this->shift_ = static_cast<Index>(-rows.begin * this->leading_);
  }

  template <IndexLike... I>
  STRATA_FUNCTION constexpr Index operator()(I... i) const {
    return unshifted(i...) + this->shift_;
  }
  template <IndexLike... I>
  STRATA_FUNCTION constexpr Index unshifted(I... i) const {
    Index offset = 0;
    [[maybe_unused]] int r = 0;
    ((offset += static_cast<Index>(static_cast<index_t>(i)) * stride_[r++]), ...);
    return offset;
  }

  STRATA_FUNCTION constexpr index_t stride(int r) const { return stride_[r]; }
  STRATA_FUNCTION constexpr index_t required_span_size() const {
    index_t span = 1;
    for (int r = 0; r < this->extents_.rank(); ++r) {
      if (this->extents_.extent(r) == 0) return 0;
      span += (this->extents_.extent(r) - 1) * (stride_[r] < 0 ? -stride_[r] : stride_[r]);
    }
    return span;
  }
  STRATA_FUNCTION constexpr index_t span_size(ResidentRows) const { return required_span_size(); }
  STRATA_FUNCTION constexpr bool is_exhaustive() const {
    return required_span_size() == this->product_from(0);
  }

  STRATA_FUNCTION constexpr LayoutDescriptor describe() const {
    LayoutDescriptor d{};
    describe_extents(d, this->extents_);
    for (int r = 0; r < d.rank; ++r) d.stride[r] = stride_[r];
    d.shift = this->shift_;
    d.span = required_span_size();
    return d;
  }

 private:
  Index stride_[E::max_rank_value > 0 ? E::max_rank_value : 1] = {};
};

}  // namespace detail

/// One stride for each index.
struct LayoutStrided {
  /// As the concept Layout asks for.
  static constexpr bool contiguous_rows = false;
  template <class E, class Index>
  using indexed_mapping = detail::StridedMapping<E, Index>;
  template <class E>
  using mapping = detail::StridedMapping<E, index_t>;
};

}  // namespace strata::inline STRATA_ABI
