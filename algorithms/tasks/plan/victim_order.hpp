// VictimOrder: the arrays of each device by how much they are needed, of equal ones in the order of their
// last use: from this order victims are taken. Kept up to date by events, so that a choice of victims looks
// at those that it names and few more, however many arrays a device has.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <utility>
#include <vector>

#include <strata/algorithms/tasks/plan/task_dag.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

/// See the head of the file. Devices are numbered from 0; so are the kinds of need, those first that leave
/// first.
class VictimOrder {
 public:
  /// An array by its last use.
  struct Entry {
    long last_use;
    ArrayId array;
    auto operator<=>(const Entry&) const = default;
  };

  void start(int num_arrays, int num_devices, int num_kinds) {
    num_devices_ = static_cast<std::size_t>(num_devices);
    num_kinds_ = static_cast<std::size_t>(num_kinds);
    places_.assign(static_cast<std::size_t>(num_arrays) * num_devices_, {});
    sets_.assign(num_devices_ * num_kinds_, {});
  }
  /// The array is there; it counts as used now.
  void insert(ArrayId array, int device, int kind) {
    remove(array, device);
    place(array, device) = {kind, ++last_use_};
    of(device, kind).insert(of(device, kind).end(), {last_use_, array});
  }
  /// The array is gone.
  void remove(ArrayId array, int device) {
    Place& own = place(array, device);
    if (own.kind != none) of(device, own.kind).erase({own.last_use, array});
    own.kind = none;
  }
  /// What is there was used now.
  void use(ArrayId array, int device) {
    Place& own = place(array, device);
    if (own.kind == none) return;
    std::set<Entry>& entries = of(device, own.kind);
    auto node = entries.extract({own.last_use, array});
    own.last_use = node.value().last_use = ++last_use_;
    entries.insert(entries.end(), std::move(node));
  }
  /// What is there is of this kind now.
  void set_kind(ArrayId array, int device, int kind) {
    Place& own = place(array, device);
    if (own.kind == none || own.kind == kind) return;
    of(device, kind).insert(of(device, own.kind).extract({own.last_use, array}));
    own.kind = kind;
  }
  bool has(ArrayId array, int device) const {
    return places_[static_cast<std::size_t>(array) * num_devices_ + static_cast<std::size_t>(device)].kind !=
           none;
  }
  /// From the one that was not used for longest.
  const std::set<Entry>& arrays(int device, int kind) const {
    return sets_[static_cast<std::size_t>(device) * num_kinds_ + static_cast<std::size_t>(kind)];
  }

 private:
  struct Place {
    int kind = none;
    long last_use = 0;
  };
  Place& place(ArrayId array, int device) {
    return places_[static_cast<std::size_t>(array) * num_devices_ + static_cast<std::size_t>(device)];
  }
  std::set<Entry>& of(int device, int kind) {
    return sets_[static_cast<std::size_t>(device) * num_kinds_ + static_cast<std::size_t>(kind)];
  }

  std::size_t num_devices_ = 0, num_kinds_ = 0;
  long last_use_ = 0;
  std::vector<Place> places_;          // of arrays and devices
  std::vector<std::set<Entry>> sets_;  // of devices and kinds
};

}  // namespace strata::inline STRATA_ABI::tasks::detail
