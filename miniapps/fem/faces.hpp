// Which elements share a face or an edge, found through the corners that meet at a node. For kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <strata/core/config.hpp>
#include <strata/miniapps/fem/hex_topology.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

/// The number 12 e + edge that the first element of the mesh gives to an edge of element `e`.
STRATA_FUNCTION index_t first_of_edge(index_t e, int edge, const auto& nodes, const auto& offsets,
                                      const auto& corners) {
  const std::int32_t from = nodes(e, edge_corner(edge, 0)), to = nodes(e, edge_corner(edge, 1));
  for (index_t k = offsets(from); k < offsets(from + 1); ++k) {
    const index_t other = corners(k) / 8;
    const int corner = corners(k) % 8;
    for (int d = 0; d < 3; ++d)
      if (nodes(other, corner_across(corner, d)) == to) return 12 * other + edge_at(corner, d);
  }
  return 12 * e + edge;
}

/// The least and the greatest number 6 e + face that elements give to a face: equal where it lies on the
/// surface of the mesh.
struct FaceNumbers {
  index_t first, last;
};

/// The numbers of a face of element `e`.
STRATA_FUNCTION FaceNumbers numbers_of_face(index_t e, int face, const auto& nodes, const auto& offsets,
                                            const auto& corners) {
  FaceNumbers numbers{6 * e + face, 6 * e + face};
  int lowest = 0;
  std::int32_t own[4];
  for (int k = 0; k < 4; ++k) {
    own[k] = nodes(e, face_corner(face, k));
    if (own[k] < own[lowest]) lowest = k;
  }
  const std::int32_t at = own[lowest], opposite = own[(lowest + 2) % 4];
  const std::int32_t a = own[(lowest + 1) % 4], b = own[(lowest + 3) % 4];
  for (index_t k = offsets(at); k < offsets(at + 1); ++k) {
    const index_t other = corners(k) / 8;
    const int corner = corners(k) % 8;
    for (int d = 0; d < 3; ++d) {  // the face at this corner across direction d
      const int u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2;
      const int next = corner_across(corner, u), before = corner_across(corner, v);
      if (nodes(other, corner_across(next, v)) != opposite) continue;
      const std::int32_t c = nodes(other, next), f = nodes(other, before);
      if (!((c == a && f == b) || (c == b && f == a))) continue;
      const index_t number = 6 * other + face_at(d, corner_bit(corner, d));
      if (number < numbers.first) numbers.first = number;
      if (number > numbers.last) numbers.last = number;
    }
  }
  return numbers;
}

}  // namespace strata::inline STRATA_ABI::fem::detail
