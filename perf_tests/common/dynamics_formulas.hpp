// The kernels of explicit dynamics (miniapps/explicit_dynamics) by hand, for one element or node: plain C++
// on raw pointers without a Strata header. baselines/dynamics.cpp and .cu run them.
//
// The formulas are those of Flanagan and Belytschko (Int. J. Numer. Meth. Eng. 17, 1981) and Flanagan and
// Taylor (Comput. Methods Appl. Mech. Eng. 62, 1987), the update of second order; entries of arrays as the
// mini-app has them. Element arrays have the first index fastest, or lie in tiles of 8 elements.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "common/hex_formula.hpp"

namespace perf {

/// What the mini-app's clock holds, at the same places.
struct DynamicsClock {
  double dt, prev_dt, time, stable_dt, minimum_dt, first_dt;
  long long step;
  std::int32_t failure;
};

/// The constants of the material.
struct DynamicsMaterial {
  double lambda, two_mu, hourglass_stiffness, hourglass_viscosity, bulk_linear, bulk_quadratic;
};

/// What the kernels compute with: T is a number of an element, or a vector of those of neighbours, for which
/// this is specialised (baselines/dynamics.cpp).
template <class T>
struct Numbers {
  using One = T;
  using Index = std::int32_t;
  using Wide = double;

  template <class U>
  STRATA_PERF_FUNCTION static U gathered(const U* from, Index i) {
    return from[i];
  }
  STRATA_PERF_FUNCTION static T narrow(double x) { return static_cast<T>(x); }
  STRATA_PERF_FUNCTION static double widen(T x) { return static_cast<double>(x); }
  STRATA_PERF_FUNCTION static T root(T x) { return std::sqrt(x); }
  STRATA_PERF_FUNCTION static T magnitude(T x) { return std::abs(x); }
};
/// A number of one element.
template <class T>
using One = typename Numbers<T>::One;

template <class T>
struct DynamicsFields {
  std::ptrdiff_t elements, nodes;
  const double* coordinates;
  const typename Numbers<T>::Index* element_nodes;
  const std::int32_t *offsets, *corners;
  One<T>*displacement, *velocity, *mass;
  const std::uint8_t* fixed;
  double *work, *reaction;
  T *element_mass, *rotation, *stretch, *stress, *hourglass, *element_force, *stable_dt;
  typename Numbers<T>::Wide* hourglass_work;
  T *velocity_gradient, *mode_rates, *rate;
  DynamicsClock* clock;
  DynamicsMaterial material;
};

/// Element `e` of an array with `Rows` x `Columns` numbers each: (d, k) or, for one row, (k).
template <int Tile, int Rows, int Columns, class T>
struct ElementRow {
  T* first;
  std::ptrdiff_t step;

  STRATA_PERF_FUNCTION ElementRow(T* data, std::ptrdiff_t e, std::ptrdiff_t n)
      : first(Tile > 0 ? data + e / Tile * (Tile * Rows * Columns) + e % Tile : data + e),
        step(Tile > 0 ? Tile : n) {}
  STRATA_PERF_FUNCTION T& operator()(int k) const { return first[step * k]; }
  STRATA_PERF_FUNCTION T& operator()(int d, int k) const {
    return first[step * (Tile > 0 ? d * Columns + k : d + Rows * k)];
  }
};

namespace formulas {

template <class T>
STRATA_PERF_FUNCTION inline T dot8(const T (&a)[8], const T (&b)[8]) {
  return ((a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3])) +
         ((a[4] * b[4] + a[5] * b[5]) + (a[6] * b[6] + a[7] * b[7]));
}
// c = a b
template <class T>
STRATA_PERF_FUNCTION inline void multiply(const T (&a)[9], const T (&b)[9], T (&c)[9]) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      c[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}
// c = a transpose(b)
template <class T>
STRATA_PERF_FUNCTION inline void multiply_transposed(const T (&a)[9], const T (&b)[9], T (&c)[9]) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      c[3 * i + j] = a[3 * i] * b[3 * j] + a[3 * i + 1] * b[3 * j + 1] + a[3 * i + 2] * b[3 * j + 2];
}
// xx yy zz xy yz zx to nine numbers.
template <class T>
STRATA_PERF_FUNCTION inline void spread(const T (&s)[6], T (&a)[9]) {
  a[0] = s[0], a[4] = s[1], a[8] = s[2];
  a[1] = a[3] = s[3], a[5] = a[7] = s[4], a[2] = a[6] = s[5];
}
template <class T>
STRATA_PERF_FUNCTION inline void symmetric(const T (&a)[9], T (&s)[6]) {
  const One<T> half = One<T>(0.5);
  s[0] = a[0], s[1] = a[4], s[2] = a[8];
  s[3] = half * (a[1] + a[3]), s[4] = half * (a[5] + a[7]), s[5] = half * (a[6] + a[2]);
}
// The four sums of a over the hourglass base vectors.
template <class T>
STRATA_PERF_FUNCTION inline void modes_of(const T (&a)[8], T (&g)[4]) {
  const T p = a[0] - a[2] - a[4] + a[6], q = a[1] - a[3] - a[5] + a[7];
  const T r = a[0] - a[1] + a[2] - a[3], s = a[4] - a[5] + a[6] - a[7];
  g[0] = p + q, g[1] = p - q, g[2] = r + s, g[3] = s - r;
}

template <class T>
struct Corners {
  T at[3][8];
};
template <class T>
STRATA_PERF_FUNCTION inline void gradient_of(const Corners<T>& x, Corners<T>& b) {
  hex_gradient<T>([&](int d, int k) { return x.at[d][k]; },
                  [&](int d, int k, T value) { b.at[d][k] = value; });
}

template <int Tile, class T>
STRATA_PERF_FUNCTION inline void corners_of(const DynamicsFields<T>& f, std::ptrdiff_t e, Corners<T>& x) {
  using N = Numbers<T>;
  const ElementRow<Tile, 1, 8, const typename N::Index> nodes(f.element_nodes, e, f.elements);
  const auto first = 3 * nodes(0);
  for (int d = 0; d < 3; ++d) x.at[d][0] = T{};
  for (int k = 1; k < 8; ++k) {
    const auto n = 3 * nodes(k);
    for (int d = 0; d < 3; ++d)
      x.at[d][k] = N::narrow(N::gathered(f.coordinates + d, n) - N::gathered(f.coordinates + d, first)) +
                   (N::gathered(f.displacement + d, n) - N::gathered(f.displacement + d, first));
  }
}

// Velocity gradient and rates of the hourglass modes in the middle of the step.
template <int Tile, class T>
STRATA_PERF_FUNCTION inline void middle(const DynamicsFields<T>& f, std::ptrdiff_t e, One<T> dt, T (&l)[9],
                                        T (&rates)[3][4]) {
  using N = Numbers<T>;
  Corners<T> x, v, b;
  corners_of<Tile>(f, e, x);
  const ElementRow<Tile, 1, 8, const typename N::Index> nodes(f.element_nodes, e, f.elements);
  for (int k = 0; k < 8; ++k) {
    const auto n = 3 * nodes(k);
    for (int d = 0; d < 3; ++d) v.at[d][k] = N::gathered(f.velocity + d, n);
  }
  T of_x[3][4], of_v[3][4];
  for (int d = 0; d < 3; ++d) {
    for (int k = 1; k < 8; ++k) x.at[d][k] -= dt / 2 * (v.at[d][k] - v.at[d][0]);
    modes_of(x.at[d], of_x[d]);
    modes_of(v.at[d], of_v[d]);
  }
  gradient_of(x, b);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) l[3 * i + j] = dot8(v.at[i], b.at[j]);
  const T scale = One<T>(1) / dot8(x.at[0], b.at[0]);
  for (int k = 0; k < 9; ++k) l[k] *= scale;
  const One<T> norm = One<T>(0.35355339059327376220);
  for (int i = 0; i < 3; ++i)
    for (int a = 0; a < 4; ++a)
      rates[i][a] = norm * (of_v[i][a] -
                            (l[3 * i] * of_x[0][a] + l[3 * i + 1] * of_x[1][a] + l[3 * i + 2] * of_x[2][a]));
}

// w - (tr(V) I - V)^-1 z
template <class T>
STRATA_PERF_FUNCTION inline void rotation_rate(const T (&d)[9], const T (&w)[3], const T (&v)[6],
                                               T (&omega)[3]) {
  T full[9], dv[9];
  spread(v, full);
  multiply(d, full, dv);
  const T z[3] = {dv[5] - dv[7], dv[6] - dv[2], dv[1] - dv[3]};
  const T a = v[1] + v[2], b = v[2] + v[0], c = v[0] + v[1], p = -v[3], q = -v[4], r = -v[5];
  const T xx = b * c - q * q, yy = a * c - r * r, zz = a * b - p * p;
  const T xy = r * q - p * c, yz = p * r - q * a, zx = p * q - r * b;
  const T scale = One<T>(1) / (a * xx + p * xy + r * zx);
  omega[0] = w[0] - scale * (xx * z[0] + xy * z[1] + zx * z[2]);
  omega[1] = w[1] - scale * (xy * z[0] + yy * z[1] + yz * z[2]);
  omega[2] = w[2] - scale * (zx * z[0] + yz * z[1] + zz * z[2]);
}
// r turned about a by 2 atan |a|
template <class T>
STRATA_PERF_FUNCTION inline void turn(const T (&a)[3], const T (&r)[9], T (&result)[9]) {
  const T s = One<T>(2) / (One<T>(1) + (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]));
  for (int j = 0; j < 3; ++j) {
    const T x = r[j], y = r[3 + j], z = r[6 + j];
    const T cx = a[1] * z - a[2] * y, cy = a[2] * x - a[0] * z, cz = a[0] * y - a[1] * x;
    result[j] = x + s * (cx + a[1] * cz - a[2] * cy);
    result[3 + j] = y + s * (cy + a[2] * cx - a[0] * cz);
    result[6 + j] = z + s * (cz + a[0] * cy - a[1] * cx);
  }
}

// Rotation and stretch to the end of the step, and the unrotated rate of deformation.
template <class T>
STRATA_PERF_FUNCTION inline void update(const T (&l)[9], One<T> dt, T (&rotation)[9], T (&stretch)[6],
                                        T (&rate)[6]) {
  const One<T> half = dt / 2;
  T d6[6], d[9], omega[3];
  symmetric(l, d6);
  spread(d6, d);
  const One<T> part = One<T>(0.5);
  const T w[3] = {part * (l[7] - l[5]), part * (l[2] - l[6]), part * (l[3] - l[1])};
  rotation_rate(d, w, stretch, omega);
  // V of the middle: V + dt/2 sym(L V - V Omega)
  T v[9], lv[9], vo[9];
  spread(stretch, v);
  multiply(l, v, lv);
  const T none{}, spin[9] = {none, -omega[2], omega[1], omega[2], none, -omega[0], -omega[1], omega[0], none};
  multiply(v, spin, vo);
  for (int k = 0; k < 9; ++k) lv[k] -= vo[k];
  T change[6], middle[6];
  symmetric(lv, change);
  for (int k = 0; k < 6; ++k) middle[k] = stretch[k] + half * change[k];
  rotation_rate(d, w, middle, omega);

  T of_middle[9], next[9];
  const T quarter_turn[3] = {half / 2 * omega[0], half / 2 * omega[1], half / 2 * omega[2]};
  const T half_turn[3] = {half * omega[0], half * omega[1], half * omega[2]};
  turn(quarter_turn, rotation, of_middle);
  turn(half_turn, rotation, next);

  // V' = sym((I - dt/2 L)^-1 (I + dt/2 L) V R R'^T)
  T m[9], p[9];
  for (int k = 0; k < 9; ++k) {
    const One<T> one = k % 4 == 0 ? One<T>(1) : One<T>(0);
    m[k] = one - half * l[k], p[k] = one + half * l[k];
  }
  const T c0 = m[4] * m[8] - m[5] * m[7], c1 = m[5] * m[6] - m[3] * m[8], c2 = m[3] * m[7] - m[4] * m[6];
  const T s = One<T>(1) / (m[0] * c0 + m[1] * c1 + m[2] * c2);
  const T inverse[9] = {s * c0, s * (m[2] * m[7] - m[1] * m[8]), s * (m[1] * m[5] - m[2] * m[4]),
                        s * c1, s * (m[0] * m[8] - m[2] * m[6]), s * (m[2] * m[3] - m[0] * m[5]),
                        s * c2, s * (m[1] * m[6] - m[0] * m[7]), s * (m[0] * m[4] - m[1] * m[3])};
  T step[9], back[9], turned[9], product[9];
  multiply(inverse, p, step);
  multiply_transposed(rotation, next, back);
  multiply(v, back, turned);
  multiply(step, turned, product);
  symmetric(product, stretch);
  for (int k = 0; k < 9; ++k) rotation[k] = next[k];

  // transpose(R) D R with the rotation of the middle
  T dr[9];
  multiply(d, of_middle, dr);
  const auto entry = [&](int i, int j) {
    return of_middle[i] * dr[j] + of_middle[3 + i] * dr[3 + j] + of_middle[6 + i] * dr[6 + j];
  };
  rate[0] = entry(0, 0), rate[1] = entry(1, 1), rate[2] = entry(2, 2);
  rate[3] = entry(0, 1), rate[4] = entry(1, 2), rate[5] = entry(2, 0);
}

// Stress, hourglass forces, corner forces and the stable step of the end of the step.
template <int Tile, class T>
STRATA_PERF_FUNCTION inline void end(const DynamicsFields<T>& f, std::ptrdiff_t e, One<T> dt,
                                     const T (&rotation)[9], const T (&rate)[6], const T (&mode_rate)[3][4]) {
  const DynamicsMaterial& given = f.material;
  using N = Numbers<T>;
  using O = One<T>;
  const O lambda = O(given.lambda), two_mu = O(given.two_mu), modulus = lambda + two_mu;
  Corners<T> x, b;
  corners_of<Tile>(f, e, x);
  T modes[3][4];
  for (int d = 0; d < 3; ++d) modes_of(x.at[d], modes[d]);
  gradient_of(x, b);
  const O twelfth = O(1) / 12;
  const T volume = twelfth * dot8(x.at[0], b.at[0]);
  const T square =
      twelfth * twelfth * (dot8(b.at[0], b.at[0]) + dot8(b.at[1], b.at[1]) + dot8(b.at[2], b.at[2]));
  const T mass = f.element_mass[e], per_volume = O(1) / volume, trace = rate[0] + rate[1] + rate[2];

  const T element_dt = N::root(mass * volume / (2 * modulus * square));
  const T eps =
      O(given.bulk_linear) + O(given.bulk_quadratic) * (O(0.5) * (N::magnitude(trace) - trace)) * element_dt;
  f.stable_dt[e] = element_dt * (N::root(O(1) + eps * eps) - eps);
  const T pressure = eps * modulus * element_dt * trace;
  const T stiffness = dt * O(given.hourglass_stiffness) * (square * per_volume);
  const T viscosity = O(given.hourglass_viscosity) * N::root(mass * (square * per_volume));

  const ElementRow<Tile, 1, 6, T> stress(f.stress, e, f.elements);
  T s[6], s9[9], rs[9], t[9];
  for (int k = 0; k < 6; ++k) {
    s[k] = stress(k) + dt * two_mu * rate[k];
    if (k < 3) s[k] += dt * lambda * trace;
    stress(k) = s[k];
  }
  spread(s, s9);
  multiply(rotation, s9, rs);
  multiply_transposed(rs, rotation, t);
  for (int k = 0; k < 9; k += 4) t[k] += pressure;

  const ElementRow<Tile, 3, 4, T> hourglass(f.hourglass, e, f.elements);
  const One<T> norm = One<T>(0.35355339059327376220);
  T q[3][4], work{}, old[3][4];
  for (int a = 0; a < 4; ++a)
    for (int i = 0; i < 3; ++i) old[i][a] = hourglass(i, a);
  for (int a = 0; a < 4; ++a) {
    T force[3];
    for (int i = 0; i < 3; ++i) {
      const T r = rotation[i] * mode_rate[0][a] + rotation[3 + i] * mode_rate[1][a] +
                  rotation[6 + i] * mode_rate[2][a];
      const T now = old[i][a] + stiffness * r;
      hourglass(i, a) = now;
      force[i] = now + viscosity * r;
      work += (force[i] - O(0.5) * stiffness * r) * r;
    }
    for (int i = 0; i < 3; ++i)
      q[i][a] = norm * (rotation[3 * i] * force[0] + rotation[3 * i + 1] * force[1] +
                        rotation[3 * i + 2] * force[2]);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) t[3 * i + j] -= per_volume * q[i][a] * modes[j][a];
  }
  f.hourglass_work[e] += N::widen(dt * work);

  const ElementRow<Tile, 3, 8, T> out(f.element_force, e, f.elements);
  for (int i = 0; i < 3; ++i) {
    const T tx = twelfth * t[3 * i], ty = twelfth * t[3 * i + 1], tz = twelfth * t[3 * i + 2];
    const T p = q[i][0] + q[i][1], o = q[i][0] - q[i][1], m = q[i][2] - q[i][3], n = q[i][2] + q[i][3];
    const T of_modes[8] = {p + m, o - m, m - p, -o - m, n - p, -o - n, p + n, o - n};
    for (int k = 0; k < 8; ++k) out(i, k) = tx * b.at[0][k] + ty * b.at[1][k] + tz * b.at[2][k] + of_modes[k];
  }
}

}  // namespace formulas

// ---- the kernels, for one element

template <int Tile, class T>
STRATA_PERF_FUNCTION inline void dynamics_gradient(const DynamicsFields<T>& f, std::ptrdiff_t e) {
  T l[9], rates[3][4];
  formulas::middle<Tile>(f, e, static_cast<One<T>>(f.clock->dt), l, rates);
  const ElementRow<Tile, 1, 9, T> gradient(f.velocity_gradient, e, f.elements);
  const ElementRow<Tile, 3, 4, T> modes(f.mode_rates, e, f.elements);
  for (int k = 0; k < 9; ++k) gradient(k) = l[k];
  for (int a = 0; a < 4; ++a)
    for (int d = 0; d < 3; ++d) modes(d, a) = rates[d][a];
}

/// Rotation and stretch in memory, with a velocity gradient in registers; the rate and the new rotation.
template <int Tile, class T>
STRATA_PERF_FUNCTION inline void update_in_memory(const DynamicsFields<T>& f, std::ptrdiff_t e, One<T> dt,
                                                  const T (&l)[9], T (&r)[9], T (&rate)[6]) {
  const ElementRow<Tile, 1, 9, T> rotation(f.rotation, e, f.elements);
  const ElementRow<Tile, 1, 6, T> stretch(f.stretch, e, f.elements);
  T v[6];
  for (int k = 0; k < 9; ++k) r[k] = rotation(k);
  for (int k = 0; k < 6; ++k) v[k] = stretch(k);
  formulas::update(l, dt, r, v, rate);
  for (int k = 0; k < 9; ++k) rotation(k) = r[k];
  for (int k = 0; k < 6; ++k) stretch(k) = v[k];
}

template <int Tile, class T>
STRATA_PERF_FUNCTION inline void dynamics_rotation(const DynamicsFields<T>& f, std::ptrdiff_t e) {
  const ElementRow<Tile, 1, 9, T> gradient(f.velocity_gradient, e, f.elements);
  const ElementRow<Tile, 1, 6, T> rates(f.rate, e, f.elements);
  T l[9], r[9], rate[6];
  for (int k = 0; k < 9; ++k) l[k] = gradient(k);
  update_in_memory<Tile>(f, e, static_cast<One<T>>(f.clock->dt), l, r, rate);
  for (int k = 0; k < 6; ++k) rates(k) = rate[k];
}

template <int Tile, class T>
STRATA_PERF_FUNCTION inline void dynamics_force(const DynamicsFields<T>& f, std::ptrdiff_t e) {
  const ElementRow<Tile, 1, 9, T> rotation(f.rotation, e, f.elements);
  const ElementRow<Tile, 1, 6, T> rates(f.rate, e, f.elements);
  const ElementRow<Tile, 3, 4, T> modes(f.mode_rates, e, f.elements);
  T r[9], rate[6], mode_rate[3][4];
  for (int k = 0; k < 9; ++k) r[k] = rotation(k);
  for (int k = 0; k < 6; ++k) rate[k] = rates(k);
  for (int a = 0; a < 4; ++a)
    for (int d = 0; d < 3; ++d) mode_rate[d][a] = modes(d, a);
  formulas::end<Tile>(f, e, static_cast<One<T>>(f.clock->dt), r, rate, mode_rate);
}

template <int Tile, class T>
STRATA_PERF_FUNCTION inline void dynamics_fused(const DynamicsFields<T>& f, std::ptrdiff_t e) {
  const One<T> dt = static_cast<One<T>>(f.clock->dt);
  T l[9], mode_rate[3][4], r[9], rate[6];
  formulas::middle<Tile>(f, e, dt, l, mode_rate);
  update_in_memory<Tile>(f, e, dt, l, r, rate);
  formulas::end<Tile>(f, e, dt, r, rate, mode_rate);
}

/// The next time step, from the least stable one: 9/10 of it.
STRATA_PERF_FUNCTION inline void dynamics_next_step(DynamicsClock& c, double stable) {
  if (c.failure != 0) return;
  if (c.step == 0) c.first_dt = c.minimum_dt = stable;
  c.stable_dt = stable;
  if (stable < c.minimum_dt) c.minimum_dt = stable;
  c.prev_dt = c.dt;
  c.dt = 0.9 * stable;
  c.time += c.dt;
  ++c.step;
}

/// Forces of a node, its velocity and displacement.
template <int Tile, class T>
STRATA_PERF_FUNCTION inline void dynamics_node(const DynamicsFields<T>& f, std::ptrdiff_t n) {
  double force[3] = {0, 0, 0};
  const std::int32_t last = f.offsets[n + 1];
  for (std::int32_t k = f.offsets[n]; k < last; ++k) {
    const std::int32_t corner = f.corners[k];
    const ElementRow<Tile, 3, 8, const T> of_element(f.element_force, corner / 8, f.elements);
    for (int d = 0; d < 3; ++d) force[d] += static_cast<double>(of_element(d, corner % 8));
  }
  const double dt = f.clock->dt, mean = 0.5 * (dt + f.clock->prev_dt);
  const double rate = mean / static_cast<double>(f.mass[n]);
  const int held = f.fixed[n];
  double done = 0;
  for (int d = 0; d < 3; ++d) {
    T& v = f.velocity[3 * n + d];
    const double old = static_cast<double>(v);
    if ((held >> d & 1) == 0) v = static_cast<T>(old - rate * force[d]);
    else f.reaction[3 * n + d] += mean * force[d];
    f.displacement[3 * n + d] += static_cast<T>(dt) * v;
    done += force[d] * (old + static_cast<double>(v));
  }
  f.work[n] += 0.5 * mean * done;
}

}  // namespace perf
