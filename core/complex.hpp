// complex: complex numbers of float or double, for kernels on every device.
//
//   complex<double> z(1, 2);
//   z = 3 * z + conj(z) / complex<double>(0, 1);
//   std::complex<double> s = z;  z = s;                // either way, of one precision
//
// Like std::complex: two neighbouring numbers, the real part first; zero by default; implicitly converted
// from real numbers. Unlike it: aligned to its size, so that GPUs load it in one access. A `complex<T>*` may
// be used as a `std::complex<T>*`; the other direction needs an address that is a multiple of the size. Real
// operands may be of any type that converts to T. And a product follows the formula: with infinite parts it
// may consist of NaNs.
//
// Quotients, abs and sqrt neither overflow nor underflow on the way to a result that does not. Errors are a
// few units in the last place of the larger part of the result.
//
// <complex> is not included: any type with a `value_type`, real(), imag() and a constructor from both
// converts, such as std::complex.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <type_traits>

#include <strata/core/complex_quotient.hpp>
#include <strata/core/element_types.hpp>
#include <strata/core/real_functions.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// Complex numbers of another library.
template <class C>
concept ForeignComplex =
    std::is_class_v<C> && !is_complex_v<C> && std::is_floating_point_v<typename C::value_type> &&
    std::is_constructible_v<C, typename C::value_type, typename C::value_type> && requires(const C& c) {
  static_cast<typename C::value_type>(c.real());
  static_cast<typename C::value_type>(c.imag());
};

}  // namespace detail

/// A complex number; T is float or double.
template <class T>
class alignas(2 * sizeof(T)) complex {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                "strata: the parts of a complex number are float or double");

 public:
  /// The type of the parts.
  using value_type = T;

  /// re + i im.
  STRATA_FUNCTION constexpr complex(T re = T(), T im = T()) noexcept : re_(re), im_(im) {}
  /// Between precisions.
  template <class U>
  STRATA_FUNCTION constexpr explicit complex(const complex<U>& z) noexcept
      : re_(static_cast<T>(z.real())), im_(static_cast<T>(z.imag())) {}

  /// From std::complex and similar types.
  template <detail::ForeignComplex C>
  STRATA_FUNCTION constexpr explicit(!std::is_same_v<typename C::value_type, T>) complex(const C& z)
      : re_(static_cast<T>(z.real())), im_(static_cast<T>(z.imag())) {}
  template <detail::ForeignComplex C>
  requires std::is_same_v<typename C::value_type, T> STRATA_FUNCTION constexpr operator C() const {
    return C(re_, im_);
  }

  /// The parts.
  STRATA_FUNCTION constexpr T real() const noexcept { return re_; }
  STRATA_FUNCTION constexpr T imag() const noexcept { return im_; }
  STRATA_FUNCTION constexpr void real(T re) noexcept { re_ = re; }
  STRATA_FUNCTION constexpr void imag(T im) noexcept { im_ = im; }

  STRATA_FUNCTION constexpr complex& operator+=(complex z) noexcept { return *this = *this + z; }
  STRATA_FUNCTION constexpr complex& operator-=(complex z) noexcept { return *this = *this - z; }
  STRATA_FUNCTION constexpr complex& operator*=(complex z) noexcept { return *this = *this * z; }
  STRATA_FUNCTION constexpr complex& operator/=(complex z) noexcept { return *this = *this / z; }
  STRATA_FUNCTION constexpr complex& operator+=(T x) noexcept { return *this = *this + x; }
  STRATA_FUNCTION constexpr complex& operator-=(T x) noexcept { return *this = *this - x; }
  STRATA_FUNCTION constexpr complex& operator*=(T x) noexcept { return *this = *this * x; }
  STRATA_FUNCTION constexpr complex& operator/=(T x) noexcept { return *this = *this / x; }

  STRATA_FUNCTION friend constexpr complex operator+(complex z) noexcept { return z; }
  STRATA_FUNCTION friend constexpr complex operator-(complex z) noexcept { return {-z.re_, -z.im_}; }

  STRATA_FUNCTION friend constexpr complex operator+(complex z, complex w) noexcept {
    return {z.re_ + w.re_, z.im_ + w.im_};
  }
  STRATA_FUNCTION friend constexpr complex operator-(complex z, complex w) noexcept {
    return {z.re_ - w.re_, z.im_ - w.im_};
  }
  STRATA_FUNCTION friend constexpr complex operator*(complex z, complex w) noexcept {
    return {z.re_ * w.re_ - z.im_ * w.im_, z.re_ * w.im_ + z.im_ * w.re_};
  }
  STRATA_FUNCTION friend constexpr complex operator/(complex z, complex w) noexcept {
    const auto q = detail::quotient(z.re_, z.im_, w.re_, w.im_);
    return {q.re, q.im};
  }

  STRATA_FUNCTION friend constexpr complex operator+(complex z, T x) noexcept { return {z.re_ + x, z.im_}; }
  STRATA_FUNCTION friend constexpr complex operator+(T x, complex z) noexcept { return {x + z.re_, z.im_}; }
  STRATA_FUNCTION friend constexpr complex operator-(complex z, T x) noexcept { return {z.re_ - x, z.im_}; }
  STRATA_FUNCTION friend constexpr complex operator-(T x, complex z) noexcept { return {x - z.re_, -z.im_}; }
  STRATA_FUNCTION friend constexpr complex operator*(complex z, T x) noexcept {
    return {z.re_ * x, z.im_ * x};
  }
  STRATA_FUNCTION friend constexpr complex operator*(T x, complex z) noexcept {
    return {x * z.re_, x * z.im_};
  }
  STRATA_FUNCTION friend constexpr complex operator/(complex z, T x) noexcept {
    return {z.re_ / x, z.im_ / x};
  }
  STRATA_FUNCTION friend constexpr complex operator/(T x, complex z) noexcept { return complex(x) / z; }

  STRATA_FUNCTION friend constexpr bool operator==(complex z, complex w) noexcept {
    return z.re_ == w.re_ && z.im_ == w.im_;
  }

 private:
  T re_;
  T im_;
};

/// The parts.
template <class T>
STRATA_FUNCTION constexpr T real(const complex<T>& z) {
  return z.real();
}
template <class T>
STRATA_FUNCTION constexpr T imag(const complex<T>& z) {
  return z.imag();
}
/// The complex conjugate.
template <class T>
STRATA_FUNCTION constexpr complex<T> conj(const complex<T>& z) {
  return {z.real(), -z.imag()};
}
/// The *square* of the magnitude, as with std::complex; it may overflow.
template <class T>
STRATA_FUNCTION constexpr T norm(const complex<T>& z) {
  return z.real() * z.real() + z.imag() * z.imag();
}

// ---- functions, found by their argument: `abs(z)`

/// The magnitude.
template <class T>
STRATA_FUNCTION T abs(const complex<T>& z) {
  return detail::real_hypot(z.real(), z.imag());
}
/// The angle to the positive real axis, in radians from -pi to pi.
template <class T>
STRATA_FUNCTION T arg(const complex<T>& z) {
  return detail::real_atan2(z.imag(), z.real());
}
/// The number of this magnitude and angle, in radians.
template <class T>
STRATA_FUNCTION complex<T> polar(T magnitude, T angle = T()) {
  return {magnitude * detail::real_cos(angle), magnitude * detail::real_sin(angle)};
}

/// e to the power of z.
template <class T>
STRATA_FUNCTION complex<T> exp(const complex<T>& z) {
  if (z.imag() == 0) return {detail::real_exp(z.real()), z.imag()};
  const T c = detail::real_cos(z.imag()), s = detail::real_sin(z.imag()), r = detail::real_exp(z.real());
  if (detail::is_infinite(z.real()) && c != c) return {r, r == 0 ? r : c};  // 0 or infinity at any angle
  if (!detail::is_infinite(r)) return {r * c, r * s};
  const T root = detail::real_exp(z.real() / 2);  // the parts may be finite though e^re is not
  return {root * c * root, root * s * root};
}

/// The root whose real part is not negative; the cut runs along the negative real axis.
template <class T>
STRATA_FUNCTION complex<T> sqrt(const complex<T>& z) {
  using Limits = std::numeric_limits<T>;
  T x = z.real(), y = z.imag(), scale = 1;
  if (x == 0 && y == 0) return {T(0), y};
  if (detail::is_infinite(y)) return {Limits::infinity(), y};
  const T size = detail::magnitude_of(x) + detail::magnitude_of(y);
  if (size > Limits::max() / 4) {
    x /= 16;
    y /= 16;
    scale = 4;
  } else if (size < Limits::min() / Limits::epsilon()) {
    constexpr T up = 4 / (Limits::epsilon() * Limits::epsilon());  // 2^(2 digits)
    x *= up;
    y *= up;
    scale = Limits::epsilon() / 2;
  }
  // The larger part first: nothing cancels.
  const T root = detail::real_sqrt((detail::magnitude_of(x) + detail::real_hypot(x, y)) / 2);
  const T other = detail::magnitude_of(y) / (2 * root);
  const T re = x < 0 ? other : root, im = x < 0 ? root : other;
  return {re * scale, detail::with_sign_of(im * scale, y)};
}

}  // namespace strata::inline STRATA_ABI
