// What is advised on pages of managed memory, and which of them a prefetch moves: plans, without a GPU.
// SPDX-License-Identifier: Apache-2.0
#if __has_include(<strata/devices/cuda/memory/page_advice.hpp>)
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <strata/devices/cuda/memory/page_advice.hpp>
#include <strata/devices/cuda/memory/prefetch_plan.hpp>

#include "core/random.hpp"

namespace {

using strata::detail::AdviceCall;
using strata::detail::PageAdvice;
using strata::detail::plan_prefetch;
using strata::detail::PrefetchPiece;
using strata::detail::PrefetchRange;
using Kind = AdviceCall::Kind;

constexpr std::size_t kibi = 1024, mebi = std::size_t{1} << 20;

void expect_call(const AdviceCall& call, Kind kind, std::size_t begin, std::size_t bytes) {
  EXPECT_EQ(call.kind, kind);
  EXPECT_EQ(call.begin, begin);
  EXPECT_EQ(call.bytes, bytes);
}

TEST(PageAdvice, AdviceThatIsInForceIsNotGivenAgain) {
  PageAdvice pages(10 * mebi);
  std::vector<AdviceCall> calls;

  pages.read_by_many(0, 10 * mebi, calls);
  ASSERT_EQ(calls.size(), 1U);
  expect_call(calls[0], Kind::ReadMostly, 0, 10 * mebi);
  pages.read_by_many(0, 10 * mebi, calls);
  pages.read_by_many(3 * mebi, 7 * mebi, calls);
  EXPECT_EQ(calls.size(), 1U);

  pages.written(5 * mebi, 5 * mebi + 1, calls);
  ASSERT_EQ(calls.size(), 2U);
  expect_call(calls[1], Kind::NotReadMostly, 4 * mebi, 2 * mebi);
  pages.read_by_many(0, 10 * mebi, calls);
  ASSERT_EQ(calls.size(), 3U);
  expect_call(calls[2], Kind::ReadMostly, 4 * mebi, 2 * mebi);
}

TEST(PageAdvice, RunsThatHoldOtherBytesAreNotAdvisedOnButAWriteCountsForThem) {
  PageAdvice pages(10 * mebi);
  std::vector<AdviceCall> calls;

  pages.read_by_many(1 * mebi, 9 * mebi, calls);
  ASSERT_EQ(calls.size(), 1U);
  expect_call(calls[0], Kind::ReadMostly, 2 * mebi, 6 * mebi);
  pages.read_by_many(1 * mebi, 2 * mebi, calls);
  pages.written(0, 2 * mebi, calls);
  EXPECT_EQ(calls.size(), 1U);
  pages.written(7 * mebi, 9 * mebi, calls);
  ASSERT_EQ(calls.size(), 2U);
  expect_call(calls[1], Kind::NotReadMostly, 6 * mebi, 2 * mebi);
}

TEST(PageAdvice, TheLastRunIsTheBlocksAlone) {
  PageAdvice pages(5 * mebi), small(4 * kibi);
  std::vector<AdviceCall> calls;

  pages.read_by_many(4 * mebi, 5 * mebi, calls);
  small.read_by_many(0, 4 * kibi, calls);

  ASSERT_EQ(calls.size(), 2U);
  expect_call(calls[0], Kind::ReadMostly, 4 * mebi, 2 * mebi);
  expect_call(calls[1], Kind::ReadMostly, 0, 2 * mebi);
  calls.clear();
  small.reached_from(0, 4 * kibi, 3, calls);
  ASSERT_EQ(calls.size(), 1U);
  expect_call(calls[0], Kind::ReachFromHere, 0, 2 * mebi);
  EXPECT_EQ(small.reaching(), 1U << 3);
}

TEST(PageAdvice, EachPartHasItsHome) {
  PageAdvice pages(8 * mebi);
  std::vector<AdviceCall> calls;

  pages.at_home(0, 4 * mebi, 0, calls);
  pages.at_home(4 * mebi, 8 * mebi, 1, calls);
  pages.at_home(0, 4 * mebi, 0, calls);
  ASSERT_EQ(calls.size(), 2U);
  expect_call(calls[0], Kind::PreferHere, 0, 4 * mebi);
  EXPECT_EQ(calls[0].gpu, 0);
  EXPECT_EQ(calls[1].gpu, 1);
  pages.at_home(2 * mebi, 6 * mebi, 1, calls);  // the boundary moves
  ASSERT_EQ(calls.size(), 3U);
  expect_call(calls[2], Kind::PreferHere, 2 * mebi, 2 * mebi);
}

// Whole runs: where the reader has pages of its own, it reaches them in any case.
TEST(PageAdvice, WhatIsReadWhereItIsIsMappedOnceForEachReader) {
  PageAdvice pages(8 * mebi);
  std::vector<AdviceCall> calls;

  pages.reached_from(3 * mebi, 3 * mebi + 8, 1, calls);
  pages.reached_from(2 * mebi, 4 * mebi, 1, calls);
  ASSERT_EQ(calls.size(), 1U);
  expect_call(calls[0], Kind::ReachFromHere, 2 * mebi, 2 * mebi);
  EXPECT_EQ(calls[0].gpu, 1);
  pages.reached_from(0, 8 * mebi, 1, calls);
  ASSERT_EQ(calls.size(), 3U);
  expect_call(calls[1], Kind::ReachFromHere, 0, 2 * mebi);
  expect_call(calls[2], Kind::ReachFromHere, 4 * mebi, 4 * mebi);
  pages.reached_from(3 * mebi, 3 * mebi + 8, 2, calls);
  ASSERT_EQ(calls.size(), 4U);
  EXPECT_EQ(calls[3].gpu, 2);
}

// ---- plans of prefetches

constexpr std::uintptr_t block = std::uintptr_t{1} << 40;

PrefetchRange range_of(std::size_t begin, std::size_t end, std::size_t bytes, bool reads,
                       bool has_other_users = false) {
  return {block + begin, block + end, block, block + bytes, true, reads, has_other_users};
}
void expect_piece(const PrefetchPiece& piece, std::size_t begin, std::size_t end, bool discards) {
  EXPECT_EQ(piece.begin - block, begin);
  EXPECT_EQ(piece.end - block, end);
  EXPECT_EQ(piece.discards, discards);
}

TEST(PrefetchPlan, WholeArraysAreMovedAsTheyAre) {
  const auto pieces = plan_prefetch({range_of(0, 5 * mebi, 5 * mebi, true)});

  ASSERT_EQ(pieces.size(), 1U);
  expect_piece(pieces[0], 0, 5 * mebi, false);
}

TEST(PrefetchPlan, WhatIsOverwrittenAsAWholeIsDiscarded) {
  const auto large = plan_prefetch({range_of(0, 5 * mebi, 5 * mebi, false)});
  const auto small = plan_prefetch({range_of(0, 4 * kibi, 4 * kibi, false)});

  ASSERT_EQ(large.size(), 1U);
  expect_piece(large[0], 0, 6 * mebi, true);
  ASSERT_EQ(small.size(), 1U);
  expect_piece(small[0], 0, 64 * kibi, true);
}

TEST(PrefetchPlan, OfRunsThatAreOverwrittenInPartTheRestStays) {
  const auto pieces = plan_prefetch({range_of(1 * mebi, 7 * mebi, 8 * mebi, false)});

  ASSERT_EQ(pieces.size(), 3U);
  expect_piece(pieces[0], 2 * mebi, 6 * mebi, true);
  expect_piece(pieces[1], 0, 2 * mebi, false);
  expect_piece(pieces[2], 6 * mebi, 8 * mebi, false);
}

TEST(PrefetchPlan, WhatAnotherOperandReadsIsNotDiscarded) {
  const auto pieces = plan_prefetch(
      {range_of(0, 8 * mebi, 8 * mebi, false), range_of(3 * mebi, 3 * mebi + 8, 8 * mebi, true)});

  ASSERT_EQ(pieces.size(), 3U);
  expect_piece(pieces[0], 0, 2 * mebi, true);
  expect_piece(pieces[1], 4 * mebi, 8 * mebi, true);
  expect_piece(pieces[2], 2 * mebi, 4 * mebi, false);
}

TEST(PrefetchPlan, ARowOfBytesTakesAtMostTwoMebibytesMore) {
  const auto near = plan_prefetch({range_of(1 * mebi, 3 * mebi, 8 * mebi, true)});
  const auto far = plan_prefetch({range_of(1 * mebi + 1, 3 * mebi - 1, 8 * mebi, true)});

  ASSERT_EQ(near.size(), 1U);
  expect_piece(near[0], 0, 4 * mebi, false);
  ASSERT_EQ(far.size(), 1U);
  expect_piece(far[0], 1 * mebi, 3 * mebi, false);
}

TEST(PrefetchPlan, WhereOthersUseBytesNearbyNoneOfThemAreTaken) {
  const auto pieces = plan_prefetch({range_of(8 * kibi, 3 * mebi, 8 * mebi, true, true)});

  ASSERT_EQ(pieces.size(), 1U);
  expect_piece(pieces[0], 8 * kibi, 3 * mebi, false);
}

TEST(PrefetchPlan, MemoryThatOthersAllocatedIsNeitherRoundedNorDiscardedPastItsEnds) {
  const PrefetchRange foreign{block + 5, block + 3 * mebi, block + 5, block + 3 * mebi, false, false, false};

  const auto pieces = plan_prefetch({foreign});

  ASSERT_EQ(pieces.size(), 1U);
  expect_piece(pieces[0], 5, 3 * mebi, false);
}

TEST(PrefetchPlan, CoversEveryByteOnceAndDiscardsNoneThatIsReadOrKept) {
  strata_tests::Random random;
  constexpr std::size_t cell = 64 * kibi;
  for (int trial = 0; trial < strata_tests::trials(2000); ++trial) {
    const auto cells = static_cast<std::size_t>(random(1, 256));
    std::vector<PrefetchRange> ranges;
    std::vector<int> used(cells), read(cells), overwritten(cells), moved(cells);
    for (auto count = random(1, 4); count > 0; --count) {
      auto first = static_cast<std::size_t>(random(0, static_cast<strata::index_t>(cells)));
      auto last = static_cast<std::size_t>(random(0, static_cast<strata::index_t>(cells)));
      if (first > last) std::swap(first, last);
      const bool reads = random(0, 1) != 0;
      ranges.push_back(range_of(first * cell, last * cell, cells * cell, reads, random(0, 1) != 0));
      for (std::size_t k = first; k < last; ++k) used[k] = (reads ? read : overwritten)[k] = 1;
    }

    const auto pieces = plan_prefetch(ranges);

    bool is_discarded = true;
    for (const PrefetchPiece& piece : pieces) {
      EXPECT_LE(piece.discards, is_discarded) << "those to discard come first";
      is_discarded = piece.discards;
      for (std::size_t k = (piece.begin - block) / cell; k < std::min(cells, (piece.end - block) / cell);
           ++k) {
        ++moved[k];
        if (piece.discards) {
          EXPECT_TRUE(overwritten[k] && !read[k]) << "cell " << k;
        }
      }
    }
    for (std::size_t k = 0; k < cells; ++k) {
      ASSERT_LE(moved[k], 1) << "cell " << k;
      ASSERT_GE(moved[k], used[k]) << "cell " << k;
    }
  }
}

}  // namespace
#endif
