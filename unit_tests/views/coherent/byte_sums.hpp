// Sums of bytes that were copied, for tests that count them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ostream>

#include <strata/views/coherent/transfer_counters.hpp>

namespace strata_tests {

struct Sums {
  std::uint64_t to_device, within, peer, to_host, allocated;
  friend bool operator==(const Sums&, const Sums&) = default;
  friend std::ostream& operator<<(std::ostream& os, const Sums& s) {
    return os << "to devices " << s.to_device << ", within " << s.within << ", peer " << s.peer
              << ", to host " << s.to_host << ", allocated " << s.allocated;
  }
};
/// In units of `unit` bytes.
inline Sums sums_of(const strata::TransferCounters& c, std::uint64_t unit = 1) {
  return {c.host_to_device.bytes / unit, c.same_device.bytes / unit, c.peer.bytes / unit,
          c.device_to_host.bytes / unit, c.allocated.bytes / unit};
}

}  // namespace strata_tests
