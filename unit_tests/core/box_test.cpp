// Boxes: construction, sets of points, messages of errors. Random boxes are in box_property_test.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <strata/core/box.hpp>
#include <strata/core/error.hpp>

#include "messages.hpp"

namespace {

using strata::Box;
using strata::index_t;
using strata_tests::message_of;

constexpr index_t largest = std::numeric_limits<index_t>::max();
constexpr index_t smallest = std::numeric_limits<index_t>::min();

TEST(Box, HoldsTheBoundsItWasGiven) {
  const Box box({-2, 5}, {3, 9});

  EXPECT_EQ(box.rank(), 2);
  EXPECT_EQ(box.lower(0), -2);
  EXPECT_EQ(box.upper(0), 3);
  EXPECT_EQ(box.extent(0), 5);
  EXPECT_EQ(box.extent(1), 4);
  EXPECT_EQ(box.size(), 20);
  EXPECT_FALSE(box.empty());
}

TEST(Box, BracesAroundSingleBoundsMeanBoundsNotExtents) {
  const Box box{{2}, {7}};

  EXPECT_EQ(box.rank(), 1);
  EXPECT_EQ(box.extent(0), 5);
}

TEST(Box, FromExtentsBeginsAtZero) {
  const std::vector<index_t> extents{4, 5, 6};

  EXPECT_EQ(Box::from_extents(extents), Box({0, 0, 0}, {4, 5, 6}));
  EXPECT_EQ(Box::from_extents({4, 5, 6}), Box::from_extents(extents));
}

TEST(Box, OfRankZeroIsOnePoint) {
  const Box point;

  EXPECT_EQ(point.size(), 1);
  EXPECT_FALSE(point.empty());
  EXPECT_EQ(Box({}, {}), point);
  EXPECT_EQ(Box::from_extents({}), point);
  EXPECT_TRUE(point.contains(Box{}));
  EXPECT_EQ(intersect(point, point), point);
  EXPECT_EQ(cover(point, point), point);
  EXPECT_TRUE(overlap(point, point));
  EXPECT_TRUE(remainder(point, point).empty());
}

TEST(Box, EmptyBoxesOfOneRankAreEqual) {
  const Box flat({3, 4}, {3, 9});
  const Box turned({0, 9}, {5, 2});

  EXPECT_TRUE(flat.empty());
  EXPECT_EQ(flat, turned);
  EXPECT_EQ(flat, Box::none(2));
  EXPECT_EQ(flat, Box::from_extents({7, 0}));
  EXPECT_EQ(flat.size(), 0);
  EXPECT_NE(flat, Box::none(3));
}

TEST(Box, EmptyBoxIsContainedInEveryBoxAndCoversNothing) {
  const Box box({5}, {9});

  EXPECT_TRUE(box.contains(Box::none(1)));
  EXPECT_TRUE(Box::none(1).contains(Box::none(1)));
  EXPECT_FALSE(Box::none(1).contains(box));
  EXPECT_FALSE(Box::none(1).contains({0}));
  EXPECT_FALSE(overlap(Box({-1}, {1}), Box::none(1)));
  EXPECT_EQ(cover(box, Box::none(1)), box);
  EXPECT_EQ(cover(Box::none(1), box), box);
}

TEST(Box, ContainsPointsUpToItsUpperBoundsExclusively) {
  const Box box({0, 2}, {3, 5});

  EXPECT_TRUE(box.contains({0, 2}));
  EXPECT_TRUE(box.contains({2, 4}));
  EXPECT_FALSE(box.contains({3, 4}));
  EXPECT_FALSE(box.contains({2, 5}));
  EXPECT_FALSE(box.contains({0, 1}));
}

TEST(Box, ContainsBoxesThatDoNotReachOutsideInAnyDimension) {
  const Box box({0, 0}, {4, 4});

  EXPECT_TRUE(box.contains(box));
  EXPECT_TRUE(box.contains(Box({1, 0}, {3, 4})));
  EXPECT_FALSE(box.contains(Box({1, 0}, {3, 5})));
  EXPECT_FALSE(box.contains(Box({-1, 0}, {3, 4})));
}

TEST(Box, WithBoundsReplacesOneDimension) {
  const Box box({0, 0}, {4, 4});

  EXPECT_EQ(box.with_bounds(0, -1, 5), Box({-1, 0}, {5, 4}));
  EXPECT_EQ(box.with_bounds(1, 3, 3), Box::none(2));
  EXPECT_EQ(Box::none(2).with_bounds(0, 0, 5), Box::none(2));
}

TEST(Box, IntersectionIsTheCommonPart) {
  EXPECT_EQ(intersect(Box({0, 0}, {4, 4}), Box({2, -1}, {6, 3})), Box({2, 0}, {4, 3}));
  EXPECT_EQ(intersect(Box({0}, {4}), Box({4}, {6})), Box::none(1));
  EXPECT_EQ(intersect(Box({smallest}, {-1}), Box({1}, {largest})), Box::none(1));
}

TEST(Box, IntersectionWithARegionKeepsWhatIsTouched) {
  const std::vector<Box> region{Box({0}, {4}), Box({6}, {8}), Box({10}, {20})};

  const std::vector<Box> common = intersect(region, Box({3}, {12}));

  EXPECT_EQ(common, (std::vector<Box>{Box({3}, {4}), Box({6}, {8}), Box({10}, {12})}));
}

TEST(Box, CoverIsTheSmallestBoxAroundBoth) {
  EXPECT_EQ(cover(Box({0, 5}, {1, 6}), Box({3, 2}, {4, 3})), Box({0, 2}, {4, 6}));
}

TEST(Box, RemainderCutsTheLeftmostDimensionFirst) {
  const Box whole({0, 0}, {10, 10});
  const Box hole({2, 3}, {5, 7});

  const std::vector<Box> pieces = remainder(whole, hole);

  EXPECT_EQ(pieces, (std::vector<Box>{Box({0, 0}, {2, 10}), Box({5, 0}, {10, 10}), Box({2, 0}, {5, 3}),
                                      Box({2, 7}, {5, 10})}));
}

TEST(Box, RemainderOfADisjointBoxIsTheBoxItself) {
  const Box a({0, 0}, {2, 2});

  EXPECT_EQ(remainder(a, Box({2, 0}, {4, 2})), std::vector<Box>{a});
  EXPECT_EQ(remainder(a, Box::none(2)), std::vector<Box>{a});
  EXPECT_EQ(remainder(a, std::vector<Box>{}), std::vector<Box>{a});
}

TEST(Box, RemainderInACoveringBoxIsNothing) {
  EXPECT_TRUE(remainder(Box({0, 0}, {2, 2}), Box({-1, 0}, {4, 2})).empty());
  EXPECT_TRUE(remainder(Box::none(2), Box({0, 0}, {2, 2})).empty());
}

TEST(Box, RemainderOfRegionsSubtractsEveryBox) {
  const std::vector<Box> region{Box({0}, {10}), Box({20}, {30})};
  const std::vector<Box> taken{Box({8}, {22}), Box({25}, {26}), Box({21}, {26})};

  EXPECT_EQ(remainder(region, taken), (std::vector<Box>{Box({0}, {8}), Box({26}, {30})}));
  EXPECT_EQ(remainder(region, taken[0]), (std::vector<Box>{Box({0}, {8}), Box({22}, {30})}));
  EXPECT_EQ(remainder(Box({0}, {24}), taken), (std::vector<Box>{Box({0}, {8})}));
}

TEST(BoxMerge, JoinsTheRemainderAndWhatWasCutOutToTheWhole) {
  const Box whole({0, 0, 0}, {8, 8, 8});
  const Box hole({2, 3, 4}, {5, 7, 8});
  std::vector<Box> pieces = remainder(whole, hole);
  pieces.push_back(hole);

  merge(pieces);

  EXPECT_EQ(pieces, std::vector<Box>{whole});
}

TEST(BoxMerge, LeavesBoxesThatTouchOnlyAtACorner) {
  std::vector<Box> boxes{Box({1, 1}, {2, 2}), Box({0, 0}, {1, 1})};

  merge(boxes);

  EXPECT_EQ(boxes, (std::vector<Box>{Box({0, 0}, {1, 1}), Box({1, 1}, {2, 2})}));
}

TEST(BoxMerge, DropsEmptyAndRepeatedBoxes) {
  std::vector<Box> boxes{Box({0}, {4}), Box::none(1), Box({0}, {4}), Box({2}, {5}), Box({3}, {4})};
  std::vector<Box> nothing;
  std::vector<Box> points(3);

  merge(boxes);
  merge(nothing);
  merge(points);

  EXPECT_EQ(boxes, std::vector<Box>{Box({0}, {5})});
  EXPECT_TRUE(nothing.empty());
  EXPECT_EQ(points, std::vector<Box>{Box{}});
}

TEST(BoxMerge, PrefersLongRunsInTheRightmostDimension) {
  std::vector<Box> corner{Box({0, 0}, {1, 1}), Box({0, 1}, {1, 2}), Box({1, 0}, {2, 1})};

  merge(corner);

  EXPECT_EQ(corner, (std::vector<Box>{Box({0, 0}, {1, 2}), Box({1, 0}, {2, 1})}));
}

// Every round merges one box of a spiral, the worst case. The limit is generous: it rules out cubic growth
// alone.
TEST(BoxMerge, OfThousandsOfBoxesEndsSoonEvenAlongASpiral) {
  std::vector<Box> spiral{Box({0, 0}, {1, 1})};
  Box all = spiral[0];
  for (int turn = 0; turn < 2000; ++turn) {
    const int r = turn % 2;
    const bool below = turn % 4 < 2;
    const Box next = below ? all.with_bounds(r, all.lower(r) - 1, all.lower(r))
                           : all.with_bounds(r, all.upper(r), all.upper(r) + 1);
    spiral.push_back(next);
    all = cover(all, next);
  }
  std::vector<Box> grid;
  for (index_t i = 0; i < 100; ++i)
    for (index_t j = 0; j < 100; ++j) grid.push_back(Box({i, j * 3}, {i + 1, j * 3 + 3}));
  const auto begin = std::chrono::steady_clock::now();

  merge(spiral);
  merge(grid);

  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(spiral, std::vector<Box>{all});
  EXPECT_EQ(grid, (std::vector<Box>{Box({0, 0}, {100, 300})}));
  EXPECT_LT(seconds.count(), 20.0);
  RecordProperty("milliseconds", static_cast<int>(seconds.count() * 1e3));
}

TEST(Box, TotalSizeSumsOverTheRegion) {
  EXPECT_EQ(total_size(std::vector<Box>{Box({0}, {4}), Box::none(1), Box({6}, {8})}), 6);
  EXPECT_EQ(total_size(std::vector<Box>{}), 0);
}

// Of any rank onto any other; the point of rank 0 begins and ends at 0.
TEST(Box, IsCopied) {
  for (int from = 0; from <= 8; ++from)
    for (int to = 0; to <= 8; ++to) {
      const auto box_of = [](int rank, index_t first) {
        std::vector<index_t> lower, upper;
        for (int r = 0; r < rank; ++r) {
          lower.push_back(first + r);
          upper.push_back(first + 2 * r + 1);
        }
        return Box(std::span<const index_t>(lower), std::span<const index_t>(upper));
      };
      const Box source = box_of(from, 3);
      Box box = box_of(to, -50);
      box = source;
      const Box copied = source;

      EXPECT_EQ(box, source);
      EXPECT_EQ(copied, source);
      EXPECT_EQ(box.rank(), from);
      for (int r = 0; r < from; ++r) {
        EXPECT_EQ(box.lower(r), 3 + r);
        EXPECT_EQ(copied.upper(r), 3 + 2 * r + 1);
      }
      if (from == 0) {
        EXPECT_EQ(box.lower(0), 0);
        EXPECT_EQ(copied.upper(0), 0);
      }
    }
  constexpr Box point, same = point;
  static_assert(same.rank() == 0 && same == point && same.extent(0) == 0);
}

TEST(Box, MessagesShowHalfOpenRanges) {
  EXPECT_EQ(to_string(Box({0, -2}, {4, 8})), "[0, 4) x [-2, 8)");
  EXPECT_EQ(to_string(Box::none(3)), "an empty box of rank 3");
  EXPECT_EQ(to_string(Box{}), "the point of rank 0");
}

TEST(BoxErrors, SizeBeyondTheIndexTypeIsAnExtentError) {
  const index_t half = index_t{1} << 32;
  const Box huge = Box::from_extents({half, half});

  EXPECT_EQ(
      message_of<strata::ExtentError>([&] { huge.size(); }),
      "the box [0, 4294967296) x [0, 4294967296) has more points than the 64-bit index type can count; use "
      "smaller extents");
  EXPECT_THROW(total_size(std::vector<Box>{Box::from_extents({largest}), Box({-1}, {0})}),
               strata::ExtentError);
  EXPECT_EQ(Box::from_extents({half, half, 0}).size(), 0);
  EXPECT_EQ(Box::from_extents({largest}).size(), largest);
}

TEST(BoxErrors, ExtentBeyondTheIndexTypeIsAnExtentError) {
  EXPECT_THROW(Box({smallest}, {1}), strata::ExtentError);
  EXPECT_THROW(Box({-2}, {largest}), strata::ExtentError);
  EXPECT_THROW(cover(Box({smallest}, {-1}), Box({1}, {largest})), strata::ExtentError);
  EXPECT_THROW(Box({0}, {1}).with_bounds(0, -1, largest), strata::ExtentError);
  EXPECT_NO_THROW(Box({smallest}, {-1}));
  EXPECT_TRUE(Box({largest}, {smallest}).empty());
}

TEST(BoxErrors, NegativeExtentAndImpossibleRankAreExtentErrors) {
  EXPECT_EQ(message_of<strata::ExtentError>([] {
              Box::from_extents({3, -2});
            }),
            "extent 1 of a box is -2; an extent must not be negative");
  EXPECT_EQ(message_of<strata::ExtentError>([] {
              Box::from_extents({1, 1, 1, 1, 1, 1, 1, 1, 1});
            }),
            "a box of rank 9 was asked for; the rank must be from 0 to 8");
  EXPECT_EQ(message_of<strata::ExtentError>([] { Box::none(0); }),
            "a box of rank 0 was asked for; the rank must be from 1 to 8");
  EXPECT_THROW(Box::none(-1), strata::ExtentError);
}

TEST(BoxErrors, BoundsOfDifferentLengthAreAShapeMismatch) {
  EXPECT_EQ(message_of<strata::ShapeMismatch>([] {
              Box({0, 0}, {3});
            }),
            "a box was given 2 lower and 1 upper bounds; give one of each for every dimension");
}

TEST(BoxErrors, MixedRanksAreAShapeMismatchInEveryOperation) {
  const Box line({0}, {3});
  const Box plane({0, 0}, {3, 3});
  const std::vector<Box> lines{line};
  std::vector<Box> mixed{line, plane};

  EXPECT_EQ(
      message_of<strata::ShapeMismatch>([&] { intersect(plane, line); }),
      "the intersection of two boxes: [0, 3) x [0, 3) has rank 2, [0, 3) has rank 1; use boxes of arrays of "
      "one rank");
  EXPECT_THROW(overlap(line, plane), strata::ShapeMismatch);
  EXPECT_THROW(cover(line, Box::none(2)), strata::ShapeMismatch);
  EXPECT_THROW(intersect(lines, plane), strata::ShapeMismatch);
  EXPECT_THROW(remainder(line, plane), strata::ShapeMismatch);
  EXPECT_THROW(remainder(Box::none(1), plane), strata::ShapeMismatch);
  EXPECT_THROW(remainder(line, std::vector<Box>{line, plane}), strata::ShapeMismatch);
  EXPECT_THROW(remainder(lines, plane), strata::ShapeMismatch);
  EXPECT_THROW(remainder(mixed, lines), strata::ShapeMismatch);
  EXPECT_THROW(line.contains(plane), strata::ShapeMismatch);
  EXPECT_THROW(plane.contains({0}), strata::ShapeMismatch);
  EXPECT_THROW(merge(mixed), strata::ShapeMismatch);
  EXPECT_NE(line, plane);
}

}  // namespace
