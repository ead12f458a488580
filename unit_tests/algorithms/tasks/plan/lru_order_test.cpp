// LruOrder: in which order arrays leave.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <strata/algorithms/tasks/plan/lru_order.hpp>

#include "algorithms/tasks/plan/placed_arrays.hpp"

namespace strata_tests {

namespace {

class LruOrders : public PlacedArrays {
 protected:
  LruOrders() : PlacedArrays(4) {
    order_.start(view());
    for (ArrayId array = 0; array < 4; ++array) order_.loaded(array, 0);
  }
  std::vector<ArrayId> oldest(index_t bytes) {
    std::vector<ArrayId> chosen;
    order_.victims({0, bytes, false}, chosen);
    return chosen;
  }

  LruOrder order_;
};

TEST_F(LruOrders, WhatWasNotUsedForLongestLeavesFirst) {
  EXPECT_EQ(oldest(16), (std::vector<ArrayId>{0, 1}));
  order_.done(0, 0);  // uses a
  EXPECT_EQ(oldest(16), (std::vector<ArrayId>{1, 2}));
  order_.evicted(1, 0);
  EXPECT_EQ(oldest(16), (std::vector<ArrayId>{2, 3}));
}

}  // namespace

}  // namespace strata_tests
