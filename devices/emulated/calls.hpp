// Counts of what is asked of the emulated devices, for tests of what a launch costs the host: on a GPU each
// of these is a call of the driver, of about a microsecond or more.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::emulated {

/// Since the program began, of all instances.
struct Calls {
  std::uint64_t kernels = 0;      ///< that were launched
  std::uint64_t copies = 0;       ///< and fills
  std::uint64_t prefetches = 0;   ///< of managed memory, each for one or more ranges
  std::uint64_t records = 0;      ///< of events
  std::uint64_t queue_waits = 0;  ///< of a queue for an event of another queue
  std::uint64_t queries = 0;      ///< whether an event is complete
  std::uint64_t host_waits = 0;   ///< for an event or a queue
  std::uint64_t allocations = 0;  ///< also of parts of what was reserved

  friend bool operator==(const Calls&, const Calls&) = default;
  friend Calls operator-(const Calls& a, const Calls& b) {
    return {a.kernels - b.kernels,       a.copies - b.copies,           a.prefetches - b.prefetches,
            a.records - b.records,       a.queue_waits - b.queue_waits, a.queries - b.queries,
            a.host_waits - b.host_waits, a.allocations - b.allocations};
  }
};
/// The counts by now.
Calls calls();

}  // namespace strata::inline STRATA_ABI::emulated
