// HostSpace: the memory of the host, which Serial, Threads and Tbb share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/allocation.hpp>
#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// Ordinary memory of the process. Views of any host device hold plain addresses and may be used by all.
struct HostSpace {
  /// As the concept MemorySpace asks for.
  static constexpr char kind[] = "Host";
  static constexpr bool host_accessible = true;

  /// The address at which the calling thread may touch the element that a view holds at `address`.
  template <class T>
  [[nodiscard]] STRATA_FUNCTION static constexpr T* resolve(T* address) {
    return address;
  }
};

}  // namespace strata::inline STRATA_ABI
