// TimedScheduler: a scheduler that measures another one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <ctime>
#include <vector>

#include <strata/algorithms/tasks/plan/forwarding_scheduler.hpp>

namespace strata::inline STRATA_ABI::tasks {

/// By which time decisions are measured.
enum class DecisionClock : unsigned char {
  Wall,      ///< with what else the computer does meanwhile
  Processor  ///< of this thread
};

/// Refers to the one that decides.
class TimedScheduler final : public ForwardingScheduler {
 public:
  /// Measures `scheduler`.
  explicit TimedScheduler(TaskScheduler& scheduler, DecisionClock clock = DecisionClock::Wall)
      : ForwardingScheduler(scheduler), clock_(clock), asking_(seconds_of_asking()) {}

  void start(const SchedulerView& view) override {
    measure([&] { ForwardingScheduler::start(view); });
  }
  void submitted(TaskId task) override {
    measure([&] { ForwardingScheduler::submitted(task); });
  }
  void ready(TaskId task, DeviceId released_by) override {
    most_ready_ = std::max(most_ready_, ++num_ready_);
    measure([&] { ForwardingScheduler::ready(task, released_by); });
  }
  void loading(ArrayId array, DeviceId device) override {
    measure([&] { ForwardingScheduler::loading(array, device); });
  }
  void loaded(ArrayId array, DeviceId device) override {
    measure([&] { ForwardingScheduler::loaded(array, device); });
  }
  void evicted(ArrayId array, DeviceId device) override {
    measure([&] { ForwardingScheduler::evicted(array, device); });
  }
  void stored(ArrayId array) override {
    measure([&] { ForwardingScheduler::stored(array); });
  }
  void done(TaskId task, DeviceId device) override {
    measure([&] { ForwardingScheduler::done(task, device); });
  }
  TaskId assign(DeviceId device) override {
    TaskId task = none;
    const double seconds = measure([&] { task = ForwardingScheduler::assign(device); });
    if (task == none) return none;
    --num_ready_;
    decisions_.push_back(seconds);
    return task;
  }
  ArrayId prefetch(DeviceId device) override {
    ArrayId array = none;
    const double seconds = measure([&] { array = ForwardingScheduler::prefetch(device); });
    if (array != none) decisions_.push_back(seconds);
    return array;
  }
  ArrayId store(DeviceId device) override {
    ArrayId array = none;
    const double seconds = measure([&] { array = ForwardingScheduler::store(device); });
    if (array != none) decisions_.push_back(seconds);
    return array;
  }
  void victims(const RoomRequest& request, std::vector<ArrayId>& chosen) override {
    const double seconds = measure([&] { ForwardingScheduler::victims(request, chosen); });
    if (!chosen.empty()) decisions_.push_back(seconds);
  }

  /// In all functions together.
  double seconds() const { return seconds_; }
  /// Of each task, prefetch and choice of victims.
  const std::vector<double>& decisions() const { return decisions_; }
  /// Tasks that were ready and not assigned, at most.
  int most_ready() const { return most_ready_; }

 private:
  template <class F>
  double measure(const F& call) {
    const double begin = now();
    call();
    const double seconds = std::max(0.0, now() - begin - asking_);
    seconds_ += seconds;
    return seconds;
  }

  double now() const {
    timespec time{};
    clock_gettime(clock_ == DecisionClock::Processor ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  // Of asking for the time twice: as much as a short event takes.
  double seconds_of_asking() const {
    std::vector<double> empty(501);
    for (double& seconds : empty) {
      const double begin = now();
      seconds = now() - begin;
    }
    std::nth_element(empty.begin(), empty.begin() + 250, empty.end());
    return empty[250];
  }

  DecisionClock clock_;
  double asking_;
  double seconds_ = 0;
  int num_ready_ = 0, most_ready_ = 0;
  std::vector<double> decisions_;
};

}  // namespace strata::inline STRATA_ABI::tasks
