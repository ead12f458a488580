// The quotient of two complex numbers, given by their parts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <type_traits>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class T>
struct Quotient {
  T re, im;
};

template <class T>
STRATA_FUNCTION constexpr T magnitude_of(T x) {
  return x < 0 ? -x : x;
}
template <class T>
STRATA_FUNCTION constexpr bool is_infinite(T x) {
  return magnitude_of(x) > std::numeric_limits<T>::max();
}
template <class T>
STRATA_FUNCTION constexpr T with_sign_of(T magnitude, T sign) {
  if constexpr (std::is_same_v<T, float>) return __builtin_copysignf(magnitude, sign);
  else return __builtin_copysign(magnitude, sign);
}

// The real part of (a + ib) / (c + id), with r = d / c and t = 1 / (c + d r), |r| <= 1. Where r or b r
// underflows to 0 the factors are multiplied in another order.
template <class T>
STRATA_FUNCTION constexpr T quotient_part(T a, T b, T c, T d, T r, T t) {
  if (r == 0) return (a + d * (b / c)) * t;
  const T br = b * r;
  return br != 0 ? (a + br) * t : a * t + (b * t) * r;
}

// The value of (a + ib) / (c + id) where the formulas give NaN for both parts: C, annex G.5.1.
template <class T>
STRATA_FUNCTION constexpr Quotient<T> recovered_quotient(T a, T b, T c, T d) {
  using Limits = std::numeric_limits<T>;
  const T infinity = Limits::infinity();
  const auto unit = [](T x) { return with_sign_of(is_infinite(x) ? T(1) : T(0), x); };
  if (c == 0 && d == 0) {
    const T far = with_sign_of(infinity, c);
    return {far * a, far * b};
  }
  const bool large_numerator = is_infinite(a) || is_infinite(b);
  const bool large_denominator = is_infinite(c) || is_infinite(d);
  if (large_numerator == large_denominator) return {Limits::quiet_NaN(), Limits::quiet_NaN()};
  if (large_numerator)
    return {infinity * (unit(a) * c + unit(b) * d), infinity * (unit(b) * c - unit(a) * d)};
  return {T(0) * (a * unit(c) + b * unit(d)), T(0) * (b * unit(c) - a * unit(d))};
}

// (a + ib) / (c + id) by Smith's method, made robust as in Baudin, Smith, "A robust complex division in
// Scilab" (2012): operands near the ends of the range are brought away from there by powers of two.
template <class T>
STRATA_FUNCTION constexpr Quotient<T> quotient(const T a0, const T b0, const T c0, const T d0) {
  using Limits = std::numeric_limits<T>;
  constexpr T large = Limits::max() / 2, small = Limits::min() * 2 / Limits::epsilon();
  constexpr T up = 2 / (Limits::epsilon() * Limits::epsilon());
  const auto larger = [](T x, T y) {
    return magnitude_of(x) < magnitude_of(y) ? magnitude_of(y) : magnitude_of(x);
  };
  T a = a0, b = b0, c = c0, d = d0, scale = 1;
  const auto enlarge = [](T& x, T& y, T by) {
    x *= by;
    y *= by;
    return by;
  };
  const T numerator = larger(a, b), denominator = larger(c, d);
  if (numerator >= large) scale /= enlarge(a, b, T(0.5));
  else if (numerator <= small) scale /= enlarge(a, b, up);
  if (denominator >= large) scale *= enlarge(c, d, T(0.5));
  else if (denominator <= small) scale *= enlarge(c, d, up);

  if (magnitude_of(c) < magnitude_of(d)) {  // both times -i: the real part of the denominator is the larger
    const T old_a = a, old_c = c;
    a = b;
    b = -old_a;
    c = d;
    d = -old_c;
  }
  const T r = d / c, t = 1 / (c + d * r);
  const T re = quotient_part(a, b, c, d, r, t) * scale, im = quotient_part(b, -a, c, d, r, t) * scale;
  if (re != re && im != im) return recovered_quotient(a0, b0, c0, d0);
  return {re, im};
}

}  // namespace strata::inline STRATA_ABI::detail
