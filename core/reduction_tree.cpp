// SPDX-License-Identifier: Apache-2.0
#include <strata/core/reduction_tree.hpp>

namespace strata::inline STRATA_ABI::detail {

void PairwiseJoin::climb() {
  const int top = count_ - 1;
  const index_t node = node_[top];
  const bool siblings = top > 0 && level_[top - 1] == level_[top] && (node & 1) && node_[top - 1] == node - 1;
  // Nodes below and above zero never become siblings: they meet at the root.
  const bool at_root = top > 0 && level_[top] >= levels - 1 && level_[top - 1] >= levels - 1;
  if (siblings || at_root) {
    ops_.join(ops_.context, slot(top - 1), slot(top));
    --count_;
    if (at_root) return;
  }
  node_[count_ - 1] = node >> 1;
  ++level_[count_ - 1];
}

void PairwiseJoin::push(index_t node) {
  node_[count_] = node;
  level_[count_] = 0;
  ++count_;
  // A left child waits for its sibling; a right child is complete, with or without one.
  while (node_[count_ - 1] & 1) {
    if (level_[count_ - 1] >= levels - 1) break;  // node -1 is a right child on every level
    climb();
  }
}

void* PairwiseJoin::finish() {
  while (count_ > 1) climb();
  return count_ == 0 ? nullptr : slot(0);
}

}  // namespace strata::inline STRATA_ABI::detail
