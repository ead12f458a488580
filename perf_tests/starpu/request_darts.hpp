// RequestDarts: the decisions of darts as StarPU's code makes them, of the model request_model.cpp.
//
// The memories say what is on a device: an array that is there or requested. An array may be chosen while it
// is listed: from when a task that lacks it is released until it is chosen, and again when it is evicted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <list>
#include <random>
#include <vector>

#include "starpu/request_memories.hpp"

namespace perf {

/// What the study's runs do not fix, or StarPU's code has as errors.
struct DartsOptions {
  std::uint64_t seed = 0;             ///< of the places in the lists where evicted arrays are put
  bool returns_planned_uses = false;  ///< Whether a planned task that an eviction takes back no longer counts
                                      ///< as a user of its arrays. In the code it does.
};

/// See the head of the file. Devices have the numbers of the machine.
class RequestDarts {
 public:
  /// All are referred to.
  RequestDarts(const strata::tasks::TaskDag& graph, const strata::tasks::Machine& machine,
               const std::vector<double>& priorities, const RequestMemories& memories, DartsOptions options);

  void release(TaskId task);
  /// The next task of a device; none: there is none now. It is the device's until done().
  TaskId pull(DeviceId id);
  void done(TaskId task, DeviceId id);
  /// What is to leave a device; none: nothing.
  ArrayId victim(DeviceId id, Urgency urgency);
  /// It could not leave, and is the next victim where it may leave then.
  void eviction_failed(ArrayId array, DeviceId id) { device(id).failed = array; }

 private:
  static constexpr DeviceId host = strata::tasks::host;
  static constexpr TaskId none = strata::tasks::none;

  struct OnDevice {  // of an array
    int planned_uses = 0, pulled_uses = 0;
    bool is_listed = false;
    std::list<ArrayId>::iterator place;
  };
  struct Array {
    std::vector<OnDevice> on;    // devices
    std::deque<TaskId> readers;  // that wait, the newest first
    double seconds_left = 0;     // of the readers, as the code counts them
    bool is_known = false;
  };
  struct Device {
    std::list<ArrayId> listed;
    std::list<TaskId> planned, pulled;
    ArrayId failed = strata::tasks::none;
    bool has_begun = false;
  };
  struct Choice {
    ArrayId array = strata::tasks::none;
    double ratio = 0, priority = 0, seconds_left = 0;
    int num_free = 0, num_one_more = 0;
    TaskId one_more = strata::tasks::none;
    bool is_better_than(const Choice& other) const;
  };

  const std::vector<strata::tasks::TaskAccess>& accesses(TaskId task) const {
    return graph_.task(task).accesses;
  }
  double priority(TaskId task) const { return priorities_[static_cast<std::size_t>(task)]; }
  double seconds(TaskId task) const { return machine_.run_seconds(graph_, task, 0); }
  Array& array(ArrayId id) { return arrays_[static_cast<std::size_t>(id)]; }
  OnDevice& on(ArrayId id, DeviceId device) { return array(id).on[static_cast<std::size_t>(device)]; }
  Device& device(DeviceId id) { return devices_[static_cast<std::size_t>(id)]; }
  bool is_there(ArrayId id, DeviceId device) const {
    return memories_.is_valid(id, device) || memories_.is_requested(id, device);
  }

  bool is_free(TaskId task, DeviceId id);
  int num_lacking_beside(ArrayId array, TaskId task, DeviceId id) const;
  void list(ArrayId id, DeviceId device, std::list<ArrayId>::iterator before);
  void list_at_random(ArrayId id, DeviceId device);
  void unlist(ArrayId id, DeviceId device);
  void plan(TaskId task, DeviceId id);
  void count_planned(TaskId task, DeviceId id, int change);
  void wait_again(TaskId task);
  void plan_more(DeviceId id);
  void plan_first(DeviceId id);
  void plan_one(TaskId task, DeviceId id);
  Choice best_choice(DeviceId id);
  Choice choice_of(ArrayId array, DeviceId id);
  ArrayId least_needed(DeviceId id, Urgency urgency);
  long next_use(ArrayId array, DeviceId id);

  const strata::tasks::TaskDag& graph_;
  const strata::tasks::Machine& machine_;
  const std::vector<double>& priorities_;
  const RequestMemories& memories_;
  const DartsOptions options_;
  std::vector<Array> arrays_;
  std::vector<Device> devices_;
  std::list<TaskId> waiting_;  // released, of no device
  std::mt19937_64 random_;
  int num_released_ = 0;
};

}  // namespace perf
