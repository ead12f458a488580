// How long shared launches take beside the better device alone, in the virtual time of emulated devices of
// random speeds and links: never more than 5 % longer once speeds are known, and nearly as short as both
// could be where data lies on both.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <strata/algorithms/sharing/dynamic.hpp>

#include "algorithms/arrays.hpp"
#include "core/random.hpp"
#include "views/coherent/executor_fixture.hpp"

namespace {

using namespace coherent_testing;
using strata_tests::Random;
using Numbers = CoherentArray<std::int64_t, rank<1>>;

// A machine, and a problem on it.
struct Drawn {
  emulated::Config machine;
  index_t items;
  bool is_stencil;
  std::string text() const {
    char line[256];
    std::snprintf(line, sizeof line,
                  "%lld items of %.3g s, %.3g times that, link %.3g B/s and %.3g s, peers %.3g B/s, %s",
                  static_cast<long long>(items), machine.seconds_per_item, machine.item_factors[1],
                  machine.host_to_device_bandwidth, machine.copy_latency, machine.peer_bandwidth,
                  is_stencil ? "stencil" : "map");
    return line;
  }
};

class SharedSpeeds : public CoherentTest {
 protected:
  void SetUp() override { forget_shared_speeds(); }
  void TearDown() override {
    CoherentTest::TearDown();
    forget_shared_speeds();
  }

  double log_random(double least, double most) {
    constexpr index_t steps = 1'000'000;
    return least * std::pow(most / least, static_cast<double>(random_(0, steps)) / steps);
  }
  // Launches that take a millisecond and more.
  Drawn draw(double most_times_slower) {
    Drawn drawn;
    drawn.items = random_(8'000, 24'000);
    drawn.is_stencil = random_(0, 1) == 1;
    drawn.machine = machine(2, random_(0, 1) == 1 ? log_random(5e9, 400e9) : 0);
    drawn.machine.capacity = 32 * mebi;
    drawn.machine.seconds_per_item = log_random(1e-3, 2e-2) / static_cast<double>(drawn.items);
    drawn.machine.item_factors = {1, log_random(1, most_times_slower)};
    if (random_(0, 1) == 1) std::swap(drawn.machine.item_factors[0], drawn.machine.item_factors[1]);
    drawn.machine.host_to_device_bandwidth = drawn.machine.device_to_host_bandwidth = log_random(1e9, 100e9);
    drawn.machine.copy_latency = log_random(1e-6, 2e-5);
    drawn.machine.launch_latency = log_random(1e-6, 1e-5);
    drawn.machine.host_submit_cost = random_(0, 1) == 1 ? 1e-6 : 0;
    return drawn;
  }
  void set(const Drawn& drawn) {
    for (int i = 0; i < emulated::config().count; ++i) wait(Emulated{i});
    emulated::configure(drawn.machine);
    emulated::reset_time();
    forget_shared_speeds();
  }

  struct Arrays {
    Numbers x, y;
    explicit Arrays(index_t n) : x("x", n), y("y", n) {
      const auto view = x.write();
      for (index_t i = 0; i < n; ++i) view(i) = i * i % 1000;
    }
  };
  template <class Place>
  static void run(const Drawn& drawn, const Arrays& a, const Place& place) {
    {
      // That a thread finds work complete is no matter of virtual time, but would take up to its end.
      const emulated::HeldClock held;
      if (drawn.is_stencil)
        launch(place, range(1, drawn.items - 1), SumOfThree{}, in(a.x, halo(1, 1)), inout(a.y));
      else launch(place, drawn.items, Copy{}, in(a.x), inout(a.y));
    }
    for (int i = 0; i < 2; ++i) wait(Emulated{i});
  }
  // Virtual seconds of launches one after the other.
  template <class Place>
  static std::vector<double> times(const Drawn& drawn, const Arrays& a, const Place& place, int count) {
    std::vector<double> seconds;
    for (int k = 0; k < count; ++k) {
      const double begin = emulated::now();
      run(drawn, a, place);
      seconds.push_back(emulated::now() - begin);
    }
    return seconds;
  }
  struct Alone {
    double first, seconds;  // with the copies there, and without
  };
  static Alone alone(const Drawn& drawn, int device) {
    const Arrays a(drawn.items);
    const auto seconds = times(drawn, a, on(Emulated{device}), 2);
    return {seconds[0], seconds[1]};
  }
  static void check(const Drawn& drawn, const Arrays& a) {
    const std::vector<std::int64_t> x = values(a.x), y = values(a.y);
    for (index_t i = 1; i < drawn.items - 1; ++i) {
      const auto at = static_cast<std::size_t>(i);
      ASSERT_EQ(y[at], drawn.is_stencil ? x[at - 1] + x[at] + x[at + 1] : x[at]) << i;
    }
  }

  void compare_with_the_better(int trials);
  void compare_with_both(int trials);

  Random random_;
};

void SharedSpeeds::compare_with_the_better(int trials) {
  double worst = 0, worst_first = 0;
  for (int trial = 0; trial < trials && !HasFailure(); ++trial) {
    const Drawn drawn = draw(1000);
    SCOPED_TRACE(std::to_string(trial) + ": " + drawn.text());
    set(drawn);
    const Alone first = alone(drawn, 0), second = alone(drawn, 1);
    const double better = std::min(first.seconds, second.seconds);
    const Arrays a(drawn.items);

    constexpr int searches = 4, count = 24;
    const auto seconds = times(drawn, a, across(Emulated{0}, Emulated{1}).dynamic(), searches + count);

    // The first launch finds out how fast they are, by a 1024th of the work on the slower one.
    const double probe = std::max(first.seconds, second.seconds) / 1024;
    const double begin = (seconds[0] - probe) / std::min(first.first, second.first);
    EXPECT_LE(begin, 2);
    double all = 0;
    for (int k = searches; k < searches + count; ++k) all += seconds[static_cast<std::size_t>(k)];
    EXPECT_LE(all, 1.05 * better * count);
    check(drawn, a);
    worst = std::max(worst, all / count / better);
    worst_first = std::max(worst_first, begin);
  }
  std::printf("at worst %.3f times the better device, the first launch %.3f\n", worst, worst_first);
}

void SharedSpeeds::compare_with_both(int trials) {
  double worst = 0;
  for (int trial = 0; trial < trials && !HasFailure(); ++trial) {
    const Drawn drawn = draw(9);
    SCOPED_TRACE(std::to_string(trial) + ": " + drawn.text());
    set(drawn);
    const double first = alone(drawn, 0).seconds, second = alone(drawn, 1).seconds;
    const double both = 1 / (1 / first + 1 / second);
    const Arrays a(drawn.items);
    run(drawn, a, across(Emulated{0}, Emulated{1}).weighted({1 / first, 1 / second}));

    constexpr int searches = 4, count = 40;  // with one that tries a device alone
    const auto seconds = times(drawn, a, across(Emulated{0}, Emulated{1}).dynamic(), searches + count);

    double all = 0;
    for (int k = searches; k < searches + count; ++k) all += seconds[static_cast<std::size_t>(k)];
    EXPECT_LE(all, 1.1 * both * count);
    check(drawn, a);
    worst = std::max(worst, all / count / both);
  }
  std::printf("at worst %.3f times what both can do\n", worst);
}

TEST_F(SharedSpeeds, AreThatOfTheBetterDeviceAtLeast) { compare_with_the_better(strata_tests::trials(30)); }
TEST_F(SharedSpeeds, AreThatOfTheBetterDeviceAtLeastSlow) {
  compare_with_the_better(strata_tests::trials(600));
}
TEST_F(SharedSpeeds, AreThoseOfBothWhereDataLiesOnBoth) { compare_with_both(strata_tests::trials(30)); }
TEST_F(SharedSpeeds, AreThoseOfBothWhereDataLiesOnBothSlow) { compare_with_both(strata_tests::trials(600)); }

// A kernel that takes as long for a few items as for many: parts of it do not make it shorter.
TEST_F(SharedSpeeds, OfADeviceThatTakesAsLongForAnyPartAreNotTheirs) {
  Drawn drawn = draw(1);
  drawn.machine.item_factors = {0, 1};
  drawn.machine.launch_latency = 0.9e-6 * static_cast<double>(drawn.items);
  drawn.machine.seconds_per_item = 1e-6;
  set(drawn);
  const double first = alone(drawn, 0).seconds, second = alone(drawn, 1).seconds;
  const Arrays a(drawn.items);

  const auto seconds = times(drawn, a, across(Emulated{0}, Emulated{1}).dynamic(), 16);

  double all = 0;
  for (const double s : seconds) std::printf(" %.3f", s / std::min(first, second));
  for (int k = 4; k < 16; ++k) all += seconds[static_cast<std::size_t>(k)];
  EXPECT_LE(all, 1.05 * 12 * std::min(first, second));
}

// A launch of this kind moves nothing: nothing that was computed is copied again.
TEST_F(SharedSpeeds, OfRepeatedLaunchesMoveNoRows) {
  Drawn drawn = draw(3);
  drawn.is_stencil = false;
  set(drawn);
  const Arrays a(drawn.items);
  const auto both = across(Emulated{0}, Emulated{1}).dynamic();
  times(drawn, a, both, 8);
  const auto before = a.y.counters();

  times(drawn, a, both, 8);

  EXPECT_EQ(a.y.counters().host_to_device.bytes, before.host_to_device.bytes);
  EXPECT_EQ(a.y.counters().device_to_host.bytes, before.device_to_host.bytes);
  EXPECT_EQ(a.y.counters().peer.bytes, before.peer.bytes);
}

}  // namespace
