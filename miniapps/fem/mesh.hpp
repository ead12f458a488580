// Mesh: a mesh of eight-node hexahedra in the memory of a device.
//
//   auto mesh = load_mesh<PlainArrays<Cuda>>("box:10x11x22", 0, Cuda{0});   // load_mesh.hpp: boxes and files
//   auto mesh = make_box<PlainArrays<Cuda>>(parse_box("box:4x4x4"));        // box.hpp
//   auto mesh = upload<PlainArrays<Cuda>>(host_mesh);                       // upload.hpp, and back: download
//
// Copies of a Mesh share the arrays, as copies of views do. Nothing changes them once they are made, so that
// any number of queues may read them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <strata/miniapps/fem/arrays.hpp>

namespace strata::inline STRATA_ABI::fem {

/// Numbers of nodes on the device.
template <class Arrays>
using NodeList = typename Arrays::template node_array<std::int32_t, rank<1>>;

/// A node set on the device.
template <class Arrays>
struct DeviceNodeSet {
  std::int64_t id = 0;
  std::string name;
  NodeList<Arrays> nodes;  // ascending, none twice
};

/// A side set on the device: faces of elements.
template <class Arrays>
struct DeviceSideSet {
  std::int64_t id = 0;
  std::string name;
  typename Arrays::template node_array<std::int32_t, rank<1>> elements;
  typename Arrays::template node_array<std::int8_t, rank<1>>
      faces;  // 0 to 5, as in face_corners (host_mesh.hpp)
};

/// The arrays of a mesh. Coordinates are double whatever the fields of an application are.
template <class Arrays>
struct Mesh {
  using arrays_type = Arrays;
  using device_type = typename Arrays::device_type;

  device_type device{};  // the instance whose memory holds the arrays
  std::string source;    // the file or description it comes from

  typename Arrays::template node_array<double, 3> coordinates;                    // (node, direction)
  typename Arrays::template element_array<std::int32_t, 8> element_nodes;         // (element, corner)
  typename Arrays::template element_array<std::int32_t, rank<1>> element_blocks;  // index into block_names
  /// The corners that meet at a node, in compressed rows: entries k = node_offsets(n) ... node_offsets(n + 1)
  /// - 1, each 8 * element + corner, ascending: the order in which gathers add, the same on every device.
  typename Arrays::template node_array<std::int32_t, rank<1>> node_offsets;  // nodes + 1
  typename Arrays::template node_array<std::int32_t, rank<1>> node_corners;  // 8 * elements

  std::vector<std::int64_t> block_ids;
  std::vector<std::string> block_names;
  std::vector<DeviceNodeSet<Arrays>> node_sets;
  std::vector<DeviceSideSet<Arrays>> side_sets;
  std::vector<std::int64_t> node_ids;     // the numbers in the file, on the host; empty: 1, 2, 3 ...
  std::vector<std::int64_t> element_ids;  // likewise
  std::vector<std::string> remarks;       // what the reader left out or changed, a sentence each

  index_t node_count() const { return coordinates.extent(0); }
  index_t element_count() const { return element_nodes.extent(0); }
  std::int64_t node_id(index_t node) const {
    return node_ids.empty() ? node + 1 : node_ids[static_cast<std::size_t>(node)];
  }
  std::int64_t element_id(index_t element) const {
    return element_ids.empty() ? element + 1 : element_ids[static_cast<std::size_t>(element)];
  }
};

/// 8 * element + corner has 31 bits.
inline constexpr index_t max_elements = (index_t{1} << 28) - 1;

}  // namespace strata::inline STRATA_ABI::fem
