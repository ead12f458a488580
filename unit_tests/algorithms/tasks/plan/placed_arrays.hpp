// Arrays of 8 bytes on one device, of which the second and every fifth one after it are dirty, and nothing
// runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <gtest/gtest.h>

#include <strata/algorithms/tasks/plan/task_driver.hpp>

namespace strata_tests {

using strata::index_t;
using namespace strata::tasks;

class PlacedArrays : public testing::Test {
 protected:
  explicit PlacedArrays(int count)
      : machine_("m", {{"gpu", 8 * count, {{"*", 1}}}}, {{"bus", 1, 0, false}}, {{host, 0, 0}}) {
    for (ArrayId array = 0; array < count; ++array) graph_.add_array("a" + std::to_string(array), 8);
    graph_.add_task("use", "k", 1, {{0, strata::AccessMode::In}});
    driver_.emplace(graph_, machine_, scheduler_);
    for (ArrayId array = 0; array < count; ++array) driver_->place(array, 0, array % 5 == 1);
  }
  SchedulerView view() const { return {graph_, machine_, driver_->memory(), now_}; }

 private:
  struct Idle : TaskScheduler {
    void start(const SchedulerView&) override {}
    void ready(TaskId, DeviceId) override {}
    TaskId assign(DeviceId) override { return none; }
    void victims(const RoomRequest&, std::vector<ArrayId>&) override {}
  };

  TaskDag graph_;
  Machine machine_;
  Idle scheduler_;
  std::optional<TaskDriver> driver_;
  double now_ = 0;
};

}  // namespace strata_tests
