// half_t and bfloat16_t: floating-point numbers of 2 bytes, to save memory and bandwidth. Do not compute long
// sums in them: a half has 3 decimal digits, a bfloat16_t 2.
//
//   y(i) = a * float(x(i)) + float(y(i));     // computed in float, rounded once
//   y(i) += a * x(i);                         // the same: a half times a float is a float
//   const half_t s = x(0) + x(1);             // half and half: computed in float, rounded to a half
//
// Conversions to float are implicit and exact. Conversions from float, double and integers round to nearest,
// ties to even, once, to infinity where they overflow; they are explicit, or an assignment. Sums,
// differences, products and quotients of two numbers of one format are correctly rounded (a float has more
// than twice the bits). Everything else, comparisons and functions of <cmath> too, is that of the float.
//
// The bits are those of IEEE 754 binary16 and of bfloat16, as in CUDA's __half and __nv_bfloat16 and in
// std::float16_t and std::bfloat16_t: std::bit_cast converts between them, and arrays may be passed as they
// are. As with float, `half_t h;` has no value and `half_t()` is zero. A NaN stays a NaN; its other
// bits may differ between hosts and GPUs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <type_traits>

#include <strata/core/half_conversion.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// The arithmetic types of the language.
template <class T>
concept Arithmetic = std::is_arithmetic_v<T>;

template <class T, class Short>
concept OperandOf = Arithmetic<T> || std::is_same_v<T, Short>;

}  // namespace detail

/// `half_t` or `bfloat16_t`.
template <class Format>
class ShortFloat {
 public:
  ShortFloat() = default;
  /// `x` rounded to nearest.
  template <detail::Arithmetic T>
  STRATA_FUNCTION constexpr explicit ShortFloat(T x) noexcept : bits_(rounded(x)) {}
  /// The other format.
  template <class Other>
  STRATA_FUNCTION constexpr explicit ShortFloat(ShortFloat<Other> x) noexcept : ShortFloat(float(x)) {}

  template <detail::Arithmetic T>
  STRATA_FUNCTION constexpr ShortFloat& operator=(T x) noexcept {
    return *this = ShortFloat(x);
  }

  /// The same number, exactly.
  STRATA_FUNCTION constexpr operator float() const noexcept { return Format::to_float(bits_); }

  /// The bits of the format, and the number that has them.
  STRATA_FUNCTION constexpr std::uint16_t bits() const noexcept { return bits_; }
  STRATA_FUNCTION static constexpr ShortFloat from_bits(std::uint16_t bits) noexcept {
    ShortFloat x{};
    x.bits_ = bits;
    return x;
  }

  STRATA_FUNCTION friend constexpr ShortFloat operator+(ShortFloat a) noexcept { return a; }
  STRATA_FUNCTION friend constexpr ShortFloat operator-(ShortFloat a) noexcept {
    return from_bits(static_cast<std::uint16_t>(a.bits_ ^ 0x8000U));
  }
  STRATA_FUNCTION friend constexpr ShortFloat operator+(ShortFloat a, ShortFloat b) noexcept {
    return ShortFloat(float(a) + float(b));
  }
  STRATA_FUNCTION friend constexpr ShortFloat operator-(ShortFloat a, ShortFloat b) noexcept {
    return ShortFloat(float(a) - float(b));
  }
  STRATA_FUNCTION friend constexpr ShortFloat operator*(ShortFloat a, ShortFloat b) noexcept {
    return ShortFloat(float(a) * float(b));
  }
  STRATA_FUNCTION friend constexpr ShortFloat operator/(ShortFloat a, ShortFloat b) noexcept {
    return ShortFloat(float(a) / float(b));
  }

  // With a float or double on the right the computation is in that type, and rounded once.
  template <detail::OperandOf<ShortFloat> T>
  STRATA_FUNCTION constexpr ShortFloat& operator+=(T b) noexcept {
    return *this = ShortFloat(float(*this) + wide(b));
  }
  template <detail::OperandOf<ShortFloat> T>
  STRATA_FUNCTION constexpr ShortFloat& operator-=(T b) noexcept {
    return *this = ShortFloat(float(*this) - wide(b));
  }
  template <detail::OperandOf<ShortFloat> T>
  STRATA_FUNCTION constexpr ShortFloat& operator*=(T b) noexcept {
    return *this = ShortFloat(float(*this) * wide(b));
  }
  template <detail::OperandOf<ShortFloat> T>
  STRATA_FUNCTION constexpr ShortFloat& operator/=(T b) noexcept {
    return *this = ShortFloat(float(*this) / wide(b));
  }

 private:
  template <detail::Arithmetic T>
  STRATA_FUNCTION static constexpr T wide(T x) {
    return x;
  }
  STRATA_FUNCTION static constexpr float wide(ShortFloat x) { return x; }

  template <class T>
  STRATA_FUNCTION static constexpr std::uint16_t rounded(T x) {
    if constexpr (std::is_same_v<T, float>) {
      return Format::from_float(x);
    } else if constexpr (std::is_same_v<T, double>) {
      return Format::from_double(x);
    } else if constexpr (std::is_floating_point_v<T>) {
      return Format::from_float(detail::float_to_odd(x));
    } else if constexpr (std::is_signed_v<T>) {
      const auto magnitude = static_cast<unsigned long long>(x);
      return x < 0 ? Format::from_double(-detail::double_to_odd(0 - magnitude))
                   : Format::from_double(detail::double_to_odd(magnitude));
    } else {
      return Format::from_double(detail::double_to_odd(x));
    }
  }

  std::uint16_t bits_;
};

}  // namespace strata::inline STRATA_ABI

// NOLINTBEGIN(readability-identifier-naming): the names are the standard's.
/// The limits of half_t and bfloat16_t.
template <class Format>
struct std::numeric_limits<strata::ShortFloat<Format>> {
 private:
  using T = strata::ShortFloat<Format>;

 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
  static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true;
  static constexpr bool is_iec559 = true, is_bounded = true, is_modulo = false;
  static constexpr bool traps = false, tinyness_before = false, has_denorm_loss = false;
  static constexpr std::float_denorm_style has_denorm = std::denorm_present;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int radix = 2, digits = Format::digits, digits10 = Format::digits10;
  static constexpr int max_digits10 = Format::max_digits10;
  static constexpr int min_exponent = Format::min_exponent, max_exponent = Format::max_exponent;
  static constexpr int min_exponent10 = Format::min_exponent10, max_exponent10 = Format::max_exponent10;

  STRATA_FUNCTION static constexpr T min() noexcept { return T::from_bits(Format::min); }
  STRATA_FUNCTION static constexpr T max() noexcept { return T::from_bits(Format::max); }
  STRATA_FUNCTION static constexpr T lowest() noexcept { return -max(); }
  STRATA_FUNCTION static constexpr T epsilon() noexcept { return T::from_bits(Format::epsilon); }
  STRATA_FUNCTION static constexpr T round_error() noexcept { return T::from_bits(Format::one_half); }
  STRATA_FUNCTION static constexpr T infinity() noexcept { return T::from_bits(Format::infinity); }
  STRATA_FUNCTION static constexpr T quiet_NaN() noexcept { return T::from_bits(Format::quiet_nan); }
  STRATA_FUNCTION static constexpr T signaling_NaN() noexcept { return T::from_bits(Format::signaling_nan); }
  STRATA_FUNCTION static constexpr T denorm_min() noexcept { return T::from_bits(Format::denorm_min); }
};
// NOLINTEND(readability-identifier-naming)
