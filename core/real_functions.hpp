// Functions of real numbers, by the compiler's builtins for <cmath>, which would be most of the cost of
// headers for kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class T>
STRATA_FUNCTION T real_sqrt(T x) {
  if constexpr (std::is_same_v<T, float>) return __builtin_sqrtf(x);
  else return __builtin_sqrt(x);
}
template <class T>
STRATA_FUNCTION T real_hypot(T x, T y) {
  if constexpr (std::is_same_v<T, float>) return __builtin_hypotf(x, y);
  else return __builtin_hypot(x, y);
}
template <class T>
STRATA_FUNCTION T real_exp(T x) {
  if constexpr (std::is_same_v<T, float>) return __builtin_expf(x);
  else return __builtin_exp(x);
}
template <class T>
STRATA_FUNCTION T real_log(T x) {
  if constexpr (std::is_same_v<T, float>) return __builtin_logf(x);
  else return __builtin_log(x);
}
template <class T>
STRATA_FUNCTION T real_sin(T x) {
  if constexpr (std::is_same_v<T, float>) return __builtin_sinf(x);
  else return __builtin_sin(x);
}
template <class T>
STRATA_FUNCTION T real_cos(T x) {
  if constexpr (std::is_same_v<T, float>) return __builtin_cosf(x);
  else return __builtin_cos(x);
}
template <class T>
STRATA_FUNCTION T real_atan2(T y, T x) {
  if constexpr (std::is_same_v<T, float>) return __builtin_atan2f(y, x);
  else return __builtin_atan2(y, x);
}

}  // namespace strata::inline STRATA_ABI::detail
