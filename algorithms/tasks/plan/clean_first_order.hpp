// CleanFirstOrder: the arrays of each device in the order of their last use, of which copies that the host
// has too leave before those that are dirty: what StarPU evicts by. Its owner says which are dirty, and which
// are kept from prefetches.
//
// Each of these kinds has its own order, so that a choice of victims looks at those that it names and few
// more. An array that goes before another one gets a label between its neighbours'. A device that has room
// for all arrays hardly ever has to choose, and has no such orders.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <set>
#include <vector>

#include <strata/algorithms/tasks/plan/scheduler.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

/// See the head of the file.
class CleanFirstOrder {
 public:
  /// Of an array on a device.
  struct Kind {
    bool is_dirty = false, is_kept = false;
  };

  /// Before all else; the view's parts are referred to.
  void start(const SchedulerView& view);
  /// The array is there; it counts as used now.
  void insert(ArrayId array, DeviceId device, Kind kind);
  /// The array is gone.
  void remove(ArrayId array, DeviceId device);
  /// The array was used now, if it is there.
  void use(ArrayId array, DeviceId device);
  /// If it is there.
  void set_kind(ArrayId array, DeviceId device, Kind kind);
  /// Until its next use the array comes before all others of which the host's values are old.
  void put_before_dirty(ArrayId array, DeviceId device);
  /// Adds the first clean ones that may go, then the first dirty ones. What a prefetch evicts are none that
  /// are kept, and enough for it, or nothing.
  void victims(const RoomRequest& request, std::vector<ArrayId>& chosen) const;
  bool has(ArrayId array, DeviceId device) const { return places_[at(array, device)].is_there; }
  /// From the one that was not used for longest.
  const std::list<ArrayId>& arrays(DeviceId device) const {
    return orders_[static_cast<std::size_t>(device)];
  }

 private:
  struct Entry {
    long label;
    ArrayId array;
    auto operator<=>(const Entry&) const = default;
  };
  struct Place {
    bool is_there = false;
    Kind kind;
    long label = 0;  // grows along the order
    std::list<ArrayId>::iterator at;
  };
  using Entries = std::set<Entry>;

  std::size_t at(ArrayId array, DeviceId device) const {
    return static_cast<std::size_t>(array) * orders_.size() + static_cast<std::size_t>(device);
  }
  std::list<ArrayId>& order(DeviceId device) { return orders_[static_cast<std::size_t>(device)]; }
  static std::size_t number_of(DeviceId device, Kind kind) {
    return 4 * static_cast<std::size_t>(device) + (kind.is_dirty ? 2u : 0u) + (kind.is_kept ? 1u : 0u);
  }
  Entries& entries(DeviceId device, Kind kind) { return entries_[number_of(device, kind)]; }
  const Entries& entries(DeviceId device, Kind kind) const { return entries_[number_of(device, kind)]; }
  bool is_ordered(DeviceId device) const { return is_ordered_[static_cast<std::size_t>(device)]; }
  void relabel(ArrayId array, DeviceId device, long label);
  void relabel_all(DeviceId device);

  const Residency* memory_ = nullptr;
  const TaskDag* graph_ = nullptr;
  std::vector<std::list<ArrayId>> orders_;  // of devices
  std::vector<long> last_labels_;           // of devices
  std::vector<Place> places_;               // of arrays and devices
  std::vector<bool> is_ordered_;            // of devices: whether there are entries
  std::vector<Entries> entries_;            // of devices and kinds
};

}  // namespace strata::inline STRATA_ABI::tasks::detail
