// How a launch over a box is cut into blocks and threads of a GPU.
// SPDX-License-Identifier: Apache-2.0
#if __has_include(<strata/devices/cuda/launch/box_plan.hpp>)
#include <initializer_list>
#include <random>

#include <gtest/gtest.h>

#include <strata/devices/cuda/launch/box_plan.hpp>

#include "core/random.hpp"

namespace {

using namespace strata;
using strata::detail::BoxPlan;
using strata::detail::BoxWish;

constexpr index_t h200_threads = 132 * 2048;

struct Box {
  index_t extent[6] = {};
  index_t tile[6] = {};
  int rank;

  Box(std::initializer_list<index_t> extents, std::initializer_list<index_t> tiles = {})
      : rank(static_cast<int>(extents.size())) {
    int a = 0;
    for (const index_t n : extents) extent[a++] = n;
    a = 0;
    for (const index_t t : tiles) tile[a++] = t;
  }
  BoxPlan plan(int marching = strata::detail::no_axis, int block_size = 0, index_t most = 1024,
               index_t row = strata::detail::usual_row) const {
    return strata::detail::plan_box({rank, extent, tile, marching, block_size, most, h200_threads, row});
  }
};

unsigned threads_of(const BoxPlan& plan) {
  return plan.grid.block[0] * plan.grid.block[1] * plan.grid.block[2];
}
void expect_block(const BoxPlan& plan, unsigned x, unsigned y, unsigned z) {
  EXPECT_EQ(plan.grid.block[0], x);
  EXPECT_EQ(plan.grid.block[1], y);
  EXPECT_EQ(plan.grid.block[2], z);
}

TEST(BoxPlan, HasBlocksOf64By4Threads) {
  const BoxPlan plan = Box({510, 509, 508}).plan();

  expect_block(plan, 64, 4, 1);
  EXPECT_EQ(plan.grid.grid[0], 8u);
  EXPECT_EQ(plan.grid.grid[1], 128u);
  EXPECT_EQ(plan.grid.grid[2], 127u);
  EXPECT_EQ(plan.depth, 127);
  EXPECT_EQ(plan.piece, 4);
  EXPECT_TRUE(plan.is_exact);
}

TEST(BoxPlan, HasRowsOfThe32ThreadsThatAKernelWishes) {
  const Box box({510, 509, 508});
  constexpr int none = strata::detail::no_axis;
  expect_block(box.plan(none, 0, 1024, 32), 32, 8, 1);
  expect_block(box.plan(2, 0, 1024, 32), 32, 8, 1);
  expect_block(box.plan(2, 64, 1024, 32), 32, 2, 1);
  expect_block(Box({510, 509, 508}, {128, 2, 1}).plan(none, 0, 1024, 32), 128, 2, 1);
}

TEST(BoxPlan, GivesEachItemAThreadWhereThatIsWished) {
  const Box box({1 << 20, 100});
  BoxWish wish{2, box.extent, box.tile, strata::detail::no_axis, 0, 1024, h200_threads};
  wish.may_walk = false;

  EXPECT_EQ(strata::detail::plan_box(wish).piece, 1);
  EXPECT_EQ(strata::detail::plan_box(wish).rows, 100);
  wish.marching = 1;
  EXPECT_EQ(strata::detail::plan_box(wish).piece, box.plan(1).piece);
}

TEST(BoxPlan, WalksOverFourItemsWhereFourTimesAsManyWalksAreLeft) {
  EXPECT_EQ(Box({100, 100, 100}).plan().piece, 1);  // 3.7 items for each thread that runs at a time
  EXPECT_EQ(Box({150, 150, 150}).plan().piece, 2);  // 12.5
  EXPECT_EQ(Box({200, 200, 200}).plan().piece, 4);  // 29.6
  EXPECT_EQ(Box({1 << 20, 100}).plan().piece, 4);
  EXPECT_EQ(Box({1 << 20, 101}).plan().rows, 26);
  EXPECT_EQ(Box({1 << 26, 3}).plan().piece, 3);
  EXPECT_EQ(Box({300, 300, 300}, {0, 0, 2}).plan().piece, 1);  // tiles are blocks of single items
  EXPECT_EQ(Box({300, 300, 300}, {0, 0, 2}).plan().depth, 300);
}

TEST(BoxPlan, LeavesThreadsIdleSoThatWarpsBeginAtLinesWhereThatTakesNoBlockMore) {
  using strata::detail::idle_threads;
  EXPECT_EQ(idle_threads(1, 510, 0), 1);
  EXPECT_EQ(idle_threads(0, 510, 0), 0);
  EXPECT_EQ(idle_threads(64, 510, 0), 0);
  EXPECT_EQ(idle_threads(1, 512, 0), 0);  // a ninth block
  EXPECT_EQ(idle_threads(35, 500, 128), 3);
  EXPECT_EQ(idle_threads(3, 100, 0), 0);        // short
  EXPECT_EQ(idle_threads(3, 480, 128, 32), 3);  // tiles of 128
  EXPECT_EQ(idle_threads(3, 480, 0, 32), 0);
  EXPECT_EQ(idle_threads(3, 510, 0, 32), 0);  // a 17th block of 32
  EXPECT_EQ(idle_threads(2, 510, 0, 32), 2);
  EXPECT_EQ(idle_threads(-1, 510, 0), 0);
}

TEST(BoxPlan, FillsBlocksAlongFurtherAxesWhereTheBoxIsThin) {
  expect_block(Box({3, 513}).plan(), 3, 85, 1);
  expect_block(Box({3, 2, 999}).plan(), 3, 2, 42);
  expect_block(Box({1, 1, 999}).plan(), 1, 1, 64);
  expect_block(Box({1, 1}).plan(), 1, 1, 1);
}

TEST(BoxPlan, TakesTilesAndTheSizeOfABlockThatWereAskedFor) {
  expect_block(Box({500, 500, 500}, {8, 8, 4}).plan(), 8, 8, 4);
  expect_block(Box({500, 500, 500}, {8, 0, 0}).plan(), 8, 32, 1);
  expect_block(Box({500, 500, 500}, {100, 100, 100}).plan(), 100, 10, 1);
  expect_block(Box({500, 500, 500}).plan(strata::detail::no_axis, 32), 32, 1, 1);
  expect_block(Box({500, 500, 500}).plan(strata::detail::no_axis, 1024), 64, 16, 1);
  expect_block(Box({500, 500, 500}).plan(strata::detail::no_axis, 1024, 128), 64, 2, 1);
}

TEST(BoxPlan, MarchesInEqualPiecesThatFillTheDeviceSeveralTimes) {
  const BoxPlan plan = Box({510, 510, 510}).plan(2);

  expect_block(plan, 64, 4, 1);
  EXPECT_EQ(plan.grid.grid[2], static_cast<unsigned>(plan.pieces));
  EXPECT_EQ(plan.piece, 8);
  EXPECT_LE(plan.pieces * plan.piece - 510, plan.pieces);
  EXPECT_GE(510 * 510 * plan.pieces, 8 * h200_threads);
}

TEST(BoxPlan, MarchesShorterRatherThanLeaveTheDeviceIdle) {
  EXPECT_EQ(Box({100, 100, 100}).plan(2).piece, 3);  // 100^3 / 270336 = 3.7
  EXPECT_EQ(Box({300, 300, 300}).plan(2).piece, 8);
  EXPECT_EQ(Box({10, 10, 10}).plan(2).piece, 1);
  EXPECT_EQ(Box({1, 1, 1}).plan(2).piece, 1);
  EXPECT_EQ(Box({1 << 15, 1 << 15, 1000}).plan(2).piece, 8);
}

TEST(BoxPlan, MarchesByDefaultWhereAllItemsAreInPiecesOfEightAndRegistersAreNeitherFewNorMany) {
  using strata::detail::marches_by_default;
  EXPECT_TRUE(marches_by_default(510, 32, 56, 32));
  EXPECT_TRUE(marches_by_default(510, 32, 33, 64));
  EXPECT_FALSE(marches_by_default(510, 31.9, 56, 32));  // fewer than four rounds
  EXPECT_FALSE(marches_by_default(510, 32, 32, 32));    // it mostly moves data
  EXPECT_FALSE(marches_by_default(510, 32, 56, 65));
  for (const index_t extent : {0, 1, 7, 9, 14, 21, 28, 34, 42, 49})
    EXPECT_FALSE(marches_by_default(extent, 32, 56, 32)) << extent;
  for (const index_t extent : {8, 15, 16, 22, 24, 29, 36, 43, 50, 57, 100, 180})
    EXPECT_TRUE(marches_by_default(extent, 32, 56, 32)) << extent;
}

TEST(BoxPlan, GivesMarchesMoreRegistersWhereThreadsHaveTooFewOrManyAnyway) {
  using strata::detail::gains_by_march_bounds;
  EXPECT_FALSE(gains_by_march_bounds(3, 32));
  EXPECT_TRUE(gains_by_march_bounds(3, 33));
  EXPECT_TRUE(gains_by_march_bounds(4, 64));
  EXPECT_FALSE(gains_by_march_bounds(3, 65));
  EXPECT_TRUE(gains_by_march_bounds(2, 32));
}

TEST(BoxPlan, TakesThePieceThatWasAskedFor) {
  const BoxPlan plan = Box({100, 100, 100}, {0, 0, 30}).plan(2);

  EXPECT_EQ(plan.piece, 30);
  EXPECT_EQ(plan.pieces, 4);
  EXPECT_EQ(Box({100, 100, 100}, {0, 0, 1000}).plan(2).piece, 100);
}

TEST(BoxPlan, SaysWhereTheGridIsTooSmall) {
  EXPECT_TRUE(Box({2, 65535}, {2, 1}).plan().is_exact);
  EXPECT_FALSE(Box({2, 65536}, {2, 1}).plan().is_exact);
  EXPECT_FALSE(Box({64, 4, 65536}, {64, 4, 1}).plan().is_exact);
  EXPECT_FALSE(Box({64, 4, 300, 300}, {64, 4, 1}).plan().is_exact);
  EXPECT_TRUE(Box({64, 4, 65536}).plan().is_exact);  // each thread has several items
  EXPECT_EQ(Box({2, 65536}, {2, 1}).plan().grid.grid[1], 65535u);
}

TEST(BoxPlan, KeepsTheLimitsOfGpusForAnyBox) {
  const unsigned seed = 20261121;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto below = [&](index_t n) { return static_cast<index_t>(random() % static_cast<unsigned>(n)); };
  for (int trial = 0; trial < strata_tests::trials(20000); ++trial) {
    Box box({1, 1});
    box.rank = 2 + static_cast<int>(below(5));
    for (int a = 0; a < box.rank; ++a) {
      box.extent[a] = 1 + below(below(2) == 0 ? 10 : 500);
      if (below(20) == 0) box.extent[a] *= 100;
      box.tile[a] = below(2) == 0 ? 0 : below(100);
    }
    const int marching = static_cast<int>(below(box.rank + 1)) - 1;
    const index_t most = 32 * (1 + below(32));
    const int size = below(2) == 0 ? 0 : static_cast<int>(32 * (1 + below(32)));

    const BoxPlan plan = box.plan(marching, size, most, below(2) == 0 ? 32 : 64);

    ASSERT_GE(threads_of(plan), 1u) << trial;
    ASSERT_LE(threads_of(plan), static_cast<unsigned>(most)) << trial;
    ASSERT_LE(plan.grid.block[2], 64u) << trial;
    ASSERT_LE(plan.grid.grid[1], 65535u) << trial;
    ASSERT_LE(plan.grid.grid[2], 65535u) << trial;
    index_t count[3] = {1, 1, 1};
    int part = 0;
    const int walked = marching >= 0 ? marching : box.rank - 1;
    for (int a = 0; a < box.rank; ++a)
      if (a != walked) count[part < 2 ? part : 2] *= box.extent[a], ++part;
    ASSERT_GE(plan.pieces * plan.piece, box.extent[walked]) << trial;
    ASSERT_LT((plan.pieces - 1) * plan.piece, box.extent[walked]) << trial;
    // Of a box of two dimensions y has the walks, if threads were not asked to march.
    count[marching < 0 && box.rank == 2 ? 1 : 2] *= plan.pieces;
    ASSERT_EQ(plan.rows, count[1]) << trial;
    ASSERT_EQ(plan.depth, count[2]) << trial;
    bool covers = true;
    for (int p = 0; p < 3; ++p)
      covers = covers && index_t{plan.grid.grid[p]} * plan.grid.block[p] >= count[p];
    ASSERT_EQ(plan.is_exact, covers) << trial;
  }
}

}  // namespace
#endif
