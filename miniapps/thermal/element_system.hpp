// The matrix and vector of one element for the heat equation
//
//   c dT/dt - div(k0 (1 + beta T) grad T) = Q - sink T^2
//
// weakly, by backward Euler in time. The vector is the residual at the state T, the right-hand side of a
// Newton step:
//
//   b_i = sum over q of N_i (Q - sink T^2 - c dT/dt) det J - grad N_i . k0 (1 + beta T) grad T det J
//
// with dT = T - T_old, the change since the begin of the time step: an array of its own, as the difference of
// the two would lose its digits in short steps.
//
// and the matrix its negative derivative, times 1/(1 + beta T): with y = (1 + beta T) dT the flux of a change
// is k0 grad y (Kirchhoff's transformation), so that a step solves A y = b with a symmetric matrix
//
//   A_ij = sum over q of k0 grad N_i . grad N_j det J + (c/dt + 2 sink T)/(1 + beta T) N_i N_j det J
//
// For beta = 0 this is Newton's method to the letter; else the derivative is that of the equation, not of its
// discretisation, and steps converge at a small rate where Newton's would square. Linear problems start from
// T = 0: A and b are then the matrix and the right-hand side.
//
// Where the conductivity changes by a large factor inside of an element and the time step is short, the two
// derivatives differ too much for that. Picard's matrix, symmetric for dT itself, is right where storage
// rules and slower where conduction does: the derivative at a conductivity that is frozen,
//
//   A_ij = sum over q of k0 (1 + beta T) grad N_i . grad N_j det J + (c/dt + 2 sink T) N_i N_j det J
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/miniapps/thermal/element.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// Columns of the table of materials, a row for each block of the mesh: k0 > 0; c, the heat capacity of a
/// unit of volume; Q, heat made in a unit of volume and time.
inline constexpr int conductivity_column = 0, capacity_column = 1, source_column = 2, material_columns = 3;

/// What is the same for all elements.
template <class T>
struct Coefficients {
  T beta = 0;  ///< relative growth of the conductivity with temperature
  T sink = 0;  ///< heat lost in a unit of volume and time, over T^2
  T rate = 0;  ///< 1/dt; 0: steady
  /// Whether the matrix is Picard's.
  bool is_frozen = false;
  friend bool operator==(const Coefficients&, const Coefficients&) = default;
};

/// Which terms a kernel computes; the vector always.
enum Terms : int {
  MatrixTerm = 1,  ///< the matrix
  StateTerm = 2,   ///< the residual at a state; without it the state is 0 and nothing changes in time
};

/// The source of the block's material.
struct BlockSource {
  static constexpr bool needs_position = false;
};

/// Temperatures at the Gauss points from those at the corners, by bits.
template <class T>
STRATA_FUNCTION constexpr void corners_to_points(const T (&corners)[8], T (&coefficients)[8],
                                                 T (&points)[8]) {
  unrolled<8>([&](auto b) { coefficients[b] = corners[b] * T(0.125); });
  to_monomials(coefficients);
  to_points(coefficients, points);
}

/// load -= the flux through the element at the state with these coefficients; growth[q] is k0 (1 + beta T).
template <class T>
STRATA_FUNCTION constexpr void subtract_flux(const Metric<T>& metric, const T (&growth)[8],
                                             const T (&coefficients)[8], T (&load)[8]) {
  T slope[3][8], flux[3][8], sums[8];
  unrolled<3>([&](auto a) { derivative<a>(coefficients, slope[a]); });
  unrolled<3>([&](auto a) {
    unrolled<8>([&](auto q) {
      T sum = T(0);
      unrolled<3>([&](auto b) {
        sum = multiply_add(metric.flow[component(a < b ? a : b, a < b ? b : a)][q], slope[b][q & ~(1 << b)],
                           sum);
      });
      flux[a][q] = growth[q] * sum;
    });
    to_monomials(flux[a]);
  });
  unrolled<8>([&](auto m) {
    T sum = T(0);
    unrolled<3>([&](auto a) {
      if constexpr ((m >> a & 1) == 1) sum += flux[a][m ^ 1 << a];
    });
    constexpr int factors = degree(m) > 0 ? degree(m) - 1 : 0;
    sums[m] = static_cast<T>(gauss_power(factors) / 8) * sum;
  });
  to_corners<true>(sums);
  unrolled<8>([&](auto b) { load[b] -= sums[b]; });
}

/// What goes into the system of one element.
template <class T>
struct ElementInput {
  double x[3][8];  // corners by bits, as everything here
  T material[material_columns];
  T temperature[8];  // the state, where there is StateTerm
  T change[8];       // since the begin of the time step, likewise
};

/// The system: load[b] for the corners by bits, and the matrix between monomials with its factor
/// (corner_matrix).
template <class T, int Kind>
struct ElementSystem {
  static constexpr bool has_matrix = (Kind & MatrixTerm) != 0;
  static constexpr bool has_state = (Kind & StateTerm) != 0;

  T load[8];
  T matrix[8][8];
  T scale;

  /// Calls store(i, j, A_ij) for the corners i <= j by bits.
  template <class Store>
  STRATA_FUNCTION constexpr void each_entry(const Store& store) const {
    corner_matrix<has_state>(matrix, scale, store);
  }
};

template <int Kind, class T, class Source>
STRATA_FUNCTION constexpr void compute_system(const ElementInput<T>& in, const Coefficients<T>& c,
                                              const Source& source, ElementSystem<T, Kind>& out) {
  using System = ElementSystem<T, Kind>;
  Metric<T> metric;
  measure(in.x, metric);
  const T k = in.material[conductivity_column];

  T state[8], state_coefficients[8], change[8], change_coefficients[8], position[3][8];
  if constexpr (System::has_state) {
    corners_to_points(in.temperature, state_coefficients, state);
    corners_to_points(in.change, change_coefficients, change);
  }
  if constexpr (Source::needs_position)
    unrolled<3>([&](auto d) {
      T corners[8], coefficients[8];
      unrolled<8>([&](auto b) { corners[b] = static_cast<T>(in.x[d][b]); });
      corners_to_points(corners, coefficients, position[d]);
    });

  T weight[8], growth[8];
  const T storage = c.rate * in.material[capacity_column];
  unrolled<8>([&](auto q) {
    T density;
    if constexpr (Source::needs_position) density = source(position[0][q], position[1][q], position[2][q]);
    else density = in.material[source_column];
    if constexpr (System::has_state) {
      const T relative = T(1) + c.beta * state[q];
      density -= storage * change[q] + c.sink * state[q] * state[q];
      growth[q] = k * relative;
      if constexpr (System::has_matrix)
        weight[q] =
            metric.volume[q] * (storage + T(2) * c.sink * state[q]) / (c.is_frozen ? k : relative * k);
    }
    out.load[q] = metric.volume[q] * density;
  });
  density_to_corners(out.load);
  if constexpr (System::has_state) subtract_flux(metric, growth, state_coefficients, out.load);
  if constexpr (System::has_matrix) {
    if constexpr (System::has_state) {
      if (c.is_frozen)
        unrolled<8>([&](auto q) {
          const T relative = T(1) + c.beta * state[q];
          unrolled<6>([&](auto s) { metric.flow[s][q] *= relative; });
        });
    }
    monomial_matrix<System::has_state>(metric.flow, weight, out.matrix);
    out.scale = k;
  }
}

}  // namespace strata::inline STRATA_ABI::thermal
