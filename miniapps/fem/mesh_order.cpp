// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include <strata/miniapps/fem/mesh_order.hpp>

namespace strata::inline STRATA_ABI::fem {

namespace {

using List = std::vector<std::int32_t>;

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

bool is_identity(const List& list) {
  for (std::size_t k = 0; k < list.size(); ++k)
    if (list[k] != static_cast<std::int32_t>(k)) return false;
  return true;
}

// Which elements each node has, in compressed rows.
struct ElementsOfNodes {
  List offsets, elements;

  ElementsOfNodes(const ElementCorners& corners, index_t nodes)
      : offsets(at(nodes + 1), 0), elements(8 * corners.size()) {
    for (const auto& element : corners)
      for (const std::int32_t node : element) ++offsets[at(node) + 1];
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    List next(offsets.begin(), offsets.end() - 1);
    for (std::size_t e = 0; e < corners.size(); ++e)
      for (const std::int32_t node : corners[e])
        elements[at(next[at(node)]++)] = static_cast<std::int32_t>(e);
  }
  std::int32_t degree(std::int32_t node) const { return offsets[at(node) + 1] - offsets[at(node)]; }
};

// Nodes by their distance from a first one: those of few elements first within those found from one node.
class Search {
 public:
  Search(const ElementCorners& corners, const ElementsOfNodes& of_nodes)
      : corners_(corners), of_nodes_(of_nodes), seen_(of_nodes.offsets.size(), 0), used_(corners.size(), 0) {}

  // Appends the nodes that can be reached; returns the number of levels, and where the last one begins.
  struct Levels {
    int count;
    std::size_t last;
  };
  Levels from(std::int32_t first, List& order) {
    ++round_;
    std::size_t begin = order.size(), last = begin;
    order.push_back(first);
    seen_[at(first)] = round_;
    int levels = 0;
    while (begin < order.size()) {
      const std::size_t end = order.size();
      last = begin;
      ++levels;
      for (; begin < end; ++begin) add_neighbours(order[begin], order);
    }
    return {levels, last};
  }

 private:
  void add_neighbours(std::int32_t node, List& order) {
    const std::size_t found = order.size();
    for (std::int32_t k = of_nodes_.offsets[at(node)]; k < of_nodes_.offsets[at(node) + 1]; ++k) {
      const std::size_t element = at(of_nodes_.elements[at(k)]);
      if (used_[element] == round_) continue;
      used_[element] = round_;
      for (const std::int32_t other : corners_[element]) {
        if (seen_[at(other)] == round_) continue;
        seen_[at(other)] = round_;
        order.push_back(other);
      }
    }
    std::sort(order.begin() + static_cast<std::ptrdiff_t>(found), order.end(),
              [&](std::int32_t a, std::int32_t b) {
                const std::int32_t x = of_nodes_.degree(a), y = of_nodes_.degree(b);
                return x != y ? x < y : a < b;
              });
  }

  const ElementCorners& corners_;
  const ElementsOfNodes& of_nodes_;
  std::vector<int> seen_, used_;  // in which round
  int round_ = 0;
};

// Elements by their first node, and how wide they are.
void order_elements(const ElementCorners& elements, index_t nodes, MeshOrder& order) {
  const List places = places_of(order.node_at);
  const auto place = [&](std::int32_t node) { return places.empty() ? node : places[at(node)]; };
  List first(elements.size()), count(at(nodes + 1), 0);
  for (std::size_t e = 0; e < elements.size(); ++e) {
    std::int32_t low = place(elements[e][0]), high = low;
    for (const std::int32_t node : elements[e]) {
      low = std::min(low, place(node));
      high = std::max(high, place(node));
    }
    first[e] = low;
    ++count[at(low) + 1];
    order.width = std::max<index_t>(order.width, high - low + 1);
  }
  std::partial_sum(count.begin(), count.end(), count.begin());
  order.element_at.resize(elements.size());
  for (std::size_t e = 0; e < elements.size(); ++e)
    order.element_at[at(count[at(first[e])]++)] = static_cast<std::int32_t>(e);
  if (is_identity(order.element_at)) order.element_at.clear();
}

}  // namespace

List places_of(const List& node_at) {
  List places(node_at.size());
  for (std::size_t place = 0; place < node_at.size(); ++place)
    places[at(node_at[place])] = static_cast<std::int32_t>(place);
  return places;
}

MeshOrder own_order(const ElementCorners& elements, index_t nodes) {
  MeshOrder order;
  order_elements(elements, nodes, order);
  return order;
}

MeshOrder reverse_cuthill_mckee(const ElementCorners& elements, index_t nodes) {
  const ElementsOfNodes of_nodes(elements, nodes);
  Search search(elements, of_nodes);
  MeshOrder order;
  order.node_at.reserve(at(nodes));
  std::vector<bool> done(at(nodes), false);
  List trial;
  for (std::int32_t node = 0; node < nodes; ++node) {
    if (done[at(node)]) continue;
    // A node at an end of the part: again and again one of the farthest, as long as that is farther away.
    std::int32_t first = node;
    int levels = 0;
    for (int tries = 0; tries < 8; ++tries) {
      trial.clear();
      const Search::Levels found = search.from(first, trial);
      if (found.count <= levels) break;
      levels = found.count;
      first = *std::min_element(trial.begin() + static_cast<std::ptrdiff_t>(found.last), trial.end(),
                                [&](std::int32_t a, std::int32_t b) {
                                  const std::int32_t x = of_nodes.degree(a), y = of_nodes.degree(b);
                                  return x != y ? x < y : a < b;
                                });
    }
    const std::size_t begin = order.node_at.size();
    search.from(first, order.node_at);
    for (std::size_t k = begin; k < order.node_at.size(); ++k) done[at(order.node_at[k])] = true;
    std::reverse(order.node_at.begin() + static_cast<std::ptrdiff_t>(begin), order.node_at.end());
  }
  if (is_identity(order.node_at)) order.node_at.clear();
  order_elements(elements, nodes, order);
  return order;
}

MeshOrder narrow_order(const ElementCorners& elements, index_t nodes) {
  MeshOrder own = own_order(elements, nodes), narrow = reverse_cuthill_mckee(elements, nodes);
  return narrow.width < own.width ? narrow : own;
}

ElementCorners reordered(const ElementCorners& elements, const MeshOrder& order) {
  const List places = places_of(order.node_at);
  ElementCorners result(elements.size());
  for (std::size_t k = 0; k < elements.size(); ++k) {
    result[k] = elements[at(order.element(static_cast<index_t>(k)))];
    if (!places.empty())
      for (std::int32_t& node : result[k]) node = places[at(node)];
  }
  return result;
}

void MeshRanges::Table::set(const List& first_of_items, const List& end_of_items) {
  const std::size_t items = first_of_items.size();
  std::int32_t widest = 0;
  for (std::size_t k = 0; k < items; ++k) widest = std::max(widest, end_of_items[k] - first_of_items[k]);
  while ((std::int32_t{1} << log2) <= widest / 256) ++log2;
  const std::size_t block = std::size_t{1} << log2;
  for (std::size_t k = 0; k < items; k += block) {
    first.push_back(first_of_items[k]);
    end.push_back(end_of_items[std::min(k + block, items) - 1]);
  }
}

MeshRanges::MeshRanges(const ElementCorners& elements, index_t nodes) {
  List first_node(elements.size()), end_node(elements.size());
  List first_element(at(nodes), static_cast<std::int32_t>(elements.size())), end_element(at(nodes), 0);
  for (std::size_t e = 0; e < elements.size(); ++e) {
    const auto [low, high] = std::minmax_element(elements[e].begin(), elements[e].end());
    first_node[e] = *low;
    end_node[e] = *high + 1;
    for (const std::int32_t node : elements[e]) {
      first_element[at(node)] = std::min(first_element[at(node)], static_cast<std::int32_t>(e));
      end_element[at(node)] = std::max(end_element[at(node)], static_cast<std::int32_t>(e) + 1);
    }
  }
  for (List* const least : {&first_node, &first_element})
    for (std::size_t k = least->size(); k-- > 1;) (*least)[k - 1] = std::min((*least)[k - 1], (*least)[k]);
  for (List* const most : {&end_node, &end_element})
    for (std::size_t k = 1; k < most->size(); ++k) (*most)[k] = std::max((*most)[k], (*most)[k - 1]);
  nodes_.set(first_node, end_node);
  elements_.set(first_element, end_element);
}

}  // namespace strata::inline STRATA_ABI::fem
