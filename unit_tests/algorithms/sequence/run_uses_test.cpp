// What loops use together.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <strata/algorithms/sequence/run_uses.hpp>

namespace {

using namespace strata;
using detail::reads;
using detail::writes;
using detail::sequences::SequenceUse;
using Loops = std::vector<std::vector<SequenceUse>>;

std::vector<SequenceUse> together(const Loops& loops, const std::vector<bool>& temporary) {
  std::vector<const std::vector<SequenceUse>*> all;
  for (const auto& loop : loops) all.push_back(&loop);
  return detail::sequences::uses_of_run(all, temporary);
}
int read_first(const Loops& loops, const std::vector<bool>& temporary) {
  std::vector<const std::vector<SequenceUse>*> all;
  for (const auto& loop : loops) all.push_back(&loop);
  return detail::sequences::temporary_read_first(all, temporary);
}
Box line(index_t begin, index_t end) { return Box({begin}, {end}); }

TEST(RunUses, WhatIsWrittenBeforeItIsReadIsOut) {
  const Loops loops = {{{0, AccessMode::In, {line(0, 10)}}, {1, AccessMode::Out, {line(0, 10)}}},
                       {{1, AccessMode::In, {line(0, 10)}}, {0, AccessMode::InOut, {line(2, 8)}}}};

  const auto uses = together(loops, {false, false});

  ASSERT_EQ(uses.size(), 3u);
  EXPECT_EQ(uses[0].mode, AccessMode::InOut);
  EXPECT_EQ(uses[0].region, (std::vector<Box>{line(2, 8)}));
  EXPECT_EQ(uses[1].mode, AccessMode::In);
  EXPECT_EQ(uses[1].region, (std::vector<Box>{line(0, 2), line(8, 10)}));
  EXPECT_EQ(uses[2].array, 1);
  EXPECT_EQ(uses[2].mode, AccessMode::Out);
}

TEST(RunUses, AValueThatIsWrittenFirstIsOut) {
  const auto uses = together({{{0, AccessMode::Out, {Box()}}}, {{0, AccessMode::In, {Box()}}}}, {false});

  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].mode, AccessMode::Out);
  EXPECT_EQ(uses[0].region, (std::vector<Box>{Box()}));
}

TEST(RunUses, ATemporaryArrayIsOutAndMayNotBeReadFirst) {
  const Loops loops = {{{0, AccessMode::Out, {line(1, 9)}}}, {{0, AccessMode::In, {line(0, 10)}}}};

  EXPECT_EQ(read_first(loops, {true}), 0);
  EXPECT_EQ(read_first(loops, {false}), -1);
  EXPECT_EQ(together(loops, {true}).size(), 1u);
  EXPECT_EQ(together(loops, {true})[0].mode, AccessMode::Out);
}

// Against each element by itself.
TEST(RunUses, AreThoseOfEachElement) {
  std::mt19937 random(3);
  const auto pick = [&](int most) {
    return static_cast<index_t>(random() % static_cast<unsigned>(most + 1));
  };
  for (int trial = 0; trial < 300; ++trial) {
    constexpr index_t n = 7, m = 5;
    Loops loops(static_cast<std::size_t>(1 + pick(4)));
    std::string modes(n * m, '-');  // r: only read so far; o: written first; w: read, then written
    for (auto& loop : loops) {
      const index_t i = pick(n - 1), j = pick(m - 1);
      const Box box({i, j},
                    {i + 1 + pick(n - 1 - static_cast<int>(i)), j + 1 + pick(m - 1 - static_cast<int>(j))});
      const auto mode = static_cast<AccessMode>(pick(2));
      loop.push_back({0, mode, {box}});
      for (index_t a = box.lower(0); a < box.upper(0); ++a)
        for (index_t b = box.lower(1); b < box.upper(1); ++b) {
          char& now = modes[static_cast<std::size_t>(a * m + b)];
          if (reads(mode) && now == '-') now = 'r';
          if (writes(mode) && now == '-') now = 'o';
          if (writes(mode) && now == 'r') now = 'w';
        }
    }

    const auto uses = together(loops, {false});

    std::string got(n * m, '-');
    for (const SequenceUse& use : uses)
      for (const Box& box : use.region)
        for (index_t a = box.lower(0); a < box.upper(0); ++a)
          for (index_t b = box.lower(1); b < box.upper(1); ++b) {
            char& now = got[static_cast<std::size_t>(a * m + b)];
            EXPECT_EQ(now, '-') << "twice";
            now = use.mode == AccessMode::In ? 'r' : use.mode == AccessMode::Out ? 'o' : 'w';
          }
    ASSERT_EQ(got, modes) << trial;
  }
}

}  // namespace
