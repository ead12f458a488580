// How work is cut into a grid, what parts touch, and what is refused. Pure logic.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <strata/algorithms/grid/grid_parts.hpp>
#include <strata/core/box.hpp>
#include <strata/core/error.hpp>
#include <strata/views/coherent/access_region.hpp>

#include "core/random.hpp"
#include "messages.hpp"

namespace {

using namespace strata;
using namespace strata::detail;
using strata_tests::message_of;
using strata_tests::Random;

GridShape grid_of(std::vector<std::size_t> parts) {
  GridShape shape;
  shape.cuts = static_cast<int>(parts.size());
  std::copy(parts.begin(), parts.end(), shape.count.begin());
  shape.weights.resize(parts.size());
  std::size_t count = 1;
  for (const std::size_t p : parts) count *= p;
  shape.is_host.assign(count, false);
  return shape;
}
GridItems items_of(std::vector<ResidentRows> runs) {
  GridItems items{{}, static_cast<int>(runs.size())};
  std::copy(runs.begin(), runs.end(), items.of.begin());
  return items;
}
Box box_of(const GridItems& items) {
  std::vector<index_t> lower, upper;
  for (const ResidentRows run : items.all()) {
    lower.push_back(run.begin);
    upper.push_back(run.end);
  }
  return Box(lower, upper);
}
std::vector<Box> boxes_of(const ArrayPart& part) {
  std::vector<Box> boxes;
  part.visit([&](const Box& box) { boxes.push_back(box); });
  return boxes;
}

// ---- cuts

TEST(GridParts, TheLastIndexOfTheGridCountsFastest) {
  const GridParts grid = grid_parts(grid_of({2, 3}), items_of({{0, 10}, {0, 9}}), {1, 1, 1});

  ASSERT_EQ(grid.parts.size(), 6U);
  EXPECT_EQ(grid.sides, (std::array<std::size_t, most_cuts>{2, 3, 0}));
  EXPECT_EQ(grid.parts[1].place, 1U);
  EXPECT_EQ(box_of(grid.parts[1].items), Box({0, 3}, {5, 6}));
  EXPECT_EQ(box_of(grid.parts[3].items), Box({5, 0}, {10, 3}));
}

TEST(GridParts, RowsAreCutAtTilesAndColumnsAnywhere) {
  const GridParts grid = grid_parts(grid_of({2, 2}), items_of({{3, 30}, {1, 6}}), {8, 1, 1});

  ASSERT_EQ(grid.parts.size(), 4U);
  EXPECT_EQ(box_of(grid.parts[0].items), Box({3, 1}, {16, 3}));
  EXPECT_EQ(box_of(grid.parts[3].items), Box({16, 3}, {30, 6}));
}

TEST(GridParts, WhatHasNoWorkIsLeftOutAndHostsComeLast) {
  GridShape shape = grid_of({3, 2});
  shape.is_host = {true, false, true, false, true, false};
  shape.weights = {{1, 0, 1}, {}};

  const GridParts grid = grid_parts(shape, items_of({{0, 8}, {0, 2}}), {1, 1, 1});

  EXPECT_EQ(grid.sides[0], 2U);
  std::vector<std::size_t> places;
  for (const GridPart& part : grid.parts) places.push_back(part.place);
  EXPECT_EQ(places, (std::vector<std::size_t>{1, 5, 0, 4}));
  EXPECT_EQ(box_of(grid.parts[3].items), Box({4, 0}, {8, 1}));
  EXPECT_TRUE(grid_parts(shape, items_of({{5, 5}, {0, 2}}), {1, 1, 1}).parts.empty());
}

TEST(GridParts, AreThePlaceOfEachItemOnce) {
  Random random;
  for (int trial = 0; trial < strata_tests::trials(500); ++trial) {
    std::vector<std::size_t> parts;
    std::vector<ResidentRows> runs;
    std::array<index_t, most_cuts> align{1, 1, 1};
    for (index_t d = random(2, 3); d > 0; --d) {
      parts.push_back(static_cast<std::size_t>(random(1, 4)));
      const index_t begin = random(-20, 20);
      runs.push_back({begin, begin + random(0, 12)});
    }
    align[0] = random(0, 1) == 0 ? 1 : 8;
    const Box all = box_of(items_of(runs));

    const GridParts grid = grid_parts(grid_of(parts), items_of(runs), align);

    std::vector<Box> rest{all};
    index_t items = 0;
    for (const GridPart& part : grid.parts) {
      EXPECT_TRUE(all.contains(box_of(part.items)));
      EXPECT_FALSE(box_of(part.items).empty());
      items += box_of(part.items).size();
      rest = remainder(rest, box_of(part.items));
    }
    EXPECT_EQ(total_size(rest), 0);
    EXPECT_EQ(items, all.size());
  }
}

TEST(GridParts, InnerAndOuterItemsAreAllItems) {
  const GridItems all = items_of({{0, 40}, {10, 50}}), inner = items_of({{1, 40}, {12, 48}});

  std::vector<Box> boxes{box_of(inner)};
  for (const GridItems& items : outer_items(all, inner)) boxes.push_back(box_of(items));

  EXPECT_EQ(boxes.size(), 4U) << "two columns and a row besides";
  EXPECT_EQ(total_size(boxes), 1600);
  EXPECT_TRUE(remainder(std::vector<Box>{box_of(all)}, boxes).empty());
}

// ---- regions

const Box plane({0, 0}, {10, 20});
const std::vector<ResidentRows> part{{4, 6}, {10, 15}};

TEST(GridRegions, BoxesHaveTheirNeighboursAndCorners) {
  EXPECT_EQ(boxes_of(part_of_items(own_element, plane, part, "x")), std::vector<Box>{Box({4, 10}, {6, 15})});
  EXPECT_EQ(boxes_of(part_of_items(halo({1, 2}, {0, 3}), plane, part, "x")),
            std::vector<Box>{Box({3, 8}, {6, 18})});
  EXPECT_EQ(boxes_of(part_of_items(halo({9, 99}, {9, 2}), plane, part, "x")),
            std::vector<Box>{Box({0, 0}, {10, 17})})
      << "as far as there are any";
}
TEST(GridRegions, RowsHaveAllColumns) {
  const std::vector<Box> rows{Box({3, 0}, {7, 20})};
  EXPECT_EQ(boxes_of(part_of_items(halo(1, 1), plane, part, "x")), rows);
  EXPECT_EQ(boxes_of(part_of(halo({1, 5}, {1, 5}), plane, part[0], "x")), rows) << "without a grid";
  EXPECT_EQ(boxes_of(part_of(own_element, plane, part[0], "x")), std::vector<Box>{Box({4, 0}, {6, 20})});
  EXPECT_EQ(boxes_of(part_of_items(own, plane, part, "x")), std::vector<Box>{Box({4, 0}, {6, 20})});
}
TEST(GridRegions, DimensionsThatAreNotCutOrNotNamedAreWhole) {
  const Box cube({0, 0, 0}, {10, 20, 30});
  EXPECT_EQ(boxes_of(part_of_items(halo({1, 1, 1}, {1, 1, 1}), cube, part, "x")),
            std::vector<Box>{Box({3, 9, 0}, {7, 16, 30})});
  const std::vector<ResidentRows> three{{4, 6}, {10, 15}, {0, 5}};
  EXPECT_EQ(boxes_of(part_of_items(halo({1, 1}, {1, 1}), cube, three, "x")),
            std::vector<Box>{Box({3, 9, 0}, {7, 16, 30})});
  EXPECT_EQ(boxes_of(part_of_items(own_element, Box({0}, {10}), part, "x")), std::vector<Box>{Box({4}, {6})});
}
TEST(GridRegions, OfARankOf0AreTheOneElement) {
  EXPECT_EQ(boxes_of(part_of_items(own_element, Box(), part, "x")), std::vector<Box>{Box()});
  EXPECT_EQ(boxes_of(part_of(halo(1, 1), Box(), {0, 1}, "x")), std::vector<Box>{Box()});
  EXPECT_TRUE(boxes_of(part_of(halo(1, 1), Box(), {1, 1}, "x")).empty());
}
TEST(GridRegions, CyclicOnesAreSeveralBoxes) {
  const auto corner = boxes_of(part_of_items(halo({1, 2}, {1, 2}, edge::cyclic), plane,
                                             std::vector<ResidentRows>{{0, 5}, {15, 20}}, "x"));
  EXPECT_EQ(corner, (std::vector<Box>{Box({0, 13}, {6, 20}), Box({0, 0}, {6, 2}), Box({9, 13}, {10, 20}),
                                      Box({9, 0}, {10, 2})}));
}
TEST(GridRegions, DuplicatesBeyondTheArrayAreItsLastElements) {
  EXPECT_EQ(boxes_of(part_of(halo(1, 1, edge::duplicate), Box({0}, {10}), {15, 20}, "x")),
            std::vector<Box>{Box({9}, {10})});
  EXPECT_EQ(boxes_of(part_of(halo(1, 1, edge::duplicate), Box({0}, {10}), {-5, -3}, "x")),
            std::vector<Box>{Box({0}, {1})});
}

// Whatever an element reads is in the region of its part, boxes share no element, and what nobody reads is
// not in it, but for edges.
TEST(GridRegions, HaveWhatTheirItemsRead) {
  Random random;
  for (int trial = 0; trial < strata_tests::trials(400); ++trial) {
    const index_t n[] = {random(1, 9), random(1, 9)};
    const Box domain({0, 0}, {n[0], n[1]});
    const auto width = [&](index_t most) { return random(0, most); };
    const index_t left[] = {width(n[0]), width(n[1])}, right[] = {width(n[0]), width(n[1])};
    std::vector<ResidentRows> work;
    for (const index_t extent : n) {
      const index_t begin = random(0, extent - 1);
      work.push_back({begin, random(begin + 1, extent)});
    }
    const auto check = [&](const auto& region, const auto& at) {
      const std::vector<Box> boxes = boxes_of(part_of_items(region, domain, work, "x"));
      index_t size = 0;
      for (const Box& box : boxes) size += box.size();
      std::vector<Box> read;
      for (index_t i = work[0].begin - left[0]; i < work[0].end + right[0]; ++i)
        for (index_t j = work[1].begin - left[1]; j < work[1].end + right[1]; ++j) {
          const index_t a = at(i, n[0]), b = at(j, n[1]);
          if (a < 0 || b < 0) continue;
          read.push_back(Box({a, b}, {a + 1, b + 1}));
        }
      const std::vector<Box> lacking = remainder(read, boxes);
      EXPECT_EQ(total_size(lacking), 0) << to_string(domain);
      merge(read);
      EXPECT_EQ(total_size(remainder(boxes, read)), 0) << "reads too much of " << to_string(domain);
      EXPECT_EQ(total_size(read), size) << "has elements twice";
    };
    check(halo(left, right), [](index_t i, index_t e) { return i < e ? i : -1; });
    check(halo(left, right, edge::cyclic), [](index_t i, index_t e) {
      return i < 0 ? i + e : i >= e ? i - e : i;
    });
    check(halo(left, right, edge::duplicate),
          [](index_t i, index_t e) { return std::clamp<index_t>(i, 0, e - 1); });
  }
}

::testing::AssertionResult has(const std::string& text, const std::string& word) {
  if (text.find(word) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "no \"" << word << "\" in: " << text;
}

TEST(GridRegions, ThatAreNoneOfTheArrayAreRefused) {
  const auto refusal = [](const auto& region, const Box& domain) {
    return message_of<ShapeMismatch>([&] { static_cast<void>(part_of_items(region, domain, part, "x")); });
  };
  const std::string far = refusal(halo({1, 21}, {1, 2}, edge::cyclic), plane);
  EXPECT_TRUE(has(far, "halo({1, 21}, {1, 2}, edge::cyclic) was declared of the array \"x\""));
  EXPECT_TRUE(has(far, "at most 20 neighbours in dimension 1"));
  EXPECT_TRUE(has(refusal(halo({1, 1}, {1, 1}), Box({0}, {10})), "a halo of 2 dimensions"));
  EXPECT_TRUE(has(refusal(halo({0, 0}, {0, 0}, edge::duplicate), Box({0, 0}, {10, 0})), "has no element"));
  EXPECT_TRUE(has(refusal(halo(11, 1, edge::cyclic), plane), "halo(11, 1, edge::cyclic) was declared"));
}
TEST(GridRegions, ThatAreNoneNameTheDimension) {
  const auto refuses = [](const auto& make, const std::string& beginning) {
    EXPECT_TRUE(has(message_of<ShapeMismatch>([&] { static_cast<void>(make()); }),
                    beginning + " must be from 0 to 2^47; declare `everything`"));
  };
  const std::string numbers = "): the numbers of neighbours before and after";
  const index_t left[] = {1, 1, 0}, right[] = {1, 1, index_t{1} << 48};
  auto changed = halo({1, 1}, {1, 1});
  changed.before[0] = -2;

  refuses([] { return halo(1, -1); }, "halo(1, -1" + numbers);
  const index_t negative[] = {1, -1}, two[] = {1, 2};
  refuses([&] { return halo(negative, two); }, "halo({1, -1}, {1, 2}" + numbers + " in dimension 1");
  refuses([&] { return halo(left, right, edge::cyclic); },
          "halo({1, 1, 0}, {1, 1, 281474976710656}" + numbers + " in dimension 2");
  refuses([&] { return part_of_items(changed, plane, part, "x"); },
          "halo({1, -2}, {1, 1}" + numbers + " in dimension 1");
}

// ---- errors

TEST(GridErrors, SayHowManyDevicesAGridNeeds) {
  const auto refusal = [](std::vector<index_t> parts, std::size_t devices, bool weights = false,
                          bool balance = false) {
    return message_of<Error>([&] { check_grid(parts, devices, weights, balance); });
  };
  EXPECT_TRUE(
      has(refusal({2, 2}, 3), "grid(2, 2) was asked of 3 devices; give a device for each part, 2 x 2"));
  EXPECT_TRUE(has(refusal({1, 1, 2}, 1), "grid(1, 1, 2) was asked of 1 device;"));
  EXPECT_TRUE(has(refusal({0, 3}, 3), "at least one part along each index"));
  EXPECT_TRUE(has(refusal({3, -1}, 3), "at least one part along each index"));
  constexpr index_t large = index_t{1} << 40;
  EXPECT_TRUE(has(refusal({large, large}, 4), "was asked of 4 devices")) << "no product overflows";
  EXPECT_TRUE(has(refusal({2, 2}, 4, true), "weighted({{1, 1}, {1, 2}})"));
  EXPECT_TRUE(has(refusal({2, 2}, 4, false, true), "leave adaptive out"));
  EXPECT_NO_THROW(check_grid(std::vector<index_t>{2, 3}, 6, false, false));
}
TEST(GridErrors, SayWhichSizesAGridTakes) {
  const std::vector<std::size_t> parts{2, 3};
  for (const std::vector<std::vector<double>>& sizes :
       std::vector<std::vector<std::vector<double>>>{{},
                                                     {{1, 1}},
                                                     {{1, 1}, {1, 1}},
                                                     {{1, 1}, {1, 1, -1}},
                                                     {{0, 0}, {1, 1, 1}},
                                                     {{1, 1}, {1, 1, 1}, {1}}})
    EXPECT_TRUE(has(message_of<Error>([&] { check_grid_weights(parts, sizes); }), "with 2 and 3 sizes"));
  EXPECT_NO_THROW(check_grid_weights(parts, {{1, 0}, {0, 2, 1}}));
}

}  // namespace
