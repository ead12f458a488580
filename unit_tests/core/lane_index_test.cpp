// LaneIndex: a number wherever a number is meant.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <type_traits>

#include <gtest/gtest.h>

#include <strata/core/lane_index.hpp>

namespace {

using strata::index_t;
using Lane = strata::LaneIndex<8>;

TEST(LaneIndex, IsTheIndexInArithmetic) {
  const Lane i{2, 3};

  EXPECT_EQ(i, 19);
  EXPECT_EQ(i * 2 - 1, 37);
  EXPECT_EQ(0.5 * i, 9.5);
  EXPECT_TRUE((std::is_same_v<decltype(i + 1), index_t>));
}

TEST(LaneIndex, IsOneOfFewerLanes) {
  constexpr strata::LaneIndex<16> i{-2, 11};

  constexpr Lane same = i;

  EXPECT_EQ(index_t(same), index_t(i));
  EXPECT_EQ(same.block, -3);
  EXPECT_EQ(same.lane, 3);
  EXPECT_FALSE((std::is_convertible_v<Lane, strata::LaneIndex<16>>));
}

#if defined(__GLIBCXX__)
TEST(LaneIndex, IsTheIndexInTheFunctionsOfTheMathLibrary) {
  const Lane i{2, 3};
  const index_t n = 19;

  EXPECT_EQ(std::sin(i), std::sin(n));
  EXPECT_EQ(std::sqrt(i), std::sqrt(n));
  EXPECT_EQ(std::pow(i, 2), std::pow(n, 2));
  EXPECT_EQ(std::pow(1.5, i), std::pow(1.5, n));
  EXPECT_EQ(std::fmod(i, 2.5), std::fmod(n, 2.5));
  EXPECT_EQ(std::abs(i), n);
  EXPECT_TRUE((std::is_same_v<decltype(std::sin(i)), decltype(std::sin(n))>));
  EXPECT_TRUE((std::is_same_v<decltype(std::pow(1.5F, i)), decltype(std::pow(1.5F, n))>));
}
#endif

}  // namespace
