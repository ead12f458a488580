// ForwardingScheduler: passes all events and decisions on to another scheduler. For those that watch, measure
// or choose one: they override what they add.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include <strata/algorithms/tasks/plan/scheduler.hpp>

namespace strata::inline STRATA_ABI::tasks {

/// See the head of the file.
class ForwardingScheduler : public TaskScheduler {
 public:
  /// To `other`, which is referred to.
  explicit ForwardingScheduler(TaskScheduler& other) : other_(&other) {}
  /// To `other`; none: forward_to() says which, before start() is passed on.
  explicit ForwardingScheduler(std::unique_ptr<TaskScheduler> other = nullptr)
      : own_(std::move(other)), other_(own_.get()) {}

  void start(const SchedulerView& view) override { other_->start(view); }
  void submitted(TaskId task) override { other_->submitted(task); }
  void ready(TaskId task, DeviceId released_by) override { other_->ready(task, released_by); }
  void loading(ArrayId array, DeviceId device) override { other_->loading(array, device); }
  void loaded(ArrayId array, DeviceId device) override { other_->loaded(array, device); }
  void evicted(ArrayId array, DeviceId device) override { other_->evicted(array, device); }
  void stored(ArrayId array) override { other_->stored(array); }
  void done(TaskId task, DeviceId device) override { other_->done(task, device); }
  TaskId assign(DeviceId device) override { return other_->assign(device); }
  int tasks_ahead(DeviceId device) const override { return other_->tasks_ahead(device); }
  ArrayId prefetch(DeviceId device) override { return other_->prefetch(device); }
  ArrayId store(DeviceId device) override { return other_->store(device); }
  bool awaits_copies() const override { return other_->awaits_copies(); }
  bool sends_on() const override { return other_->sends_on(); }
  void victims(const RoomRequest& request, std::vector<ArrayId>& chosen) override {
    other_->victims(request, chosen);
  }

 protected:
  /// Passes on to this one from now on.
  void forward_to(std::unique_ptr<TaskScheduler> other) {
    own_ = std::move(other);
    other_ = own_.get();
  }

 private:
  std::unique_ptr<TaskScheduler> own_;
  TaskScheduler* other_;
};

}  // namespace strata::inline STRATA_ABI::tasks
