// Random boxes of rank 1 to 8: the algebra agrees with sets of points, in every rank by what the sizes must
// be and by sampled points, up to rank 3 point by point.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <strata/core/box.hpp>

#include "core/random.hpp"

namespace {

using strata::Box;
using strata::index_t;
using strata::max_rank;

constexpr index_t lowest = -3;
constexpr index_t highest = 4;

// A seed of its own for every run, printed with each failure; BOX_TEST_SEED repeats a run.
std::uint64_t logged_seed() {
  const char* given = std::getenv("BOX_TEST_SEED");
  const std::uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("seed %llu (BOX_TEST_SEED repeats it)\n", static_cast<unsigned long long>(seed));
  ::testing::Test::RecordProperty("seed", std::to_string(seed));
  return seed;
}

using Random = std::mt19937_64;

index_t draw(Random& random, index_t first, index_t last) {
  return std::uniform_int_distribution<index_t>(first, last)(random);
}

// Bounds from a small range, so that touching, nested, equal and empty boxes all come up often.
Box random_box(Random& random, int rank) {
  std::vector<index_t> lower;
  std::vector<index_t> upper;
  const bool perhaps_empty = draw(random, 0, 19) == 0;
  for (int r = 0; r < rank; ++r) {
    lower.push_back(draw(random, lowest, highest - 1));
    upper.push_back(draw(random, perhaps_empty ? lowest : lower[r] + 1, highest));
  }
  return Box(lower, upper);
}

// Points of the range of bounds and one beyond: all of them up to rank 3, else a sample.
std::vector<std::vector<index_t>> points_to_try(Random& random, int rank) {
  std::vector<std::vector<index_t>> points;
  if (rank > 3) {
    for (int n = 0; n < 40; ++n) {
      points.emplace_back();
      for (int r = 0; r < rank; ++r) points.back().push_back(draw(random, lowest - 1, highest));
    }
    return points;
  }
  std::vector<index_t> point(rank, lowest - 1);
  for (int r = 0; r < rank;) {
    points.push_back(point);
    for (r = 0; r < rank && ++point[r] > highest; ++r) point[r] = lowest - 1;
  }
  return points;
}

// Membership from the bounds alone, so that Box::contains is tested as well.
bool inside(const Box& box, const std::vector<index_t>& point) {
  for (int r = 0; r < box.rank(); ++r)
    if (point[r] < box.lower(r) || point[r] >= box.upper(r)) return false;
  return true;
}

int holders(const std::vector<Box>& boxes, const std::vector<index_t>& point) {
  return static_cast<int>(
      std::count_if(boxes.begin(), boxes.end(), [&](const Box& box) { return inside(box, point); }));
}

bool share_no_point(const std::vector<Box>& boxes) {
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (overlap(boxes[i], boxes[j]) || boxes[i] == boxes[j]) return false;
  return true;
}

// True when the boxes are equal in all dimensions but one and meet there.
bool can_merge(const Box& a, const Box& b) {
  int unequal = 0;
  bool meet = true;
  for (int r = 0; r < a.rank(); ++r) {
    if (a.lower(r) == b.lower(r) && a.upper(r) == b.upper(r)) continue;
    ++unequal;
    meet = meet && a.lower(r) <= b.upper(r) && b.lower(r) <= a.upper(r);
  }
  return unequal <= 1 && meet;
}

void check_sizes(const Box& a, const Box& b, const std::vector<Box>& pieces) {
  const Box common = intersect(a, b);
  ASSERT_LE(pieces.size(), 2u * static_cast<unsigned>(a.rank()));
  ASSERT_EQ(total_size(pieces) + common.size(), a.size());
  ASSERT_TRUE(share_no_point(pieces));
  for (const Box& piece : pieces) {
    ASSERT_FALSE(piece.empty());
    ASSERT_TRUE(a.contains(piece));
    ASSERT_FALSE(overlap(piece, b));
  }
  ASSERT_TRUE(a.contains(common) && b.contains(common));
  ASSERT_EQ(common, intersect(b, a));
  ASSERT_EQ(overlap(a, b), !common.empty());
  ASSERT_EQ(a.contains(b), common == b);
  ASSERT_EQ(cover(a, b), cover(b, a));
}

void check_points(const Box& a, const Box& b, const std::vector<Box>& pieces, Random& random) {
  const Box common = intersect(a, b);
  const Box both = cover(a, b);
  for (const std::vector<index_t>& point : points_to_try(random, a.rank())) {
    const bool in_a = inside(a, point);
    const bool in_b = inside(b, point);
    ASSERT_EQ(a.contains(point), in_a);
    ASSERT_EQ(inside(common, point), in_a && in_b);
    ASSERT_EQ(holders(pieces, point), in_a && !in_b ? 1 : 0);
    ASSERT_TRUE(inside(both, point) || (!in_a && !in_b));
  }
  // The smallest box around both: each bound is a bound of one that is not empty.
  for (int r = 0; r < a.rank() && !a.empty() && !b.empty(); ++r) {
    ASSERT_TRUE(both.lower(r) == a.lower(r) || both.lower(r) == b.lower(r));
    ASSERT_TRUE(both.upper(r) == a.upper(r) || both.upper(r) == b.upper(r));
  }
}

// What a directory does: writes of random boxes to one region, then the same writes in merged form.
void check_region(Random& random, int rank) {
  const Box a = random_box(random, rank);
  std::vector<Box> holes;
  for (int n = 0; n < 4; ++n) holes.push_back(random_box(random, rank));
  const std::vector<Box> left = remainder(a, holes);
  std::vector<Box> merged = left;

  merge(merged);

  ASSERT_TRUE(share_no_point(left) && share_no_point(merged));
  ASSERT_LE(merged.size(), left.size());
  ASSERT_EQ(total_size(left), total_size(merged));
  ASSERT_TRUE(remainder(left, merged).empty());
  for (const std::vector<index_t>& point : points_to_try(random, rank))
    ASSERT_EQ(holders(merged, point), inside(a, point) && holders(holes, point) == 0 ? 1 : 0);
  for (std::size_t i = 0; i < merged.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) ASSERT_FALSE(can_merge(merged[i], merged[j]));

  std::shuffle(holes.begin(), holes.end(), random);
  std::vector<Box> other_order = remainder(a, holes);
  ASSERT_EQ(total_size(other_order), total_size(left));
  other_order.insert(other_order.end(), merged.begin(), merged.end());
  merge(other_order);
  for (const Box& box : other_order) ASSERT_EQ(total_size(intersect(left, box)), box.size());
}

void check_random_pairs(int pairs) {
  const std::uint64_t seed = logged_seed();
  Random random(seed);
  for (int n = 0; n < pairs; ++n) {
    const int rank = 1 + n % max_rank;
    const Box a = random_box(random, rank);
    const Box b = n % 64 == 0 ? a : random_box(random, rank);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", pair " + std::to_string(n) + ": " + to_string(a) +
                 " and " + to_string(b));

    const std::vector<Box> pieces = remainder(a, b);

    check_sizes(a, b, pieces);
    check_points(a, b, pieces, random);
    if (n / max_rank % 10 == 0) check_region(random, rank);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(BoxProperty, AlgebraOfRandomPairsAgreesWithPointSets) {
  check_random_pairs(strata_tests::trials(8'000));
}

TEST(SlowBoxProperty, AlgebraOfAMillionRandomPairsAgreesWithPointSets) { check_random_pairs(1'000'000); }

}  // namespace
