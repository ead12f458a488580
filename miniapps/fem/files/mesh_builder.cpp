// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <utility>

#include <strata/miniapps/fem/files/mesh_builder.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

namespace {

std::size_t as_size(std::int64_t value) { return static_cast<std::size_t>(value); }

// A face by its corners, ascending: the same for both elements that share it.
using FaceKey = std::array<std::int32_t, 4>;

struct Face {
  FaceKey key;
  std::int32_t element;
  std::int8_t face;

  friend bool operator<(const Face& a, const Face& b) {
    return std::pair(a.key, a.element) < std::pair(b.key, b.element);
  }
};

FaceKey key_of(FaceKey corners) {
  std::sort(corners.begin(), corners.end());
  return corners;
}

}  // namespace

void MeshBuilder::Index::build(const MeshText& text, const char* what, const std::vector<std::int64_t>& ids,
                               const std::vector<std::size_t>& places) {
  size_ = static_cast<std::int64_t>(ids.size());
  if (size_ > std::numeric_limits<std::int32_t>::max()) {
    text.fail(0, "the mesh has more than 2147483647 " + std::string(what) + "s, which is not supported");
  }
  first_ = ids.empty() ? 0 : ids[0];
  bool gapless = true;
  // Unsigned, as numbers of a damaged file may overflow.
  for (std::size_t k = 0; k < ids.size() && gapless; ++k) {
    gapless = static_cast<std::uint64_t>(ids[k]) - static_cast<std::uint64_t>(first_) == k;
  }
  if (gapless) return;
  sorted_.resize(ids.size());
  for (std::size_t k = 0; k < ids.size(); ++k) sorted_[k] = {ids[k], static_cast<std::int32_t>(k)};
  std::sort(sorted_.begin(), sorted_.end(), [](const Numbered& a, const Numbered& b) {
    return std::pair(a.id, a.index) < std::pair(b.id, b.index);
  });
  const auto twice = std::adjacent_find(sorted_.begin(), sorted_.end(),
                                        [](const Numbered& a, const Numbered& b) { return a.id == b.id; });
  if (twice != sorted_.end()) {
    text.fail(places[as_size((twice + 1)->index)],
              std::string(what) + " " + std::to_string(twice->id) + " is given twice; number each once");
  }
}

std::int32_t MeshBuilder::Index::find(std::int64_t id) const {
  if (sorted_.empty()) {
    const std::uint64_t index = static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(first_);
    return index < static_cast<std::uint64_t>(size_) ? static_cast<std::int32_t>(index) : -1;
  }
  const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), id,
                                      [](const Numbered& a, std::int64_t b) { return a.id < b; });
  return found != sorted_.end() && found->id == id ? found->index : -1;
}

void MeshBuilder::add_node(std::int64_t id, const std::array<double, 3>& coordinates, std::size_t at) {
  node_ids_.push_back(id);
  coordinates_.push_back(coordinates);
  node_places_.push_back(at);
}

void MeshBuilder::add_hexahedron(std::int64_t id, const std::array<std::int64_t, 8>& nodes,
                                 std::int64_t block, std::size_t at) {
  element_ids_.push_back(id);
  elements_.push_back(nodes);
  element_blocks_.push_back(block);
  element_places_.push_back(at);
}

void MeshBuilder::add_quadrilateral(const std::array<std::int64_t, 4>& nodes, std::int64_t set,
                                    std::size_t at) {
  quadrilaterals_.push_back({nodes, set, at});
}

void MeshBuilder::add_side(std::int64_t element, int face, std::int64_t set, std::size_t at) {
  sides_.push_back({element, set, at, static_cast<std::int8_t>(face)});
}

void MeshBuilder::add_set_node(std::int64_t node, std::int64_t set, std::size_t at) {
  set_nodes_.push_back({node, set, at});
}

void MeshBuilder::name_node_set(std::int64_t set, std::int64_t id, const std::string& name) {
  node_set_names_[set] = {id, name};
}

void MeshBuilder::leave_out(const std::string& what, std::size_t at) {
  ++left_out_.try_emplace(what, LeftOut{0, at}).first->second.number;
}

void MeshBuilder::resolve_elements(HostMesh& mesh) const {
  mesh.elements.resize(elements_.size());
  for (std::size_t e = 0; e < elements_.size(); ++e) {
    for (std::size_t corner = 0; corner < 8; ++corner) {
      const std::int32_t node = node_index_.find(elements_[e][corner]);
      if (node < 0) {
        text_.fail(element_places_[e], "element " + std::to_string(element_ids_[e]) + " names node " +
                                           std::to_string(elements_[e][corner]) +
                                           ", which the file does not have; correct the element's nodes");
      }
      mesh.elements[e][corner] = node;
    }
  }
}

void MeshBuilder::number_blocks(HostMesh& mesh) const {
  std::map<std::int64_t, std::int32_t> places;
  for (const std::int64_t block : element_blocks_) places.emplace(block, 0);
  for (auto& [block, place] : places) {
    place = static_cast<std::int32_t>(mesh.blocks.size());
    const auto name = block_names_.find(block);
    const bool named = name != block_names_.end() && !name->second.empty();
    mesh.blocks.push_back({block, named ? name->second : std::to_string(block)});
  }
  mesh.element_blocks.reserve(element_blocks_.size());
  for (const std::int64_t block : element_blocks_) mesh.element_blocks.push_back(places[block]);
}

// Quadrilaterals become sides of the first element that has them as a face.
void MeshBuilder::match_quadrilaterals(const HostMesh& mesh) {
  if (quadrilaterals_.empty()) return;
  std::vector<Face> faces;
  faces.reserve(6 * mesh.elements.size());
  for (std::size_t e = 0; e < mesh.elements.size(); ++e) {
    const auto& nodes = mesh.elements[e];
    for (std::size_t face = 0; face < 6; ++face) {
      const auto corner = [&](std::size_t k) { return nodes[as_size(face_corners[face][k])]; };
      faces.push_back({key_of({corner(0), corner(1), corner(2), corner(3)}), static_cast<std::int32_t>(e),
                       static_cast<std::int8_t>(face)});
    }
  }
  std::sort(faces.begin(), faces.end());
  for (const Quadrilateral& quadrilateral : quadrilaterals_) {
    FaceKey nodes{};
    for (std::size_t k = 0; k < 4; ++k) {
      nodes[k] = node_index_.find(quadrilateral.nodes[k]);
      if (nodes[k] < 0) {
        text_.fail(quadrilateral.at, "a quadrilateral names node " + std::to_string(quadrilateral.nodes[k]) +
                                         ", which the file does not have; correct its nodes");
      }
    }
    const Face wanted{key_of(nodes), -1, 0};
    const auto found = std::lower_bound(faces.begin(), faces.end(), wanted);
    if (found == faces.end() || found->key != wanted.key) {
      leave_out("quadrilaterals that are the face of no hexahedron", quadrilateral.at);
      continue;
    }
    SideSet& set = side_sets_[quadrilateral.set];
    set.elements.push_back(found->element);
    set.faces.push_back(found->face);
  }
}

void MeshBuilder::add_side_sets(HostMesh& mesh) {
  for (const Side& side : sides_) {
    const std::int32_t element = element_index_.find(side.element);
    if (element < 0) {
      text_.fail(side.at, "a side names element " + std::to_string(side.element) +
                              ", which is no hexahedron of the file; correct the side set");
    }
    SideSet& set = side_sets_[side.set];
    set.elements.push_back(element);
    set.faces.push_back(side.face);
  }
  match_quadrilaterals(mesh);
  for (auto& [id, set] : side_sets_) {
    if (set.elements.empty()) continue;
    set.id = id;
    if (set.name.empty()) set.name = std::to_string(id);
    mesh.side_sets.push_back(sorted(set));
  }
}

void MeshBuilder::add_node_sets(HostMesh& mesh) const {
  std::map<std::int64_t, std::vector<std::int32_t>> sets;
  for (const SetNode& entry : set_nodes_) {
    const std::int32_t node = node_index_.find(entry.node);
    if (node < 0) {
      text_.fail(entry.at, "a node set names node " + std::to_string(entry.node) +
                               ", which the file does not have; correct the node set");
    }
    sets[entry.set].push_back(node);
  }
  for (auto& [key, nodes] : sets) {
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    const auto named = node_set_names_.find(key);
    NodeSet set;
    set.id = named == node_set_names_.end() ? key : named->second.id;
    if (named != node_set_names_.end()) set.name = named->second.name;
    if (set.name.empty()) set.name = std::to_string(set.id);
    set.nodes = std::move(nodes);
    mesh.node_sets.push_back(std::move(set));
  }
}

void MeshBuilder::drop_unused_nodes(HostMesh& mesh) const {
  std::vector<std::int32_t> place(coordinates_.size(), -1);
  for (const auto& nodes : mesh.elements) {
    for (const std::int32_t node : nodes) place[as_size(node)] = 0;
  }
  std::int32_t kept = 0;
  std::int64_t first_unused = 0;
  for (std::size_t node = 0; node < place.size(); ++node) {
    if (place[node] < 0 && static_cast<std::size_t>(kept) == node) first_unused = node_ids_[node];
    if (place[node] == 0) place[node] = kept++;
  }
  const std::size_t unused = place.size() - as_size(kept);
  for (std::size_t node = 0; node < place.size(); ++node) {
    if (place[node] < 0) continue;
    mesh.coordinates.push_back(coordinates_[node]);
    mesh.node_ids.push_back(node_ids_[node]);
  }
  if (unused == 0) return;
  for (auto& nodes : mesh.elements) {
    for (std::int32_t& node : nodes) node = place[as_size(node)];
  }
  for (NodeSet& set : mesh.node_sets) {
    for (std::int32_t& node : set.nodes) node = place[as_size(node)];
    std::erase(set.nodes, -1);
  }
  std::erase_if(mesh.node_sets, [](const NodeSet& set) { return set.nodes.empty(); });
  mesh.remarks.push_back(text_.name() + ": " + std::to_string(unused) +
                         " nodes that belong to no hexahedron are left out, the first is node " +
                         std::to_string(first_unused));
}

// A place takes a look at all lines before it, so the list has an end.
void MeshBuilder::list_what_is_left_out(HostMesh& mesh) const {
  constexpr std::size_t most = 20;
  mesh.remarks.insert(mesh.remarks.end(), remarks_.begin(), remarks_.end());
  std::size_t listed = 0;
  for (const auto& [what, left_out] : left_out_) {
    if (++listed > most) break;
    const std::string times =
        left_out.number == 1 ? "" : " (" + std::to_string(left_out.number) + " times, the first here)";
    mesh.remarks.push_back(text_.place(left_out.first) + "left out " + what + times);
  }
  if (left_out_.size() > most) {
    mesh.remarks.push_back(text_.name() + ": left out more than that: " +
                           std::to_string(left_out_.size() - most) + " other kinds");
  }
}

HostMesh MeshBuilder::build() {
  HostMesh mesh;
  mesh.source = text_.name();
  if (elements_.empty()) {
    text_.fail(text_.content().size(), "the file has no hexahedra of eight nodes; mesh the part with them");
  }
  node_index_.build(text_, "node", node_ids_, node_places_);
  element_index_.build(text_, "element", element_ids_, element_places_);
  resolve_elements(mesh);
  number_blocks(mesh);
  add_side_sets(mesh);
  add_node_sets(mesh);
  drop_unused_nodes(mesh);
  mesh.element_ids = std::move(element_ids_);
  list_what_is_left_out(mesh);
  return mesh;
}

}  // namespace strata::inline STRATA_ABI::fem::detail
