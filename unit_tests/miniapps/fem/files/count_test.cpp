// Counts of a file do not overflow, whatever is added or multiplied.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <gtest/gtest.h>

#include <strata/miniapps/fem/files/count.hpp>

namespace {

using strata::fem::detail::Count;

TEST(Count, AddsAndMultipliesAsIntegersDo) {
  Count count = 5;
  count *= 7;
  count += 1;

  EXPECT_EQ(count.value(), 36);
  EXPECT_EQ(count.size(), 36u);
  EXPECT_EQ(count.text(), "36");
  EXPECT_TRUE(count == 36 && count < 37u && 35 < count);
}

TEST(Count, OfASumOrProductThatDoesNotFitIsTheLargest) {
  const Count many = (std::int64_t{1} << 61) + 1;

  EXPECT_EQ((8 * many).value(), INT64_MAX);
  EXPECT_EQ((8 * many * 8).value(), INT64_MAX);
  EXPECT_EQ((4 * many + 4 * many).value(), INT64_MAX);
  EXPECT_EQ((many * 0).value(), 0);
  EXPECT_EQ((8 * many).text(), "9223372036854775807 or more");
}

TEST(Count, OfANegativeNumberIsTheLargestSoThatNoFileHoldsIt) {
  EXPECT_EQ(Count(-1).value(), INT64_MAX);
  EXPECT_EQ(Count(INT64_MIN).value(), INT64_MAX);
  EXPECT_EQ(Count(UINT64_MAX).value(), INT64_MAX);
}

}  // namespace
