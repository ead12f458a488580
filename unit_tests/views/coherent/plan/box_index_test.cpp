// BoxIndex against a search of all boxes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <strata/views/coherent/plan/box_index.hpp>

#include "core/random.hpp"

namespace {

using strata::Box;
using strata::index_t;
using strata::detail::BoxIndex;

std::vector<int> found(const BoxIndex& index, const Box& query) {
  std::vector<int> ids;
  index.find(query, ids);
  std::sort(ids.begin(), ids.end());
  return ids;
}

Box random_box(strata_tests::Random& random, int rank, index_t domain, index_t longest) {
  std::vector<index_t> lower, upper;
  for (int d = 0; d < rank; ++d) {
    lower.push_back(random(-5, domain));
    upper.push_back(lower.back() + random(1, longest));
  }
  return Box(lower, upper);
}

TEST(BoxIndex, FindsWhatOverlapsWhileBoxesComeAndGo) {
  strata_tests::Random random;
  for (int round = 0; round < 60; ++round) {
    const int rank = static_cast<int>(random(1, 8));
    BoxIndex index;
    std::vector<Box> boxes;
    std::set<int> used;
    bool was_tree = false;
    // Grows to a few hundred boxes, and empties again.
    for (int step = 0; step < 700; ++step) {
      const bool grows = random(0, 99) < (step < 350 ? 85 : 15);
      if (grows) {
        int id = 0;
        while (used.count(id) != 0) ++id;
        const Box box = random_box(random, rank, 60, random(0, 9) == 0 ? 60 : 6);
        if (static_cast<std::size_t>(id) >= boxes.size()) boxes.resize(static_cast<std::size_t>(id) + 1);
        boxes[static_cast<std::size_t>(id)] = box;
        index.insert(id, box);
        used.insert(id);
      } else if (!used.empty()) {
        auto victim = used.begin();
        std::advance(victim, random(0, static_cast<index_t>(used.size()) - 1));
        index.erase(*victim);
        used.erase(victim);
      }
      was_tree = was_tree || index.depth() > 1;
      if (step % 10 != 0) continue;
      const Box query = random_box(random, rank, 60, 30);
      std::vector<int> expected;
      for (const int id : used)
        if (overlap(boxes[static_cast<std::size_t>(id)], query)) expected.push_back(id);
      ASSERT_EQ(found(index, query), expected) << "rank " << rank << ", step " << step;
      ASSERT_EQ(index.size(), used.size());
    }
    EXPECT_TRUE(was_tree);
  }
}

TEST(BoxIndex, FewBoxesAreAList) {
  BoxIndex index;
  for (int k = 0; k < 32; ++k) index.insert(k, Box({k}, {k + 1}));
  EXPECT_EQ(index.depth(), 0);
  index.insert(32, Box({32}, {33}));
  EXPECT_GT(index.depth(), 0);
  EXPECT_EQ(found(index, Box({30}, {40})), (std::vector<int>{30, 31, 32}));
}

TEST(BoxIndex, ATreeOfManyBoxesIsFlat) {
  BoxIndex index;
  for (int k = 0; k < 10000; ++k) index.insert(k, Box({k / 100, k % 100}, {k / 100 + 1, k % 100 + 1}));
  EXPECT_LE(index.depth(), 6);  // nodes are at least half full of 16
  EXPECT_EQ(found(index, Box({3, 4}, {5, 5})), (std::vector<int>{304, 404}));
}

}  // namespace
