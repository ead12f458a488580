// upload and download: a mesh to the memory of a device, and back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <strata/miniapps/fem/host_mesh.hpp>
#include <strata/miniapps/fem/node_corners.hpp>
#include <strata/views/deep_copy.hpp>

namespace strata::inline STRATA_ABI::fem {

namespace detail {

/// A new array with `count` rows of what lies at `data` on the host.
template <class Array, class T>
Array copy_of(const char* label, const T* data, std::size_t count,
              const typename Array::device_type& device) {
  using Source = View<const T, Serial, typename Array::extents_type, LayoutRight>;
  const auto rows = static_cast<index_t>(count);
  const Array array = create<Array>(label, rows, uninitialized, on(device));
  if (rows > 0) deep_copy(array, Source(data, rows));
  return array;
}

/// Copies the rows of an array to `data` on the host.
template <class Array, class T>
void copy_to(T* data, const Array& array) {
  using Target = View<T, Serial, typename Array::extents_type, LayoutRight>;
  if (array.extent(0) > 0) deep_copy(Target(data, array.extent(0)), array);
}

/// A list of a device, on the host.
template <class Array>
std::vector<typename Array::value_type> values_of_list(const Array& array) {
  std::vector<typename Array::value_type> values(static_cast<std::size_t>(array.extent(0)));
  copy_to(values.data(), array);
  return values;
}

template <class Arrays>
DeviceNodeSet<Arrays> upload_set(const NodeSet& set, const typename Arrays::device_type& device) {
  std::vector<std::int32_t> nodes = set.nodes;
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return {set.id, set.name, copy_of<NodeList<Arrays>>(set.name.c_str(), nodes.data(), nodes.size(), device)};
}

template <class Arrays>
DeviceSideSet<Arrays> upload_set(const SideSet& set, const typename Arrays::device_type& device) {
  using Elements = decltype(DeviceSideSet<Arrays>::elements);
  using Faces = decltype(DeviceSideSet<Arrays>::faces);
  const SideSet sides = sorted(set);
  const char* const label = set.name.c_str();
  return {set.id, set.name, copy_of<Elements>(label, sides.elements.data(), sides.elements.size(), device),
          copy_of<Faces>(label, sides.faces.data(), sides.faces.size(), device)};
}

}  // namespace detail

/// The mesh in the memory of `device`; sets in ascending order, nothing in them twice. For meshes that pass
/// check (mesh_check.hpp). Waits. OutOfMemory.
template <class Arrays>
Mesh<Arrays> upload(const HostMesh& host, const typename Arrays::device_type& device = {}) {
  Mesh<Arrays> mesh;
  mesh.device = device;
  mesh.source = host.source;
  const std::size_t nodes = host.coordinates.size(), elements = host.elements.size();
  mesh.coordinates = detail::copy_of<decltype(mesh.coordinates)>(
      "coordinates", nodes > 0 ? host.coordinates[0].data() : nullptr, nodes, device);
  mesh.element_nodes = detail::copy_of<decltype(mesh.element_nodes)>(
      "element_nodes", elements > 0 ? host.elements[0].data() : nullptr, elements, device);
  mesh.element_blocks = detail::copy_of<decltype(mesh.element_blocks)>(
      "element_blocks", host.element_blocks.data(), host.element_blocks.size(), device);
  for (const Block& block : host.blocks) {
    mesh.block_ids.push_back(block.id);
    mesh.block_names.push_back(block.name);
  }
  for (const NodeSet& set : host.node_sets) mesh.node_sets.push_back(detail::upload_set<Arrays>(set, device));
  for (const SideSet& set : host.side_sets) mesh.side_sets.push_back(detail::upload_set<Arrays>(set, device));
  mesh.node_ids = host.node_ids;
  mesh.element_ids = host.element_ids;
  mesh.remarks = host.remarks;
  build_node_corners(mesh);
  wait(device);
  return mesh;
}

/// The mesh in host memory, as writers take it. Waits.
template <class Arrays>
HostMesh download(const Mesh<Arrays>& mesh) {
  HostMesh host;
  host.source = mesh.source;
  host.coordinates.resize(static_cast<std::size_t>(mesh.node_count()));
  host.elements.resize(static_cast<std::size_t>(mesh.element_count()));
  if (!host.coordinates.empty()) detail::copy_to(host.coordinates[0].data(), mesh.coordinates);
  if (!host.elements.empty()) detail::copy_to(host.elements[0].data(), mesh.element_nodes);
  host.element_blocks = detail::values_of_list(mesh.element_blocks);
  for (std::size_t b = 0; b < mesh.block_names.size(); ++b)
    host.blocks.push_back({mesh.block_ids[b], mesh.block_names[b]});
  for (const auto& set : mesh.node_sets)
    host.node_sets.push_back({set.id, set.name, detail::values_of_list(set.nodes)});
  for (const auto& set : mesh.side_sets)
    host.side_sets.push_back(
        {set.id, set.name, detail::values_of_list(set.elements), detail::values_of_list(set.faces)});
  host.node_ids = mesh.node_ids;
  host.element_ids = mesh.element_ids;
  host.remarks = mesh.remarks;
  return host;
}

}  // namespace strata::inline STRATA_ABI::fem
