// node_graph: which nodes share an element, as the graph of a sparse matrix; and where the coefficients of an
// element matrix go in it. Built on the device: each node gathers the nodes of its elements into a sorted
// list, the lengths are scanned, the lists are packed. While it is built it takes 256 bytes an element.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include <strata/algorithms/linear/crs.hpp>
#include <strata/algorithms/parallel_for.hpp>
#include <strata/algorithms/parallel_scan.hpp>
#include <strata/miniapps/fem/mesh.hpp>
#include <strata/views/deep_copy.hpp>
#include <strata/views/subview.hpp>

namespace strata::inline STRATA_ABI::fem {

/// MeshError: the graph would have `entries` entries.
[[noreturn]] void fail_graph_size(const std::string& source, index_t entries);

/// The places of the eight columns of an element in the row of one of its nodes, counted from the begin of
/// the row: a byte each, that of column 0 lowest, or far_slot where it does not fit.
using SlotWord = std::uint64_t;
/// Stands for places from 255 on, which find_entry finds.
inline constexpr index_t far_slot = 255;
/// The place of column j, or far_slot.
STRATA_FUNCTION constexpr index_t slot_of(SlotWord word, int j) {
  return static_cast<index_t>(word >> (8 * j) & 0xff);
}
/// The entry of a column that the row with entries [begin, end) has.
STRATA_FUNCTION constexpr index_t find_entry(const auto& entries, index_t begin, index_t end,
                                             std::int32_t column) {
  index_t low = begin, high = end;
  while (high - low > 1) {
    const index_t middle = low + (high - low) / 2;
    if (entries(middle) <= column) low = middle;
    else high = middle;
  }
  return low;
}

namespace detail {

struct GatherNeighbours {
  STRATA_FUNCTION void operator()(index_t n, auto nodes, auto offsets, auto corners, auto lists,
                                  auto lengths) const {
    const index_t begin = index_t{8} * offsets(n);
    index_t count = 0;
    for (index_t k = offsets(n); k < offsets(n + 1); ++k) {
      const index_t e = corners(k) / 8;
      for (int c = 0; c < 8; ++c) {
        const std::int32_t node = nodes(e, c);
        index_t to = count;
        while (to > 0 && lists(begin + to - 1) > node) --to;
        if (to > 0 && lists(begin + to - 1) == node) continue;
        for (index_t m = count; m > to; --m) lists(begin + m) = lists(begin + m - 1);
        lists(begin + to) = node;
        ++count;
      }
    }
    lengths(n) = count;
  }
};

struct PackRows {
  STRATA_FUNCTION void operator()(index_t n, auto offsets, auto lists, auto row_map, auto entries) const {
    const index_t from = index_t{8} * offsets(n), to = row_map(n);
    for (index_t k = to; k < row_map(n + 1); ++k) entries(k) = lists(from + k - to);
  }
};

struct FindSlots {
  STRATA_FUNCTION void operator()(index_t e, auto nodes, auto row_map, auto entries, auto slots) const {
    for (int i = 0; i < 8; ++i) {
      const index_t begin = row_map(nodes(e, i)), end = row_map(nodes(e, i) + 1);
      SlotWord word = 0;
      for (int j = 0; j < 8; ++j) {
        const index_t place = find_entry(entries, begin, end, nodes(e, j)) - begin;
        word |= static_cast<SlotWord>(place < far_slot ? place : far_slot) << (8 * j);
      }
      slots(e, i) = word;
    }
  }
};

}  // namespace detail

/// Row n has a column for each node that shares an element with node n, and n itself, ascending; rows of
/// nodes without elements are empty. MeshError where there would be more than 2^31 - 1 entries. Waits.
template <class Arrays>
linear::CrsGraph<typename Arrays::device_type> node_graph(const Mesh<Arrays>& mesh) {
  using Device = typename Arrays::device_type;
  using Offsets = MDArray<index_t, Device, rank<1>>;
  using Entries = MDArray<std::int32_t, Device, rank<1>>;
  const auto where = on(mesh.device);
  const index_t nodes = mesh.node_count();
  const Offsets row_map = create<Offsets>("row_map", nodes + 1, where);
  const Entries lists = create<Entries>("neighbours", 8 * mesh.node_corners.extent(0), uninitialized, where);
  parallel_for("gather neighbours", where, nodes,
               with(detail::GatherNeighbours{}, mesh.element_nodes, mesh.node_offsets, mesh.node_corners,
                    lists, row_map));
  exclusive_scan(row_map, row_map);
  index_t count = 0;
  deep_copy(count, subview(row_map, nodes));
  if (count > std::numeric_limits<std::int32_t>::max()) fail_graph_size(mesh.source, count);
  const Entries entries = create<Entries>("entries", count, uninitialized, where);
  parallel_for("pack rows", where, nodes,
               with(detail::PackRows{}, mesh.node_offsets, lists, row_map, entries));
  wait(mesh.device);
  return {nodes, nodes, row_map, entries};
}

/// slots(e, i): where the columns element_nodes(e, ...) are in the row of node element_nodes(e, i). The entry
/// of column j is k = row_map(element_nodes(e, i)) + slot_of(slots(e, i), j); where that is far_slot, which
/// only rows of more than 255 entries have, find_entry finds it. Waits.
template <class Arrays>
typename Arrays::template element_array<SlotWord, 8> element_slots(
    const Mesh<Arrays>& mesh, const linear::CrsGraph<typename Arrays::device_type>& graph) {
  using Array = typename Arrays::template element_array<SlotWord, 8>;
  const auto where = on(mesh.device);
  const Array slots = create<Array>("element_slots", mesh.element_count(), uninitialized, where);
  parallel_for("find slots", where, mesh.element_count(),
               with(detail::FindSlots{}, mesh.element_nodes, graph.row_map(), graph.entries(), slots));
  wait(mesh.device);
  return slots;
}

}  // namespace strata::inline STRATA_ABI::fem
