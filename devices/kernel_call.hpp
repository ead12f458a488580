// How a device calls functions of the user: kernels, the functions of their reductions, and those of
// algorithms and skeletons. A device whose calls differ has an `execution::kernel_call` of its own
// (cuda/launch/kernel_call.hpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Plain calls.
struct KernelCall {
  /// Whether the device can call a kernel of type `F`: a static_assert says why not.
  template <class F>
  static constexpr void check() {}

  // A kernel may take its index as an `int` or another narrower number: -Wconversion, here and not in the
  // kernel, would warn of that. There is no cast, as the type of a generic kernel's parameter is not known.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#endif
  template <class F, class... Arguments>
  STRATA_FUNCTION static decltype(auto) call(const F& f, Arguments&&... arguments) {
    return f(static_cast<Arguments&&>(arguments)...);
  }
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
  template <class F, class V>
  STRATA_FUNCTION static void init_by(const F& f, V&& value) {
    f.init(value);
  }
  template <class F, class V, class O>
  STRATA_FUNCTION static void join_by(const F& f, V&& value, const O& other) {
    f.join(value, other);
  }
  // Of functors whose members are static.
  template <class F, class V>
  STRATA_FUNCTION static void init(V& value) {
    F::init(value);
  }
  template <class F, class V>
  STRATA_FUNCTION static void join(V& value, const V& other) {
    F::join(value, other);
  }
};

template <class D>
struct KernelCallFor {
  using type = KernelCall;
};
template <class D>
requires requires { typename D::execution::kernel_call; }
struct KernelCallFor<D> {
  using type = typename D::execution::kernel_call;
};
/// How `D` calls.
template <class D>
using KernelCallOf = typename KernelCallFor<D>::type;

}  // namespace strata::inline STRATA_ABI::detail
