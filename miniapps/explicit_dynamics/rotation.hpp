// Rotation R, stretch V and the unrotated rate of deformation of an element: the update of Flanagan and
// Taylor (Comput. Methods Appl. Mech. Eng. 62, 1987, 305-320), with the deformation gradient F = V R, L = D +
// W the velocity gradient of the middle of the step, D symmetric and W skew:
//
//   z_i = eps_ijk D_jm V_mk,   omega = w - (tr(V) I - V)^-1 z,   w the axial vector of W, omega that of Omega
//   (I - dt/2 Omega) R' = (I + dt/2 Omega) R
//   V' = V + dt ((D + W) V - V Omega)
//   d = R'^T D R'
//
// That is of first order, as in the Kokkos Array paper, and V drifts in a pure rotation. The second-order
// update takes omega from a predicted V of the middle, V' = sym((I - dt/2 L)^-1 (I + dt/2 L) V (R' R^T)^T),
// which is exact for a given L, and d with the rotation of the middle.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/miniapps/explicit_dynamics/parameters.hpp>
#include <strata/miniapps/explicit_dynamics/tensor.hpp>

namespace strata::inline STRATA_ABI::dynamics {

/// The state of an element, and the rate of deformation in the axes that R has turned.
template <class T>
struct Decomposition {
  Matrix<T> rotation;
  Symmetric<T> stretch;
  Symmetric<T> rate;
};

/// omega, the rate at which R turns.
template <class T>
STRATA_FUNCTION constexpr Vector<T> rotation_rate(const Symmetric<T>& d, const Vector<T>& w,
                                                  const Symmetric<T>& v) {
  const Matrix<T> dv = product(full(d), full(v));
  const Vector<T> z{dv.yz - dv.zy, dv.zx - dv.xz, dv.xy - dv.yx};
  const Symmetric<T> a{v.yy + v.zz, v.zz + v.xx, v.xx + v.yy, -v.xy, -v.yz, -v.zx};  // tr(V) I - V
  return w - solve(a, z);
}

/// V + dt (L V - V Omega), which is symmetric for the omega of V.
template <class T>
STRATA_FUNCTION constexpr Symmetric<T> stretched(const Symmetric<T>& v, const Matrix<T>& l,
                                                 const Vector<T>& omega, T dt) {
  const Matrix<T> lv = product(l, full(v));
  // A row of V Omega is that of V, as a vector, x omega.
  const Vector<T> x = add_cross(omega, {v.xx, v.xy, v.zx}, {lv.xx, lv.xy, lv.xz}),
                  y = add_cross(omega, {v.xy, v.yy, v.yz}, {lv.yx, lv.yy, lv.yz}),
                  z = add_cross(omega, {v.zx, v.yz, v.zz}, {lv.zx, lv.zy, lv.zz});
  const Symmetric<T> change = symmetric_part(Matrix<T>{x.x, x.y, x.z, y.x, y.y, y.z, z.x, z.y, z.z});
  return {multiply_add(dt, change.xx, v.xx), multiply_add(dt, change.yy, v.yy),
          multiply_add(dt, change.zz, v.zz), multiply_add(dt, change.xy, v.xy),
          multiply_add(dt, change.yz, v.yz), multiply_add(dt, change.zx, v.zx)};
}

/// I + s a
template <class T>
STRATA_FUNCTION constexpr Matrix<T> identity_plus(T s, const Matrix<T>& a) {
  return {multiply_add(s, a.xx, T(1)), s * a.xy, s * a.xz, s * a.yx,
          multiply_add(s, a.yy, T(1)), s * a.yz, s * a.zx, s * a.zy,
          multiply_add(s, a.zz, T(1))};
}

/// One step: rotation and stretch to its end, and the rate.
template <Update U, class T>
STRATA_FUNCTION constexpr void update(Decomposition<T>& element, const Matrix<T>& l, T dt) {
  const Symmetric<T> d = symmetric_part(l);
  const Vector<T> w = axial_vector(l);
  const T half = dt / 2;
  const Matrix<T> old_rotation = element.rotation;
  Vector<T> omega = rotation_rate(d, w, element.stretch);
  if constexpr (U == Update::Second) omega = rotation_rate(d, w, stretched(element.stretch, l, omega, half));
  element.rotation = turned(half * omega, old_rotation);
  if constexpr (U == Update::First) {
    element.stretch = stretched(element.stretch, l, omega, dt);
    element.rate = unrotated(element.rotation, d);
  } else {
    const Matrix<T> step = product(inverse(identity_plus(-half, l)), identity_plus(half, l));
    // V dR^T = (dR V)^T with the dR of this step: R R^T would carry the rounding of all steps so far
    const Matrix<T> turned_back = transposed(turned(half * omega, full(element.stretch)));
    element.stretch = symmetric_part(product(step, turned_back));
    element.rate = unrotated(turned(half / 2 * omega, old_rotation), d);
  }
}

}  // namespace strata::inline STRATA_ABI::dynamics
