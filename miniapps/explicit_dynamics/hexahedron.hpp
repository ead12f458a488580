// The uniform-gradient hexahedron of Flanagan and Belytschko (Int. J. Numer. Meth. Eng. 17, 1981, 679-706):
// the gradient operator B_iI = dV / dx_iI of the volume V, exact for any hexahedron, and its four hourglass
// modes. Corners are in the order of Exodus II.
//
// The operator is computed as 12 B, which saves the factor where it cancels. With D_iI, the coordinates,
//   V = sum_I x_I B_xI   and   L_ij = sum_I v_iI B_jI / V   is the mean velocity gradient.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <strata/miniapps/explicit_dynamics/tensor.hpp>

namespace strata::inline STRATA_ABI::dynamics {

/// f(0), f(1), ... f(N - 1), written one after the other: arrays that f indexes become registers.
template <int N, class F>
STRATA_FUNCTION constexpr void unrolled(const F& f) {
  [&]<int... K>(std::integer_sequence<int, K...>) { (f(K), ...); }
  (std::make_integer_sequence<int, N>());
}

/// A number for each corner of an element.
template <class T>
using Corners = T[8];

/// A vector for each corner: coordinates, velocities, gradient operator.
template <class T>
struct CornerVectors {
  T x[8], y[8], z[8];
};

template <class T>
STRATA_FUNCTION constexpr T dot(const Corners<T>& a, const Corners<T>& b) {
  // In pairs, so that half of the rounding errors and of the latency is left.
  return (sum_of_products(a[0], b[0], a[1], b[1]) + sum_of_products(a[2], b[2], a[3], b[3])) +
         (sum_of_products(a[4], b[4], a[5], b[5]) + sum_of_products(a[6], b[6], a[7], b[7]));
}

/// 12 B_x of the coordinates y and z; cyclic changes of the coordinates give B_y and B_z.
template <class T>
STRATA_FUNCTION constexpr void gradient_component(const Corners<T>& y, const Corners<T>& z, Corners<T>& b) {
  const T z42 = z[3] - z[1], z52 = z[4] - z[1], z54 = z[4] - z[3], z63 = z[5] - z[2], z83 = z[7] - z[2],
          z86 = z[7] - z[5], z31 = z[2] - z[0], z61 = z[5] - z[0], z74 = z[6] - z[3], z72 = z[6] - z[1],
          z75 = z[6] - z[4], z81 = z[7] - z[0];
  const T t1 = z63 + z54, t2 = z61 + z74, t3 = z72 + z81, t4 = z86 + z42, t5 = z83 + z52, t6 = z75 + z31;
  using Sum = fem::SumOfProducts<T>;
  b[0] =
      Sum{y[1] * t1}.minus(y[2], z42).minus(y[3], t5).plus(y[4], t4).plus(y[5], z52).minus(y[7], z54).value;
  b[1] =
      Sum{y[2] * t2}.plus(y[3], z31).minus(y[0], t1).minus(y[5], t6).plus(y[6], z63).minus(y[4], z61).value;
  b[2] =
      Sum{y[3] * t3}.plus(y[0], z42).minus(y[1], t2).minus(y[6], t4).plus(y[7], z74).minus(y[5], z72).value;
  b[3] =
      Sum{y[0] * t5}.minus(y[1], z31).minus(y[2], t3).plus(y[7], t6).plus(y[4], z81).minus(y[6], z83).value;
  b[4] =
      Sum{y[5] * t3}.plus(y[6], z86).minus(y[7], t2).minus(y[0], t4).minus(y[3], z81).plus(y[1], z61).value;
  b[5] =
      Sum{y[6] * t5}.minus(y[4], t3).minus(y[7], z75).plus(y[1], t6).minus(y[0], z52).plus(y[2], z72).value;
  b[6] =
      Sum{y[7] * t1}.minus(y[5], t5).minus(y[4], z86).plus(y[2], t4).minus(y[1], z63).plus(y[3], z83).value;
  b[7] =
      Sum{y[4] * t2}.minus(y[6], t1).plus(y[5], z75).minus(y[3], t6).minus(y[2], z74).plus(y[0], z54).value;
}

/// 12 B of an element.
template <class T>
STRATA_FUNCTION constexpr CornerVectors<T> gradient_operator(const CornerVectors<T>& at) {
  CornerVectors<T> b;
  gradient_component(at.y, at.z, b.x);
  gradient_component(at.z, at.x, b.y);
  gradient_component(at.x, at.y, b.z);
  return b;
}

/// A factor instead of a division, which costs tens of times as much.
template <class T>
inline constexpr T twelfth = T(1) / 12;

/// V from the coordinates and 12 B.
template <class T>
STRATA_FUNCTION constexpr T volume(const CornerVectors<T>& at, const CornerVectors<T>& b12) {
  return dot(at.x, b12.x) * twelfth<T>;
}

/// B : B from 12 B.
template <class T>
STRATA_FUNCTION constexpr T gradient_square(const CornerVectors<T>& b12) {
  return (dot(b12.x, b12.x) + dot(b12.y, b12.y) + dot(b12.z, b12.z)) * (twelfth<T> * twelfth<T>);
}

/// L_ij = sum_I v_iI B_jI / V, from 12 B and V.
template <class T>
STRATA_FUNCTION constexpr Matrix<T> velocity_gradient(const CornerVectors<T>& v, const CornerVectors<T>& b12,
                                                      T element_volume) {
  // The sums first: what they are made of need not outlive the division.
  const Matrix<T> a{dot(v.x, b12.x), dot(v.x, b12.y), dot(v.x, b12.z), dot(v.y, b12.x), dot(v.y, b12.y),
                    dot(v.y, b12.z), dot(v.z, b12.x), dot(v.z, b12.y), dot(v.z, b12.z)};
  const T s = 1 / (12 * element_volume);
  return {s * a.xx, s * a.xy, s * a.xz, s * a.yx, s * a.yy, s * a.yz, s * a.zx, s * a.zy, s * a.zz};
}

// ---- hourglass modes. The base vectors, orthogonal, of square 8:
//   G_1 = (1, 1, -1, -1, -1, -1, 1, 1)    G_2 = (1, -1, -1, 1, -1, 1, 1, -1)
//   G_3 = (1, -1, 1, -1, 1, -1, 1, -1)    G_4 = (-1, 1, -1, 1, 1, -1, 1, -1)
// gamma_aI = (G_aI - B_iI x_iJ G_aJ / V) / sqrt(8) is orthogonal to every linear field. It is never formed:
//   v_iI gamma_aI = (v_iI G_aI - L_ij x_jJ G_aJ) / sqrt(8),
//   Q_ia gamma_aI = (Q_ia G_aI - Q_ia x_jJ G_aJ B_jI / V) / sqrt(8).

/// 1 / sqrt(8)
template <class T>
inline constexpr T hourglass_norm = T(0.35355339059327376220L);

/// A number for each mode.
template <class T>
using Modes = T[4];

/// A vector for each mode: rates, forces.
template <class T>
struct ModeVectors {
  T x[4], y[4], z[4];
};

/// g_a = sum_I G_aI a_I
template <class T>
STRATA_FUNCTION constexpr void mode_sums(const Corners<T>& a, Modes<T>& g) {
  const T p = (a[0] - a[2]) - (a[4] - a[6]), q = (a[1] - a[3]) - (a[5] - a[7]);
  const T r = (a[0] - a[1]) + (a[2] - a[3]), s = (a[4] - a[5]) + (a[6] - a[7]);
  g[0] = p + q;
  g[1] = p - q;
  g[2] = s + r;
  g[3] = s - r;
}

/// f_I += sum_a q_a G_aI
template <class T>
STRATA_FUNCTION constexpr void add_modes(const Modes<T>& q, Corners<T>& f) {
  const T s = q[0] + q[1], t = q[0] - q[1], m = q[2] - q[3], n = q[2] + q[3];
  f[0] += s + m;
  f[1] += t - m;
  f[2] += m - s;
  f[3] -= t + m;
  f[4] += n - s;
  f[5] -= t + n;
  f[6] += s + n;
  f[7] += t - n;
}

template <class T>
STRATA_FUNCTION constexpr ModeVectors<T> mode_sums(const CornerVectors<T>& a) {
  ModeVectors<T> g;
  mode_sums(a.x, g.x);
  mode_sums(a.y, g.y);
  mode_sums(a.z, g.z);
  return g;
}

/// The rates v_iI gamma_aI, from the modes of velocities and coordinates and the velocity gradient L.
template <class T>
STRATA_FUNCTION constexpr ModeVectors<T> mode_rates(const ModeVectors<T>& v, const ModeVectors<T>& x,
                                                    const Matrix<T>& l) {
  ModeVectors<T> rate;
  unrolled<4>([&](int a) {
    const Vector<T> linear = product(l, Vector<T>{x.x[a], x.y[a], x.z[a]});
    rate.x[a] = hourglass_norm<T> * (v.x[a] - linear.x);
    rate.y[a] = hourglass_norm<T> * (v.y[a] - linear.y);
    rate.z[a] = hourglass_norm<T> * (v.z[a] - linear.z);
  });
  return rate;
}
template <class T>
STRATA_FUNCTION constexpr ModeVectors<T> mode_rates(const CornerVectors<T>& v, const ModeVectors<T>& x,
                                                    const Matrix<T>& l) {
  return mode_rates(mode_sums(v), x, l);
}

/// f_iI = T_ij B_jI + Q_ia gamma_aI: what an element with stress T and hourglass forces Q asks of its
/// corners, from 12 B, 1 / V, and the modes of the coordinates.
template <class T>
STRATA_FUNCTION constexpr CornerVectors<T> corner_forces(const Symmetric<T>& stress, const ModeVectors<T>& q,
                                                         const ModeVectors<T>& x, const CornerVectors<T>& b12,
                                                         T inverse_volume) {
  CornerVectors<T> f;
  const auto component = [&](const T& sx, const T& sy, const T& sz, const Modes<T>& forces,
                             Corners<T>& target) {
    Modes<T> scaled;
    unrolled<4>([&](int a) { scaled[a] = hourglass_norm<T> * forces[a]; });
    const auto less_modes = [&](const T& s, const Modes<T>& mode) {
      const T sum = sum_of_products(scaled[0], mode[0], scaled[1], mode[1]) +
                    sum_of_products(scaled[2], mode[2], scaled[3], mode[3]);
      return twelfth<T> * multiply_add(-inverse_volume, sum, s);
    };
    const T tx = less_modes(sx, x.x), ty = less_modes(sy, x.y), tz = less_modes(sz, x.z);
    unrolled<8>([&](int k) { target[k] = sum_of_products(tx, b12.x[k], ty, b12.y[k], tz, b12.z[k]); });
    add_modes(scaled, target);
  };
  component(stress.xx, stress.xy, stress.zx, q.x, f.x);
  component(stress.xy, stress.yy, stress.yz, q.y, f.y);
  component(stress.zx, stress.yz, stress.zz, q.z, f.z);
  return f;
}

}  // namespace strata::inline STRATA_ABI::dynamics
