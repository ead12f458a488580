// MissingArrays: for each device and array that it lacks, the ready tasks that lack only this one, and those
// that lack this and one more. What DARTS chooses by, kept up to date by the events: an array that comes or
// goes costs O(log) for each ready task that reads it, so that a choice needs no scan.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <vector>

#include <strata/algorithms/tasks/plan/lru_scheduler.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

/// See the head of the file. "There" is what the owner says; tasks are added when ready, and removed when
/// taken.
class MissingArrays {
 public:
  /// Of one array on one device.
  struct Counts {
    std::set<PriorityEntry> free;      // tasks that lack only this array
    std::set<PriorityEntry> one_more;  // tasks that lack this array and another one
    double free_seconds = 0;           // of all in `free`
  };

  void start(const SchedulerView& view);
  /// `device`: the only one that can take the task; none: all can.
  void add(const PriorityEntry& task, DeviceId device = none);
  void remove(TaskId task);
  void set_there(ArrayId array, DeviceId device, bool is_there);

  bool is_there(ArrayId array, DeviceId device) const { return is_there_[at(array, device)]; }
  bool is_waiting(TaskId task) const { return is_waiting_[static_cast<std::size_t>(task)]; }
  /// How many arrays that it reads a task lacks on a device.
  int missing(TaskId task, DeviceId device) const;
  const Counts& counts(ArrayId array, DeviceId device) const { return counts_[at(array, device)]; }
  /// Tasks that wait and read the array, from the one that was added first.
  const std::vector<TaskId>& readers(ArrayId array) const {
    return readers_[static_cast<std::size_t>(array)];
  }
  /// Of a task.
  double seconds(TaskId task) const { return seconds_[static_cast<std::size_t>(task)]; }
  /// Seconds of the tasks that wait and read the array.
  double seconds_left(ArrayId array) const { return seconds_left_[static_cast<std::size_t>(array)]; }
  /// What only `device` can take, or all devices, by priority.
  const std::set<PriorityEntry>& tasks(DeviceId device = none) const {
    return tasks_[static_cast<std::size_t>(device + 1)];
  }
  /// What lacks nothing there.
  const std::set<PriorityEntry>& complete(DeviceId device) const {
    return complete_[static_cast<std::size_t>(device)];
  }
  /// Arrays whose counts on a device have changed since the last call; refers to them until the next one.
  const std::vector<ArrayId>& take_changed(DeviceId device);
  void mark(ArrayId array, DeviceId device);

 private:
  std::size_t at(ArrayId array, DeviceId device) const {
    return static_cast<std::size_t>(array) * num_devices_ + static_cast<std::size_t>(device);
  }
  void count(const PriorityEntry& task, DeviceId device, bool is_added);
  template <class F>
  void for_devices_of(TaskId task, const F& f) const;

  const TaskDag* graph_ = nullptr;
  std::size_t num_devices_ = 0;
  std::vector<std::set<PriorityEntry>> tasks_;     // of all devices, then of each
  std::vector<std::set<PriorityEntry>> complete_;  // of devices
  std::vector<DeviceId> owners_;                   // of tasks
  std::vector<PriorityEntry> entries_;             // of tasks
  std::vector<bool> is_waiting_;                   // of tasks
  std::vector<double> seconds_;                    // of tasks
  std::vector<std::vector<ArrayId>> inputs_;       // of tasks: what they read
  std::vector<std::vector<TaskId>> readers_;       // of arrays: tasks that wait
  std::vector<double> seconds_left_;               // of arrays
  std::vector<bool> is_there_;                     // of arrays and devices
  std::vector<Counts> counts_;                     // of arrays and devices
  std::vector<bool> is_changed_;                   // of arrays and devices
  std::vector<std::vector<ArrayId>> changed_;      // of devices
  std::vector<ArrayId> taken_;                     // of take_changed
};

}  // namespace strata::inline STRATA_ABI::tasks::detail
