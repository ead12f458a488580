// What the tests of Emulated share: a machine with round figures, set up for each test, and kernels that wait
// for a sign.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "messages.hpp"
#include "test_devices.hpp"

namespace emulated_testing {

using namespace strata;
using strata_tests::message_of;

using Array = MDArray<int, Emulated, rank<1>>;

constexpr index_t mebi = index_t{1} << 20;

// All times are exact sums of powers of two.
inline emulated::Config round_config() {
  return {.count = 3,
          .capacity = 4 * mebi,
          .threads = 2,
          .host_to_device_bandwidth = 0x1p20,
          .device_to_host_bandwidth = 0x1p19,
          .host_link_total = 0,
          .peer_bandwidth = 0x1p21,
          .memory_bandwidth = 0x1p22,
          .copy_latency = 0,
          .launch_latency = 0,
          .seconds_per_item = 0x1p-10,
          .host_submit_cost = 0};
}

class EmulatedTest : public ::testing::Test {
 protected:
  void SetUp() override { emulated::configure(round_config()); }
  void TearDown() override {
    emulated::clear_faults();
    emulated::keep_trace(false);
    // What was freed waits for the work of all instances.
    for (int i = 0; i < emulated::config().count; ++i)
      EXPECT_NO_THROW(wait(Emulated{i})) << "an error was left over";
    for (int i = 0; i < emulated::config().count; ++i)
      EXPECT_EQ(emulated::used(i), 0) << "memory of instance " << i << " was lost";
    emulated::configure(emulated::default_config());
  }
};

/// A kernel that holds its queue until it is opened; opened by its destructor at the latest.
class Gate {
 public:
  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() { open(); }

  struct Kernel {
    std::atomic<int>* state;
    void operator()(index_t) const {
      state->store(1);
      for (state->notify_all(); state->load() != 2;) state->wait(1);
      state->store(3);
      state->notify_all();
    }
  };
  /// Holds `queue` from when its turn comes. Use a gate once.
  void hold(const Queue<Emulated>& queue) {
    parallel_for("gate", on(queue), 1, Kernel{&state_}), held_ = true;
  }
  void wait_until_reached() {
    for (int now; (now = state_.load()) == 0;) state_.wait(now);
  }
  void open() {
    if (!held_) return;
    wait_until_reached();
    state_.store(2);
    state_.notify_all();
    for (int now; (now = state_.load()) != 3;) state_.wait(now);
    held_ = false;
  }

 private:
  std::atomic<int> state_{0};
  bool held_ = false;
};

struct SetAll {
  int value;
  STRATA_FUNCTION void operator()(index_t i, const Array& x) const { x(i) = value; }
};
struct AddAll {
  int value;
  STRATA_FUNCTION void operator()(index_t i, const Array& x) const { x(i) += value; }
};
struct Throwing {
  const char* text;
  void operator()(index_t, const Array&) const { throw std::runtime_error(text); }
};

/// All elements, by a blocking copy.
inline std::vector<int> elements(const Array& x) {
  const auto host = create_mirror_and_copy(x);
  std::vector<int> all;
  for (index_t i = 0; i < host.extent(0); ++i) all.push_back(host(i));
  return all;
}

}  // namespace emulated_testing
