// Emulated: an accelerator on a machine without one. Up to 16 instances, each with memory of its own that no
// other thread can touch, asynchronous queues, copies, limits and failures; its time is virtual. Tests that
// pass on it can be expected to pass on a GPU. Settings: emulated_*; control from tests:
// emulated/control.hpp.
//
// A thread that touches memory of an instance outside its kernels ends the program with a message that names
// array, index and instance.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/layout_left.hpp>
#include <strata/devices/device.hpp>
#include <strata/devices/emulated/access.hpp>
#include <strata/devices/emulated/execution.hpp>
#include <strata/devices/host/start_affinity.hpp>

namespace strata::inline STRATA_ABI {

/// An accelerator emulated by host threads. It has the members of the concept Device.
struct Emulated {
  /// Memory, layout of plain arrays, index of kernels, launches and name, as the concept Device asks for.
  using memory_space = EmulatedSpace;
  using layout = LayoutLeft;
  using index_type = index_t;
  using size_type = index_t;
  using execution = detail::EmulatedExecution;
  static constexpr char name[] = "Emulated";

  constexpr Emulated() = default;
  /// NoSuchDevice unless 0 <= index < count().
  explicit Emulated(int index);

  /// The number of instances: the setting emulated_count, or the one given to emulated::configure.
  static int count();
  /// Number and run-time side of the instance.
  constexpr int index() const { return index_; }
  detail::DeviceInstance& backend() const;

  friend constexpr bool operator==(Emulated a, Emulated b) { return a.index_ == b.index_; }

 private:
  int index_ = 0;
};

}  // namespace strata::inline STRATA_ABI
