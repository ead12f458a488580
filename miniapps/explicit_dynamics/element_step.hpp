// The parts of an element's step that the kernels are made of: reading and writing rows of arrays, the rates
// of the middle of the step, stress and forces of its end. Plain numbers in and out; entries of rows as in
// kernels.hpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include <strata/miniapps/explicit_dynamics/hexahedron.hpp>
#include <strata/miniapps/explicit_dynamics/parameters.hpp>

namespace strata::inline STRATA_ABI::dynamics {

// ---- rows of arrays

template <class T>
STRATA_FUNCTION Symmetric<T> load_symmetric(auto e, const auto& a) {
  return {a(e, 0), a(e, 1), a(e, 2), a(e, 3), a(e, 4), a(e, 5)};
}
template <class T>
STRATA_FUNCTION void store(auto e, const auto& a, const Symmetric<T>& s) {
  a(e, 0) = s.xx, a(e, 1) = s.yy, a(e, 2) = s.zz, a(e, 3) = s.xy, a(e, 4) = s.yz, a(e, 5) = s.zx;
}
template <class T>
STRATA_FUNCTION Matrix<T> load_matrix(auto e, const auto& a) {
  return {a(e, 0), a(e, 1), a(e, 2), a(e, 3), a(e, 4), a(e, 5), a(e, 6), a(e, 7), a(e, 8)};
}
template <class T>
STRATA_FUNCTION void store(auto e, const auto& a, const Matrix<T>& m) {
  a(e, 0) = m.xx, a(e, 1) = m.xy, a(e, 2) = m.xz, a(e, 3) = m.yx, a(e, 4) = m.yy, a(e, 5) = m.yz;
  a(e, 6) = m.zx, a(e, 7) = m.zy, a(e, 8) = m.zz;
}
template <class T>
STRATA_FUNCTION ModeVectors<T> load_modes(auto e, const auto& a) {
  ModeVectors<T> m;
  unrolled<4>([&](int k) { m.x[k] = a(e, 0, k), m.y[k] = a(e, 1, k), m.z[k] = a(e, 2, k); });
  return m;
}
template <class T>
STRATA_FUNCTION void store(auto e, const auto& a, const ModeVectors<T>& m) {
  unrolled<4>([&](int k) { a(e, 0, k) = m.x[k], a(e, 1, k) = m.y[k], a(e, 2, k) = m.z[k]; });
}

/// The coordinates of an element's corners from corner 0 on, after the displacements.
template <class T>
STRATA_FUNCTION CornerVectors<T> load_corners(auto e, const auto& nodes, const auto& coordinates,
                                              const auto& displacement) {
  CornerVectors<T> at;
  const index_t first = nodes(e, 0);
  const double x0 = coordinates(first, 0), y0 = coordinates(first, 1), z0 = coordinates(first, 2);
  const T ux = displacement(first, 0), uy = displacement(first, 1), uz = displacement(first, 2);
  at.x[0] = at.y[0] = at.z[0] = 0;
  unrolled<7>([&](int corner) {
    const int k = corner + 1;
    const index_t n = nodes(e, k);
    at.x[k] = static_cast<T>(coordinates(n, 0) - x0) + (displacement(n, 0) - ux);
    at.y[k] = static_cast<T>(coordinates(n, 1) - y0) + (displacement(n, 1) - uy);
    at.z[k] = static_cast<T>(coordinates(n, 2) - z0) + (displacement(n, 2) - uz);
  });
  return at;
}
template <class T>
STRATA_FUNCTION CornerVectors<T> load_corners(auto e, const auto& nodes, const auto& vectors) {
  CornerVectors<T> v;
  unrolled<8>([&](int k) {
    const index_t n = nodes(e, k);
    v.x[k] = vectors(n, 0), v.y[k] = vectors(n, 1), v.z[k] = vectors(n, 2);
  });
  return v;
}

// ---- the parts of an element's step

/// What the middle of a step gives: the velocity gradient and the rates of the hourglass modes.
template <class T>
struct Rates {
  Matrix<T> gradient;
  ModeVectors<T> modes;
};

/// From the coordinates at the end of the step, the velocities during it, and its length.
template <class T>
STRATA_FUNCTION Rates<T> middle_rates(const CornerVectors<T>& end, const CornerVectors<T>& v, T dt) {
  CornerVectors<T> middle;
  const T back = dt / 2;
  middle.x[0] = middle.y[0] = middle.z[0] = 0;
  unrolled<7>([&](int corner) {
    const int k = corner + 1;
    middle.x[k] = multiply_add(-back, v.x[k] - v.x[0], end.x[k]);
    middle.y[k] = multiply_add(-back, v.y[k] - v.y[0], end.y[k]);
    middle.z[k] = multiply_add(-back, v.z[k] - v.z[0], end.z[k]);
  });
  // Before the operator, which takes most registers.
  const ModeVectors<T> modes_v = mode_sums(v), modes_x = mode_sums(middle);
  const CornerVectors<T> b = gradient_operator(middle);
  Rates<T> rates;
  rates.gradient = velocity_gradient(v, b, volume(middle, b));
  rates.modes = mode_rates(modes_v, modes_x, rates.gradient);
  return rates;
}

/// The step of a mode in one direction, in the axes of the material: forces += k dt rate; returns the forces,
/// with those of the viscous form.
template <class T>
STRATA_FUNCTION Vector<T> hourglass_step(ModeVectors<T>& forces, int mode, const Vector<T>& rate, T k_dt,
                                         T viscosity) {
  forces.x[mode] = multiply_add(k_dt, rate.x, forces.x[mode]);
  forces.y[mode] = multiply_add(k_dt, rate.y, forces.y[mode]);
  forces.z[mode] = multiply_add(k_dt, rate.z, forces.z[mode]);
  return multiply_add(viscosity, rate, Vector<T>{forces.x[mode], forces.y[mode], forces.z[mode]});
}

/// The end of an element's step: stress, corner forces and the largest stable time step that follows.
template <class T>
struct ElementEnd {
  Symmetric<T> stress;       // unrotated
  ModeVectors<T> hourglass;  // forces of the stiffness form, unrotated
  CornerVectors<T> force;
  T hourglass_work;  // done in this step
  T stable_dt;       // not a number, or 0: the element is inside out
};

/// With the stress and hourglass forces of the begin of the step in `old`.
///   stress += dt (lambda tr d I + 2 mu d)
///   T = R stress R^T + q I, with the viscous pressure q = eps (lambda + 2 mu) dt_e tr d
template <class T>
STRATA_FUNCTION ElementEnd<T> element_end(const Material<T>& material, const CornerVectors<T>& at, T mass,
                                          T dt, const Matrix<T>& rotation, const Symmetric<T>& rate,
                                          const ModeVectors<T>& mode_rate, ElementEnd<T> element) {
  const CornerVectors<T> b = gradient_operator(at);
  const ModeVectors<T> modes = mode_sums(at);
  const T v = volume(at, b), bb = gradient_square(b), rate_trace = trace(rate);
  const T inverse_volume = 1 / v, bb_per_volume = bb * inverse_volume;

  const T bulk = dt * material.lambda * rate_trace, shear = dt * material.two_mu;
  Symmetric<T>& s = element.stress;
  s.xx += multiply_add(shear, rate.xx, bulk);
  s.yy += multiply_add(shear, rate.yy, bulk);
  s.zz += multiply_add(shear, rate.zz, bulk);
  s.xy = multiply_add(shear, rate.xy, s.xy);
  s.yz = multiply_add(shear, rate.yz, s.yz);
  s.zx = multiply_add(shear, rate.zx, s.zx);

  const T element_dt = std::sqrt(mass * v / (2 * material.modulus * bb));
  const T compression = (std::abs(rate_trace) - rate_trace) / 2;  // without a branch, as lanes want it
  const T eps = multiply_add(material.bulk_quadratic * compression, element_dt, material.bulk_linear);
  const T pressure = eps * material.modulus * element_dt * rate_trace;
  element.stable_dt = element_dt * (std::sqrt(multiply_add(eps, eps, T(1))) - eps);

  // Turned with the material, as the stress is.
  const T k_dt = dt * material.hourglass_stiffness * bb_per_volume;
  const T viscosity = material.hourglass_viscosity * std::sqrt(mass * bb_per_volume);
  ModeVectors<T> forces;
  element.hourglass_work = 0;
  unrolled<4>([&](int a) {
    const Vector<T> unturned =
        transpose_product(rotation, Vector<T>{mode_rate.x[a], mode_rate.y[a], mode_rate.z[a]});
    const Vector<T> half =
        T(-0.5) * k_dt * unturned;  // the mean of the stiffness form's forces does the work
    const Vector<T> force = hourglass_step(element.hourglass, a, unturned, k_dt, viscosity);
    element.hourglass_work = multiply_add(dt, dot(force + half, unturned), element.hourglass_work);
    const Vector<T> seen = product(rotation, force);
    forces.x[a] = seen.x, forces.y[a] = seen.y, forces.z[a] = seen.z;
  });

  Symmetric<T> cauchy = rotated(rotation, s);
  cauchy.xx += pressure;
  cauchy.yy += pressure;
  cauchy.zz += pressure;
  element.force = corner_forces(cauchy, forces, modes, b, inverse_volume);
  return element;
}

template <class T>
STRATA_FUNCTION void store_forces(auto e, const auto& element_force, const CornerVectors<T>& f) {
  unrolled<8>([&](int k) {
    element_force(e, 0, k) = f.x[k], element_force(e, 1, k) = f.y[k], element_force(e, 2, k) = f.z[k];
  });
}

}  // namespace strata::inline STRATA_ABI::dynamics
