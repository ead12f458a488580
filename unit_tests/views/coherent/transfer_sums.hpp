// What the tests of counters share: sums of what was copied.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/coherent/byte_sums.hpp"
#include "views/coherent/executor_fixture.hpp"

namespace coherent_testing {

using strata_tests::Sums;
using strata_tests::sums_of;

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
