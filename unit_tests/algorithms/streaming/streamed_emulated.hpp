// Streamed launches on emulated devices: the machine that their tests have.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/emulated/control.hpp>

#include "stream_kernels.hpp"

namespace stream_test {

// Copies of 1 GB/s each way, and kernels of 10 ns a row.
inline emulated::Config machine() {
  return {.count = 2,
          .capacity = index_t{1} << 24,
          .threads = 2,
          .host_to_device_bandwidth = 1e9,
          .device_to_host_bandwidth = 1e9,
          .host_link_total = 0,
          .peer_bandwidth = 0,
          .memory_bandwidth = 1e12,
          .copy_latency = 1e-6,
          .launch_latency = 1e-6,
          .seconds_per_item = 1e-8,
          .host_submit_cost = 0};
}

class StreamedEmulated : public ::testing::Test {
 protected:
  void SetUp() override { emulated::configure(machine()); }
  void TearDown() override {
    emulated::clear_faults();
    emulated::keep_trace(false);
    EXPECT_NO_THROW(wait(Emulated{0}));
    EXPECT_EQ(emulated::used(0), 0) << "memory was lost";
    emulated::configure(emulated::default_config());
  }
};

// A step that reduces to more than a cache line.
struct SixteenSums {
  struct value_type {
    double of[16];
    friend bool operator==(const value_type&, const value_type&) = default;
  };
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next, value_type& sums) const {
    Step1{1, 1}(i, old, next);
    double power = 1;
    for (double& sum : sums.of) sum += power *= next(i);
  }
  STRATA_FUNCTION static void init(value_type& sums) { sums = {}; }
  STRATA_FUNCTION static void join(value_type& sums, const value_type& other) {
    for (int k = 0; k < 16; ++k) sums.of[k] += other.of[k];
  }
};

}  // namespace stream_test
