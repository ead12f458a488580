// ValuePack: values of several types, for functions that take them all. What <tuple> would add to the
// compilation of every program is a hundredth of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class... Values>
struct ValuePack {
  /// f(before..., values...)
  template <class F, class... Before>
  constexpr decltype(auto) call(const F& f, const Before&... before) const {
    return f(before...);
  }
};
template <class First, class... Rest>
struct ValuePack<First, Rest...> {
  First first;
  ValuePack<Rest...> rest = {};
  template <class F, class... Before>
  constexpr decltype(auto) call(const F& f, const Before&... before) const {
    return rest.call(f, before..., first);
  }
};

}  // namespace strata::inline STRATA_ABI::detail
