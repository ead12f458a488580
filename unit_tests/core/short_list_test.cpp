// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <strata/core/short_list.hpp>

namespace {

using strata::detail::ShortList;

TEST(ShortList, KeepsTheOrderAlsoBeyondTheFirstFew) {
  ShortList<int, 3> list;
  std::vector<int> expected;
  for (int k = 0; k < 10; ++k) {
    if (k % 2 == 0) list.push_back(k);
    else list.add() = k;
    expected.push_back(k);

    EXPECT_EQ(std::vector<int>(list.begin(), list.end()), expected);
    EXPECT_EQ(list[static_cast<std::size_t>(k)], k);
  }
  EXPECT_EQ(list.front(), 0);
  EXPECT_EQ(list.size(), 10U);
}

TEST(ShortList, ACopyHasWhatItsSourceHas) {
  for (const int count : {0, 2, 5}) {
    const auto held = std::make_shared<int>(1);
    ShortList<std::shared_ptr<int>, 2> list;
    for (int k = 0; k < count; ++k) list.push_back(held);

    const ShortList<std::shared_ptr<int>, 2> copy = list;

    EXPECT_EQ(copy.size(), list.size());
    EXPECT_EQ(copy.empty(), count == 0);
    EXPECT_EQ(held.use_count(), 1 + 2 * count);
  }
}

}  // namespace
