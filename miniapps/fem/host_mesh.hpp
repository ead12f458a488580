// HostMesh: a mesh of eight-node hexahedra in host memory, as a file has it. Readers make it, check() looks
// at it (mesh_check.hpp), Mesh (mesh.hpp) takes it to a device, writers use its numbers and names. Plain
// data: no device, no thread.
//
// Corners of an element are in the order of Exodus II's HEX8 (1 to 4 around the bottom, counter-clockwise
// seen from above, 5 to 8 above them); its faces 0 to 5 are Exodus' sides 1 to 6.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::fem {

/// The corners of each face, so that its normal points outwards; faces are Exodus' sides 1 to 6, less one.
inline constexpr std::array<std::array<int, 4>, 6> face_corners = {
    {{0, 1, 5, 4}, {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}, {0, 3, 2, 1}, {4, 5, 6, 7}}};

/// Where the corners are in the cube [-1, 1]^3.
inline constexpr int corner_signs[8][3] = {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1},
                                           {-1, -1, 1},  {1, -1, 1},  {1, 1, 1},  {-1, 1, 1}};

/// A part of the elements, usually of one material.
struct Block {
  std::int64_t id = 1;
  std::string name;
};

/// Nodes with a name.
struct NodeSet {
  std::int64_t id = 0;
  std::string name;
  std::vector<std::int32_t> nodes;
};

/// Faces of elements with a name.
struct SideSet {
  std::int64_t id = 0;
  std::string name;
  std::vector<std::int32_t> elements;
  std::vector<std::int8_t> faces;  // of the element of the same place: 0 to 5
};
/// The set with its faces in ascending order, each once.
SideSet sorted(const SideSet& set);

/// A mesh; indices count from 0.
struct HostMesh {
  std::string source;                                 // the file or description it comes from
  std::vector<std::array<double, 3>> coordinates;     // of each node, in the file's units
  std::vector<std::array<std::int32_t, 8>> elements;  // the nodes at the corners of each element
  std::vector<std::int32_t> element_blocks;           // index into blocks, of each element
  std::vector<std::int64_t> node_ids;                 // the file's numbers; empty: 1, 2, 3 ...
  std::vector<std::int64_t> element_ids;              // likewise
  std::vector<Block> blocks;                          // at least one
  std::vector<NodeSet> node_sets;
  std::vector<SideSet> side_sets;
  std::vector<std::string> remarks;  // sentences on what of the file was left out

  std::int64_t node_id(std::int32_t node) const {
    return node_ids.empty() ? std::int64_t{node} + 1 : node_ids[static_cast<std::size_t>(node)];
  }
  std::int64_t element_id(std::int32_t element) const {
    return element_ids.empty() ? std::int64_t{element} + 1 : element_ids[static_cast<std::size_t>(element)];
  }
};

}  // namespace strata::inline STRATA_ABI::fem
