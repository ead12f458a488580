// What the application does with meshes, compiled once for each device (make_heat.cpp): the files for double
// and float fields leave it to that one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/miniapps/fem/face_areas.hpp>
#include <strata/miniapps/fem/node_graph.hpp>
#include <strata/miniapps/fem/selector.hpp>
#include <strata/miniapps/fem/upload.hpp>
#include <strata/miniapps/thermal/arrays_for.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// The graph of the matrix, and where the entries of elements lie in it.
template <class Arrays>
struct MatrixGraph {
  using Graph = std::remove_cvref_t<decltype(fem::node_graph(std::declval<fem::Mesh<Arrays>>()))>;
  Graph graph;
  typename Arrays::template element_array<fem::SlotWord, 8> slots;
};

/// Makes them. MeshError, OutOfMemory.
template <class Arrays>
MatrixGraph<Arrays> matrix_graph(const fem::Mesh<Arrays>& mesh);

/// fem::select_nodes.
template <class Arrays>
fem::NodeList<Arrays> selected_nodes(const fem::Mesh<Arrays>& mesh, const std::string& selector);

/// fem::node_areas of fem::select_faces.
template <class Arrays>
fem::NodeAreas selected_areas(const fem::Mesh<Arrays>& mesh, const std::string& selector);

/// fem::download.
template <class Arrays>
fem::HostMesh mesh_on_host(const fem::Mesh<Arrays>& mesh);

}  // namespace strata::inline STRATA_ABI::thermal
