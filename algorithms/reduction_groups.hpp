// How a reduction over several devices keeps the one tree of core/reduction_tree.hpp: each device reduces
// whole subtrees, whose values are joined by the nodes above them. Pure logic.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/core/config.hpp>
#include <strata/core/layout.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Work items that make one node of the tree: number `node` of level `level`, 0 being blocks.
struct ReductionGroup {
  std::size_t part;    // the device
  ResidentRows items;  // of the range
  int level;
  index_t node;
};

/// The range in `weights` (or `parts` equal ones) runs of whole nodes, cut where a node is at most about a
/// 32nd of a part; blocks have `block` items, aligned to the index. At most 64 groups a part.
std::vector<ReductionGroup> reduction_groups(ResidentRows range, std::size_t parts,
                                             const std::vector<double>& weights, index_t block);

/// The same for given parts: runs of blocks in order, without gaps.
std::vector<ReductionGroup> groups_of_split(ResidentRows range, const std::vector<ResidentRows>& split,
                                            index_t block);

/// The same for one part of the range, `items`, cut at blocks; their `part` is 0.
std::vector<ReductionGroup> groups_of_part(ResidentRows range, ResidentRows items, index_t block);

/// Values a += b, in this order, which leave the joined value of all groups in number 0.
struct Join {
  int a, b;
};
std::vector<Join> joins_of(const std::vector<ReductionGroup>& groups);

}  // namespace strata::inline STRATA_ABI::detail
