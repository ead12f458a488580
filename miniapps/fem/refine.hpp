// refine: cuts every hexahedron into eight. On the device.
//
// An edge or a face belongs to the first element that has it, found through the corners that meet at its
// lowest node (faces.hpp). Each element counts its own; a scan of the counts gives the numbers of the new
// nodes, the same on every device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <utility>

#include <strata/algorithms/parallel_for.hpp>
#include <strata/algorithms/parallel_scan.hpp>
#include <strata/miniapps/fem/faces.hpp>
#include <strata/miniapps/fem/marks.hpp>
#include <strata/miniapps/fem/mesh.hpp>
#include <strata/miniapps/fem/node_corners.hpp>
#include <strata/views/deep_copy.hpp>
#include <strata/views/subview.hpp>

namespace strata::inline STRATA_ABI::fem {

/// MeshError: `elements` cannot be refined `times` times.
[[noreturn]] void fail_refinement(const std::string& source, index_t elements, int times);

namespace detail {

/// Who numbers the edges and faces of a mesh, and how many come before those of an element.
template <class Arrays>
struct Halving {
  typename Arrays::template element_array<std::int32_t, 12>
      edges;                                                       // 12 e + edge of the element it belongs to
  typename Arrays::template element_array<std::int32_t, 6> faces;  // 6 e + face
  NodeList<Arrays> own;  // bits 0 to 11: the edges that belong to the element; 12 to 17: faces
  NodeList<Arrays> edges_before, faces_before;  // elements + 1
  std::int32_t edge_count = 0, face_count = 0;
};

STRATA_FUNCTION constexpr int count_bits(int bits) {
  int count = 0;
  for (; bits != 0; bits &= bits - 1) ++count;
  return count;
}

struct FindOwners {
  STRATA_FUNCTION void operator()(index_t e, auto nodes, auto offsets, auto corners, auto edges, auto faces,
                                  auto own, auto own_edges, auto own_faces) const {
    int bits = 0;
    for (int k = 0; k < 12; ++k) {
      const index_t first = first_of_edge(e, k, nodes, offsets, corners);
      edges(e, k) = static_cast<std::int32_t>(first);
      if (first == 12 * e + k) bits |= 1 << k;
    }
    own_edges(e) = count_bits(bits);
    for (int k = 0; k < 6; ++k) {
      const index_t first = numbers_of_face(e, k, nodes, offsets, corners).first;
      faces(e, k) = static_cast<std::int32_t>(first);
      if (first == 6 * e + k) bits |= 1 << (12 + k);
    }
    own_faces(e) = count_bits(bits >> 12);
    own(e) = bits;
  }
};

/// The numbers of the nodes of a refined mesh.
struct NewNodes {
  std::int32_t first_edge, first_face, first_centre;

  STRATA_FUNCTION std::int32_t of_edge(std::int32_t number, const auto& own, const auto& before) const {
    const std::int32_t e = number / 12;
    return first_edge + before(e) + count_bits(own(e) & ((1 << number % 12) - 1));
  }
  STRATA_FUNCTION std::int32_t of_face(std::int32_t number, const auto& own, const auto& before) const {
    const std::int32_t e = number / 6;
    return first_face + before(e) + count_bits((own(e) >> 12) & ((1 << number % 6) - 1));
  }
  STRATA_FUNCTION std::int32_t of_centre(index_t e) const {
    return first_centre + static_cast<std::int32_t>(e);
  }
};

// The new nodes that belong to an element, each the mean of `count` corners: calls f(node, corners, count).
STRATA_FUNCTION void for_own_nodes(index_t e, const NewNodes& new_nodes, int own, std::int32_t edges_before,
                                   std::int32_t faces_before, const auto& f) {
  std::int32_t edge = new_nodes.first_edge + edges_before, face = new_nodes.first_face + faces_before;
  int corners[8];
  for (int k = 0; k < 12; ++k)
    if ((own >> k & 1) != 0) {
      for (int c = 0; c < 2; ++c) corners[c] = edge_corner(k, c);
      f(edge++, corners, 2);
    }
  for (int k = 0; k < 6; ++k)
    if ((own >> (12 + k) & 1) != 0) {
      for (int c = 0; c < 4; ++c) corners[c] = face_corner(k, c);
      f(face++, corners, 4);
    }
  for (int c = 0; c < 8; ++c) corners[c] = c;
  f(new_nodes.of_centre(e), corners, 8);
}

struct CopyNode {
  STRATA_FUNCTION void operator()(index_t n, auto from, auto to) const {
    for (int d = 0; d < 3; ++d) to(n, d) = from(n, d);
  }
};

struct PlaceNewNodes {
  NewNodes new_nodes;

  STRATA_FUNCTION void operator()(index_t e, auto nodes, auto own, auto edges_before, auto faces_before,
                                  auto coordinates) const {
    const auto place = [&](std::int32_t node, const int* corners, int count) {
      for (int d = 0; d < 3; ++d) {
        double sum = 0;
        for (int c = 0; c < count; ++c) sum += coordinates(nodes(e, corners[c]), d);
        coordinates(node, d) = sum / count;
      }
    };
    for_own_nodes(e, new_nodes, own(e), edges_before(e), faces_before(e), place);
  }
};

struct MarkNewNodes {
  NewNodes new_nodes;

  STRATA_FUNCTION void operator()(index_t e, auto nodes, auto own, auto edges_before, auto faces_before,
                                  auto marks) const {
    const auto mark = [&](std::int32_t node, const int* corners, int count) {
      std::int32_t all = 1;
      for (int c = 0; c < count; ++c) all &= marks(nodes(e, corners[c]));
      marks(node) = all;
    };
    for_own_nodes(e, new_nodes, own(e), edges_before(e), faces_before(e), mark);
  }
};

struct CutElement {
  NewNodes new_nodes;

  STRATA_FUNCTION void operator()(index_t e, auto nodes, auto edges, auto faces, auto own, auto edges_before,
                                  auto faces_before, auto children) const {
    for (int child = 0; child < 8; ++child)
      for (int c = 0; c < 8; ++c) {
        // Where the child's corner lies in the element: 0, 1 (half way) or 2 in each direction.
        const int x = corner_bit(child, 0) + corner_bit(c, 0), y = corner_bit(child, 1) + corner_bit(c, 1),
                  z = corner_bit(child, 2) + corner_bit(c, 2);
        const int corner = corner_at(x / 2, y / 2, z / 2);
        const int halves = (x == 1) + (y == 1) + (z == 1);
        std::int32_t node;
        if (halves == 0) {
          node = nodes(e, corner);
        } else if (halves == 1) {
          const int edge = edge_at(corner, x == 1 ? 0 : y == 1 ? 1 : 2);
          node = new_nodes.of_edge(edges(e, edge), own, edges_before);
        } else if (halves == 2) {
          const int d = x != 1 ? 0 : y != 1 ? 1 : 2;
          node = new_nodes.of_face(faces(e, face_at(d, corner_bit(corner, d))), own, faces_before);
        } else {
          node = new_nodes.of_centre(e);
        }
        children(8 * e + child, c) = node;
      }
  }
};

struct CopyBlock {
  STRATA_FUNCTION void operator()(index_t e, auto from, auto to) const { to(e) = from(e / 8); }
};

struct CutSide {
  STRATA_FUNCTION void operator()(index_t q, auto elements, auto faces, auto new_elements,
                                  auto new_faces) const {
    const int face = faces(q), d = face_direction(face), side = face_side(face);
    index_t to = 4 * q;
    for (int c = 0; c < 8; ++c)
      if (corner_bit(c, d) == side) {
        new_elements(to) = 8 * elements(q) + c;
        new_faces(to++) = faces(q);
      }
  }
};

template <class Arrays>
Halving<Arrays> find_halving(const Mesh<Arrays>& mesh) {
  Halving<Arrays> halving;
  const auto where = on(mesh.device);
  const index_t elements = mesh.element_count();
  halving.edges = create<decltype(halving.edges)>("owners of edges", elements, uninitialized, where);
  halving.faces = create<decltype(halving.faces)>("owners of faces", elements, uninitialized, where);
  halving.own = create<NodeList<Arrays>>("own edges and faces", elements, uninitialized, where);
  halving.edges_before = create<NodeList<Arrays>>("edges before", elements + 1, where);
  halving.faces_before = create<NodeList<Arrays>>("faces before", elements + 1, where);
  parallel_for("find the owners of edges and faces", where, elements,
               with(FindOwners{}, mesh.element_nodes, mesh.node_offsets, mesh.node_corners, halving.edges,
                    halving.faces, halving.own, halving.edges_before, halving.faces_before));
  exclusive_scan(halving.edges_before, halving.edges_before);
  exclusive_scan(halving.faces_before, halving.faces_before);
  deep_copy(halving.edge_count, subview(halving.edges_before, elements));
  deep_copy(halving.face_count, subview(halving.faces_before, elements));
  return halving;
}

template <class Arrays>
void refine_sets(const Mesh<Arrays>& mesh, const Halving<Arrays>& halving, const NewNodes& new_nodes,
                 Mesh<Arrays>& finer) {
  const auto where = on(mesh.device);
  for (const auto& set : mesh.side_sets) {
    DeviceSideSet<Arrays> cut{set.id, set.name, {}, {}};
    const index_t count = set.elements.extent(0);
    cut.elements = create<decltype(cut.elements)>(set.name.c_str(), 4 * count, uninitialized, where);
    cut.faces = create<decltype(cut.faces)>(set.name.c_str(), 4 * count, uninitialized, where);
    parallel_for("cut sides", where, count,
                 with(CutSide{}, set.elements, set.faces, cut.elements, cut.faces));
    finer.side_sets.push_back(cut);
  }
  for (const auto& set : mesh.node_sets) {
    const auto marks = create<NodeList<Arrays>>("marked nodes", finer.node_count(), where);
    parallel_for("mark nodes", where, set.nodes.extent(0), with(MarkListed{}, set.nodes, marks));
    parallel_for("mark new nodes", where, mesh.element_count(),
                 with(MarkNewNodes{new_nodes}, mesh.element_nodes, halving.own, halving.edges_before,
                      halving.faces_before, marks));
    finer.node_sets.push_back({set.id, set.name, list_marked<Arrays>(set.name.c_str(), marks, mesh.device)});
  }
}

// Nodes keep their numbers in the file, new ones get the next.
inline std::vector<std::int64_t> extend_ids(std::vector<std::int64_t> ids, index_t count) {
  if (ids.empty()) return ids;
  std::int64_t last = *std::max_element(ids.begin(), ids.end());
  while (static_cast<index_t>(ids.size()) < count) ids.push_back(++last);
  return ids;
}

template <class Arrays>
Mesh<Arrays> refine_once(const Mesh<Arrays>& mesh) {
  const auto where = on(mesh.device);
  const index_t elements = mesh.element_count(), nodes = mesh.node_count();
  const Halving<Arrays> halving = find_halving(mesh);
  const auto first_edge = static_cast<std::int32_t>(nodes);
  const NewNodes new_nodes{first_edge, first_edge + halving.edge_count,
                           first_edge + halving.edge_count + halving.face_count};
  Mesh<Arrays> finer;
  finer.device = mesh.device;
  finer.source = mesh.source;
  finer.remarks = mesh.remarks;
  finer.block_ids = mesh.block_ids;
  finer.block_names = mesh.block_names;
  finer.coordinates = create<decltype(finer.coordinates)>("coordinates", new_nodes.first_centre + elements,
                                                          uninitialized, where);
  finer.element_nodes =
      create<decltype(finer.element_nodes)>("element_nodes", 8 * elements, uninitialized, where);
  finer.element_blocks =
      create<decltype(finer.element_blocks)>("element_blocks", 8 * elements, uninitialized, where);
  parallel_for("copy nodes", where, nodes, with(CopyNode{}, mesh.coordinates, finer.coordinates));
  parallel_for("place new nodes", where, elements,
               with(PlaceNewNodes{new_nodes}, mesh.element_nodes, halving.own, halving.edges_before,
                    halving.faces_before, finer.coordinates));
  parallel_for("cut elements", where, elements,
               with(CutElement{new_nodes}, mesh.element_nodes, halving.edges, halving.faces, halving.own,
                    halving.edges_before, halving.faces_before, finer.element_nodes));
  parallel_for("copy blocks", where, 8 * elements,
               with(CopyBlock{}, mesh.element_blocks, finer.element_blocks));
  refine_sets(mesh, halving, new_nodes, finer);
  finer.node_ids = extend_ids(mesh.node_ids, finer.node_count());
  build_node_corners(finer);
  wait(mesh.device);
  return finer;
}

}  // namespace detail

/// A mesh of eight times the elements, `times` times over. Nodes keep their numbers; those in the middle of
/// edges follow, then of faces, then of elements, each in the order of the elements they belong to. Element e
/// becomes 8e + c, c the corner it keeps. Faces of side sets become four. A new node joins a node set where
/// all nodes of its edge, face or element are in it. Numbers of nodes in the file are kept, new nodes get the
/// next; those of elements are not. For meshes that pass check (mesh_check.hpp). Waits. MeshError where there
/// would be more than max_elements or `times` is negative, OutOfMemory.
template <class Arrays>
Mesh<Arrays> refine(const Mesh<Arrays>& mesh, int times = 1) {
  index_t most = max_elements;
  for (int k = 0; k < times && most > 0; ++k) most /= 8;
  if (times < 0 || mesh.element_count() > most) fail_refinement(mesh.source, mesh.element_count(), times);
  Mesh<Arrays> finer = mesh;
  for (int k = 0; k < times; ++k) finer = detail::refine_once(finer);
  return finer;
}

}  // namespace strata::inline STRATA_ABI::fem
