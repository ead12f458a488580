// Finding boxes: which of many overlap a given one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/core/box.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Boxes of one rank under numbers of the caller's choice, from 0 on; they may overlap. Up to 32 are kept as
/// a list, more as an R-tree (Guttman, 1984; nodes are split at the median of their longest side), in which a
/// search costs about the logarithm of their number plus the number of hits. Empty boxes are never found.
class BoxIndex {
 public:
  static constexpr std::size_t longest_list = 32;

  /// `id` is not in use.
  void insert(int id, const Box& box);
  /// `id` is in use.
  void erase(int id);
  /// Appends the numbers of all boxes that overlap `query`, in no particular order.
  void find(const Box& query, std::vector<int>& ids) const;

  const Box& operator[](int id) const { return boxes_[static_cast<std::size_t>(id)].box; }
  std::size_t size() const { return used_.size(); }
  /// Whether it is a list: then to go through numbers() is fastest.
  bool is_list() const { return root_ < 0; }
  const std::vector<int>& numbers() const { return used_; }
  /// The levels of the tree; 0: a list.
  int depth() const;

 private:
  struct Entry {
    Box box;
    int leaf = -1;          // its node
    std::size_t place = 0;  // in used_
  };
  // A node has boxes, or nodes.
  struct Node {
    Box bounds;
    int parent = -1;
    bool is_leaf = true;
    std::vector<int> children;
  };

  void build_tree();
  void insert_into_tree(int id);
  void split(int node);
  void tighten(int node);
  void fit(int node);
  int new_node(bool is_leaf, int parent);
  const Box& bounds_of(const Node& node, int child) const;
  void adopt(int node, int child);

  std::vector<Entry> boxes_;
  std::vector<Node> nodes_;
  std::vector<int> free_nodes_;
  int root_ = -1;
  std::vector<int> used_;  // all numbers in use, in no order
};

}  // namespace strata::inline STRATA_ABI::detail
