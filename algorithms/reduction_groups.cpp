// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include <strata/algorithms/across.hpp>
#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/algorithms/reduction_groups.hpp>
#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

std::vector<ReductionGroup> reduction_groups(ResidentRows range, std::size_t parts,
                                             const std::vector<double>& weights, index_t block) {
  if (range.begin >= range.end) return {};
  const index_t first = floor_div(range.begin, block), last = floor_div(range.end - 1, block) + 1;
  // Parts of about `grain` blocks, a power of two.
  constexpr index_t grains = 32;
  index_t grain = 1;
  while (grain * 2 * grains * static_cast<index_t>(parts) <= last - first) grain *= 2;
  return groups_of_split(range, split_range(first, last, parts, weights, grain), block);
}

namespace {

// Adds those of part `part`, the blocks [node, end) of a range whose blocks end at `last`.
void add_groups(std::vector<ReductionGroup>& groups, ResidentRows range, std::size_t part, index_t node,
                index_t end, index_t last, index_t block) {
  while (node < end) {
    // The largest subtree that begins here and ends in time; at the end of the range those that end later,
    // too.
    int level = 0;
    index_t size = 1;
    const auto fits = [&](index_t wider) {
      return floor_div(node, wider) * wider == node && (node + wider <= end || end == last);
    };
    while (size < end - node && fits(size * 2)) {
      size *= 2;
      ++level;
    }
    const index_t until = std::min(node + size, end);
    groups.push_back({part,
                      {std::max(range.begin, node * block), std::min(range.end, until * block)},
                      level,
                      floor_div(node, size)});
    node = until;
  }
}

}  // namespace

std::vector<ReductionGroup> groups_of_split(ResidentRows range, const std::vector<ResidentRows>& split,
                                            index_t block) {
  std::vector<ReductionGroup> groups;
  if (split.empty()) return groups;
  for (std::size_t part = 0; part < split.size(); ++part)
    add_groups(groups, range, part, split[part].begin, split[part].end, split.back().end, block);
  return groups;
}

std::vector<ReductionGroup> groups_of_part(ResidentRows range, ResidentRows items, index_t block) {
  std::vector<ReductionGroup> groups;
  if (items.begin < items.end)
    add_groups(groups, range, 0, floor_div(items.begin, block), floor_div(items.end - 1, block) + 1,
               floor_div(range.end - 1, block) + 1, block);
  return groups;
}

}  // namespace detail

std::vector<double> reduction_sizes(index_t items, std::size_t devices) {
  if (items <= 0) return std::vector<double>(devices, 1);
  std::vector<double> sizes(devices, 0);
  const ResidentRows all{0, items};
  for (const auto& group : detail::reduction_groups(all, devices, {}, detail::reduction_block))
    sizes[group.part] += static_cast<double>(group.items.end - group.items.begin);
  return sizes;
}

namespace detail {

void fail_too_many_groups() {
  throw Error(
      "launch_reduce over so many devices with a result that stays on a device: at most 512 partial "
      "results are joined there; reduce into a host variable");
}

index_t number_values(const std::vector<ReductionGroup>& groups, std::size_t parts, BlockRange blocks,
                      bool by_blocks, std::vector<ResidentRows>& value_rows,
                      std::vector<ResidentRows>& rows) {
  rows.assign(parts, ResidentRows{0, 0});
  value_rows = rows;
  index_t values = 0;
  for (const ReductionGroup& group : groups) {
    rows[group.part] = cover(rows[group.part], group.items);
    const index_t first = values;
    if (by_blocks) values = reduction_blocks(group.items.begin, group.items.end).last - blocks.first;
    else ++values;
    value_rows[group.part] = cover(value_rows[group.part], {first, values});
  }
  return values;
}

std::vector<Join> joins_of(const std::vector<ReductionGroup>& groups) {
  std::vector<Join> joins;
  // Level by level: nodes by number, and the group whose place has their value.
  std::map<int, std::map<index_t, int>> levels;
  for (std::size_t k = 0; k < groups.size(); ++k)
    levels[groups[k].level][groups[k].node] = static_cast<int>(k);
  while (!levels.empty()) {
    const int level = levels.begin()->first;
    const std::map<index_t, int> nodes = levels.begin()->second;
    levels.erase(levels.begin());
    if (levels.empty() && nodes.size() == 1) break;
    // Nodes below and above zero never become siblings: they meet at the root.
    if (levels.empty() && nodes.size() == 2 && nodes.contains(-1) && nodes.contains(0)) {
      joins.push_back({nodes.at(-1), nodes.at(0)});
      break;
    }
    for (const auto& [node, place] : nodes) {
      const index_t parent = floor_div(node, 2);
      const auto [at, is_new] = levels[level + 1].try_emplace(parent, place);
      if (!is_new) joins.push_back({at->second, place});
    }
  }
  return joins;
}

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
