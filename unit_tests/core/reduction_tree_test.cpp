// The reduction tree: any range of nodes, wherever it begins, joins in the order that the node numbers alone
// decide; groups of 2^k nodes may be joined first without changing a bit.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <strata/core/reduction_tree.hpp>

#include "core/random.hpp"

namespace {

using strata::index_t;
using strata::detail::join_lanes;
using strata::detail::PairwiseJoin;
using strata::detail::reduction_blocks;
using strata::detail::reduction_lanes;
using strata::detail::ValueOps;
using strata_tests::Random;

// A value that remembers how it was joined: "(a b)".
using Trace = std::string;

const ValueOps trace_ops{nullptr, sizeof(Trace), nullptr, [](const void*, void* value, const void* other) {
                           Trace& a = *static_cast<Trace*>(value);
                           a = "(" + a + " " + *static_cast<const Trace*>(other) + ")";
                         }};

// The tree from its definition: node j of a level joins nodes 2j and 2j+1 of the level below. Ranges that
// straddle zero end with the trees of node -1 and node 0, which meet at the root.
Trace reference(index_t first, index_t last) {
  std::map<index_t, Trace> level;
  for (index_t node = first; node < last; ++node) level[node] = std::to_string(node);
  for (int k = 0; k < PairwiseJoin::levels - 1 && level.size() > 1; ++k) {
    std::map<index_t, Trace> above;
    for (const auto& [node, value] : level) {
      Trace& parent = above[node >> 1];
      parent = parent.empty() ? value : "(" + parent + " " + value + ")";
    }
    level = above;
  }
  Trace result;
  for (const auto& [node, value] : level) result = result.empty() ? value : "(" + result + " " + value + ")";
  return result;
}

Trace joined(index_t first, index_t last) {
  std::vector<Trace> storage(PairwiseJoin::levels);
  PairwiseJoin join(trace_ops, storage.data());
  for (index_t node = first; node < last; ++node) {
    *static_cast<Trace*>(join.next()) = std::to_string(node);
    join.push(node);
  }
  const void* const result = join.finish();
  return result == nullptr ? "" : *static_cast<const Trace*>(result);
}

TEST(PairwiseJoin, NothingPushedGivesNothing) { EXPECT_EQ(joined(3, 3), ""); }

TEST(PairwiseJoin, FourNodesJoinPairwise) {
  EXPECT_EQ(joined(0, 4), "((0 1) (2 3))");
  EXPECT_EQ(joined(1, 4), "(1 (2 3))");
  EXPECT_EQ(joined(1, 3), "(1 2)");
}

TEST(PairwiseJoin, NodesBelowAndAboveZeroMeetAtTheRoot) {
  EXPECT_EQ(joined(-1, 1), "(-1 0)");
  EXPECT_EQ(joined(-2, 2), "((-2 -1) (0 1))");
  EXPECT_EQ(joined(-3, 0), "(-3 (-2 -1))");
}

TEST(PairwiseJoin, EveryShortRangeEqualsTheReferenceTree) {
  for (index_t first = -40; first <= 40; ++first)
    for (index_t last = first; last <= first + 40; ++last)
      ASSERT_EQ(joined(first, last), reference(first, last)) << first << " " << last;
}

TEST(PairwiseJoin, RandomRangesAnywhereEqualTheReferenceTree) {
  Random random;
  for (int round = 0; round < 100; ++round) {
    const index_t scale = index_t{1} << random(0, 54);
    const index_t first = random(-scale, scale), last = first + random(0, 300);

    ASSERT_EQ(joined(first, last), reference(first, last)) << first << " " << last;
  }
}

TEST(PairwiseJoin, AlignedGroupsMayBeJoinedFirst) {
  Random random;
  for (int round = 0; round < 60; ++round) {
    const int log2 = static_cast<int>(random(1, 5));
    const index_t first = random(-100, 100), last = first + random(1, 200);
    // One value for each group of 2^log2 nodes, as a device that joins groups on its own would hand over.
    std::vector<Trace> storage(PairwiseJoin::levels);
    PairwiseJoin join(trace_ops, storage.data());
    for (index_t group = first >> log2; group <= (last - 1) >> log2; ++group) {
      *static_cast<Trace*>(join.next()) =
          joined(std::max(first, group << log2), std::min(last, (group + 1) << log2));
      join.push(group);
    }

    ASSERT_EQ(*static_cast<Trace*>(join.finish()), reference(first, last))
        << first << " " << last << " 2^" << log2;
  }
}

TEST(ReductionBlocks, AreAlignedToTheGlobalIndexBelowZeroToo) {
  const index_t b = strata::detail::reduction_block;

  EXPECT_EQ(reduction_blocks(0, 1).last, 1);
  EXPECT_EQ(reduction_blocks(b - 1, b + 1).first, 0);
  EXPECT_EQ(reduction_blocks(b - 1, b + 1).last, 2);
  EXPECT_EQ(reduction_blocks(b, 2 * b).first, 1);
  EXPECT_EQ(reduction_blocks(b, 2 * b).last, 2);
  EXPECT_EQ(reduction_blocks(-1, 0).first, -1);
  EXPECT_EQ(reduction_blocks(-1, 0).last, 0);
  EXPECT_EQ(reduction_blocks(5, 5).first, reduction_blocks(5, 5).last);
}

TEST(JoinLanes, HalvesTheLanesAndLeavesOutThoseWithoutAnItem) {
  const auto join = [](Trace& a, const Trace& b) { a = "(" + a + " " + b + ")"; };
  const auto lanes = [&](index_t count) {
    Trace lane[4] = {"0", "1", "2", "3"};
    join_lanes<4>(lane, count, join);
    return lane[0];
  };

  EXPECT_EQ(lanes(4), "((0 2) (1 3))");
  EXPECT_EQ(lanes(400), "((0 2) (1 3))");
  EXPECT_EQ(lanes(3), "((0 2) 1)");
  EXPECT_EQ(lanes(2), "(0 1)");
  EXPECT_EQ(lanes(1), "0");
}

TEST(ReductionLanes, FitOneKibibyteAndArePowersOfTwo) {
  struct Large {
    char bytes[3000];
  };
  struct Odd {
    char bytes[24];
  };
  EXPECT_EQ(reduction_lanes<double>, 64);
  EXPECT_EQ(reduction_lanes<Odd>, 32);
  EXPECT_EQ(reduction_lanes<Large>, 1);
}

}  // namespace
