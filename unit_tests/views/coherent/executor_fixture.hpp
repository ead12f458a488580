// What the tests of coherent arrays on devices share: a machine of emulated devices with the rates of an
// H200, set up for each test, kernels, and values that say who wrote them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <strata/algorithms/coherent_reduce.hpp>

#include "messages.hpp"
#include "test_devices.hpp"

namespace coherent_testing {

using namespace strata;
using strata_tests::DeviceName;
using strata_tests::message_of;
using strata_tests::TestDevices;

constexpr index_t mebi = index_t{1} << 20;
constexpr index_t no_budget = std::numeric_limits<index_t>::max() / 2;

/// 55 GB/s to the host; `peer` bytes a second between devices: 0 for none. What the host submits takes no
/// time.
inline emulated::Config machine(int count, double peer = 395e9) {
  return {.count = count,
          .capacity = 4 * mebi,
          .threads = 2,
          .host_to_device_bandwidth = 55e9,
          .device_to_host_bandwidth = 55e9,
          .host_link_total = 0,
          .peer_bandwidth = peer,
          .memory_bandwidth = 4e12,
          .copy_latency = 1e-5,
          .launch_latency = 1e-6,
          .seconds_per_item = 1e-9,
          .host_submit_cost = 0};
}

/// All errors that waits for the device throw, one each.
inline void take_errors(const Emulated& device) {
  constexpr int most = 100;
  int errors = 0;
  for (bool again = true; again && errors < most;) try {
      again = false;
      wait(device);
    } catch (const Error&) {
      again = true;
      ++errors;
    }
  EXPECT_LT(errors, most) << "errors without end on " << device_name(device);
}

/// Nothing is left on the devices after a test: no memory, no error, no budget.
class CoherentTest : public ::testing::Test {
 protected:
  void SetUp() override { emulated::configure(machine(8)); }
  void TearDown() override {
    leave_nothing();
    emulated::configure(emulated::default_config());
  }
  /// Of work whose arrays are gone nobody has waited for the errors: the queues throw them, one a wait.
  static void take_errors() {
    for (int i = 0; i < emulated::config().count; ++i) coherent_testing::take_errors(Emulated{i});
  }
  static void leave_nothing() {
    emulated::clear_faults();
    emulated::keep_trace(false);
    // Of all: copies between devices may use the memory of both.
    for (int i = 0; i < emulated::config().count; ++i)
      EXPECT_NO_THROW(wait(Emulated{i})) << "an error was left over on instance " << i;
    for (int i = 0; i < emulated::config().count; ++i) {
      EXPECT_EQ(emulated::used(i), 0) << "memory of instance " << i << " was lost";
      coherent::set_budget(Emulated{i}, no_budget);
    }
  }
};

/// The first `count` emulated devices.
inline std::vector<Emulated> emulated_devices(int count) {
  std::vector<Emulated> devices;
  for (int i = 0; i < count; ++i) devices.push_back(Emulated{i});
  return devices;
}

inline Box line(index_t begin, index_t end) { return Box({begin}, {end}); }

/// x(i) = base + i
struct Iota {
  std::int64_t base;
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) = base + static_cast<index_t>(i); }
};
struct AddTo {
  std::int64_t value;
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) += value; }
};
struct Copy {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) = x(i); }
};
struct ReadOnly {
  STRATA_FUNCTION void operator()(auto, auto) const {}
};
struct SumOfThree {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) = x(i - 1) + x(i) + x(i + 1); }
};

inline ::testing::AssertionResult has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "no \"" << part << "\" in: " << text;
}

/// The elements of an array of rank 1, as the host reads them.
template <class T>
std::vector<T> values(const CoherentArray<T, rank<1>>& x) {
  const auto view = x.read();
  std::vector<T> all;
  for (index_t i = 0; i < x.extent(0); ++i) all.push_back(view(i));
  return all;
}

}  // namespace coherent_testing
