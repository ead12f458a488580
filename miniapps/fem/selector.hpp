// Selectors: nodes and faces of a mesh, as users name them.
//
//   top                   the side set or node set of that name, or of that number
//   all                   every node
//   x<=min+2   z==max     nodes by a coordinate; numbers in the mesh's units; min and max are the bounding
//   box's x<=min & y>=0.5       several conditions at once
//
// Comparisons are <=, >=, <, > and ==; equality holds up to 1e-9 of the largest edge of the bounding box. The
// name of a set goes first: a side set, then a node set, then `all` and comparisons. Everything is looked for
// on the device, and gives the same lists on every device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <strata/miniapps/fem/faces.hpp>
#include <strata/miniapps/fem/marks.hpp>
#include <strata/miniapps/fem/mesh.hpp>
#include <strata/miniapps/fem/quality.hpp>
#include <strata/views/atomic.hpp>
#include <strata/views/deep_copy.hpp>

namespace strata::inline STRATA_ABI::fem {

/// One comparison of a coordinate with a number, or with an edge of the bounding box.
struct Condition {
  enum class Comparison { LessEqual, GreaterEqual, Less, Greater, Equal };
  enum class From { Zero, Minimum, Maximum };
  int direction = 0;  // 0, 1, 2: x, y, z
  Comparison comparison = Comparison::LessEqual;
  From from = From::Zero;
  double offset = 0;  // added to where `from` is
};

/// Reads comparisons joined by &; MeshError says what is wrong, calling the whole `text`.
std::vector<Condition> parse_conditions(std::string_view text);

/// Whether a text is meant to be a comparison: it has one of <, > and ==.
bool is_comparison(std::string_view text);

/// Splits "SELECTOR=VALUE" at the last = that is no part of a comparison; the value is empty where there is
/// none.
std::pair<std::string, std::string> split_setting(std::string_view text);

/// The sets of a mesh by name and number, for look-up and messages.
struct SetNames {
  std::string mesh;
  std::vector<std::pair<std::int64_t, std::string>> side_sets, node_sets;
};
/// MeshError: there is no set `name`; lists those that there are.
[[noreturn]] void fail_no_set(const std::string& name, const SetNames& sets);
/// MeshError: `selector` names no `what`.
[[noreturn]] void fail_empty_selection(const std::string& selector, const char* what,
                                       const std::string& source);

namespace detail {

/// What coordinates a condition admits, with the bounding box put in.
struct CoordinateInterval {
  int direction;
  double low, high;  // closed
};
CoordinateInterval interval_of(const Condition& condition, const BoundingBox& box);

/// The set of a name, or else of a number; null where there is none.
template <class Set>
const Set* find_set(const std::vector<Set>& sets, const std::string& name) {
  for (const Set& set : sets)
    if (set.name == name) return &set;
  for (const Set& set : sets)
    if (std::to_string(set.id) == name) return &set;
  return nullptr;
}

template <class Arrays>
SetNames names_of_sets(const Mesh<Arrays>& mesh) {
  SetNames names{mesh.source, {}, {}};
  for (const auto& set : mesh.side_sets) names.side_sets.emplace_back(set.id, set.name);
  for (const auto& set : mesh.node_sets) names.node_sets.emplace_back(set.id, set.name);
  return names;
}

struct MarkFaceNodes {
  STRATA_FUNCTION void operator()(index_t q, auto elements, auto faces, auto nodes, auto marks) const {
    for (int k = 0; k < 4; ++k)  // faces share nodes
      atomic_store(&marks(nodes(elements(q), face_corner(faces(q), k))), 1);
  }
};

struct KeepBetween {
  CoordinateInterval interval;
  STRATA_FUNCTION void operator()(index_t n, auto coordinates, auto marks) const {
    const double x = coordinates(n, interval.direction);
    if (!(x >= interval.low && x <= interval.high)) marks(n) = 0;
  }
};

// 6 e + face, where the face lies on the surface and all its nodes are marked.
struct MarkSurface {
  STRATA_FUNCTION void operator()(index_t q, auto nodes, auto offsets, auto corners, auto node_marks,
                                  auto marks) const {
    const index_t e = q / 6;
    const int face = static_cast<int>(q % 6);
    bool chosen = true;
    for (int k = 0; k < 4; ++k) chosen = chosen && node_marks(nodes(e, face_corner(face, k))) != 0;
    if (chosen) {
      const FaceNumbers numbers = numbers_of_face(e, face, nodes, offsets, corners);
      chosen = numbers.first == numbers.last;
    }
    marks(q) = chosen;
  }
};

struct SplitFaceNumbers {
  STRATA_FUNCTION void operator()(index_t q, auto list, auto elements, auto faces) const {
    elements(q) = list(q) / 6;
    faces(q) = static_cast<std::int8_t>(list(q) % 6);
  }
};

/// One for every node that a selector names, zero for the others.
template <class Arrays>
NodeList<Arrays> mark_nodes(const Mesh<Arrays>& mesh, const std::string& selector) {
  const auto where = on(mesh.device);
  const NodeList<Arrays> marks = create<NodeList<Arrays>>("marked nodes", mesh.node_count(), where);
  if (const auto* const sides = find_set(mesh.side_sets, selector)) {
    parallel_for("mark the nodes of faces", where, sides->elements.extent(0),
                 with(MarkFaceNodes{}, sides->elements, sides->faces, mesh.element_nodes, marks));
  } else if (const auto* const listed = find_set(mesh.node_sets, selector)) {
    parallel_for("mark nodes", where, listed->nodes.extent(0), with(MarkListed{}, listed->nodes, marks));
  } else if (selector == "all" || is_comparison(selector)) {
    deep_copy(marks, 1);
    if (selector == "all") return marks;
    const BoundingBox box = bounding_box(mesh);
    for (const Condition& condition : parse_conditions(selector))
      parallel_for("compare coordinates", where, mesh.node_count(),
                   with(KeepBetween{interval_of(condition, box)}, mesh.coordinates, marks));
  } else {
    fail_no_set(selector, names_of_sets(mesh));
  }
  return marks;
}

}  // namespace detail

/// The nodes that a selector names: ascending, none twice. MeshError where nothing has the name (it lists the
/// sets that there are) or no node is selected. Waits.
template <class Arrays>
NodeList<Arrays> select_nodes(const Mesh<Arrays>& mesh, const std::string& selector) {
  const auto marks = detail::mark_nodes(mesh, selector);
  const auto list = detail::list_marked<Arrays>(selector.c_str(), marks, mesh.device);
  if (list.extent(0) == 0) fail_empty_selection(selector, "node", mesh.source);
  return list;
}

/// The faces of a side set; of another selector those of the surface (they lie on one element only) whose
/// four nodes it names, ascending. MeshError where there is none. Waits.
template <class Arrays>
DeviceSideSet<Arrays> select_faces(const Mesh<Arrays>& mesh, const std::string& selector) {
  if (const auto* const sides = detail::find_set(mesh.side_sets, selector)) return *sides;
  const auto where = on(mesh.device);
  const auto node_marks = detail::mark_nodes(mesh, selector);
  const auto marks = create<NodeList<Arrays>>("marked faces", 6 * mesh.element_count(), uninitialized, where);
  parallel_for("mark faces", where, 6 * mesh.element_count(),
               with(detail::MarkSurface{}, mesh.element_nodes, mesh.node_offsets, mesh.node_corners,
                    node_marks, marks));
  const auto list = detail::list_marked<Arrays>(selector.c_str(), marks, mesh.device);
  const index_t count = list.extent(0);
  if (count == 0) fail_empty_selection(selector, "face", mesh.source);
  DeviceSideSet<Arrays> faces{0, selector, {}, {}};
  faces.elements = create<decltype(faces.elements)>(selector.c_str(), count, uninitialized, where);
  faces.faces = create<decltype(faces.faces)>(selector.c_str(), count, uninitialized, where);
  parallel_for("split face numbers", where, count,
               with(detail::SplitFaceNumbers{}, list, faces.elements, faces.faces));
  wait(mesh.device);
  return faces;
}

}  // namespace strata::inline STRATA_ABI::fem
