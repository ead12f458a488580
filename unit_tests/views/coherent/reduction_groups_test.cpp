// The parts in which several devices reduce keep the one tree: whatever the range and the split, joining the
// groups as said is joining all blocks pairwise.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <strata/algorithms/reduction_groups.hpp>
#include <strata/core/floor_div.hpp>
#include <strata/core/reduction_tree.hpp>

#include "core/random.hpp"

namespace {

using strata::index_t;
using strata::ResidentRows;
using strata::detail::floor_div;
using strata::detail::Join;
using strata::detail::joins_of;
using strata::detail::reduction_groups;
using strata::detail::ReductionGroup;
using strata_tests::Random;

// Values that say how they were joined: "(b0+b1)".
struct Name {
  std::string text;
};
void join(Name& a, const Name& b) { a.text = "(" + a.text + "+" + b.text + ")"; }

// Blocks [first, last) joined pairwise, as core/reduction_tree.hpp has it.
Name tree_of(index_t first, index_t last) {
  struct Node {
    index_t number;
    Name value;
  };
  std::vector<Node> nodes;
  for (index_t b = first; b < last; ++b) nodes.push_back({b, {std::to_string(b)}});
  while (nodes.size() > 1) {
    if (nodes.size() == 2 && nodes[0].number == -1 && nodes[1].number == 0) {  // they meet at the root
      join(nodes[0].value, nodes[1].value);
      break;
    }
    std::vector<Node> above;
    for (Node& node : nodes) {
      const index_t parent = floor_div(node.number, 2);
      if (!above.empty() && above.back().number == parent) join(above.back().value, node.value);
      else above.push_back({parent, node.value});
    }
    nodes = std::move(above);
  }
  return nodes.front().value;
}

void check(ResidentRows range, std::size_t parts, const std::vector<double>& weights, index_t block) {
  SCOPED_TRACE(std::to_string(range.begin) + " to " + std::to_string(range.end) + ", " +
               std::to_string(parts) + " parts, blocks of " + std::to_string(block));
  const std::vector<ReductionGroup> groups = reduction_groups(range, parts, weights, block);
  if (range.begin >= range.end) {
    EXPECT_TRUE(groups.empty());
    return;
  }
  // One after the other, of part after part, cut at blocks only.
  std::vector<index_t> of_part(parts, 0);
  index_t next = range.begin;
  std::size_t part = 0;
  for (const ReductionGroup& group : groups) {
    ASSERT_EQ(group.items.begin, next);
    ASSERT_LT(group.items.begin, group.items.end);
    ASSERT_GE(group.part, part);
    ASSERT_LT(group.part, parts);
    part = group.part;
    next = group.items.end;
    if (next != range.end) {
      ASSERT_EQ(floor_div(next, block) * block, next);
    }
    ++of_part[group.part];
  }
  ASSERT_EQ(next, range.end);
  EXPECT_LE(*std::max_element(of_part.begin(), of_part.end()), 64);

  std::vector<Name> values;
  for (const ReductionGroup& group : groups)
    values.push_back(tree_of(floor_div(group.items.begin, block), floor_div(group.items.end - 1, block) + 1));
  for (const Join& j : joins_of(groups))
    join(values[static_cast<std::size_t>(j.a)], values[static_cast<std::size_t>(j.b)]);
  EXPECT_EQ(values[0].text, tree_of(floor_div(range.begin, block), floor_div(range.end - 1, block) + 1).text);
}

TEST(ReductionGroups, KeepTheTreeWhateverTheRangeAndTheParts) {
  Random random;
  for (int trial = 0; trial < strata_tests::trials(1000) && !::testing::Test::HasFailure(); ++trial) {
    const index_t block = random(0, 3) == 0 ? 1 : 512;
    const index_t begin = random(0, 1) == 0 ? 0 : random(-5000, 5000);
    const index_t length = random(0, random(0, 1) == 0 ? 2000 : 300 * block);
    const auto parts = static_cast<std::size_t>(random(1, 8));
    std::vector<double> weights;
    if (random(0, 1) == 0) {
      for (std::size_t k = 0; k < parts; ++k) weights.push_back(static_cast<double>(random(0, 9)));
      weights[static_cast<std::size_t>(random(0, static_cast<index_t>(parts) - 1))] = 1;
    }
    check({begin, begin + length}, parts, weights, block);
  }
}

TEST(ReductionGroups, OfBlocksAndTheirNeighbourhood) {
  for (const index_t blocks : {1, 2, 3, 4, 7, 8, 63, 64, 65, 511, 512, 513})
    for (const index_t beside : {-1, 0, 1})
      for (const std::size_t parts : {1U, 2U, 3U, 4U, 8U}) check({0, blocks * 512 + beside}, parts, {}, 512);
}

TEST(ReductionGroups, BelowAndAboveZeroMeetAtTheRoot) { check({-3 * 512 - 1, 5 * 512 + 1}, 3, {}, 512); }

TEST(ReductionGroups, OfFewItemsLeaveDevicesWithoutAny) {
  const std::vector<ReductionGroup> groups = reduction_groups({0, 512}, 4, {}, 512);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(joins_of(groups).size(), 0U);
}

TEST(ReductionGroups, PartsAreAboutAsLargeAsAskedFor) {
  const index_t n = 1 << 24;
  for (const std::vector<double>& weights : {std::vector<double>{}, std::vector<double>{3, 1, 2, 2}}) {
    std::vector<double> items(4, 0);
    for (const ReductionGroup& group : reduction_groups({0, n}, 4, weights, 512))
      items[group.part] += static_cast<double>(group.items.end - group.items.begin);
    for (std::size_t p = 0; p < 4; ++p) {
      const double wanted = weights.empty() ? 0.25 : weights[p] / 8;
      EXPECT_NEAR(items[p] / static_cast<double>(n), wanted, 0.02);
    }
  }
}

TEST(ReductionGroups, OfPartsOneByOneAreThoseOfTheSplit) {
  Random random;
  for (int trial = 0; trial < 500; ++trial) {
    const index_t first = random(-100'000, 100'000), last = first + random(1, 200'000), block = 512;
    const index_t begin = floor_div(first, block), end = floor_div(last - 1, block) + 1;
    const index_t cut = random(begin, end);
    const auto all = strata::detail::groups_of_split({first, last}, {{begin, cut}, {cut, end}}, block);
    std::vector<ReductionGroup> each;
    for (const ResidentRows blocks : {ResidentRows{begin, cut}, ResidentRows{cut, end}}) {
      const ResidentRows items{std::max(first, blocks.begin * block), std::min(last, blocks.end * block)};
      for (const ReductionGroup& group : strata::detail::groups_of_part({first, last}, items, block))
        each.push_back(group);
    }
    ASSERT_EQ(each.size(), all.size());
    for (std::size_t g = 0; g < all.size(); ++g) {
      EXPECT_EQ(each[g].items.begin, all[g].items.begin);
      EXPECT_EQ(each[g].items.end, all[g].items.end);
      EXPECT_EQ(each[g].level, all[g].level);
      EXPECT_EQ(each[g].node, all[g].node);
    }
  }
}

}  // namespace
