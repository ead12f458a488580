// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/algorithms/parallel_for.hpp>
#include <strata/core/bytes.hpp>
#include <strata/core/error.hpp>
#include <strata/miniapps/thermal/placed_mesh.hpp>

namespace strata::inline STRATA_ABI::thermal {

namespace {

constexpr char made_by_host[] = "mesh, refinement and graph of the matrix were made by the host's threads";

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// Calls f(i) for i below n, by all threads.
template <class F>
void for_all(const char* label, index_t n, const F& f) {
  parallel_for(label, on(Threads{}), n, [&f](index_t i) { f(i); });
  wait(Threads{});
}

}  // namespace

ResidentRows PlacedRanges::neighbours_of(ResidentRows blocks) const {
  const ResidentRows places = places_of(blocks), elements = elements_of(blocks);
  ResidentRows all = places;
  // Nodes without elements have none, but those after and before them do: rows may not descend.
  if (elements.begin < elements_)
    all.begin = std::min(all.begin, ranges_->nodes_of({elements.begin, elements.begin + 1}).begin);
  if (elements.end > 0) all.end = std::max(all.end, ranges_->nodes_of({elements.end - 1, elements.end}).end);
  return all;
}

namespace {

// The nodes that share an element with a node, and itself, ascending.
void neighbours(const fem::MeshOnHost& mesh, index_t node, std::vector<std::int32_t>& list) {
  list.clear();
  for (index_t k = mesh.node_offsets(node); k < mesh.node_offsets(node + 1); ++k)
    for (int c = 0; c < 8; ++c) list.push_back(mesh.element_nodes(mesh.node_corners(k) / 8, c));
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

class Maker {
 public:
  Maker(const std::string& spec, int refinements, const PlacedMeshOptions& options) : options_(options) {
    m_.memory = options.memory;
    m_.home = options.home;
    m_.mesh = fem::load_mesh_on_host(spec, refinements);
    m_.nodes = m_.mesh.node_count();
    m_.elements = m_.mesh.element_count();
    m_.blocks = (m_.nodes + row_block - 1) / row_block;
  }

  PlacedMesh make() {
    place_mesh();
    place_corners();
    make_rows();
    make_slots();
    keep_own();
    return static_cast<PlacedMesh&&>(m_);
  }

 private:
  template <class Array, class... Extents>
  void create_array(Array& array, const char* label, Extents... extents) const {
    array = Array(label, extents..., uninitialized, options_.memory, options_.home);
  }

  void place_mesh() {
    fem::ElementCorners corners(at(m_.elements));
    for_all("corners of elements", m_.elements, [&](index_t e) {
      for (int c = 0; c < 8; ++c) corners[at(e)][at(c)] = m_.mesh.element_nodes(e, c);
    });
    if (!options_.keep_order) m_.order = fem::narrow_order(corners, m_.nodes);
    m_.keeps_order = m_.order.node_at.empty() && m_.order.element_at.empty();
    m_.node_places = fem::places_of(m_.order.node_at);
    element_places_ = fem::places_of(m_.order.element_at);
    if (!m_.keeps_order) corners = fem::reordered(corners, m_.order);
    std::vector<std::int32_t> offsets(at(m_.nodes + 1), 0);
    for (index_t p = 0; p < m_.nodes; ++p) {
      const index_t node = m_.order.node(p);
      offsets[at(p + 1)] = offsets[at(p)] + m_.mesh.node_offsets(node + 1) - m_.mesh.node_offsets(node);
    }
    m_.ranges = PlacedRanges(corners, m_.nodes, offsets);

    create_array(m_.element_nodes, "element_nodes", m_.elements, index_t{8});
    create_array(m_.element_blocks, "element_blocks", m_.elements);
    create_array(m_.coordinates, "coordinates", m_.nodes, index_t{3});
    create_array(m_.node_at, "nodes at places", m_.nodes);
    create_array(m_.offsets, "node_offsets", m_.nodes + 1);
    const auto nodes = m_.element_nodes.write();
    const auto blocks = m_.element_blocks.write();
    const auto coordinates = m_.coordinates.write();
    const auto node_at = m_.node_at.write();
    const auto all_offsets = m_.offsets.write();
    for_all("place elements", m_.elements, [&](index_t q) {
      for (int c = 0; c < 8; ++c) nodes(q, c) = corners[at(q)][at(c)];
      blocks(q) = m_.mesh.element_blocks(m_.order.element(q));
    });
    for_all("place nodes", m_.nodes, [&](index_t p) {
      node_at(p) = m_.order.node(p);
      for (int d = 0; d < 3; ++d) coordinates(p, d) = m_.mesh.coordinates(m_.order.node(p), d);
    });
    for_all("place offsets", m_.nodes + 1, [&](index_t p) { all_offsets(p) = offsets[at(p)]; });
  }

  // The order of a node's corners is that of sums, and stays.
  void place_corners() {
    create_array(m_.corners, "node_corners", std::max<index_t>(8 * m_.elements, 1));
    const auto corners = m_.corners.write();
    const auto offsets = m_.offsets.read();
    for_all("place corners", m_.nodes, [&](index_t p) {
      index_t from = m_.mesh.node_offsets(m_.order.node(p));
      for (index_t k = offsets(p); k < offsets(p + 1); ++k, ++from) {
        const std::int32_t corner = m_.mesh.node_corners(from), e = corner / 8;
        corners(k) = 8 * (element_places_.empty() ? e : element_places_[at(e)]) + corner % 8;
      }
    });
  }

  void make_rows() {
    create_array(m_.row_begins, "begins of rows", m_.blocks, row_block + 1);
    const auto begins = m_.row_begins.write();
    for_all("lengths of rows", m_.blocks, [&](index_t b) {
      thread_local std::vector<std::int32_t> list;
      std::int32_t length = 0;
      for (index_t r = 0; r < row_block; ++r) {
        begins(b, r) = length;
        const index_t place = row_block * b + r;
        if (place >= m_.nodes) continue;
        neighbours(m_.mesh, m_.order.node(place), list);
        length += static_cast<std::int32_t>(list.size());
      }
      begins(b, row_block) = length;
    });
    for (index_t b = 0; b < m_.blocks; ++b) {
      m_.block_room = std::max<index_t>(m_.block_room, begins(b, row_block));
      m_.entry_count += begins(b, row_block);
    }
    constexpr index_t line = 16;  // of columns in a line of a cache
    m_.block_room = std::max(line, (m_.block_room + line - 1) / line * line);
    create_array(m_.entries, "entries", m_.blocks, m_.block_room);
    const auto entries = m_.entries.write();
    for_all("entries of rows", m_.blocks, [&](index_t b) {
      thread_local std::vector<std::int32_t> list;
      for (index_t r = 0; r < row_block && row_block * b + r < m_.nodes; ++r) {
        neighbours(m_.mesh, m_.order.node(row_block * b + r), list);
        index_t k = begins(b, r);
        for (const std::int32_t node : list) entries(b, k++) = node;
      }
      for (index_t k = begins(b, row_block); k < m_.block_room; ++k) entries(b, k) = 0;
    });
  }

  void make_slots() {
    create_array(m_.slots, "element_slots", m_.elements, index_t{8});
    const auto slots = m_.slots.write();
    const auto begins = m_.row_begins.read(), entries = m_.entries.read();
    const auto nodes = m_.element_nodes.read();
    for_all("find slots", m_.elements, [&](index_t q) {
      for (int i = 0; i < 8; ++i) {
        const index_t block = nodes(q, i) / row_block, row = nodes(q, i) % row_block;
        const std::int32_t* const all = &entries(block, 0);
        const std::int32_t *const first = all + begins(block, row), *const last =
                                                                        all + begins(block, row + 1);
        fem::SlotWord word = 0;
        for (int j = 0; j < 8; ++j) {
          const index_t place = std::lower_bound(first, last, m_.order.node(nodes(q, j))) - first;
          word |= static_cast<fem::SlotWord>(place < fem::far_slot ? place : fem::far_slot) << (8 * j);
        }
        slots(q, i) = word;
      }
    });
  }

  void keep_own() {
    m_.own_element_nodes = m_.element_nodes;
    m_.own_element_blocks = m_.element_blocks;
    m_.own_coordinates = m_.coordinates;
    if (m_.keeps_order) return;
    create_array(m_.own_element_nodes, "element_nodes in order", m_.elements, index_t{8});
    create_array(m_.own_element_blocks, "element_blocks in order", m_.elements);
    create_array(m_.own_coordinates, "coordinates in order", m_.nodes, index_t{3});
    const auto nodes = m_.own_element_nodes.write();
    const auto blocks = m_.own_element_blocks.write();
    const auto coordinates = m_.own_coordinates.write();
    for_all("keep elements", m_.elements, [&](index_t e) {
      for (int c = 0; c < 8; ++c) nodes(e, c) = m_.mesh.element_nodes(e, c);
      blocks(e) = m_.mesh.element_blocks(e);
    });
    for_all("keep nodes", m_.nodes, [&](index_t n) {
      for (int d = 0; d < 3; ++d) coordinates(n, d) = m_.mesh.coordinates(n, d);
    });
  }

  PlacedMeshOptions options_;
  PlacedMesh m_;
  std::vector<std::int32_t> element_places_;
};

}  // namespace

PlacedMesh make_placed_mesh(const std::string& spec, int refinements, const PlacedMeshOptions& options) {
  return Maker(spec, refinements, options).make();
}

index_t PlacedMesh::bytes() const {
  const index_t twice = keeps_order ? 1 : 2;
  return elements * (twice * (32 + 4) + 64 + 32) + nodes * (twice * 24 + 4 + 4) +
         blocks * 4 * (row_block + 1 + block_room);
}

std::string PlacedMesh::order_text() const {
  const std::string width = std::to_string(order.width) + " of " + std::to_string(nodes) + " nodes";
  if (!order.node_at.empty())
    return "nodes and elements lie in the order of reverse Cuthill-McKee, where an element spans " + width +
           " at most, less than in the mesh's own";
  return std::string("nodes ") + (order.element_at.empty() ? "and elements " : "") +
         "lie in the mesh's own order, where an element spans " + width + " at most, " +
         (order.element_at.empty() ? "" : "elements by their first node, ") +
         "no more than by reverse Cuthill-McKee";
}

std::vector<double> part_sizes(const PlacedMesh& mesh, std::size_t devices) {
  const auto parts = static_cast<index_t>(devices);
  constexpr index_t large = 1 << 14;  // nodes of a part, of which sums are cut at 1/32 at least
  if (mesh.nodes >= large * parts) return reduction_sizes(mesh.nodes, devices);
  std::vector<double> sizes;
  index_t begin = 0;
  for (index_t k = 1; k <= parts; ++k) {
    const index_t end = std::min(mesh.nodes, row_block * (mesh.blocks * k / parts));
    sizes.push_back(static_cast<double>(end - begin));
    begin = end;
  }
  return sizes;
}

void rows_in_order(const PlacedMesh& mesh, std::vector<index_t>& row_map, std::vector<index_t>& entries,
                   std::vector<index_t>& value_at) {
  const auto begins = mesh.row_begins.read(), all = mesh.entries.read();
  row_map.assign(1, 0);
  for (index_t node = 0; node < mesh.nodes; ++node) {
    const index_t place = mesh.place_of(node), b = place / row_block, r = place % row_block;
    for (index_t k = begins(b, r); k < begins(b, r + 1); ++k) {
      entries.push_back(all(b, k));
      value_at.push_back(b * mesh.block_room + k);
    }
    row_map.push_back(static_cast<index_t>(entries.size()));
  }
}

void describe_memory(const PlacedMesh& mesh, HeatSetup& setup) {
  setup.remarks.push_back(
      std::string("elements, the matrix and what loops read of nodes are coherent arrays in "
                  "the memory mode ") +
      to_string(mesh.memory) + "; temperatures are plain ones");
}

void describe_parts(const PlacedMesh& mesh, HeatSetup& setup) {
  setup.remarks.push_back(
      "elements and the matrix are in parts on " + setup.device + ", " + std::to_string(mesh.blocks) +
      " blocks of " + std::to_string(row_block) +
      " rows in all; so are the vectors of the solver; temperatures are on the first device");
  setup.remarks.push_back(made_by_host);
}

void describe_streaming(const PlacedMesh& mesh, index_t limit, index_t vectors, index_t number_bytes,
                        HeatSetup& setup) {
  const index_t host = mesh.bytes() + mesh.blocks * mesh.block_room * number_bytes;
  setup.is_streamed = true;
  setup.remarks.push_back(
      "within " + string_from_bytes(limit) + " of " + setup.device + ": " + string_from_bytes(vectors) +
      " for temperatures and other numbers of nodes, which stay there, and the rest for slices "
      "of elements and of the matrix, which are in the host's memory (" +
      string_from_bytes(host) + ")");
  setup.remarks.push_back(mesh.order_text());
  setup.remarks.push_back(
      std::string(made_by_host) +
      "; the matrix is made in slices, and what elements give to it is never in the host's "
      "memory");
}

std::string does_not_fit(const std::string& device, std::size_t capacity, std::size_t used, index_t limit) {
  return "the problem does not fit " + device + ", of whose " +
         string_from_bytes(static_cast<index_t>(capacity)) + " " +
         string_from_bytes(static_cast<index_t>(used)) +
         " are in use: it goes through it in slices, within " + string_from_bytes(limit) +
         " (--memory-limit chooses another budget)";
}

void fail_memory_limit(const PlacedMesh& mesh, const std::string& device, index_t limit, index_t least,
                       index_t vectors) {
  throw OutOfMemory(
      "a memory limit of " + string_from_bytes(limit) + " does not do for " + mesh.mesh.source + " of " +
      std::to_string(mesh.elements) + " elements and " + std::to_string(mesh.nodes) + " nodes on " + device +
      ": the least is " + std::to_string(least) + " bytes (" + string_from_bytes(least) + "), " +
      string_from_bytes(vectors) +
      " of them for temperatures and other numbers of nodes; give as much (--memory-limit), or take "
      "--type float, a smaller mesh or a larger device");
}

}  // namespace strata::inline STRATA_ABI::thermal
