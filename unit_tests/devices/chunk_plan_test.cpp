// The rule by which the worker pool cuts ranges.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include <strata/devices/host/worker_pool.hpp>

#include "core/random.hpp"

namespace {

using strata::index_t;
using strata::detail::ChunkPlan;
using strata::detail::ChunkRange;
using strata::detail::Schedule;

bool is_aligned(index_t cut, index_t align) { return (cut & (align - 1)) == 0; }

TEST(ChunkPlan, OfAnEmptyOrReversedRangeHasNoPieces) {
  EXPECT_EQ(ChunkPlan({5, 5}, 3).count(), 0U);
  EXPECT_EQ(ChunkPlan({5, -5}, 3).count(), 0U);
}

TEST(ChunkPlan, OfAStaticRangeHasOnePiecePerWorkerOfNearlyEqualSizes) {
  const ChunkPlan plan({-5, 6}, 4);

  ASSERT_EQ(plan.count(), 4U);
  EXPECT_EQ(plan.begin(0), -5);
  EXPECT_EQ(plan.end(0), -2);
  EXPECT_EQ(plan.end(1), 1);
  EXPECT_EQ(plan.end(2), 4);
  EXPECT_EQ(plan.end(3), 6);
}

TEST(ChunkPlan, CutsAtGlobalMultiplesOfTheAlignmentWhereTheRangeIsLongEnough) {
  const ChunkPlan plan({-5, 30, 0, 8}, 2);

  ASSERT_EQ(plan.count(), 2U);
  EXPECT_EQ(plan.end(0), 16);  // blocks from -8, 0, 8 | 16, 24
}

TEST(ChunkPlan, GivesEveryWorkerAnItemWhereTheRangeIsShorterThanABlockEach) {
  const ChunkPlan plan({0, 4, 0, 64}, 4);

  ASSERT_EQ(plan.count(), 4U);
  for (ChunkPlan::Count k = 0; k < 4; ++k) EXPECT_EQ(plan.end(k) - plan.begin(k), 1);
}

TEST(ChunkPlan, RoundsTheChunkUpToTheAlignment) {
  const ChunkPlan plan({3, 40, 5, 4}, 2);

  ASSERT_EQ(plan.count(), 5U);
  EXPECT_EQ(plan.end(0), 8);
  EXPECT_EQ(plan.end(1), 16);
  EXPECT_EQ(plan.end(4), 40);
}

TEST(ChunkPlan, OfADynamicRangeWithoutAChunkHasAboutEightPiecesPerWorker) {
  const ChunkPlan plan({0, 100'000, 0, 16, Schedule::Dynamic}, 4);

  EXPECT_GE(plan.count(), 8U * 4);
  EXPECT_LE(plan.count(), 9U * 4);
}

TEST(ChunkPlan, CoversEveryRangeOnceInOrderAndIsAlignedForRandomBoundsOf64Bits) {
  constexpr std::uint64_t seed = 20240611;
  RecordProperty("seed", std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto near = [&](index_t centre) { return centre + static_cast<index_t>(random() % 2001) - 1000; };
  constexpr index_t big = index_t{1} << 62;
  const index_t centres[] = {-big, -(index_t{1} << 33), 0, index_t{1} << 31, big};

  for (int trial = 0; trial < strata_tests::trials(20'000); ++trial) {
    const index_t a = near(centres[random() % 5]);
    const index_t b = random() % 2 ? near(a) : near(centres[random() % 5]);
    const auto items =
        static_cast<std::uint64_t>(std::max(a, b)) - static_cast<std::uint64_t>(std::min(a, b));
    const int workers = 1 + static_cast<int>(random() % 130);
    const index_t align = index_t{1} << (random() % 10);
    // Chunks that leave at most a few hundred pieces to look at.
    const auto chunk = random() % 2 ? static_cast<index_t>(items / (1 + random() % 200)) : 0;
    const Schedule schedule = random() % 2 ? Schedule::Static : Schedule::Dynamic;
    SCOPED_TRACE(testing::Message() << "trial " << trial << ": [" << std::min(a, b) << ", " << std::max(a, b)
                                    << ") chunk " << chunk << " align " << align << " workers " << workers);

    const ChunkPlan plan({std::min(a, b), std::max(a, b), chunk, align, schedule}, workers);

    if (items == 0) {
      ASSERT_EQ(plan.count(), 0U);
      continue;
    }
    const bool long_enough = items / static_cast<std::uint64_t>(align) >= static_cast<std::uint64_t>(workers);
    index_t at = std::min(a, b);
    for (ChunkPlan::Count k = 0; k < plan.count(); ++k) {
      ASSERT_EQ(plan.begin(k), at);
      ASSERT_GT(plan.end(k), at);
      at = plan.end(k);
      if (long_enough && k + 1 < plan.count()) {
        ASSERT_TRUE(is_aligned(at, align));
      }
    }
    ASSERT_EQ(at, std::max(a, b));
  }
}

TEST(ChunkPlan, CoversTheWholeIndexType) {
  constexpr index_t lowest = std::numeric_limits<index_t>::min();
  constexpr index_t highest = std::numeric_limits<index_t>::max();

  const ChunkPlan plan({lowest, highest, 0, 64}, 2);

  ASSERT_EQ(plan.count(), 2U);
  EXPECT_EQ(plan.begin(0), lowest);
  EXPECT_EQ(plan.end(0), 0);
  EXPECT_EQ(plan.end(1), highest);
}

}  // namespace
