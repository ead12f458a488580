// SPDX-License-Identifier: Apache-2.0
#include <strata/miniapps/fem/gather_faces.hpp>
#include <strata/miniapps/fem/load_mesh.hpp>
#include <strata/miniapps/fem/mesh_on_host.hpp>
#include <strata/miniapps/fem/selector.hpp>

namespace strata::inline STRATA_ABI::fem {

MeshOnHost load_mesh_on_host(const std::string& spec, int refinements) {
  return load_mesh<PlainArrays<Threads>>(spec, refinements, Threads{});
}

std::vector<std::int32_t> select_nodes_on_host(const MeshOnHost& mesh, const std::string& selector) {
  const auto nodes = select_nodes(mesh, selector);
  wait(Threads{});
  return {nodes.data(), nodes.data() + nodes.extent(0)};
}

NodeAreas node_areas_on_host(const MeshOnHost& mesh, const std::string& selector) {
  return node_areas(faces_on_host(mesh, select_faces(mesh, selector)));
}

HostMesh host_mesh_of(const MeshOnHost& mesh) { return download(mesh); }

}  // namespace strata::inline STRATA_ABI::fem
