// WorkOrder: whatever the parts, work that must not run at once is ordered, by itself or through others.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <strata/views/coherent/plan/work_order.hpp>

#include "core/random.hpp"

namespace {

using strata::Box;
using strata::index_t;
using strata::detail::Work;
using strata::detail::WorkList;
using strata::detail::WorkOrder;

Box line(index_t begin, index_t end) { return Box({begin}, {end}); }
std::vector<Work> before_read(const WorkOrder& order, const Box& box) {
  WorkList after;
  order.before_read(box, after);
  return {after.begin(), after.end()};
}
std::vector<Work> before_write(const WorkOrder& order, const Box& box) {
  WorkList after;
  order.before_write(box, after);
  return {after.begin(), after.end()};
}
std::vector<Work> works(std::initializer_list<Work> list) { return list; }

TEST(WorkOrder, ReadsWaitForWritesAndWritesForBoth) {
  WorkOrder order(line(0, 100));
  EXPECT_TRUE(before_write(order, line(0, 100)).empty());
  order.written(line(0, 50), {1, 1});
  order.written(line(50, 100), {2, 1});
  EXPECT_EQ(before_read(order, line(0, 10)), works({{1, 1}}));
  EXPECT_EQ(before_read(order, line(40, 60)), works({{1, 1}, {2, 1}}));
  order.read(line(40, 60), {3, 1});
  order.read(line(0, 45), {4, 1});
  EXPECT_EQ(before_read(order, line(40, 60)), works({{1, 1}, {2, 1}}));  // readers do not wait for each other
  EXPECT_EQ(before_write(order, line(42, 43)), works({{1, 1}, {3, 1}, {4, 1}}));
  EXPECT_EQ(before_write(order, line(90, 100)), works({{2, 1}}));
  order.written(line(42, 43), {5, 1});
  EXPECT_EQ(before_write(order, line(42, 43)), works({{5, 1}}));  // the readers came before
}

TEST(WorkOrder, OfAQueueTheLastWorkCounts) {
  WorkOrder order(line(0, 100));
  for (std::uint64_t number = 1; number <= 1000; ++number) order.read(line(0, 100), {7, number});
  order.read(line(0, 100), {3, 5});
  EXPECT_EQ(order.size(), 1U);
  EXPECT_EQ(before_write(order, line(0, 100)), works({{3, 5}, {7, 1000}}));
}

TEST(WorkOrder, ForgetsWhatHasEnded) {
  WorkOrder order(line(0, 100));
  for (int queue = 1; queue <= 50; ++queue) order.read(line(0, 2 * queue), {queue, 1});
  order.written(line(98, 100), {51, 1});
  order.forget([](Work work) {
    EXPECT_NE(work.number, 0U);
    return work.queue <= 50;
  });
  EXPECT_TRUE(before_write(order, line(0, 98)).empty());
  EXPECT_EQ(before_write(order, line(0, 100)), works({{51, 1}}));
  EXPECT_EQ(order.size(), 2U);
}

// Numbers of the works of a round are places in `all`; a queue has every so many-th.
TEST(WorkOrder, ConflictsAreOrderedDirectlyOrThroughOthers) {
  strata_tests::Random random;
  for (int round = 0; round < 300; ++round) {
    const int rank = static_cast<int>(random(1, 3));
    std::vector<index_t> extents;
    for (int d = 0; d < rank; ++d) extents.push_back(random(1, 12));
    const Box domain = Box::from_extents(extents);
    WorkOrder order(domain);
    struct Item {
      Box box;
      bool writes;
      int queue;
      std::vector<bool> before;  // all work that comes before, by number
    };
    std::vector<Item> all{{Box(), false, -1, {}}};
    const index_t queues = random(1, 5);
    for (std::uint64_t number = 1; number <= 40; ++number) {
      Box box = domain;
      for (int d = 0; d < rank; ++d) {
        const index_t lower = random(0, domain.upper(d) - 1);
        box = box.with_bounds(d, lower, random(lower + 1, domain.upper(d)));
      }
      Item item{box, random(0, 1) == 1, static_cast<int>(random(0, queues - 1)), std::vector<bool>(number)};
      const auto comes_after = [&](std::uint64_t earlier) {
        item.before[earlier] = true;
        for (std::uint64_t k = 1; k < earlier; ++k)
          if (all[earlier].before[k]) item.before[k] = true;
      };
      for (std::uint64_t earlier = 1; earlier < number; ++earlier)
        if (all[earlier].queue == item.queue) comes_after(earlier);
      for (const Work earlier : item.writes ? before_write(order, box) : before_read(order, box)) {
        ASSERT_LT(earlier.number, number);
        ASSERT_EQ(all[earlier.number].queue, earlier.queue);
        comes_after(earlier.number);
      }
      for (std::uint64_t earlier = 1; earlier < number; ++earlier)
        EXPECT_TRUE(item.before[earlier] || !(all[earlier].writes || item.writes) ||
                    !overlap(all[earlier].box, box))
            << number << " may run with " << earlier;
      if (item.writes) order.written(box, {item.queue, number});
      else order.read(box, {item.queue, number});
      all.push_back(item);
    }
  }
}

}  // namespace
