// Corners, edges and faces of a hexahedron, for kernels: pure functions without tables in memory.
//
// Corner c lies at (x, y, z), each 0 or 1, of the reference cube, in the order of Exodus II's HEX8. Edges are
// numbered 4 d + u + 2 v: d is the edge's direction, u and v where it lies in the two other directions, the
// lower one first. Faces 0 to 5 are Exodus' sides 1 to 6, less one: y = 0, x = 1, y = 1, x = 0, z = 0, z = 1.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::fem {

/// Where corner c lies in direction d: 0 or 1.
STRATA_FUNCTION constexpr int corner_bit(int c, int d) {
  return d == 0 ? (c + 1) / 2 % 2 : d == 1 ? c / 2 % 2 : c / 4;
}
/// The corner at (x, y, z), each 0 or 1.
STRATA_FUNCTION constexpr int corner_at(int x, int y, int z) { return 4 * z + (y != 0 ? 3 - x : x); }
/// The other end of the edge in direction d that leaves corner c.
STRATA_FUNCTION constexpr int corner_across(int c, int d) {
  return corner_at(corner_bit(c, 0) ^ (d == 0), corner_bit(c, 1) ^ (d == 1), corner_bit(c, 2) ^ (d == 2));
}

/// The edge of direction d at corner c, and the ends of an edge: 0 the lower one, 1 the higher.
STRATA_FUNCTION constexpr int edge_at(int c, int d) {
  return 4 * d + corner_bit(c, d == 0 ? 1 : 0) + 2 * corner_bit(c, d == 2 ? 1 : 2);
}
STRATA_FUNCTION constexpr int edge_corner(int edge, int end) {
  const int d = edge / 4, u = edge % 2, v = edge / 2 % 2;
  return d == 0 ? corner_at(end, u, v) : d == 1 ? corner_at(u, end, v) : corner_at(u, v, end);
}

/// The face whose normal has direction d, at 0 or 1 of it.
STRATA_FUNCTION constexpr int face_at(int d, int side) {
  return d == 0 ? (side != 0 ? 1 : 3) : d == 1 ? (side != 0 ? 2 : 0) : 4 + side;
}
/// The direction of a face's normal, and at which end of it the face lies.
STRATA_FUNCTION constexpr int face_direction(int face) { return face > 3 ? 2 : face % 2 != 0 ? 0 : 1; }
STRATA_FUNCTION constexpr int face_side(int face) { return face == 1 || face == 2 || face == 5; }
/// The corners of a face, k = 0 to 3, so that its normal points outwards: those of face_corners in
/// host_mesh.hpp.
STRATA_FUNCTION constexpr int face_corner(int face, int k) {
  if (face == 4) return (4 - k) % 4;
  if (face == 5) return 4 + k;
  if (face == 3) return k == 0 ? 3 : k == 1 ? 0 : k == 2 ? 4 : 7;
  return k == 0 ? face : k == 1 ? face + 1 : k == 2 ? face + 5 : face + 4;
}

}  // namespace strata::inline STRATA_ABI::fem
