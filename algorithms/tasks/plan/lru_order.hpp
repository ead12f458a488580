// LruOrder: the arrays of each device in the order of their last use, and the first of them as victims: what
// most schedulers evict by.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <vector>

#include <strata/algorithms/tasks/plan/scheduler.hpp>

namespace strata::inline STRATA_ABI::tasks {

/// See the head of the file.
class LruOrder {
 public:
  /// Before all else; the view's parts are referred to.
  void start(const SchedulerView& view) {
    memory_ = &view.memory;
    graph_ = &view.graph;
    orders_.assign(static_cast<std::size_t>(view.machine.num_devices()), {});
    places_.assign(static_cast<std::size_t>(view.graph.num_arrays()) * orders_.size(), {});
  }
  /// The array is there; it counts as used now.
  void loaded(ArrayId array, DeviceId device) {
    Place& place = this->place(array, device);
    remove(place, device);
    place = {true, order(device).insert(order(device).end(), array)};
  }
  /// The array is gone.
  void evicted(ArrayId array, DeviceId device) { remove(place(array, device), device); }
  /// The arrays of a task were used.
  void done(TaskId task, DeviceId device) {
    for (const TaskAccess& access : graph_->task(task).accesses) use(access.array, device);
  }
  /// The array was used now, if it is there.
  void use(ArrayId array, DeviceId device) {
    const Place& place = this->place(array, device);
    if (place.is_there) order(device).splice(order(device).end(), order(device), place.at);
  }
  /// The first that may go.
  void victims(const RoomRequest& request, std::vector<ArrayId>& chosen) const {
    index_t bytes = 0;
    for (const ArrayId array : arrays(request.device)) {
      if (bytes >= request.bytes) break;
      if (!memory_->is_evictable(array, request.device)) continue;
      chosen.push_back(array);
      bytes += graph_->array(array).bytes;
    }
  }
  /// From the one that was not used for longest.
  const std::list<ArrayId>& arrays(DeviceId device) const {
    return orders_[static_cast<std::size_t>(device)];
  }

 private:
  struct Place {
    bool is_there = false;
    std::list<ArrayId>::iterator at;
  };
  std::list<ArrayId>& order(DeviceId device) { return orders_[static_cast<std::size_t>(device)]; }
  Place& place(ArrayId array, DeviceId device) {
    return places_[static_cast<std::size_t>(array) * orders_.size() + static_cast<std::size_t>(device)];
  }
  void remove(Place& place, DeviceId device) {
    if (place.is_there) order(device).erase(place.at);
    place.is_there = false;
  }

  const Residency* memory_ = nullptr;
  const TaskDag* graph_ = nullptr;
  std::vector<std::list<ArrayId>> orders_;
  std::vector<Place> places_;
};

}  // namespace strata::inline STRATA_ABI::tasks
