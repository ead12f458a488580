// faces_on_host: faces of a mesh on a device, as the host takes them to measure their areas (face_areas.hpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/miniapps/fem/face_areas.hpp>
#include <strata/miniapps/fem/selector.hpp>
#include <strata/miniapps/fem/upload.hpp>

namespace strata::inline STRATA_ABI::fem {

namespace detail {

struct GatherFaces {
  STRATA_FUNCTION void operator()(index_t q, auto elements, auto faces, auto element_nodes, auto coordinates,
                                  auto nodes, auto corners) const {
    for (int k = 0; k < 4; ++k) {
      const std::int32_t node = element_nodes(elements(q), face_corner(faces(q), k));
      nodes(q, k) = node;
      for (int d = 0; d < 3; ++d) corners(q, 3 * k + d) = coordinates(node, d);
    }
  }
};

}  // namespace detail

/// The faces of a set, in its order. Waits.
template <class Arrays>
HostFaces faces_on_host(const Mesh<Arrays>& mesh, const DeviceSideSet<Arrays>& set) {
  const auto where = on(mesh.device);
  const index_t count = set.elements.extent(0);
  const auto nodes = create<typename Arrays::template node_array<std::int32_t, 4>>("nodes of faces", count,
                                                                                   uninitialized, where);
  const auto corners = create<typename Arrays::template node_array<double, 12>>("corners of faces", count,
                                                                                uninitialized, where);
  parallel_for("gather faces", where, count,
               with(detail::GatherFaces{}, set.elements, set.faces, mesh.element_nodes, mesh.coordinates,
                    nodes, corners));
  wait(mesh.device);
  HostFaces faces;
  faces.nodes.resize(static_cast<std::size_t>(count));
  faces.coordinates.resize(static_cast<std::size_t>(count));
  if (count == 0) return faces;
  detail::copy_to(faces.nodes[0].data(), nodes);
  detail::copy_to(faces.coordinates[0].data(), corners);
  return faces;
}

}  // namespace strata::inline STRATA_ABI::fem
