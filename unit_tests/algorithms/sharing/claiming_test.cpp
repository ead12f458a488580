// Shared launches whose kernels claim for themselves: the counter, sizes of claims, and whole launches, also
// with failures.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <strata/algorithms/sharing/dynamic.hpp>

#include "algorithms/arrays.hpp"
#include "core/random.hpp"
#include "views/coherent/executor_fixture.hpp"

namespace {

using namespace coherent_testing;
using strata::detail::sharing::ClaimCounter;
using strata::detail::sharing::host_claim;
using strata::detail::sharing::team_claims;
using strata::detail::sharing::TeamClaims;
using strata::detail::sharing::UnitClaim;
using strata_tests::expect_parts;
using strata_tests::Random;
using Numbers = CoherentArray<std::int64_t, rank<1>>;
using Side = ClaimCounter::Side;

// ---- the counter

TEST(ClaimCounter, GivesRowsFromBothEndsUntilTheyMeet) {
  std::uint64_t number = 0;
  const ClaimCounter counter = ClaimCounter({5, 105}, 10, true).with({&number, 1});
  const auto rows = [&](Side side, index_t count) {
    const ResidentRows r = counter.rows(side, counter.take(side, count));
    return std::vector<index_t>{r.begin, r.end};
  };
  ASSERT_EQ(counter.units(), 11);

  EXPECT_EQ(rows(Side::Devices, 2), (std::vector<index_t>{5, 20}));
  EXPECT_EQ(rows(Side::Hosts, 1), (std::vector<index_t>{100, 105}));
  EXPECT_EQ(rows(Side::Hosts, 3), (std::vector<index_t>{70, 100}));
  EXPECT_EQ(counter.take(Side::Hosts, 0).left, 5);
  EXPECT_EQ(rows(Side::Devices, 4), (std::vector<index_t>{20, 60}));
  EXPECT_EQ(rows(Side::Hosts, 7), (std::vector<index_t>{60, 70})) << "what is left";
  EXPECT_EQ(counter.take(Side::Devices, 3).end, 0);
  EXPECT_EQ(counter.take(Side::Hosts, 1).end, 0);
}

TEST(ClaimCounter, HasFewUnitsOfLongRanges) {
  const ClaimCounter counter({-5, index_t{1} << 40}, 32, false);
  EXPECT_LT(counter.units(), ClaimCounter::most_units);
  EXPECT_GE(counter.units() * counter.unit(), (index_t{1} << 40) + 5);
  for (const index_t rows :
       {ClaimCounter::most_units - 2, ClaimCounter::most_units - 1, ClaimCounter::most_units})
    EXPECT_LT(ClaimCounter({31, 31 + rows * 32}, 32, true).units(), ClaimCounter::most_units) << rows;
  EXPECT_EQ(ClaimCounter({7, 7}, 32, true).units(), 0);
  EXPECT_EQ(ClaimCounter({9, 7}, 32, true).units(), 0);
}

TEST(ClaimCounter, GivesEachRowToOneOfManyThreads) {
  Random random;
  for (int trial = 0; trial < 20; ++trial) {
    const index_t first = random(-300, 300), n = random(1, 20000);
    std::uint64_t number = 0;
    const ClaimCounter counter =
        ClaimCounter({first, first + n}, random(1, 40), random(0, 1) == 0).with({&number, 1});
    std::vector<std::atomic<int>> owners(static_cast<std::size_t>(n));
    const auto work = [&](Side side, index_t divisor) {
      UnitClaim claim = counter.take(side, 1);
      while (claim.begin < claim.end) {
        const ResidentRows rows = counter.rows(side, claim);
        for (index_t i = rows.begin; i < rows.end; ++i) ++owners[static_cast<std::size_t>(i - first)];
        claim = counter.take(side, TeamClaims{divisor, 1}.size(claim.left));
      }
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back(work, t % 2 == 0 ? Side::Devices : Side::Hosts, 2 + 5 * t);
    for (std::thread& thread : threads) thread.join();
    index_t wrong = 0;
    for (const std::atomic<int>& count : owners) wrong += count != 1;
    ASSERT_EQ(wrong, 0) << first << " " << n;
  }
}

TEST(SizesOfClaims, OfTeamsAreAQuarterOfWhatTheirDeviceDoes) {
  const TeamClaims alone = team_claims(1'000'000, 100, 1, 0, 0);
  EXPECT_EQ(alone.divisor, 400);
  EXPECT_EQ(alone.size(1'000'000), 2500);
  EXPECT_EQ(alone.size(1), alone.least);
  EXPECT_EQ(team_claims(1'000'000, 100, 0.5, 0, 0).divisor, 800) << "who has half of the work";
  EXPECT_EQ(team_claims(1'000'000, 100, 1, 1e9, 1e-5).least, 100) << "10 us of 100 teams";
  EXPECT_EQ(team_claims(10, 10, 1, 1e9, 1).least, 1) << "no more than there are for each";
}

TEST(SizesOfClaims, OfHostsAreGuidedAndStopWhereTheyWouldBeLate) {
  EXPECT_EQ(host_claim({.units = 10240, .left = 10240}), 10) << "not measured yet";
  EXPECT_EQ(host_claim({.units = 10240, .left = 10240, .claims = 2}), 40);
  EXPECT_EQ(host_claim({.units = 1000, .left = 1000, .foretold = 100, .speed = 1, .others = 9}), 100);
  EXPECT_EQ(host_claim({.units = 1000, .left = 800, .speed = 1, .others = 3, .claims = 1}), 100)
      << "half of its quarter";
  EXPECT_EQ(
      host_claim({.units = 1000, .left = 800, .speed = 1, .others = 3, .least_seconds = 150, .claims = 1}),
      150);
  EXPECT_EQ(
      host_claim({.units = 1000, .left = 800, .speed = 1, .others = 3, .least_seconds = 300, .claims = 1}), 0)
      << "the others need less for all";
  EXPECT_EQ(host_claim({.units = 1000, .left = 0, .speed = 1}), 0);
}

// ---- launches

constexpr DynamicOptions by_kernels{
    .host_seconds = 1e-6, .device_seconds = 1e-6, .claimed_by = ClaimedBy::Kernels};

class ClaimingLaunches : public CoherentTest {
 protected:
  void SetUp() override {
    emulated::Config config = machine(3);
    config.capacity = 32 * mebi;
    emulated::configure(config);
    forget_shared_speeds();
  }
  static Numbers iota(index_t n, MemoryMode mode = MemoryMode::Managed) {
    const Numbers x("x", n, mode, main_in(Emulated{0}));
    const auto view = x.write();
    for (index_t i = 0; i < n; ++i) view(i) = i;
    return x;
  }
  static void expect_sum(const Numbers& x, std::int64_t more) {
    const std::vector<std::int64_t> seen = coherent_testing::values(x);
    index_t wrong = 0;
    for (index_t i = 0; i < x.extent(0); ++i) wrong += seen[static_cast<std::size_t>(i)] != i + more;
    EXPECT_EQ(wrong, 0);
  }
  static index_t items(const SharedReport& report) {
    index_t sum = 0;
    for (const auto& device : report.devices) sum += device.items;
    return sum;
  }
};

// The thread of a host that a test is about.
std::thread::id its_thread;
bool is_its_thread() { return std::this_thread::get_id() == its_thread; }
std::atomic<bool> host_has_begun, device_has_begun;
void wait_until(const std::atomic<bool>& flag) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!flag && std::chrono::steady_clock::now() < until) std::this_thread::yield();
}

// Both sides wait until the other one has begun, if that ever does.
struct AddBesideHost {
  STRATA_FUNCTION void operator()(auto i, auto x) const {
#if !defined(__CUDA_ARCH__)
    (is_its_thread() ? host_has_begun : device_has_begun) = true;
    wait_until(is_its_thread() ? device_has_begun : host_has_begun);
#endif
    x(i) += 1;
  }
};

TEST_F(ClaimingLaunches, ShareManagedArraysWithHosts) {
  its_thread = std::this_thread::get_id();
  const auto try_at = [](const auto& place) {
    host_has_begun = device_has_begun = false;
    forget_shared_speeds();
    const Numbers x = iota(20'000);

    const SharedReport report = launch(place.dynamic(by_kernels), 20'000, AddBesideHost{}, inout(x));

    expect_sum(x, 1);
    EXPECT_EQ(items(report), 20'000) << report.explain();
    EXPECT_EQ(report.kernels_claimed, !checked_build);
    if (checked_build) return;
    for (const auto& device : report.devices) {
      EXPECT_GT(device.items, 0) << report.explain();
      EXPECT_GT(device.claims, 0);
      EXPECT_GT(device.end, 0);
    }
    EXPECT_GT(report.claim_seconds, 0);
    EXPECT_LE(report.tail, report.seconds);
    expect_parts(report.explain(), {"20000 items in", "kernels claimed for themselves", "Serial{0}: "});
  };
  try_at(across(Serial{}, Emulated{0}));
  try_at(across(Emulated{0}, Serial{}));
  try_at(across(Emulated{0}, Serial{}).weighted({9, 1}));
}

TEST_F(ClaimingLaunches, OfSeveralDevicesAndHostsDoEachItemOnce) {
  const Numbers x = iota(100'003);
  const auto place = across(Threads{}, Emulated{0}, Emulated{2}, Serial{}).weighted({1, 2, 3, 0});
  for (int k = 1; k <= 5; ++k) {
    const SharedReport report = launch(place.dynamic(by_kernels), 100'003, AddTo{1}, inout(x));
    EXPECT_EQ(report.kernels_claimed, !checked_build);
    EXPECT_EQ(items(report), 100'003) << report.explain();
    expect_sum(x, k);
  }
}

struct Index {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto x) const { x(i, j) += 100 * i + j; }
  STRATA_FUNCTION void operator()(index_t i, index_t j, index_t k, auto x) const {
    x(i, j, k) += 10'000 * i + 100 * j + k;
  }
};

template <class Layout>
void add_indices() {
  const auto place = across(Threads{}, Emulated{0}).weighted({1, 1}).dynamic(by_kernels);
  const CoherentArray<std::int64_t, rank<2>, Layout> a("a", 901, 20, MemoryMode::Managed,
                                                       main_in(Emulated{0}));
  const CoherentArray<std::int64_t, rank<3>, Layout> b("b", 801, 3, 7, MemoryMode::Managed,
                                                       main_in(Emulated{0}));
  EXPECT_EQ(launch(place, mdrange({3, 1}, {900, 20}), Index{}, inout(a)).kernels_claimed, !checked_build);
  EXPECT_EQ(launch(place, mdrange({1, 0, 2}, {800, 3, 7}), Index{}, inout(b)).kernels_claimed,
            !checked_build);
  const auto rows = a.read();
  for (index_t i = 0; i < 901; ++i)
    for (index_t j = 0; j < 20; ++j)
      ASSERT_EQ(rows(i, j), i >= 3 && i < 900 && j > 0 ? 100 * i + j : 0) << i << " " << j;
  const auto box = b.read();
  for (index_t i = 0; i < 801; ++i)
    for (index_t j = 0; j < 3; ++j)
      for (index_t k = 0; k < 7; ++k)
        ASSERT_EQ(box(i, j, k), i > 0 && i < 800 && k > 1 ? 10'000 * i + 100 * j + k : 0) << i << j << k;
}

TEST_F(ClaimingLaunches, HaveArraysOfSeveralDimensions) {
  add_indices<LayoutRight>();
  add_indices<LayoutLeft>();
  add_indices<LayoutTiled<8>>();
}

struct SumOf {
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const { sum += static_cast<double>(x(i)); }
};

// Then the host claims, and the values are the same.
TEST_F(ClaimingLaunches, AreThoseOverMemoryThatAllReachAtOnce) {
  const auto place = across(Serial{}, Emulated{0}).weighted({1, 1}).dynamic(by_kernels);
  for (const MemoryMode mode : {MemoryMode::Smart, MemoryMode::Pinned, MemoryMode::Mapped}) {
    const Numbers x = iota(5000, mode), y = iota(5000);
    EXPECT_FALSE(launch(place, 5000, Copy{}, in(x), out(y)).kernels_claimed) << to_string(mode);
    expect_sum(y, 0);
  }
  const Numbers x = iota(5000);
  double sum = 0;
  EXPECT_FALSE(launch_reduce(place, 5000, SumOf{}, Sum(sum), in(x)).kernels_claimed)
      << "parts of a reduction are nodes of its tree";
  EXPECT_EQ(sum, 5000.0 * 4999 / 2);
  const auto hosts = across(Serial{}, Threads{}).weighted({1, 1}).dynamic(by_kernels);
  EXPECT_FALSE(launch(hosts, 5000, AddTo{1}, inout(x)).kernels_claimed);
  EXPECT_FALSE(launch(place, range(7, 7), AddTo{1}, inout(x)).kernels_claimed);
  EXPECT_FALSE(launch(across(Serial{}, Emulated{0}).weighted({1, 1}).dynamic(), 5000, AddTo{1}, inout(x))
                   .kernels_claimed)
      << "nobody asked for it";
  expect_sum(x, 2);
}

TEST_F(ClaimingLaunches, NeedManagedMemoryThatHostsTouchWhileKernelsRun) {
  emulated::Config config = machine(2);
  config.concurrent_managed_access = false;
  emulated::configure(config);
  const Numbers x = iota(5000);
  const auto place = across(Serial{}, Emulated{0}).weighted({1, 1}).dynamic(by_kernels);
  EXPECT_FALSE(launch(place, 5000, AddTo{1}, inout(x)).kernels_claimed);
  expect_sum(x, 1);
}

TEST_F(ClaimingLaunches, RefuseAccessBeyondTheRowsOfWhatIsWritten) {
  const auto place = across(Emulated{0}, Serial{}).weighted({1, 1}).dynamic(by_kernels);
  const Numbers x = iota(1000);
  EXPECT_THROW(launch(place, 1000, AddTo{1}, inout(x, halo(1, 1))), AccessConflict);
  EXPECT_THROW(launch(place, 1000, AddTo{1}, out(x, everything)), AccessConflict);
  expect_sum(x, 0);
}

TEST_F(ClaimingLaunches, ComeAfterWhatWasEnqueuedAndBeforeWhatIs) {
  const Numbers x = iota(30'000), y("y", 30'000, uninitialized, MemoryMode::Managed, main_in(Emulated{0}));
  const auto place = across(Emulated{0}, Emulated{1}, Serial{}).weighted({1, 1, 1}).dynamic(by_kernels);
  for (int k = 0; k < 5; ++k) {
    launch(on(Emulated{2}), 30'000, AddTo{1}, inout(x));
    launch(place, 30'000, Copy{}, in(x), out(y));
    launch(on(Emulated{1}), 30'000, AddTo{1}, inout(y));
    launch(place, 30'000, Copy{}, in(y), out(x));
  }
  expect_sum(x, 10);
}

// ---- failures

TEST_F(ClaimingLaunches, ThatADeviceFailsInAreDoneByTheOthers) {
  // The first kernel is that which makes the counters zero.
  for (const int k : {1, 2, 3})
    for (const bool with_host : {false, true}) {
      SCOPED_TRACE(std::to_string(k) + (with_host ? " with a host" : ""));
      forget_shared_speeds();
      const Numbers x = iota(30'000),
                    y("y", 30'000, uninitialized, MemoryMode::Managed, main_in(Emulated{0}));
      emulated::fail(emulated::Fault::Kernel, k);
      const SharedReport report =
          with_host
              ? launch(across(Emulated{0}, Emulated{1}, Serial{}).weighted({1, 1, 1}).dynamic(by_kernels),
                       30'000, Copy{}, in(x), out(y))
              : launch(across(Emulated{0}, Emulated{1}).weighted({1, 1}).dynamic(by_kernels), 30'000, Copy{},
                       in(x), out(y));
      emulated::clear_faults();
      EXPECT_EQ(items(report), 30'000) << report.explain();
      expect_sum(y, 0);
      take_errors();
    }
}

TEST_F(ClaimingLaunches, SayWhatIsLostWhereTheOnlyKernelFailed) {
  const Numbers x = iota(30'000);
  emulated::fail(emulated::Fault::Kernel, checked_build ? 1 : 2);
  const std::string text = message_of<DataLost>([&] {
    launch(across(Emulated{0}).weighted({1}).dynamic(by_kernels).named("add"), 30'000, AddTo{1}, inout(x));
  });
  expect_parts(text, {"shared launch of add", "not done: work items [",
                      "lost, being nowhere else: ", "of \"x\"", "Write them anew before they are read"});
  emulated::clear_faults();
  for (const Residence& part : x.where(x.domain()))
    if (part.memories.empty()) {
      EXPECT_TRUE(has(text, to_string(part.box) + " of \"x\""));
    }
  launch(on(Emulated{0}), 30'000, Iota{0}, out(x));
  expect_sum(x, 0);
}

struct ThrowOnItsThread {
  STRATA_FUNCTION void operator()(auto i, auto x) const {
#if !defined(__CUDA_ARCH__)
    if (is_its_thread()) {
      host_has_begun = true;
      throw std::runtime_error("a kernel's own error");
    }
    wait_until(host_has_begun);
#endif
    x(i) += 1;
  }
};

TEST_F(ClaimingLaunches, ThrowWhatAKernelOnAHostThrows) {
  if (checked_build) return;  // without claims of kernels, as dynamic_test.cpp has it
  its_thread = std::this_thread::get_id();
  host_has_begun = false;
  const Numbers x = iota(20'000);
  EXPECT_EQ(message_of<std::runtime_error>([&] {
              launch(across(Emulated{0}, Serial{}).weighted({1, 1}).dynamic(by_kernels), 20'000,
                     ThrowOnItsThread{}, inout(x));
            }),
            "a kernel's own error");
  index_t lost = 0;
  for (const Residence& part : x.where(x.domain()))
    if (part.memories.empty()) lost += part.box.size();
  EXPECT_GT(lost, 0) << "what the host has begun to write";
  EXPECT_LT(lost, 20'000);
  expect_parts(message_of<DataLost>([&] { static_cast<void>(x.read()); }),
               {"failed while it may have written", "of \"x\"", "Write them anew before they are read"});
  launch(on(Emulated{0}), 20'000, Iota{0}, out(x));
  expect_sum(x, 0);
}

}  // namespace
