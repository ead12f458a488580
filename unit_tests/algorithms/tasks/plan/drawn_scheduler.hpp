// A scheduler that decides by chance whatever it may. Copies of it decide the same.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <strata/algorithms/tasks/plan/scheduler.hpp>

#include "core/random.hpp"

namespace strata_tests {

/// See the head of the file.
class DrawnScheduler final : public strata::tasks::TaskScheduler {
  using ArrayId = strata::tasks::ArrayId;
  using DeviceId = strata::tasks::DeviceId;
  using TaskId = strata::tasks::TaskId;
  using index_t = strata::index_t;
  static constexpr int none = strata::tasks::none;

 public:
  explicit DrawnScheduler(std::uint64_t seed) : draw_(seed) {}
  void start(const strata::tasks::SchedulerView& view) override { view_.emplace(view); }
  void ready(TaskId task, DeviceId) override { ready_.push_back(task); }
  void done(TaskId, DeviceId) override { --num_assigned_; }
  int tasks_ahead(DeviceId) const override { return 5; }
  TaskId assign(DeviceId device) override {
    if (num_assigned_ > 0 && draw_(0, 1) == 0) return none;
    std::vector<TaskId> possible;
    for (const TaskId task : ready_)
      if (view_->machine.can_run(view_->graph, task, device)) possible.push_back(task);
    if (possible.empty()) return none;
    ++num_assigned_;
    const TaskId task =
        possible[static_cast<std::size_t>(draw_(0, static_cast<index_t>(possible.size()) - 1))];
    std::erase(ready_, task);
    return task;
  }
  ArrayId prefetch(DeviceId device) override {
    const ArrayId array = any_array();
    return array == none || view_->memory.holds(array, device) ||
                   view_->graph.array(array).bytes > view_->memory.capacity(device)
               ? none
               : array;
  }
  // What was written on the device, and is not just being written again.
  ArrayId store(DeviceId device) override {
    const ArrayId array = any_array();
    return array == none || !view_->memory.is_dirty(array) || !view_->memory.is_evictable(array, device)
               ? none
               : array;
  }
  bool sends_on() const override { return draw_(0, 1) == 1; }
  void victims(const strata::tasks::RoomRequest& request, std::vector<ArrayId>& chosen) override {
    if (request.is_prefetch && draw_(0, 1) == 0) return;
    index_t bytes = 0;
    const index_t count = view_->graph.num_arrays(), first = draw_(0, count - 1);
    for (index_t k = 0; k < count && bytes < request.bytes; ++k) {
      const ArrayId array = static_cast<ArrayId>((first + k) % count);
      if (!view_->memory.is_evictable(array, request.device)) continue;
      chosen.push_back(array);
      bytes += view_->graph.array(array).bytes;
    }
  }

 private:
  // Or none, every other time.
  ArrayId any_array() {
    const int count = view_->graph.num_arrays();
    return count == 0 || draw_(0, 1) == 0 ? none : static_cast<ArrayId>(draw_(0, count - 1));
  }

  mutable Random draw_;
  std::optional<strata::tasks::SchedulerView> view_;
  std::vector<TaskId> ready_;
  int num_assigned_ = 0;
};

}  // namespace strata_tests
