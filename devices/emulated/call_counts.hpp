// The counters of emulated::calls(). Private to this folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

struct CallCounts {
  std::atomic<std::uint64_t> kernels{0}, copies{0}, prefetches{0}, records{0}, queue_waits{0}, queries{0},
      host_waits{0}, allocations{0};
};
inline constinit CallCounts emulated_calls;

/// Threads do not order anything by it.
inline void count_call(std::atomic<std::uint64_t> CallCounts::*kind) {
  (emulated_calls.*kind).fetch_add(1, std::memory_order_relaxed);
}

}  // namespace strata::inline STRATA_ABI::detail
