// CleanFirstOrder: in which order arrays leave, and that what it keeps up to date is what a look at all would
// find.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <list>

#include <gtest/gtest.h>

#include <strata/algorithms/tasks/plan/clean_first_order.hpp>

#include "algorithms/tasks/plan/placed_arrays.hpp"
#include "core/random.hpp"

namespace strata_tests {

namespace {

using Order = detail::CleanFirstOrder;

// Of four arrays the second one is dirty.
class CleanFirstOrders : public PlacedArrays {
 protected:
  CleanFirstOrders() : PlacedArrays(4) {
    order_.start(view());
    for (ArrayId array = 0; array < 4; ++array) order_.insert(array, 0, {array == 1, array == 2});
  }
  std::vector<ArrayId> victims(index_t bytes, bool is_prefetch = false) {
    std::vector<ArrayId> chosen;
    order_.victims({0, bytes, is_prefetch}, chosen);
    return chosen;
  }
  std::vector<ArrayId> all() { return {order_.arrays(0).begin(), order_.arrays(0).end()}; }

  Order order_;
};

TEST_F(CleanFirstOrders, CleanCopiesLeaveBeforeDirtyOnes) {
  EXPECT_EQ(victims(16), (std::vector<ArrayId>{0, 2}));
  EXPECT_EQ(victims(32), (std::vector<ArrayId>{0, 2, 3, 1}));
  order_.set_kind(1, 0, {});
  EXPECT_EQ(victims(32), (std::vector<ArrayId>{0, 1, 2, 3}));
  order_.use(0, 0);
  EXPECT_EQ(victims(32), (std::vector<ArrayId>{1, 2, 3, 0}));
}
TEST_F(CleanFirstOrders, PrefetchesLeaveWhatIsKeptAndGetEnoughOrNothing) {
  EXPECT_EQ(victims(24, true), (std::vector<ArrayId>{0, 3, 1}));
  EXPECT_TRUE(victims(32, true).empty());
}
TEST_F(CleanFirstOrders, WhatIsPutBeforeDirtyOnesStaysThereUntilItsNextUse) {
  order_.put_before_dirty(3, 0);
  EXPECT_EQ(all(), (std::vector<ArrayId>{0, 3, 1, 2}));
  EXPECT_EQ(victims(16), (std::vector<ArrayId>{0, 3}));
  order_.use(3, 0);
  EXPECT_EQ(all(), (std::vector<ArrayId>{0, 1, 2, 3}));
  order_.remove(3, 0);
  order_.put_before_dirty(3, 0);  // it is not there
  EXPECT_EQ(all(), (std::vector<ArrayId>{0, 1, 2}));
}

class ManyCleanFirstOrders : public PlacedArrays {
 protected:
  static constexpr int num_arrays = 40;
  ManyCleanFirstOrders() : PlacedArrays(num_arrays) {}
};

// Often before the first dirty one, so that labels are given anew.
TEST_F(ManyCleanFirstOrders, AreWhatALookAtAllFinds) {
  Random draw;
  for (int trial = 0; trial < trials(20); ++trial) {
    Order order;
    order.start(view());
    std::list<ArrayId> model;
    std::vector<Order::Kind> kinds(num_arrays);
    const auto put_before = [&](ArrayId array) {
      model.remove(array);
      model.insert(std::find_if(model.begin(), model.end(), [](ArrayId other) { return other % 5 == 1; }),
                   array);
    };
    for (int step = 0; step < 400; ++step) {
      const auto array = static_cast<ArrayId>(draw(0, num_arrays - 1));
      Order::Kind& kind = kinds[static_cast<std::size_t>(array)];
      const bool is_there = std::find(model.begin(), model.end(), array) != model.end();
      EXPECT_EQ(order.has(array, 0), is_there);
      switch (draw(0, 7)) {
        case 0:
          order.remove(array, 0);
          model.remove(array);
          break;
        case 1:
          order.use(array, 0);
          if (is_there) model.splice(model.end(), model, std::find(model.begin(), model.end(), array));
          break;
        case 2:
          kind = {draw(0, 1) == 1, draw(0, 1) == 1};
          order.insert(array, 0, kind);
          model.remove(array);
          model.push_back(array);
          break;
        case 3:
          kind = {draw(0, 1) == 1, draw(0, 1) == 1};
          order.set_kind(array, 0, kind);
          break;
        default:
          order.put_before_dirty(array, 0);
          if (is_there) put_before(array);
      }
      ASSERT_EQ((std::list<ArrayId>(order.arrays(0))), model);
      const bool is_prefetch = draw(0, 1) == 1;
      const index_t bytes = 8 * draw(1, 10);
      std::vector<ArrayId> expected, chosen;
      for (const bool is_dirty : {false, true})
        for (const ArrayId other : model) {
          const Order::Kind& of = kinds[static_cast<std::size_t>(other)];
          if (of.is_dirty == is_dirty && !(is_prefetch && of.is_kept) &&
              8 * static_cast<index_t>(expected.size()) < bytes)
            expected.push_back(other);
        }
      if (is_prefetch && 8 * static_cast<index_t>(expected.size()) < bytes) expected.clear();
      order.victims({0, bytes, is_prefetch}, chosen);
      ASSERT_EQ(chosen, expected);
    }
  }
}

}  // namespace

}  // namespace strata_tests
