// Which rows slices of a mesh need: all that they touch, never falling, and few more.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include <strata/miniapps/fem/mesh_order.hpp>

namespace {

using namespace strata;
using fem::ElementCorners;
using fem::MeshRanges;

// Elements between sheets of `sheet` nodes, in their order.
ElementCorners sheets(index_t count, index_t sheet) {
  ElementCorners elements;
  for (index_t s = 0; s < count; ++s)
    for (index_t n = 0; n + 1 < sheet; ++n) {
      const auto at = [&](index_t above, index_t along) {
        return static_cast<std::int32_t>((s + above) * sheet + n + along);
      };
      elements.push_back({at(0, 0), at(0, 1), at(0, 0), at(0, 1), at(1, 0), at(1, 1), at(1, 0), at(1, 1)});
    }
  return elements;
}

void expect_covering(const ElementCorners& elements, index_t nodes, index_t width) {
  const MeshRanges ranges(elements, nodes);
  const auto count = static_cast<index_t>(elements.size());
  std::mt19937 random(3);
  ResidentRows before{0, 0};
  for (index_t e = 0; e < count; e += 1 + static_cast<index_t>(random() % 50)) {
    const index_t end = std::min(count, e + 1 + static_cast<index_t>(random() % 300));
    std::int32_t low = elements[static_cast<std::size_t>(e)][0], high = low;
    for (index_t k = e; k < end; ++k)
      for (const std::int32_t node : elements[static_cast<std::size_t>(k)])
        low = std::min(low, node), high = std::max(high, node);
    const ResidentRows rows = ranges.nodes_of({e, end});
    ASSERT_LE(rows.begin, low);
    ASSERT_GT(rows.end, high);
    ASSERT_GE(rows.begin, before.begin) << "never falls";
    EXPECT_LE((low - rows.begin) + (rows.end - 1 - high), width / 64) << "few more than are needed";
    before = rows;
    // And the other way round.
    for (const index_t node : {index_t{low}, index_t{high}}) {
      const ResidentRows touching = ranges.elements_of({node, node + 1});
      for (index_t k = e; k < end; ++k) {
        const auto& corners = elements[static_cast<std::size_t>(k)];
        if (std::find(corners.begin(), corners.end(), node) == corners.end()) continue;
        ASSERT_LE(touching.begin, k);
        ASSERT_GT(touching.end, k);
      }
    }
  }
  EXPECT_EQ(ranges.nodes_of({0, count}).begin, 0);
  EXPECT_EQ(ranges.nodes_of({0, count}).end, nodes);
  EXPECT_EQ(ranges.elements_of({0, nodes}).end, count);
  EXPECT_EQ(ranges.nodes_of({3, 3}).end, 0);
}

TEST(MeshRangesOf, NarrowMeshesAreExact) { expect_covering(sheets(60, 30), 61 * 30, 31); }
TEST(MeshRangesOf, WideMeshesHaveAFewRowsMore) { expect_covering(sheets(6, 5000), 7 * 5000, 5001); }

}  // namespace
