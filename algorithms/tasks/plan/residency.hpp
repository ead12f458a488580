// Residency: which memory holds which arrays, and what of it may go. Kept by TaskDriver, read by schedulers.
//
//   Absent -> Loading -> Present -> Storing -> Absent
//
// A copy is pinned while a task that was admitted needs it, and lent while it is being copied to another
// device. The host holds every array but those that a device wrote since: these are dirty.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/tasks/plan/machine.hpp>

namespace strata::inline STRATA_ABI::tasks {

class TaskDriver;

/// See the head of the file.
class Residency {
 public:
  /// All arrays are on the host; the graph is referred to.
  Residency(const TaskDag& graph, const Machine& machine);

  /// Can be read now.
  bool is_present(ArrayId array, DeviceId device) const {
    return copy(array, device).state == State::Present;
  }
  /// Is there, or on its way.
  bool holds(ArrayId array, DeviceId device) const {
    const Copy& copy = this->copy(array, device);
    return copy.state == State::Present || (copy.state == State::Loading && !copy.is_stale);
  }
  /// The host's values are old.
  bool is_dirty(ArrayId array) const { return !host_is_valid_[static_cast<std::size_t>(array)]; }
  /// May be a victim now.
  bool is_evictable(ArrayId array, DeviceId device) const {
    const Copy& copy = this->copy(array, device);
    return copy.state == State::Present && copy.pins == 0 && copy.lends == 0;
  }
  /// A task that was admitted needs it there.
  bool is_pinned(ArrayId array, DeviceId device) const { return copy(array, device).pins > 0; }

  /// Bytes of the device's memory.
  index_t capacity(DeviceId device) const { return memory(device).capacity; }
  /// Neither in use nor being emptied.
  index_t free(DeviceId device) const { return memory(device).capacity - memory(device).used; }
  /// Of copies that are pinned, there or not yet.
  index_t pinned(DeviceId device) const { return memory(device).pinned; }
  /// Of what a task needs and the device does not hold.
  index_t missing_bytes(TaskId task, DeviceId device) const;

 private:
  friend class TaskDriver;
  enum class State : unsigned char { Absent, Loading, Present, Storing };
  struct Copy {
    State state = State::Absent;
    bool is_stale = false;  // loading what a task has written anew since
    int pins = 0, lends = 0;
  };
  struct Memory {
    index_t capacity = 0, used = 0, pinned = 0, storing = 0;  // storing: of those not pinned, soon free
  };

  const Copy& copy(ArrayId array, DeviceId device) const {
    return copies_[static_cast<std::size_t>(array) * memories_.size() + static_cast<std::size_t>(device)];
  }
  Copy& copy(ArrayId array, DeviceId device) {
    return copies_[static_cast<std::size_t>(array) * memories_.size() + static_cast<std::size_t>(device)];
  }
  const Memory& memory(DeviceId device) const { return memories_[static_cast<std::size_t>(device)]; }
  Memory& memory(DeviceId device) { return memories_[static_cast<std::size_t>(device)]; }

  const TaskDag& graph_;
  std::vector<Memory> memories_;
  std::vector<Copy> copies_;
  std::vector<bool> host_is_valid_;
};

}  // namespace strata::inline STRATA_ABI::tasks
