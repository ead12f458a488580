// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <string>

#include <strata/miniapps/fem/hex_quality.hpp>
#include <strata/miniapps/fem/mesh.hpp>
#include <strata/miniapps/fem/mesh_check.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

namespace strata::inline STRATA_ABI::fem {

namespace {

std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

// Counts what is wrong in one way, and keeps what is said of the first.
class Fault {
 public:
  explicit Fault(const HostMesh& mesh, const char* things) : mesh_(mesh), things_(things) {}

  template <class Describe>
  void note(const Describe& describe) {
    if (count_++ == 0) first_ = describe();
  }
  // Throws where something was noted; `advice` says what to do.
  void raise(const char* advice) const {
    if (count_ == 0) return;
    std::string text = "the mesh " + mesh_.source + ": " + first_;
    if (count_ > 1)
      text += " (the first of " + std::to_string(count_) + " such " + std::string(things_) + ")";
    throw MeshError(text + ": " + advice);
  }

 private:
  const HostMesh& mesh_;
  const char* things_;
  std::int64_t count_ = 0;
  std::string first_;
};

[[noreturn]] void fail_mesh(const HostMesh& mesh, const std::string& why) {
  throw MeshError("the mesh " + mesh.source + ": " + why);
}

std::string element_text(const HostMesh& mesh, std::size_t e) {
  return "element " + std::to_string(mesh.element_id(static_cast<std::int32_t>(e)));
}
std::string node_text(const HostMesh& mesh, std::size_t n) {
  return "node " + std::to_string(mesh.node_id(static_cast<std::int32_t>(n)));
}
bool is_below(std::int64_t index, std::size_t count) {
  return index >= 0 && static_cast<std::uint64_t>(index) < count;
}

void check_sizes(const HostMesh& mesh) {
  const std::size_t elements = mesh.elements.size(), nodes = mesh.coordinates.size();
  if (elements == 0) fail_mesh(mesh, "there is no hexahedron in it: eight-node hexahedra are needed");
  if (elements > static_cast<std::size_t>(max_elements) ||
      nodes > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    fail_mesh(mesh, std::to_string(elements) + " elements and " + std::to_string(nodes) +
                        " nodes are more than can be numbered: at most " + std::to_string(max_elements) +
                        " elements and 2147483647 nodes");
  const auto need = [&](std::size_t found, std::size_t wanted, const char* what) {
    if (found != wanted)
      fail_mesh(mesh, "there are " + std::to_string(found) + " " + what + " where " + std::to_string(wanted) +
                          " are needed: the file or its reader lost some");
  };
  need(mesh.element_blocks.size(), elements, "numbers of blocks, one an element,");
  if (!mesh.node_ids.empty()) need(mesh.node_ids.size(), nodes, "numbers of nodes");
  if (!mesh.element_ids.empty()) need(mesh.element_ids.size(), elements, "numbers of elements");
  if (mesh.blocks.empty()) fail_mesh(mesh, "there is no block: every element needs one");
}

void check_unique(const HostMesh& mesh, std::vector<std::int64_t> ids, const char* thing,
                  const char* things) {
  std::sort(ids.begin(), ids.end());
  Fault fault(mesh, things);
  for (std::size_t k = 1; k < ids.size(); ++k)
    if (ids[k] == ids[k - 1])
      fault.note([&] { return std::string(thing) + " " + std::to_string(ids[k]) + " is there twice"; });
  fault.raise("numbers have to differ");
}

void check_coordinates(const HostMesh& mesh) {
  Fault fault(mesh, "nodes");
  for (std::size_t n = 0; n < mesh.coordinates.size(); ++n)
    for (const double x : mesh.coordinates[n])
      if (!std::isfinite(x)) {
        fault.note([&] { return node_text(mesh, n) + " has a coordinate that is not a finite number"; });
        break;
      }
  fault.raise("the file is damaged, or was written by a program that failed");
}

void check_connectivity(const HostMesh& mesh) {
  Fault range(mesh, "elements"), repeated(mesh, "elements"), block(mesh, "elements");
  for (std::size_t e = 0; e < mesh.elements.size(); ++e) {
    std::array<std::int32_t, 8> nodes = mesh.elements[e];
    for (const std::int32_t node : nodes)
      if (!is_below(node, mesh.coordinates.size())) {
        range.note([&] {
          return element_text(mesh, e) + " has node index " + std::to_string(node) + ", but there are " +
                 std::to_string(mesh.coordinates.size()) + " nodes";
        });
        break;
      }
    std::sort(nodes.begin(), nodes.end());
    if (const auto twice = std::adjacent_find(nodes.begin(), nodes.end()); twice != nodes.end())
      repeated.note([&] {
        return element_text(mesh, e) + " has node index " + std::to_string(*twice) + " at two corners";
      });
    if (!is_below(mesh.element_blocks[e], mesh.blocks.size()))
      block.note([&] {
        return element_text(mesh, e) + " is in block index " + std::to_string(mesh.element_blocks[e]) +
               ", but there are " + std::to_string(mesh.blocks.size()) + " blocks";
      });
  }
  range.raise("the file is damaged or cut off");
  repeated.raise("hexahedra that are degenerate to wedges or pyramids cannot be used");
  block.raise("the file is damaged");
}

template <class Set>
void check_names(const HostMesh& mesh, const std::vector<Set>& sets, const char* kind) {
  std::vector<std::string> names;
  for (const Set& set : sets)
    if (!set.name.empty()) names.push_back(set.name);
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    fail_mesh(mesh,
              std::string("two ") + kind + " sets are called \"" + *twice + "\": give them different names");
}

void check_sets(const HostMesh& mesh) {
  check_names(mesh, mesh.node_sets, "node");
  check_names(mesh, mesh.side_sets, "side");
  const auto name_of = [](const char* kind, const auto& set) {
    return std::string(kind) + " set \"" + (set.name.empty() ? std::to_string(set.id) : set.name) + "\"";
  };
  Fault fault(mesh, "entries");
  for (const NodeSet& set : mesh.node_sets)
    for (const std::int32_t node : set.nodes)
      if (!is_below(node, mesh.coordinates.size()))
        fault.note([&] {
          return name_of("node", set) + " has node index " + std::to_string(node) + ", but there are " +
                 std::to_string(mesh.coordinates.size()) + " nodes";
        });
  for (const SideSet& set : mesh.side_sets) {
    if (set.elements.size() != set.faces.size())
      fail_mesh(mesh, name_of("side", set) + " has " + std::to_string(set.elements.size()) +
                          " elements and " + std::to_string(set.faces.size()) +
                          " faces: the file or its reader lost some");
    for (std::size_t k = 0; k < set.elements.size(); ++k) {
      const int face = set.faces[k];
      if (!is_below(set.elements[k], mesh.elements.size()))
        fault.note([&] {
          return name_of("side", set) + " has element index " + std::to_string(set.elements[k]) +
                 ", but there are " + std::to_string(mesh.elements.size()) + " elements";
        });
      else if (face < 0 || face > 5)
        fault.note([&] {
          return name_of("side", set) + " has side " + std::to_string(face + 1) + " of " +
                 element_text(mesh, static_cast<std::size_t>(set.elements[k])) + ", which has sides 1 to 6";
        });
    }
  }
  fault.raise("the file is damaged");
}

void check_shapes(const HostMesh& mesh) {
  Fault fault(mesh, "elements");
  for (std::size_t e = 0; e < mesh.elements.size(); ++e) {
    HexCorners x;
    for (std::size_t c = 0; c < 8; ++c)
      for (std::size_t d = 0; d < 3; ++d)
        x[c][d] = mesh.coordinates[static_cast<std::size_t>(mesh.elements[e][c])][d];
    const double scaled = scaled_jacobian(x);
    if (!(scaled > 0))
      fault.note([&] {
        return element_text(mesh, e) +
               (scaled < 0 ? " is inverted: its scaled Jacobian is "
                           : " is degenerate: its scaled Jacobian is ") +
               number_text(scaled) + ", its volume " + number_text(volume(x));
      });
  }
  fault.raise(
      "move its nodes, or number its corners as Exodus does, 1 to 4 around the bottom, "
      "counter-clockwise seen from above, and 5 to 8 above them");
}

void check_nodes_used(const HostMesh& mesh) {
  std::vector<bool> used(mesh.coordinates.size(), false);
  for (const auto& nodes : mesh.elements)
    for (const std::int32_t node : nodes) used[static_cast<std::size_t>(node)] = true;
  Fault fault(mesh, "nodes");
  for (std::size_t n = 0; n < used.size(); ++n)
    if (!used[n]) fault.note([&] { return node_text(mesh, n) + " belongs to no element"; });
  fault.raise("leave such nodes out of the file");
}

// A face, turned so that its lowest node comes first.
struct Face {
  std::array<std::int32_t, 4> nodes;
  std::array<std::int32_t, 3> others;  // nodes 1 to 3 in ascending order
  std::int32_t element;

  bool same_nodes(const Face& face) const { return nodes[0] == face.nodes[0] && others == face.others; }
};

template <class Use>
void for_faces(const HostMesh& mesh, const Use& use) {
  for (std::size_t e = 0; e < mesh.elements.size(); ++e)
    for (const auto& corners : face_corners) {
      Face face{{}, {}, static_cast<std::int32_t>(e)};
      for (std::size_t k = 0; k < 4; ++k)
        face.nodes[k] = mesh.elements[e][static_cast<std::size_t>(corners[k])];
      std::rotate(face.nodes.begin(), std::min_element(face.nodes.begin(), face.nodes.end()),
                  face.nodes.end());
      use(face);
    }
}

// All faces of all elements; those of the same nodes are neighbours. Counted by their lowest node first:
// what is left to sort are a few faces at a time.
std::vector<Face> faces_of(const HostMesh& mesh) {
  std::vector<std::size_t> begin(mesh.coordinates.size() + 1);
  for_faces(mesh, [&](const Face& face) { ++begin[static_cast<std::size_t>(face.nodes[0]) + 1]; });
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Face> faces(begin.back());
  std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
  for_faces(mesh, [&](Face& face) {
    std::copy(face.nodes.begin() + 1, face.nodes.end(), face.others.begin());
    std::sort(face.others.begin(), face.others.end());
    faces[next[static_cast<std::size_t>(face.nodes[0])]++] = face;
  });
  for (std::size_t n = 0; n + 1 < begin.size(); ++n)
    std::sort(faces.begin() + static_cast<std::ptrdiff_t>(begin[n]),
              faces.begin() + static_cast<std::ptrdiff_t>(begin[n + 1]), [](const Face& a, const Face& b) {
                return a.others != b.others ? a.others < b.others : a.element < b.element;
              });
  return faces;
}

void check_faces(const HostMesh& mesh) {
  const std::vector<Face> faces = faces_of(mesh);
  Fault shared(mesh, "faces"), turned(mesh, "faces");
  const auto text = [&](std::size_t k) {
    return element_text(mesh, static_cast<std::size_t>(faces[k].element));
  };
  for (std::size_t k = 0, next = 0; k < faces.size(); k = next) {
    for (next = k + 1; next < faces.size() && faces[next].same_nodes(faces[k]);) ++next;
    if (next - k > 2)
      shared.note([&] { return text(k) + " shares a face with " + text(k + 1) + " and " + text(k + 2); });
    if (next - k != 2) continue;
    const auto &a = faces[k].nodes, &b = faces[k + 1].nodes;
    if (a[1] != b[3] || a[2] != b[2] || a[3] != b[1])
      turned.note([&] {
        return text(k) + " and " + text(k + 1) +
               " share the nodes of a face without lying on both sides of it";
      });
  }
  shared.raise("a face lies between two elements at most");
  turned.raise("the elements overlap, or a face is twisted");
}

}  // namespace

void check(const HostMesh& mesh) {
  check_sizes(mesh);
  check_unique(mesh, mesh.node_ids, "node", "numbers of nodes");
  check_unique(mesh, mesh.element_ids, "element", "numbers of elements");
  check_coordinates(mesh);
  check_connectivity(mesh);
  check_sets(mesh);
  check_shapes(mesh);
  check_nodes_used(mesh);
  check_faces(mesh);
}

}  // namespace strata::inline STRATA_ABI::fem
