// Toy: a device written outside of Strata's tree, against an installed Strata. It works in host memory, on
// the calling thread and one more, and takes the pieces of a range from the last to the first: an order that
// no kernel may rely on. docs/add_a_device.md goes through it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/layout_left.hpp>
#include <strata/devices/device.hpp>
#include <strata/devices/host/execution.hpp>
#include <strata/devices/host/space.hpp>

namespace toy {

struct Toy {
  using memory_space = strata::HostSpace;
  using layout = strata::LayoutLeft;
  using index_type = strata::index_t;
  using size_type = strata::index_t;
  using execution = strata::detail::HostExecution;
  static constexpr char name[] = "Toy";

  constexpr Toy() = default;
  /// There is one instance, 0; NoSuchDevice for another number.
  explicit Toy(int index);

  static constexpr int count() { return 1; }
  constexpr int index() const { return 0; }
  strata::detail::DeviceInstance& backend() const;

  /// What HostExecution needs to know of it.
  static const strata::detail::HostKind& host();

  friend constexpr bool operator==(Toy, Toy) { return true; }
};

}  // namespace toy
