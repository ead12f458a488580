// Volume and scaled Jacobian of a hexahedron, on hosts and in kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include <strata/miniapps/fem/hex_topology.hpp>

namespace strata::inline STRATA_ABI::fem {

/// The corners of an element: (corner, direction).
using HexCorners = double[8][3];

namespace detail {

struct Vector3 {
  double x, y, z;
};
STRATA_FUNCTION inline Vector3 difference(const double (&a)[3], const double (&b)[3]) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
STRATA_FUNCTION inline Vector3 operator+(const Vector3& a, const Vector3& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
STRATA_FUNCTION inline Vector3 operator*(double s, const Vector3& a) { return {s * a.x, s * a.y, s * a.z}; }
STRATA_FUNCTION inline double length_of(const Vector3& a) {
  return std::sqrt(a.x * a.x + a.y * a.y + a.z * a.z);
}
STRATA_FUNCTION inline double triple_product(const Vector3& a, const Vector3& b, const Vector3& c) {
  return a.x * (b.y * c.z - b.z * c.y) + a.y * (b.z * c.x - b.x * c.z) + a.z * (b.x * c.y - b.y * c.x);
}

// The determinant over the lengths; 0 where an edge has no length.
STRATA_FUNCTION inline double scaled_determinant(const Vector3& a, const Vector3& b, const Vector3& c) {
  const double lengths = length_of(a) * length_of(b) * length_of(c);
  return lengths > 0 ? triple_product(a, b, c) / lengths : 0;
}

// The derivative of position by reference coordinate d at (p, q) of the two other directions, each in [0, 1].
STRATA_FUNCTION inline Vector3 edge_between(const HexCorners& x, int d, double p, double q) {
  const auto edge = [&](int u, int v) {
    const int e = 4 * d + u + 2 * v;
    return difference(x[edge_corner(e, 1)], x[edge_corner(e, 0)]);
  };
  return (1 - q) * ((1 - p) * edge(0, 0) + p * edge(1, 0)) + q * ((1 - p) * edge(0, 1) + p * edge(1, 1));
}

}  // namespace detail

/// The determinant of the Jacobian matrix at (r, s, t) of the reference cube [0, 1]^3.
STRATA_FUNCTION inline double jacobian(const HexCorners& x, double r, double s, double t) {
  return detail::triple_product(detail::edge_between(x, 0, s, t), detail::edge_between(x, 1, r, t),
                                detail::edge_between(x, 2, r, s));
}

/// The volume, exact for every hexahedron of trilinear coordinates: the determinant is quadratic in each of
/// them, and two Gauss points in each direction integrate cubics.
STRATA_FUNCTION inline double volume(const HexCorners& x) {
  const double g = 0.21132486540518711775;  // (1 - 1/sqrt(3))/2
  double sum = 0;
  for (int c = 0; c < 8; ++c)
    sum += jacobian(x, corner_bit(c, 0) != 0 ? 1 - g : g, corner_bit(c, 1) != 0 ? 1 - g : g,
                    corner_bit(c, 2) != 0 ? 1 - g : g);
  return sum / 8;
}

/// The least determinant of the unit vectors along the edges at a corner, or along the axes at the centre: 1
/// for a box, 0 or less where the element is degenerate or turned inside out.
STRATA_FUNCTION inline double scaled_jacobian(const HexCorners& x) {
  double least =
      detail::scaled_determinant(detail::edge_between(x, 0, 0.5, 0.5), detail::edge_between(x, 1, 0.5, 0.5),
                                 detail::edge_between(x, 2, 0.5, 0.5));
  for (int c = 0; c < 8; ++c) {
    const auto along = [&](int d) {
      const int e = edge_at(c, d);
      return detail::difference(x[edge_corner(e, 1)], x[edge_corner(e, 0)]);
    };
    const double here = detail::scaled_determinant(along(0), along(1), along(2));
    // A coordinate that is not a number makes the comparison false: it must not pass for a good element.
    if (!(here >= least)) least = here;
  }
  return least;
}

}  // namespace strata::inline STRATA_ABI::fem
