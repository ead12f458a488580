// Serial: kernels run on the calling thread, one work item after the other. The reference for all other
// devices.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/host/handle.hpp>

namespace strata::inline STRATA_ABI {

/// The calling thread as a device. It has the members of the concept Device (detail::HostHandle).
struct Serial : detail::HostHandle<detail::serial_host> {
  /// As the concept asks for.
  static constexpr char name[] = "Serial";

  using HostHandle::HostHandle;

  friend constexpr bool operator==(Serial, Serial) { return true; }
};

/// The Kokkos Array paper's name of the host as a device (figure 14).
using Host = Serial;

}  // namespace strata::inline STRATA_ABI
