// Vectors, symmetric and general 3 x 3 matrices as the element kernels use them: plain numbers with names,
// which compilers keep in registers and vectorise across elements.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include <strata/core/config.hpp>
#include <strata/miniapps/fem/multiply_add.hpp>

namespace strata::inline STRATA_ABI::dynamics {

using fem::difference_of_products;
using fem::multiply_add;
using fem::multiply_subtract;
using fem::sum_of_products;

/// A vector.
template <class T>
struct Vector {
  T x, y, z;
};

/// A symmetric matrix, in the order in which arrays hold its six entries.
template <class T>
struct Symmetric {
  T xx, yy, zz, xy, yz, zx;
};

/// A matrix, in the order in which arrays hold its nine entries.
template <class T>
struct Matrix {
  T xx, xy, xz, yx, yy, yz, zx, zy, zz;
};

template <class T>
STRATA_FUNCTION constexpr Vector<T> operator+(const Vector<T>& a, const Vector<T>& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class T>
STRATA_FUNCTION constexpr Vector<T> operator-(const Vector<T>& a, const Vector<T>& b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class T>
STRATA_FUNCTION constexpr Vector<T> operator*(T s, const Vector<T>& a) {
  return {s * a.x, s * a.y, s * a.z};
}
/// s a + b
template <class T>
STRATA_FUNCTION constexpr Vector<T> multiply_add(T s, const Vector<T>& a, const Vector<T>& b) {
  return {multiply_add(s, a.x, b.x), multiply_add(s, a.y, b.y), multiply_add(s, a.z, b.z)};
}
template <class T>
STRATA_FUNCTION constexpr T dot(const Vector<T>& a, const Vector<T>& b) {
  return sum_of_products(a.x, b.x, a.y, b.y, a.z, b.z);
}
template <class T>
STRATA_FUNCTION constexpr Vector<T> cross(const Vector<T>& a, const Vector<T>& b) {
  return {difference_of_products(a.y, b.z, a.z, b.y), difference_of_products(a.z, b.x, a.x, b.z),
          difference_of_products(a.x, b.y, a.y, b.x)};
}
/// a x b + c
template <class T>
STRATA_FUNCTION constexpr Vector<T> add_cross(const Vector<T>& a, const Vector<T>& b, const Vector<T>& c) {
  return {multiply_add(a.y, b.z, multiply_subtract(a.z, b.y, c.x)),
          multiply_add(a.z, b.x, multiply_subtract(a.x, b.z, c.y)),
          multiply_add(a.x, b.y, multiply_subtract(a.y, b.x, c.z))};
}

template <class T>
STRATA_FUNCTION constexpr T trace(const Symmetric<T>& s) {
  return s.xx + s.yy + s.zz;
}
/// s : t
template <class T>
STRATA_FUNCTION constexpr T contract(const Symmetric<T>& s, const Symmetric<T>& t) {
  return sum_of_products(s.xx, t.xx, s.yy, t.yy, s.zz, t.zz) +
         2 * sum_of_products(s.xy, t.xy, s.yz, t.yz, s.zx, t.zx);
}

/// The symmetric part of a.
template <class T>
STRATA_FUNCTION constexpr Symmetric<T> symmetric_part(const Matrix<T>& a) {
  const T half = T(1) / 2;
  return {a.xx, a.yy, a.zz, half * (a.xy + a.yx), half * (a.yz + a.zy), half * (a.zx + a.xz)};
}
/// The vector w of the skew part W of a: W b = w x b for every b.
template <class T>
STRATA_FUNCTION constexpr Vector<T> axial_vector(const Matrix<T>& a) {
  const T half = T(1) / 2;
  return {half * (a.zy - a.yz), half * (a.xz - a.zx), half * (a.yx - a.xy)};
}

template <class T>
STRATA_FUNCTION constexpr Vector<T> product(const Matrix<T>& a, const Vector<T>& b) {
  return {sum_of_products(a.xx, b.x, a.xy, b.y, a.xz, b.z), sum_of_products(a.yx, b.x, a.yy, b.y, a.yz, b.z),
          sum_of_products(a.zx, b.x, a.zy, b.y, a.zz, b.z)};
}
/// transpose(a) b
template <class T>
STRATA_FUNCTION constexpr Vector<T> transpose_product(const Matrix<T>& a, const Vector<T>& b) {
  return {sum_of_products(a.xx, b.x, a.yx, b.y, a.zx, b.z), sum_of_products(a.xy, b.x, a.yy, b.y, a.zy, b.z),
          sum_of_products(a.xz, b.x, a.yz, b.y, a.zz, b.z)};
}
template <class T>
STRATA_FUNCTION constexpr Matrix<T> product(const Matrix<T>& a, const Matrix<T>& b) {
  return {sum_of_products(a.xx, b.xx, a.xy, b.yx, a.xz, b.zx),
          sum_of_products(a.xx, b.xy, a.xy, b.yy, a.xz, b.zy),
          sum_of_products(a.xx, b.xz, a.xy, b.yz, a.xz, b.zz),
          sum_of_products(a.yx, b.xx, a.yy, b.yx, a.yz, b.zx),
          sum_of_products(a.yx, b.xy, a.yy, b.yy, a.yz, b.zy),
          sum_of_products(a.yx, b.xz, a.yy, b.yz, a.yz, b.zz),
          sum_of_products(a.zx, b.xx, a.zy, b.yx, a.zz, b.zx),
          sum_of_products(a.zx, b.xy, a.zy, b.yy, a.zz, b.zy),
          sum_of_products(a.zx, b.xz, a.zy, b.yz, a.zz, b.zz)};
}
/// a, written out in full.
template <class T>
STRATA_FUNCTION constexpr Matrix<T> full(const Symmetric<T>& a) {
  return {a.xx, a.xy, a.zx, a.xy, a.yy, a.yz, a.zx, a.yz, a.zz};
}
template <class T>
STRATA_FUNCTION constexpr Matrix<T> transposed(const Matrix<T>& a) {
  return {a.xx, a.yx, a.zx, a.xy, a.yy, a.zy, a.xz, a.yz, a.zz};
}
template <class T>
STRATA_FUNCTION constexpr Matrix<T> identity() {
  return {1, 0, 0, 0, 1, 0, 0, 0, 1};
}

/// r s transpose(r): for a rotation r, the tensor s turned by r.
template <class T>
STRATA_FUNCTION constexpr Symmetric<T> rotated(const Matrix<T>& r, const Symmetric<T>& s) {
  const Matrix<T> a = product(r, full(s));
  return {sum_of_products(a.xx, r.xx, a.xy, r.xy, a.xz, r.xz),
          sum_of_products(a.yx, r.yx, a.yy, r.yy, a.yz, r.yz),
          sum_of_products(a.zx, r.zx, a.zy, r.zy, a.zz, r.zz),
          sum_of_products(a.xx, r.yx, a.xy, r.yy, a.xz, r.yz),
          sum_of_products(a.yx, r.zx, a.yy, r.zy, a.yz, r.zz),
          sum_of_products(a.zx, r.xx, a.zy, r.xy, a.zz, r.xz)};
}
/// transpose(r) s r: s seen from axes that r has turned.
template <class T>
STRATA_FUNCTION constexpr Symmetric<T> unrotated(const Matrix<T>& r, const Symmetric<T>& s) {
  return rotated(transposed(r), s);
}

/// The b with s b = c, by Cramer's rule: s is well conditioned here.
template <class T>
STRATA_FUNCTION constexpr Vector<T> solve(const Symmetric<T>& s, const Vector<T>& c) {
  // The adjugate, symmetric as s is.
  const T xx = difference_of_products(s.yy, s.zz, s.yz, s.yz),
          yy = difference_of_products(s.xx, s.zz, s.zx, s.zx),
          zz = difference_of_products(s.xx, s.yy, s.xy, s.xy);
  const T xy = difference_of_products(s.zx, s.yz, s.xy, s.zz),
          yz = difference_of_products(s.xy, s.zx, s.yz, s.xx),
          zx = difference_of_products(s.xy, s.yz, s.zx, s.yy);
  const T scale = 1 / sum_of_products(s.xx, xx, s.xy, xy, s.zx, zx);
  return {scale * sum_of_products(xx, c.x, xy, c.y, zx, c.z),
          scale * sum_of_products(xy, c.x, yy, c.y, yz, c.z),
          scale * sum_of_products(zx, c.x, yz, c.y, zz, c.z)};
}

/// The inverse of a.
template <class T>
STRATA_FUNCTION constexpr Matrix<T> inverse(const Matrix<T>& a) {
  const T xx = difference_of_products(a.yy, a.zz, a.yz, a.zy),
          yx = difference_of_products(a.yz, a.zx, a.yx, a.zz),
          zx = difference_of_products(a.yx, a.zy, a.yy, a.zx);
  const T s = 1 / sum_of_products(a.xx, xx, a.xy, yx, a.xz, zx);
  return {s * xx,
          s * difference_of_products(a.xz, a.zy, a.xy, a.zz),
          s * difference_of_products(a.xy, a.yz, a.xz, a.yy),
          s * yx,
          s * difference_of_products(a.xx, a.zz, a.xz, a.zx),
          s * difference_of_products(a.xz, a.yx, a.xx, a.yz),
          s * zx,
          s * difference_of_products(a.xy, a.zx, a.xx, a.zy),
          s * difference_of_products(a.xx, a.yy, a.xy, a.yx)};
}

/// (I - A)^-1 (I + A) r for the skew matrix A of the axial vector a (A b = a x b): r turned further, about a,
/// by 2 atan |a|; exactly orthogonal up to rounding. (I - A)^-1 (I + A) = I + 2 / (1 + a.a) (A + A A).
template <class T>
STRATA_FUNCTION constexpr Matrix<T> turned(const Vector<T>& a, const Matrix<T>& r) {
  const T s = 2 / (1 + dot(a, a));
  const auto column = [&](const Vector<T>& b) {
    const Vector<T> ab = cross(a, b);
    return multiply_add(s, add_cross(a, ab, ab), b);
  };
  const Vector<T> x = column({r.xx, r.yx, r.zx}), y = column({r.xy, r.yy, r.zy}),
                  z = column({r.xz, r.yz, r.zz});
  return {x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z};
}

}  // namespace strata::inline STRATA_ABI::dynamics
