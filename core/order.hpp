// Ascending and Descending: orders of elements that devices recognise, and may sort by their bits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// a < b, with NaNs last.
struct Ascending {
  /// Whether a comes before b.
  template <class T>
  STRATA_FUNCTION constexpr bool operator()(const T& a, const T& b) const noexcept(noexcept(a < b)) {
    if constexpr (std::numeric_limits<T>::has_quiet_NaN) return !(a >= b) && a == a;
    else return a < b;
  }
};
/// The reverse: NaNs first.
struct Descending {
  /// Whether a comes before b.
  template <class T>
  STRATA_FUNCTION constexpr bool operator()(const T& a, const T& b) const noexcept(noexcept(b < a)) {
    return Ascending()(b, a);
  }
};

}  // namespace strata::inline STRATA_ABI
