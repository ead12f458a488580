// The same array with another access, for one kernel or one part of it:
//
//   parallel_for(on(d), n, [h = atomic(hits)](auto i) { h(i % 10) += 1; });
//
// The result shares the ownership of the array where the argument does. Callable on hosts and in kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/views/access.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

// `New` with the share in the ownership that `Old` has.
template <class New, class Old>
struct AccessLike {
  using type = New;
};
template <class New, class Old>
struct AccessLike<New, Unmanaged<Old>> {
  using type = Unmanaged<New>;
};

}  // namespace detail

/// `x`, where every access is one atomic operation (AtomicAccess).
template <class T, class D, class E, class L, class A>
[[nodiscard]] STRATA_FUNCTION auto atomic(const View<T, D, E, L, A>& x) {
  return View<T, D, E, L, typename detail::AccessLike<AtomicAccess, A>::type>(x);
}

/// `x`, for reading only, through a GPU's read-only cache where there is one (ReadOnlyAccess): nothing may
/// write the elements meanwhile.
template <class T, class D, class E, class L, class A>
[[nodiscard]] STRATA_FUNCTION auto read_only(const View<T, D, E, L, A>& x) {
  return View<const T, D, E, L, typename detail::AccessLike<ReadOnlyAccess, A>::type>(x);
}

/// `x` without a share in its ownership: the caller keeps the memory alive.
template <class T, class D, class E, class L, class A>
[[nodiscard]] STRATA_FUNCTION auto unmanaged(const View<T, D, E, L, A>& x) {
  return typename View<T, D, E, L, A>::unmanaged_type(x);
}

}  // namespace strata::inline STRATA_ABI
