// FullDevices: emulated devices whose memory is full from some moment of a run on, as where another program
// takes it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>

#include <strata/algorithms/tasks/plan/forwarding_scheduler.hpp>

#include "algorithms/tasks/task_programs.hpp"

namespace strata_tests {

/// See the head of the file. The moment is one of the events that the scheduler of the run gets.
class FullDevices {
 public:
  /// One or all are full, from a moment on that is drawn; `options` get a scheduler that counts to it.
  FullDevices(Random& draw, int num_tasks, TaskRunOptions& options)
      : plan_(std::make_shared<Plan>(Plan{static_cast<int>(draw(0, 3 * num_tasks)), draw(0, 2), {}})) {
    const int one = static_cast<int>(draw(0, Emulated::count() - 1));
    const bool are_all = draw(0, 1) == 0;
    for (int k = 0; k < Emulated::count(); ++k)
      if (are_all || k == one) plan_->devices.insert(k);
    options.make_scheduler = [plan = plan_, its = options](const tasks::SchedulerOptions& given) {
      std::unique_ptr<tasks::TaskScheduler> own(its.make_scheduler ? its.make_scheduler(given) : nullptr);
      if (!own) own = tasks::make_scheduler(its.scheduler, given);
      return new Counts(std::move(own), plan);
    };
  }
  /// They have their memory again.
  ~FullDevices() {
    for (const int k : plan_->devices) emulated::set_capacity(k, emulated::config().capacity);
  }
  FullDevices(const FullDevices&) = delete;
  FullDevices& operator=(const FullDevices&) = delete;

  /// Whether the place has no other devices.
  template <Place Where>
  bool are_all_of(const Where& where) const {
    for (const detail::TaskPart& part : detail::task_parts(where))
      if (part.host != nullptr || plan_->devices.count(part.device->index()) == 0) return false;
    return true;
  }
  /// For whoever looks for a fault.
  std::string text() const {
    std::string text = "after " + std::to_string(plan_->events) + " more events full:";
    for (const int k : plan_->devices) text += " " + std::to_string(k);
    return text + (plan_->left == 0   ? ", wholly"
                   : plan_->left == 1 ? ", of what they have"
                                      : ", of half of it");
  }

 private:
  struct Plan {
    int events;    // before they are full
    index_t left;  // 0: nothing; 1: what they use then; 2: half of it
    std::set<int> devices;

    void count() {
      if (events-- != 0) return;
      for (const int k : devices) emulated::set_capacity(k, left == 0 ? 0 : emulated::used(k) / left);
    }
  };
  class Counts final : public tasks::ForwardingScheduler {
   public:
    Counts(std::unique_ptr<tasks::TaskScheduler> own, std::shared_ptr<Plan> plan)
        : ForwardingScheduler(std::move(own)), plan_(std::move(plan)) {}
    void ready(tasks::TaskId task, tasks::DeviceId released_by) override {
      plan_->count();
      ForwardingScheduler::ready(task, released_by);
    }
    void loading(tasks::ArrayId array, tasks::DeviceId device) override {
      plan_->count();
      ForwardingScheduler::loading(array, device);
    }
    void done(tasks::TaskId task, tasks::DeviceId device) override {
      plan_->count();
      ForwardingScheduler::done(task, device);
    }

   private:
    const std::shared_ptr<Plan> plan_;
  };

  const std::shared_ptr<Plan> plan_;
};

}  // namespace strata_tests
