// TimedScheduler: a scheduler that measures another one.
#pragma once

#include <chrono>

#include <strata/algorithms/tasks/plan/scheduler.hpp>

namespace strata::inline STRATA_ABI::tasks {

/// Refers to the one that decides.
class TimedScheduler final : public TaskScheduler {
 public:
  /// Measures `scheduler`.
  explicit TimedScheduler(TaskScheduler& scheduler) : scheduler_(scheduler) {}

  void start(const SchedulerView& view) override {
    measure([&] { scheduler_.start(view); });
  }
  void submitted(TaskId task) override {
    measure([&] { scheduler_.submitted(task); });
  }
  void ready(TaskId task, DeviceId released_by) override {
    measure([&] { scheduler_.ready(task, released_by); });
  }
  void loaded(ArrayId array, DeviceId device) override {
    measure([&] { scheduler_.loaded(array, device); });
  }
  void evicted(ArrayId array, DeviceId device) override {
    measure([&] { scheduler_.evicted(array, device); });
  }
  void done(TaskId task, DeviceId device) override {
    measure([&] { scheduler_.done(task, device); });
  }
  TaskId assign(DeviceId device) override {
    TaskId task = none;
    const double seconds = measure([&] { task = scheduler_.assign(device); });
    if (task != none) decisions_.push_back(seconds);
    return task;
  }
  int tasks_ahead(DeviceId device) const override { return scheduler_.tasks_ahead(device); }
  bool awaits_copies() const override { return scheduler_.awaits_copies(); }
  bool sends_on() const override { return scheduler_.sends_on(); }
  ArrayId prefetch(DeviceId device) override {
    ArrayId array = none;
    const double seconds = measure([&] { array = scheduler_.prefetch(device); });
    if (array != none) decisions_.push_back(seconds);
    return array;
  }
  ArrayId store(DeviceId device) override {
    ArrayId array = none;
    const double seconds = measure([&] { array = scheduler_.store(device); });
    if (array != none) decisions_.push_back(seconds);
    return array;
  }
  void victims(const RoomRequest& request, std::vector<ArrayId>& chosen) override {
    const double seconds = measure([&] { scheduler_.victims(request, chosen); });
    if (!chosen.empty()) decisions_.push_back(seconds);
  }

  /// In all functions together.
  double seconds() const { return seconds_; }
  /// Of each task, prefetch and choice of victims.
  const std::vector<double>& decisions() const { return decisions_; }

 private:
  template <class F>
  double measure(const F& call) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    seconds_ += seconds;
    return seconds;
  }

  TaskScheduler& scheduler_;
  double seconds_ = 0;
  std::vector<double> decisions_;
};

}  // namespace strata::inline STRATA_ABI::tasks
