// VictimOrder: by kind, then by last use.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include <strata/algorithms/tasks/plan/victim_order.hpp>

namespace {

using namespace strata::tasks;
using strata::tasks::detail::VictimOrder;

std::vector<ArrayId> arrays_of(const VictimOrder& order, int device, int kind) {
  std::vector<ArrayId> arrays;
  for (const VictimOrder::Entry& entry : order.arrays(device, kind)) arrays.push_back(entry.array);
  return arrays;
}

TEST(VictimOrder, HasTheArraysOfEachKindByTheirLastUse) {
  VictimOrder order;
  order.start(4, 2, 2);
  for (const ArrayId array : {2, 0, 3}) order.insert(array, 0, 0);
  order.insert(1, 1, 0);

  order.use(2, 0);

  EXPECT_EQ(arrays_of(order, 0, 0), (std::vector<ArrayId>{0, 3, 2}));
  EXPECT_EQ(arrays_of(order, 1, 0), std::vector<ArrayId>{1});
  EXPECT_TRUE(arrays_of(order, 0, 1).empty());
}
TEST(VictimOrder, KeepsTheLastUseOfWhatBecomesOfAnotherKind) {
  VictimOrder order;
  order.start(3, 1, 2);
  for (const ArrayId array : {0, 1, 2}) order.insert(array, 0, 0);

  for (const ArrayId array : {2, 0}) order.set_kind(array, 0, 1);

  EXPECT_EQ(arrays_of(order, 0, 0), std::vector<ArrayId>{1});
  EXPECT_EQ(arrays_of(order, 0, 1), (std::vector<ArrayId>{0, 2}));
}
TEST(VictimOrder, DoesNotHaveWhatIsGone) {
  VictimOrder order;
  order.start(2, 1, 2);
  order.insert(0, 0, 1);

  order.remove(0, 0);
  order.use(0, 0);
  order.set_kind(0, 0, 0);

  EXPECT_FALSE(order.has(0, 0));
  EXPECT_TRUE(arrays_of(order, 0, 0).empty());
  EXPECT_TRUE(arrays_of(order, 0, 1).empty());
}

}  // namespace
