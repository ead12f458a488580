// Areas of faces, shared out among their nodes: what one unit for each unit of area gives to a node, the
// integral of its shape function over the faces.
//
//   const NodeAreas areas = node_areas(faces_on_host(mesh, select_faces(mesh, "top")));   // gather_faces.hpp
//
// The arithmetic is the host's, once for all devices, so that it has the same bits on each of them: surfaces
// are small beside meshes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::fem {

/// Faces on the host: four nodes around each, and where they are.
struct HostFaces {
  std::vector<std::array<std::int32_t, 4>> nodes;
  std::vector<std::array<double, 12>> coordinates;  // (corner, direction)
};

/// Nodes of faces, ascending, none twice, and the share of each in the area.
struct NodeAreas {
  std::vector<std::int32_t> nodes;
  std::vector<double> areas;

  double total() const;
};
/// By 2 x 2 Gauss points a face.
NodeAreas node_areas(const HostFaces& faces);

}  // namespace strata::inline STRATA_ABI::fem
