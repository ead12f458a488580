// A small unstructured mesh of hexahedra, as section 5.1 of the Kokkos Array paper describes it, for the
// programs of its figures 13 to 25.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <numeric>
#include <vector>

#include "paper.hpp"

namespace strata_tests {

inline constexpr int nodes_per_element = 8;

/// A brick of nx * ny * nz elements between graded planes. Node numbers are scattered, so that nothing can
/// rely on their order. All arrays lie on the host.
struct HexMesh {
  int element_count, node_count;
  strata::MDArray<double, strata::Host> node_coordinates;      // (node, coordinate)
  strata::MDArray<int, strata::Host> element_node_identifier;  // (element, local node)
  strata::MDArray<int, strata::Host> node_element_offset;      // (node)
  strata::MDArray<int, strata::Host> node_element_identifier;  // (entry, 0: element, 1: local node)
  std::vector<std::array<int, 3>> grid;                        // of each node: its planes
};

/// Whether local node `n` lies on the element's second plane of direction `d` (1) or on the first (0), in the
/// usual order of a hexahedron's nodes.
STRATA_FUNCTION constexpr int hex_corner(int n, int d) {
  return d == 0 ? (n + 1) / 2 % 2 : d == 1 ? n / 2 % 2 : n / 4;
}

/// Plane p of a direction: graded, so that neighbouring elements differ in size.
inline double plane_position(int direction, int p) { return p * (1 + 0.25 * direction) + 0.05 * p * p; }

inline HexMesh make_hex_mesh(int nx, int ny, int nz) {
  using namespace strata;
  HexMesh mesh;
  mesh.element_count = nx * ny * nz;
  mesh.node_count = (nx + 1) * (ny + 1) * (nz + 1);
  mesh.node_coordinates = create_mdarray<double, Host>(mesh.node_count, 3);
  mesh.element_node_identifier = create_mdarray<int, Host>(mesh.element_count, nodes_per_element);
  mesh.node_element_offset = create_mdarray<int, Host>(mesh.node_count + 1);
  mesh.node_element_identifier = create_mdarray<int, Host>(mesh.element_count * nodes_per_element, 2);
  mesh.grid.resize(static_cast<std::size_t>(mesh.node_count));

  int step = mesh.node_count / 2 + 1;  // without a common divisor: i * step mod n visits all
  while (std::gcd(step, mesh.node_count) != 1) ++step;
  const auto node = [&](int i, int j, int k) {
    return ((i * (ny + 1) + j) * (nz + 1) + k) * step % mesh.node_count;
  };
  for (int i = 0; i <= nx; ++i)
    for (int j = 0; j <= ny; ++j)
      for (int k = 0; k <= nz; ++k) {
        const std::array<int, 3> planes{i, j, k};
        mesh.grid[static_cast<std::size_t>(node(i, j, k))] = planes;
        for (int d = 0; d < 3; ++d) mesh.node_coordinates(node(i, j, k), d) = plane_position(d, planes[d]);
      }
  for (int e = 0; e < mesh.element_count; ++e)
    for (int n = 0; n < nodes_per_element; ++n)
      mesh.element_node_identifier(e, n) =
          node(e / (ny * nz) + hex_corner(n, 0), e / nz % ny + hex_corner(n, 1), e % nz + hex_corner(n, 2));

  // The converse by counting; the elements of a node come in ascending order.
  for (int e = 0; e < mesh.element_count; ++e)
    for (int n = 0; n < nodes_per_element; ++n)
      ++mesh.node_element_offset(mesh.element_node_identifier(e, n) + 1);
  for (int n = 0; n < mesh.node_count; ++n) mesh.node_element_offset(n + 1) += mesh.node_element_offset(n);
  std::vector<int> filled(static_cast<std::size_t>(mesh.node_count), 0);
  for (int e = 0; e < mesh.element_count; ++e)
    for (int n = 0; n < nodes_per_element; ++n) {
      const int id = mesh.element_node_identifier(e, n);
      const int at = mesh.node_element_offset(id) + filled[static_cast<std::size_t>(id)]++;
      mesh.node_element_identifier(at, 0) = e;
      mesh.node_element_identifier(at, 1) = n;
    }
  return mesh;
}

/// An array of type `Target` with the shape and elements of `source`.
template <class Target, class Source>
Target copy_to(const Source& source) {
  const Target target = strata::create<Target>("", typename Target::mapping_type(source.extents()));
  strata::deep_copy(target, source);
  return target;
}

}  // namespace strata_tests
