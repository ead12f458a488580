// PlacedMesh: a mesh and the graph of its matrix in coherent arrays, as slices of them go through a device
// that cannot hold them, or parts of them to several devices. Made by the host's threads.
//
// Nodes and elements lie at places: for slices in the mesh's own order or that of reverse Cuthill-McKee,
// whichever makes elements narrower (fem/mesh_order.hpp); for several devices in the mesh's own order. What
// belongs to nodes as numbers of the problem (temperatures, the vectors of the solver) keeps the mesh's own
// order: the entries of the matrix name nodes, not places.
//
// Rows of the matrix lie in blocks of row_block places with equal room, a block being a row of the arrays, so
// that a loop over blocks writes what is its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <strata/miniapps/common/memory.hpp>
#include <strata/miniapps/fem/mesh_on_host.hpp>
#include <strata/miniapps/fem/mesh_order.hpp>
#include <strata/miniapps/fem/node_graph.hpp>
#include <strata/miniapps/thermal/heat.hpp>
#include <strata/views/coherent/coherent_array.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// Rows of the matrix, or places of nodes, in a block.
inline constexpr index_t row_block = 16;

/// Arrays of elements: in tiles over which hosts vectorise, and which GPUs read as whole sectors.
template <class T, index_t Rank>
using PlacedElementArray = CoherentArray<T, Rank, LayoutTiled<8>>;
/// Arrays of nodes, or of blocks of rows.
template <class T, index_t Rank>
using PlacedNodeArray = CoherentArray<T, Rank, LayoutRight>;

/// Which rows of arrays a slice needs, by places. Copies share the lists.
class PlacedRanges {
 public:
  PlacedRanges() = default;
  PlacedRanges(const fem::ElementCorners& elements, index_t nodes, std::vector<std::int32_t> corner_offsets)
      : nodes_(nodes),
        elements_(static_cast<index_t>(elements.size())),
        ranges_(std::make_shared<const fem::MeshRanges>(elements, nodes)),
        offsets_(std::make_shared<const std::vector<std::int32_t>>(std::move(corner_offsets))) {}

  /// Of elements: their corners.
  ResidentRows nodes_of(ResidentRows elements) const { return ranges_->nodes_of(elements); }
  /// Of blocks of rows: their nodes, the offsets of those in the list of corners, their corners, the elements
  /// of these, and the corners of the elements besides the nodes.
  ResidentRows places_of(ResidentRows blocks) const {
    const index_t end = row_block * blocks.end;
    return {row_block * blocks.begin, end < nodes_ ? end : nodes_};
  }
  ResidentRows offsets_of(ResidentRows blocks) const {
    const ResidentRows places = places_of(blocks);
    return {places.begin, places.end + 1};
  }
  ResidentRows corners_of(ResidentRows blocks) const {
    const ResidentRows places = places_of(blocks);
    return {(*offsets_)[static_cast<std::size_t>(places.begin)],
            (*offsets_)[static_cast<std::size_t>(places.end)]};
  }
  ResidentRows elements_of(ResidentRows blocks) const { return ranges_->elements_of(places_of(blocks)); }
  ResidentRows blocks_of(ResidentRows blocks) const { return blocks; }
  ResidentRows neighbours_of(ResidentRows blocks) const;

 private:
  index_t nodes_ = 0, elements_ = 0;
  std::shared_ptr<const fem::MeshRanges> ranges_;
  std::shared_ptr<const std::vector<std::int32_t>> offsets_;  // of the corners of nodes
};

/// What rows() takes: rows that work items use, by a function of the ranges, or `all` of them. One type for
/// all functions, so that what is compiled for each type of access is compiled once. The ranges must outlive
/// it.
struct PlacedRows {
  const PlacedRanges* ranges;
  ResidentRows (PlacedRanges::*of)(ResidentRows) const;
  index_t all = -1;      // negative: those of the work items
  index_t of_block = 1;  // work items of each block

  ResidentRows operator()(ResidentRows items) const {
    if (all >= 0) return {0, all};
    return (ranges->*of)({items.begin / of_block, (items.end + of_block - 1) / of_block});
  }
};

struct PlacedMesh {
  fem::MeshOnHost mesh;  // in its own order
  fem::MeshOrder order;
  PlacedRanges ranges;
  index_t nodes = 0, elements = 0;
  index_t blocks = 0;       // of rows of the matrix
  index_t block_room = 0;   // entries that a block has room for
  index_t entry_count = 0;  // of the matrix

  // By places.
  PlacedElementArray<std::int32_t, rank<2>> element_nodes;  // (element, corner): places of nodes
  PlacedNodeArray<std::int32_t, rank<1>> element_blocks;
  PlacedElementArray<fem::SlotWord, rank<2>> slots;  // (element, corner): as fem::element_slots has them
  PlacedNodeArray<double, rank<2>> coordinates;      // (node, direction)
  PlacedNodeArray<std::int32_t, rank<1>> node_at;    // the mesh's number of a node
  PlacedNodeArray<std::int32_t, rank<1>> offsets;    // nodes + 1: where its corners begin
  PlacedNodeArray<std::int32_t, rank<1>>
      corners;  // 8 * place of an element + corner, in the mesh's order of it
  PlacedNodeArray<std::int32_t, rank<2>> row_begins;  // (block, row): where its entries begin, and end
  PlacedNodeArray<std::int32_t, rank<2>>
      entries;  // (block, k): the mesh's numbers of nodes, ascending in a row

  // In the mesh's own order, for sums over elements; the same arrays where places are that order.
  bool keeps_order = false;
  PlacedElementArray<std::int32_t, rank<2>> own_element_nodes;
  PlacedNodeArray<std::int32_t, rank<1>> own_element_blocks;
  PlacedNodeArray<double, rank<2>> own_coordinates;

  /// The place of a node.
  index_t place_of(index_t node) const {
    return node_places.empty() ? node : node_places[static_cast<std::size_t>(node)];
  }
  std::vector<std::int32_t> node_places;

  // As its options have them.
  MemoryMode memory = MemoryMode::Smart;
  MainIn<miniapp::HomeDevice> home = {};
  /// Calls f(array) for all arrays.
  template <class F>
  void for_each_array(const F& f) const {
    f(element_nodes), f(element_blocks), f(slots), f(coordinates), f(node_at), f(offsets), f(corners);
    f(row_begins), f(entries);
    if (!keeps_order) f(own_element_nodes), f(own_element_blocks), f(own_coordinates);
  }

  /// Bytes of the arrays here.
  index_t bytes() const;
  /// "the mesh's own order, ...".
  std::string order_text() const;
};

/// How a mesh is placed.
struct PlacedMeshOptions {
  MemoryMode memory = MemoryMode::Smart;  ///< of its arrays, and those that are made beside them
  MainIn<miniapp::HomeDevice> home = {};  ///< likewise
  bool keep_order = false;                ///< places are the mesh's own order, however wide elements are
};
/// The mesh of `spec` (fem/load_mesh.hpp). MeshError, MeshFileError, OutOfMemory of the host.
PlacedMesh make_placed_mesh(const std::string& spec, int refinements, const PlacedMeshOptions& options);

/// How many nodes each of so many devices has: whole blocks of rows, cut where sums over nodes are, too,
/// where those parts are about equal.
std::vector<double> part_sizes(const PlacedMesh& mesh, std::size_t devices);

/// Row map and entries of the matrix in the mesh's own order, and where in the array of values, which is as
/// `entries`, each value lies.
void rows_in_order(const PlacedMesh& mesh, std::vector<index_t>& row_map, std::vector<index_t>& entries,
                   std::vector<index_t>& value_at);

/// Adds to the setup in which memory mode it is.
void describe_memory(const PlacedMesh& mesh, HeatSetup& setup);
/// Adds to the setup of several devices what is where.
void describe_parts(const PlacedMesh& mesh, HeatSetup& setup);
/// Adds to the setup what is where, of `limit` bytes of a device, with `vectors` bytes of node numbers of
/// `number_bytes` each.
void describe_streaming(const PlacedMesh& mesh, index_t limit, index_t vectors, index_t number_bytes,
                        HeatSetup& setup);
/// Why a problem goes through a device in slices that nobody asked for.
std::string does_not_fit(const std::string& device, std::size_t capacity, std::size_t used, index_t limit);
/// OutOfMemory: `limit` bytes of a device do not do; `least` of them would, `vectors` of which are for
/// numbers of nodes.
[[noreturn]] void fail_memory_limit(const PlacedMesh& mesh, const std::string& device, index_t limit,
                                    index_t least, index_t vectors);

}  // namespace strata::inline STRATA_ABI::thermal
