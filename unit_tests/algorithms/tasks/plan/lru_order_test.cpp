// LruOrder: in which order arrays leave.
#include <optional>

#include <gtest/gtest.h>

#include <strata/algorithms/tasks/plan/lru_order.hpp>
#include <strata/algorithms/tasks/plan/task_driver.hpp>

namespace {

using namespace strata::tasks;

// Four arrays of 8 bytes on one device, of which the second one is dirty; the driver only places them.
class LruOrders : public testing::Test {
 protected:
  struct Idle : TaskScheduler {
    void start(const SchedulerView&) override {}
    void ready(TaskId, DeviceId) override {}
    TaskId assign(DeviceId) override { return none; }
    void victims(const RoomRequest&, std::vector<ArrayId>&) override {}
  };
  LruOrders() {
    for (const char* name : {"a", "b", "c", "d"}) graph_.add_array(name, 8);
    graph_.add_task("use", "k", 1, {{0, strata::AccessMode::In}});
    driver_.emplace(graph_, machine_, scheduler_);
    for (ArrayId array = 0; array < 4; ++array) driver_->place(array, 0, array == 1);
    order_.start({graph_, machine_, driver_->memory(), now_});
    for (ArrayId array = 0; array < 4; ++array) order_.loaded(array, 0);
  }
  std::vector<ArrayId> clean(strata::index_t bytes, bool is_prefetch = false) {
    std::vector<ArrayId> chosen;
    order_.clean_victims(
        {0, bytes, is_prefetch}, chosen, [&](ArrayId array) { return driver_->memory().is_dirty(array); },
        [&](ArrayId array) { return is_prefetch && array == 2; });
    return chosen;
  }
  std::vector<ArrayId> oldest(strata::index_t bytes) {
    std::vector<ArrayId> chosen;
    order_.victims({0, bytes, false}, chosen);
    return chosen;
  }

  TaskDag graph_;
  Machine machine_{"m", {{"gpu", 64, {{"*", 1}}}}, {{"bus", 1, 0, false}}, {{host, 0, 0}}};
  Idle scheduler_;
  std::optional<TaskDriver> driver_;
  double now_ = 0;
  LruOrder order_;
};

TEST_F(LruOrders, WhatWasNotUsedForLongestLeavesFirst) {
  EXPECT_EQ(oldest(16), (std::vector<ArrayId>{0, 1}));
  order_.done(0, 0);  // uses a
  EXPECT_EQ(oldest(16), (std::vector<ArrayId>{1, 2}));
  order_.evicted(1, 0);
  EXPECT_EQ(oldest(16), (std::vector<ArrayId>{2, 3}));
}
TEST_F(LruOrders, CleanCopiesLeaveBeforeDirtyOnes) {
  EXPECT_EQ(clean(16), (std::vector<ArrayId>{0, 2}));
  EXPECT_EQ(clean(32), (std::vector<ArrayId>{0, 2, 3, 1}));
}
TEST_F(LruOrders, PrefetchesLeaveWhatIsKeptAndGetEnoughOrNothing) {
  EXPECT_EQ(clean(24, true), (std::vector<ArrayId>{0, 3, 1}));
  EXPECT_TRUE(clean(32, true).empty());
}
TEST_F(LruOrders, WhatIsPutBeforeDirtyOnesStaysThereUntilItsNextUse) {
  order_.put_before_dirty(3, 0);  // a, d, b, c
  EXPECT_EQ(oldest(24), (std::vector<ArrayId>{0, 3, 1}));
  order_.use(3, 0);
  EXPECT_EQ(oldest(24), (std::vector<ArrayId>{0, 1, 2}));
  order_.evicted(3, 0);
  order_.put_before_dirty(3, 0);  // it is not there
  EXPECT_EQ(oldest(32), (std::vector<ArrayId>{0, 1, 2}));
}

}  // namespace
