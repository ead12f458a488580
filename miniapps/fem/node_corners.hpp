// build_node_corners: which corners of which elements meet at each node, built on the device: corners are
// counted, the counts are scanned, corners are placed, and each row is put in ascending order. The order of
// placing does not matter then, so that all devices give the same rows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/parallel_for.hpp>
#include <strata/algorithms/parallel_scan.hpp>
#include <strata/miniapps/fem/mesh.hpp>
#include <strata/views/atomic.hpp>

namespace strata::inline STRATA_ABI::fem {

namespace detail {

struct CountCorners {
  STRATA_FUNCTION void operator()(index_t e, auto nodes, auto counts) const {
    for (int c = 0; c < 8; ++c) atomic_fetch_add(&counts(nodes(e, c)), 1);
  }
};

struct PlaceCorners {
  STRATA_FUNCTION void operator()(index_t e, auto nodes, auto offsets, auto placed, auto corners) const {
    for (int c = 0; c < 8; ++c) {
      const std::int32_t node = nodes(e, c);
      const std::int32_t place = atomic_fetch_add(&placed(node), 1);
      corners(offsets(node) + place) = static_cast<std::int32_t>(8 * e + c);
    }
  }
};

// Rows are short: eight corners inside a block of elements.
struct SortRows {
  STRATA_FUNCTION void operator()(index_t n, auto offsets, auto corners) const {
    const index_t begin = offsets(n), end = offsets(n + 1);
    for (index_t k = begin + 1; k < end; ++k) {
      const std::int32_t moved = corners(k);
      index_t to = k;
      for (; to > begin && corners(to - 1) > moved; --to) corners(to) = corners(to - 1);
      corners(to) = moved;
    }
  }
};

}  // namespace detail

/// Sets node_offsets and node_corners from element_nodes. Enqueued on the default queue of the mesh's device.
template <class Arrays>
void build_node_corners(Mesh<Arrays>& mesh) {
  using Array = NodeList<Arrays>;
  const auto where = on(mesh.device);
  const index_t nodes = mesh.node_count(), elements = mesh.element_count();
  mesh.node_offsets = create<Array>("node_offsets", nodes + 1, where);
  mesh.node_corners = create<Array>("node_corners", 8 * elements, uninitialized, where);
  const Array placed = create<Array>("corners placed", nodes, where);
  parallel_for("count corners", where, elements,
               with(detail::CountCorners{}, mesh.element_nodes, mesh.node_offsets));
  exclusive_scan(mesh.node_offsets, mesh.node_offsets);
  parallel_for(
      "place corners", where, elements,
      with(detail::PlaceCorners{}, mesh.element_nodes, mesh.node_offsets, placed, mesh.node_corners));
  parallel_for("sort corners", where, nodes, with(detail::SortRows{}, mesh.node_offsets, mesh.node_corners));
}

}  // namespace strata::inline STRATA_ABI::fem
