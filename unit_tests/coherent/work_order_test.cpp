// WorkOrder: whatever the parts, work that must not run at once is ordered, by itself or through others.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include <strata/views/coherent/work_order.hpp>

#include "core/random.hpp"

namespace {

using strata::Box;
using strata::index_t;
using strata::detail::WorkId;
using strata::detail::WorkOrder;

Box line(index_t begin, index_t end) { return Box({begin}, {end}); }
std::vector<WorkId> before_read(const WorkOrder& order, const Box& box) {
  std::vector<WorkId> after;
  order.before_read(box, after);
  return after;
}
std::vector<WorkId> before_write(const WorkOrder& order, const Box& box) {
  std::vector<WorkId> after;
  order.before_write(box, after);
  return after;
}
std::vector<WorkId> works(std::initializer_list<WorkId> list) { return list; }

TEST(WorkOrder, ReadsWaitForWritesAndWritesForBoth) {
  WorkOrder order(line(0, 100));
  EXPECT_TRUE(before_write(order, line(0, 100)).empty());
  order.written(line(0, 50), 1);
  order.written(line(50, 100), 2);
  EXPECT_EQ(before_read(order, line(0, 10)), works({1}));
  EXPECT_EQ(before_read(order, line(40, 60)), works({1, 2}));
  order.read(line(40, 60), 3);
  order.read(line(0, 45), 4);
  EXPECT_EQ(before_read(order, line(40, 60)), works({1, 2}));  // readers do not wait for each other
  EXPECT_EQ(before_write(order, line(42, 43)), works({1, 3, 4}));
  EXPECT_EQ(before_write(order, line(90, 100)), works({2}));
  order.written(line(42, 43), 5);
  EXPECT_EQ(before_write(order, line(42, 43)), works({5}));  // the readers came before 5
}

TEST(WorkOrder, ForgetsWhatHasEnded) {
  WorkOrder order(line(0, 100));
  for (WorkId work = 1; work <= 50; ++work) order.read(line(0, 2 * static_cast<index_t>(work)), work);
  order.written(line(98, 100), 51);
  order.forget([](WorkId work) { return work <= 50; });
  EXPECT_TRUE(before_write(order, line(0, 98)).empty());
  EXPECT_EQ(before_write(order, line(0, 100)), works({51}));
  EXPECT_EQ(order.size(), 2U);
}

TEST(WorkOrder, ConflictsAreOrderedDirectlyOrThroughOthers) {
  strata_tests::Random random;
  for (int round = 0; round < 300; ++round) {
    const int rank = static_cast<int>(random(1, 3));
    std::vector<index_t> extents;
    for (int d = 0; d < rank; ++d) extents.push_back(random(1, 12));
    const Box domain = Box::from_extents(extents);
    WorkOrder order(domain);
    struct Work {
      Box box;
      bool writes;
      std::vector<bool> before;  // all work that comes before, by number
    };
    std::vector<Work> all{{Box(), false, {}}};  // numbers count from 1
    for (WorkId number = 1; number <= 40; ++number) {
      Box box = domain;
      for (int d = 0; d < rank; ++d) {
        const index_t lower = random(0, domain.upper(d) - 1);
        box = box.with_bounds(d, lower, random(lower + 1, domain.upper(d)));
      }
      Work work{box, random(0, 1) == 1, std::vector<bool>(number)};
      for (const WorkId earlier : work.writes ? before_write(order, box) : before_read(order, box)) {
        ASSERT_LT(earlier, number);
        work.before[earlier] = true;
        for (WorkId k = 1; k < earlier; ++k)
          if (all[earlier].before[k]) work.before[k] = true;
      }
      for (WorkId earlier = 1; earlier < number; ++earlier)
        EXPECT_TRUE(work.before[earlier] || !(all[earlier].writes || work.writes) ||
                    !overlap(all[earlier].box, box))
            << number << " may run with " << earlier;
      if (work.writes) order.written(box, number);
      else order.read(box, number);
      all.push_back(work);
    }
  }
}

}  // namespace
