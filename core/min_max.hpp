// The smaller and the larger of two values: <algorithm> for std::min and std::max would be a fifth of the
// cost of headers for users.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class T>
STRATA_FUNCTION constexpr T smaller_of(T a, T b) {
  return b < a ? b : a;
}
template <class T>
STRATA_FUNCTION constexpr T larger_of(T a, T b) {
  return a < b ? b : a;
}

}  // namespace strata::inline STRATA_ABI::detail
