// What the tests of counters share: sums of what was copied.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>

#include "views/coherent/executor_fixture.hpp"

namespace coherent_testing {

struct Sums {
  std::uint64_t to_device, within, peer, to_host, allocated;
  friend bool operator==(const Sums&, const Sums&) = default;
  friend std::ostream& operator<<(std::ostream& os, const Sums& s) {
    return os << "to devices " << s.to_device << ", within " << s.within << ", peer " << s.peer
              << ", to host " << s.to_host << ", allocated " << s.allocated;
  }
};
inline Sums sums_of(const TransferCounters& c, std::uint64_t unit) {
  return {c.host_to_device.bytes / unit, c.same_device.bytes / unit, c.peer.bytes / unit,
          c.device_to_host.bytes / unit, c.allocated.bytes / unit};
}

// Peer copies as fast as an H200's, so that broadcasts pay; as fast as the host's, so that they do not; none.
constexpr double fast = 395e9, slow = 55e9, none = 0;

class CoherentCounters : public CoherentTest {
 protected:
  // What `program` moves, in units of `unit` bytes.
  template <class Program>
  static void expect_sums(int devices, double peer, std::uint64_t unit, const Program& program,
                          const Sums& expected) {
    leave_nothing();
    emulated::configure(machine(devices, peer));
    EXPECT_EQ(sums_of(program(), unit), expected);
  }
};

}  // namespace coherent_testing
