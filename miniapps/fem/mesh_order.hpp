// MeshOrder: in which order the nodes and elements of a mesh are stored so that those that belong together
// lie close together: for arrays that go through a device in slices. MeshRanges: what a slice needs.
//
//   const MeshOrder order = narrow_order(mesh.elements, nodes);        // places of nodes and of elements
//   const auto elements = reordered(mesh.elements, order);             // their corners, by places
//   const MeshRanges ranges(elements, nodes);
//   steps.loop("elements", ..., in(x, rows([&](ResidentRows r) { return ranges.nodes_of(r); })), ...);
//
// Nodes keep the mesh's own order, or are numbered by reverse Cuthill-McKee (Cuthill and McKee, 1969; George
// and Liu, 1979, for where to begin), whichever makes elements narrower; elements follow by their first node.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <strata/core/layout.hpp>

namespace strata::inline STRATA_ABI::fem {

/// The corners of elements.
using ElementCorners = std::vector<std::array<std::int32_t, 8>>;

struct MeshOrder {
  std::vector<std::int32_t> node_at;     ///< the node at each place; empty: nodes keep their order
  std::vector<std::int32_t> element_at;  ///< likewise
  index_t width = 0;                     ///< the most places from the first to the last corner of an element

  std::int32_t node(index_t place) const { return of(node_at, place); }
  std::int32_t element(index_t place) const { return of(element_at, place); }

 private:
  static std::int32_t of(const std::vector<std::int32_t>& list, index_t place) {
    return list.empty() ? static_cast<std::int32_t>(place) : list[static_cast<std::size_t>(place)];
  }
};

/// The narrower of the two orders; the mesh's own where they are alike.
MeshOrder narrow_order(const ElementCorners& elements, index_t nodes);
/// The same by reverse Cuthill-McKee, and with nodes in their own order.
MeshOrder reverse_cuthill_mckee(const ElementCorners& elements, index_t nodes);
MeshOrder own_order(const ElementCorners& elements, index_t nodes);

/// The place of each node or element, from what is at each place; empty stays empty.
std::vector<std::int32_t> places_of(const std::vector<std::int32_t>& at);
/// The places of the corners of elements, by the elements' places.
ElementCorners reordered(const ElementCorners& elements, const MeshOrder& order);

/// Which rows of nodes a slice of elements needs, and the other way round: from the first row that it or a
/// later one needs to the last one that it or an earlier one needs, so that rows never fall from slice to
/// slice. By places.
///
/// Who plans slices asks again and again, for items anywhere. So that the tables stay in a processor's cache
/// they are of blocks of items, and ranges those of whole blocks, which are short compared to the rows that
/// an item needs: up to 1/64 of these is too much.
class MeshRanges {
 public:
  MeshRanges(const ElementCorners& elements, index_t nodes);

  ResidentRows nodes_of(ResidentRows elements) const { return nodes_.range(elements); }
  ResidentRows elements_of(ResidentRows nodes) const { return elements_.range(nodes); }

 private:
  using List = std::vector<std::int32_t>;
  struct Table {
    List first, end;  // of blocks of 2^log2 items
    int log2 = 0;

    /// Of each item; they never fall.
    void set(const List& first_of_items, const List& end_of_items);
    ResidentRows range(ResidentRows items) const {
      if (items.end <= items.begin) return {0, 0};
      return {first[static_cast<std::size_t>(items.begin >> log2)],
              end[static_cast<std::size_t>((items.end - 1) >> log2)]};
    }
  };

  Table nodes_, elements_;
};

}  // namespace strata::inline STRATA_ABI::fem
