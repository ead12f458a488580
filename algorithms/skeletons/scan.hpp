// inclusive_scan, exclusive_scan: prefixes of the elements of coherent arrays.
//
//   inclusive_scan(where, x, y, Sum);               // y(i) = x(0) + ... + x(i)
//   exclusive_scan(where, x, y, Sum, 100);          // y(i) = 100 + x(0) + ... + x(i-1)
//   inclusive_scan(where, x, x, Larger{}, 0.0);     // by Larger{}(a, b), in place
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/algorithms/skeletons/joining.hpp>
#include <strata/algorithms/skeletons/operands.hpp>

namespace strata::inline STRATA_ABI {
namespace detail {

template <bool Inclusive, class Op, class T>
struct ScanKernel {
  using value_type = typename Joining<Op, T>::value_type;
  static constexpr ScanStores scan_stores = Inclusive ? ScanStores::Through : ScanStores::Before;
  Joining<Op, T> joining;
  T start;

  STRATA_FUNCTION void init(value_type& value) const { joining.init(value); }
  STRATA_FUNCTION void join(value_type& value, const value_type& other) const { joining.join(value, other); }
  template <class I, class X, class Y>
  STRATA_FUNCTION void operator()(I i, const X& x, const Y& y, value_type& value, bool final) const {
    const T own = x(i);  // before y(i) is written: they may be one array
    if (!Inclusive && final) y(i) = joining.after(start, value);
    joining.template add<KernelCallOfView<X>>(value, own);
    if (Inclusive && final) y(i) = joining.after(start, value);
  }
  template <class I, class X>
  STRATA_FUNCTION void operator()(I i, const X& x, value_type& value, bool final) const {
    (*this)(i, x, x, value, final);
  }
  template <class I, class X, class Y>
  STRATA_FUNCTION void operator()(I i, const X&, const Y& y, const value_type& value, ScanStore) const {
    y(i) = joining.after(start, value);
  }
  template <class I, class X>
  STRATA_FUNCTION void operator()(I i, const X& x, const value_type& value, ScanStore) const {
    x(i) = joining.after(start, value);
  }
};

template <bool Inclusive, class Where, class Op, class T, class LY, class LX>
T scan_from(const char* label, const Where& where, const Op& op, const T& start,
            const CoherentArray<T, rank<1>, LY>& y, const CoherentArray<T, rank<1>, LX>& x) {
  check_same_shape(label, array_of(y), array_of(x));
  const ScanKernel<Inclusive, Op, T> kernel{Joining<Op, T>{op}, start};
  typename ScanKernel<Inclusive, Op, T>::value_type total;
  kernel.init(total);
  const Range work = range(x.extent(0));
  bool in_place = false;
  if constexpr (std::is_same_v<LX, LY>) in_place = x == y;
  if (in_place) launch_scan_at(label, where, work, kernel, total, inout(y));
  else launch_scan_at(label, where, work, kernel, total, in(x), out(y));
  return kernel.joining.after(start, total);
}

}  // namespace detail

namespace skeletons {

/// y(i) = start op x(0) op ... op x(i); returns start op all of x, and so waits. `op` is Sum, Max or the
/// like, or a function op(a, b) (joining.hpp); x and y may be one array. ShapeMismatch where their shapes
/// differ.
template <Place Where, class T, class LX, class LY, class Op>
T inclusive_scan(const Where& where, const CoherentArray<T, rank<1>, LX>& x,
                 const CoherentArray<T, rank<1>, LY>& y, const Op& op, const std::type_identity_t<T>& start) {
  return detail::scan_from<true>(detail::label_of(where, "inclusive_scan"), where, op, start, y, x);
}
template <Place Where, class T, class LX, class LY, NamedOperation Op>
T inclusive_scan(const Where& where, const CoherentArray<T, rank<1>, LX>& x,
                 const CoherentArray<T, rank<1>, LY>& y, const Op& op) {
  return detail::scan_from<true>(detail::label_of(where, "inclusive_scan"), where, op,
                                 detail::neutral_of<T>(op), y, x);
}
/// y(i) = start op x(0) op ... op x(i-1), likewise.
template <Place Where, class T, class LX, class LY, class Op>
T exclusive_scan(const Where& where, const CoherentArray<T, rank<1>, LX>& x,
                 const CoherentArray<T, rank<1>, LY>& y, const Op& op, const std::type_identity_t<T>& start) {
  return detail::scan_from<false>(detail::label_of(where, "exclusive_scan"), where, op, start, y, x);
}
template <Place Where, class T, class LX, class LY, NamedOperation Op>
T exclusive_scan(const Where& where, const CoherentArray<T, rank<1>, LX>& x,
                 const CoherentArray<T, rank<1>, LY>& y, const Op& op) {
  return detail::scan_from<false>(detail::label_of(where, "exclusive_scan"), where, op,
                                  detail::neutral_of<T>(op), y, x);
}

/// These do not compile: a scan takes what it reads, what it writes, the operation and the start, in this
/// order.
template <Place Where, class Op, class... Rest>
requires(!detail::SkeletonOperand<Op> && (detail::SkeletonOperand<Rest> ||
                                          ...)) void inclusive_scan(const Where&, const Op&, const Rest&...) {
  static_assert(detail::never<Rest...>,
                "strata: inclusive_scan: the operation follows the arrays: inclusive_scan(where, x, y, Sum)");
}
template <Place Where, class Op, class... Rest>
requires(!detail::SkeletonOperand<Op> && (detail::SkeletonOperand<Rest> ||
                                          ...)) void exclusive_scan(const Where&, const Op&, const Rest&...) {
  static_assert(detail::never<Rest...>,
                "strata: exclusive_scan: the operation follows the arrays: exclusive_scan(where, x, y, Sum)");
}

}  // namespace skeletons
}  // namespace strata::inline STRATA_ABI
