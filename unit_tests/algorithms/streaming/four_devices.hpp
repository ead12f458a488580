// Four small devices with a clock of their own, for tests of launches over several of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include <strata/devices/emulated/control.hpp>
#include <strata/devices/emulated/device.hpp>

namespace stream_test {

using namespace strata;

// Copies of 1 GB/s each way, and kernels of 10 ns a row; from device to device by the host where that is 0.
inline emulated::Config four_devices(double peer_bandwidth = 1e10) {
  return {.count = 4,
          .capacity = index_t{1} << 24,
          .threads = 1,
          .host_to_device_bandwidth = 1e9,
          .device_to_host_bandwidth = 1e9,
          .host_link_total = 0,
          .peer_bandwidth = peer_bandwidth,
          .memory_bandwidth = 1e12,
          .copy_latency = 1e-6,
          .launch_latency = 1e-6,
          .seconds_per_item = 1e-8,
          .host_submit_cost = 0};
}
inline std::vector<Emulated> devices(int count) {
  std::vector<Emulated> all;
  for (int k = 0; k < count; ++k) all.push_back(Emulated{k});
  return all;
}

class FourDevices : public ::testing::Test {
 protected:
  explicit FourDevices(double peer_bandwidth = 1e10) : peer_bandwidth_(peer_bandwidth) {}
  void SetUp() override { emulated::configure(four_devices(peer_bandwidth_)); }
  void TearDown() override {
    emulated::clear_faults();
    emulated::keep_trace(false);
    for (int k = 0; k < 4; ++k) {
      EXPECT_NO_THROW(wait(Emulated{k}));
      EXPECT_EQ(emulated::used(k), 0) << "memory was lost";
    }
    emulated::configure(emulated::default_config());
  }

 private:
  const double peer_bandwidth_;
};

}  // namespace stream_test
