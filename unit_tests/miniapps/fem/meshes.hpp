// What the tests of finite-element meshes share: meshes in host memory, and lists of a device as vectors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include <strata/miniapps/fem/host_mesh.hpp>
#include <strata/miniapps/fem/mesh.hpp>

#include "test_devices.hpp"

namespace strata_tests {

/// The elements of an array of rank 1 of a device.
template <class V>
auto list_of(const V& view) {
  const auto host = on_host(view);
  std::vector<typename V::value_type> values;
  for (strata::index_t i = 0; i < host.extent(0); ++i) values.push_back(host(i));
  return values;
}

/// A brick of nx * ny * nz elements between planes of growing distance. Node numbers are scattered, so that
/// nothing can rely on their order. Two blocks; side set `bottom` (z = 0) and node set `origin`.
inline strata::fem::HostMesh scattered_brick(int nx, int ny, int nz) {
  strata::fem::HostMesh mesh;
  mesh.source = "scattered brick";
  const int nodes = (nx + 1) * (ny + 1) * (nz + 1);
  int step = nodes / 2 + 1;  // without a common divisor: i * step mod n visits all
  while (std::gcd(step, nodes) != 1) ++step;
  const auto node = [&](int i, int j, int k) { return ((i * (ny + 1) + j) * (nz + 1) + k) * step % nodes; };
  const auto plane = [](int direction, int p) { return p * (1 + 0.25 * direction) + 0.0625 * p * p; };
  mesh.coordinates.resize(static_cast<std::size_t>(nodes));
  for (int i = 0; i <= nx; ++i)
    for (int j = 0; j <= ny; ++j)
      for (int k = 0; k <= nz; ++k)
        mesh.coordinates[static_cast<std::size_t>(node(i, j, k))] = {plane(0, i), plane(1, j), plane(2, k)};
  mesh.blocks = {{10, "left"}, {20, "right"}};
  strata::fem::SideSet bottom{7, "bottom", {}, {}};
  for (int k = 0; k < nz; ++k)
    for (int j = 0; j < ny; ++j)
      for (int i = 0; i < nx; ++i) {
        if (k == 0) {
          bottom.elements.push_back(static_cast<std::int32_t>(mesh.elements.size()));
          bottom.faces.push_back(4);
        }
        mesh.elements.push_back({node(i, j, k), node(i + 1, j, k), node(i + 1, j + 1, k), node(i, j + 1, k),
                                 node(i, j, k + 1), node(i + 1, j, k + 1), node(i + 1, j + 1, k + 1),
                                 node(i, j + 1, k + 1)});
        mesh.element_blocks.push_back(i < nx / 2 ? 0 : 1);
      }
  mesh.side_sets = {bottom};
  mesh.node_sets = {{3, "origin", {node(0, 0, 0)}}};
  return mesh;
}

}  // namespace strata_tests
