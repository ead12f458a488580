// LayoutOffset<L>: layout L over index ranges that need not begin at 0, as for stencils with ghost cells.
// The extents count the indices; begin(r) and end(r) bound them. Only the base shift differs from L where L
// is strided; a tiled L begins its tiles at begin(0).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <strata/core/layout.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

template <class Inner, class E>
class OffsetMapping {
 public:
  using extents_type = E;
  using index_type = typename Inner::index_type;
  static constexpr bool is_strided = Inner::is_strided;

  constexpr OffsetMapping() = default;
  STRATA_FUNCTION constexpr explicit OffsetMapping(const E& extents) : inner_(extents) {}
  /// Index r runs from begins[r] to begins[r] + extents.extent(r) - 1.
  STRATA_FUNCTION constexpr OffsetMapping(const E& extents, const index_t* begins)
      : OffsetMapping(Inner(extents), begins) {}
  /// The same of a mapping that was made.
  STRATA_FUNCTION constexpr OffsetMapping(const Inner& inner, const index_t* begins) : inner_(inner) {
    for (int r = 0; r < extents().rank(); ++r) begin_[r] = begins[r];
    if constexpr (is_strided)
      for (int r = 0; r < extents().rank(); ++r)
        base_ -= static_cast<index_type>(begins[r] * inner_.stride(r));
  }

  STRATA_FUNCTION constexpr const E& extents() const { return inner_.extents(); }
  STRATA_FUNCTION constexpr index_t shift() const { return inner_.shift() + base_; }
  STRATA_FUNCTION constexpr index_t leading_stride() const { return inner_.leading_stride(); }
  STRATA_FUNCTION constexpr index_t begin(int r) const { return begin_[r]; }
  STRATA_FUNCTION constexpr index_t end(int r) const { return begin_[r] + extents().extent(r); }
  STRATA_FUNCTION constexpr ResidentRows resident() const requires(checked_build) {
    return {begin(0), end(0)};
  }

  template <IndexLike... I>
  STRATA_FUNCTION constexpr index_type operator()(I... i) const {
    if constexpr (is_strided) {
      return inner_(i...) + base_;
    } else {
      [[maybe_unused]] int r = 0;
      // Braces fix the order of evaluation, parentheses in a call would not.
      const index_t from_zero[sizeof...(I) + 1] = {(static_cast<index_t>(i) - begin_[r++])..., 0};
      return call(from_zero, std::make_index_sequence<sizeof...(I)>());
    }
  }

  // (Of 32 bits only the sum with the shift need fit.)
  template <IndexLike... I>
  requires(Inner::is_strided&& ShiftedMapping<Inner> && sizeof(index_type) == 8) STRATA_FUNCTION
      constexpr index_type unshifted(I... i) const {
    return inner_.unshifted(i...);
  }

  STRATA_FUNCTION constexpr index_t stride(int r) const requires Inner::is_strided {
    return inner_.stride(r);
  }
  STRATA_FUNCTION constexpr index_t required_span_size() const { return inner_.required_span_size(); }
  STRATA_FUNCTION constexpr index_t span_size(ResidentRows) const { return inner_.required_span_size(); }
  STRATA_FUNCTION constexpr bool is_exhaustive() const { return inner_.is_exhaustive(); }
  /// Indices of the description count from 0, which is begin(r) here.
  STRATA_FUNCTION constexpr LayoutDescriptor describe() const { return inner_.describe(); }
  STRATA_FUNCTION constexpr const Inner& from_zero() const { return inner_; }

 private:
  template <std::size_t... R>
  STRATA_FUNCTION constexpr index_type call(const index_t* i, std::index_sequence<R...>) const {
    return inner_(i[R]...);
  }

  Inner inner_{};
  index_type base_ = 0;  // minus the offset of the first index
  index_t begin_[E::max_rank_value > 0 ? E::max_rank_value : 1] = {};
};

}  // namespace detail

/// `L` over index ranges that begin at any index.
template <class L>
struct LayoutOffset {
  /// As the concept Layout asks for, of the layout that is shifted.
  using base_layout = L;
  static constexpr bool contiguous_rows = L::contiguous_rows;
  template <class E>
  using mapping = detail::OffsetMapping<typename L::template mapping<E>, E>;
};

}  // namespace strata::inline STRATA_ABI
