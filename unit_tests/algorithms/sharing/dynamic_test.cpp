// Shared launches: who gets what, what is refused, what comes of failures. Shares and tails are those of
// emulated devices, whose time is virtual; how parts are chosen is in shared_claims_test.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <strata/algorithms/sharing/dynamic.hpp>

#include "algorithms/arrays.hpp"
#include "views/coherent/executor_fixture.hpp"

namespace {

using namespace coherent_testing;
using strata_tests::expect_parts;
using strata_tests::mixed_number;
template <class T>
using Line = CoherentArray<T, rank<1>>;
using Numbers = Line<std::int64_t>;

// Parts of 1000 items, by the seconds of an item.
constexpr DynamicOptions small_parts{.host_seconds = 1e-6, .device_seconds = 1e-6, .parts_ahead = 2};

class SharedLaunches : public CoherentTest {
 protected:
  void SetUp() override {
    configure();
    forget_shared_speeds();
  }
  static void configure() {
    emulated::Config config = machine(3);
    config.capacity = 32 * mebi;
    emulated::configure(config);
    emulated::reset_time();
  }
  static Numbers iota(index_t n, MemoryMode mode = MemoryMode::Smart) {
    const Numbers x("x", n, mode, main_in(Emulated{0}));
    const auto view = x.write();
    for (index_t i = 0; i < n; ++i) view(i) = i;
    return x;
  }
  static void expect_sum(const Numbers& x, std::int64_t more, index_t first, index_t last) {
    const std::vector<std::int64_t> seen = values(x);
    index_t wrong = 0;
    for (index_t i = 0; i < x.extent(0); ++i)
      wrong += seen[static_cast<std::size_t>(i)] != i + (i >= first && i < last ? more : 0);
    EXPECT_EQ(wrong, 0);
  }
};

// ---- shares

TEST_F(SharedLaunches, OfEqualDevicesGiveEachAThirdWithAShortTail) {
  constexpr index_t n = 3'000'000;  // a millisecond for each
  const Numbers x("x", n, uninitialized);

  const SharedReport report = launch(across(emulated_devices(3)).dynamic(), n, Iota{0}, out(x));

  expect_sum(x, 0, 0, 0);
  index_t items = 0;
  for (const SharedReport::Device& device : report.devices) {
    EXPECT_NEAR(device.share, 1.0 / 3, 0.05) << report.explain();
    EXPECT_GE(device.claims, 3);
    if (!checked_build) {
      EXPECT_NEAR(device.speed, 1e9, 2.5e8);  // a busy machine makes it less
    }
    EXPECT_EQ(device.failure, "");
    items += device.items;
  }
  EXPECT_EQ(items, n);
  EXPECT_EQ(report.items, n);
  EXPECT_EQ(report.claims, report.devices[0].claims + report.devices[1].claims + report.devices[2].claims);
  EXPECT_GT(report.claim_seconds, 0);
  expect_parts(report.explain(), {"3000000 items in", "Emulated{0}: ", "Emulated{2}: ", "tail"});
  if (checked_build) return;  // which mark what is to be written, and look for it: twice the time
  EXPECT_LE(report.seconds, 1.2e-3) << report.explain();
  EXPECT_LE(report.tail, 1.5e-4) << report.explain();
}

TEST_F(SharedLaunches, BeginWhereWeightsSay) {
  const Numbers x = iota(10'000);
  const SharedReport report = launch(across(Emulated{0}, Emulated{1}).weighted({1, 0}).dynamic(small_parts),
                                     10'000, AddTo{1}, inout(x));
  expect_sum(x, 1, 0, 10'000);
  EXPECT_GT(report.devices[1].items, 0) << "who has no part of its own helps others";
}

TEST_F(SharedLaunches, LearnSpeedsForTheNext) {
  Balance balance;
  const auto place = across(Emulated{0}, Emulated{1}).adaptive(balance).dynamic();
  const Numbers x = iota(1'000'000);
  const SharedReport first = launch(place, 1'000'000, AddTo{1}, inout(x));
  // Small parts are launches more than work.
  EXPECT_NEAR(balance.speeds(2)[0], 1e9, 5e8);
  EXPECT_NEAR(balance.speeds(2)[1], 1e9, 5e8);
  const SharedReport second = launch(place, 1'000'000, AddTo{1}, inout(x));
  EXPECT_LT(second.claims, first.claims) << "nothing has to be found out";
  expect_sum(x, 2, 0, 1'000'000);
}

TEST_F(SharedLaunches, OfAHostAndADeviceShareTheWork) {
  const Numbers x = iota(3'000'000);
  const SharedReport report =
      launch(across(Threads{}, Emulated{0}, Serial{}).dynamic(), 3'000'000, AddTo{1}, inout(x));
  expect_sum(x, 1, 0, 3'000'000);
  EXPECT_EQ(report.devices[0].name, "Threads{0}");
  index_t items = 0;
  for (const auto& device : report.devices) items += device.items;
  EXPECT_EQ(items, 3'000'000);
}

TEST_F(SharedLaunches, OfFewItemsOrNoneAreDoneOnce) {
  for (const index_t n : {0, 1, 2, 3, 5}) {
    const Numbers x = iota(10);
    const SharedReport report =
        launch(across(Serial{}, Emulated{0}, Emulated{1}).dynamic(), range(2, 2 + n), AddTo{7}, inout(x));
    EXPECT_EQ(report.items, n);
    expect_sum(x, 7, 2, 2 + n);
  }
  const Numbers x = iota(10);
  EXPECT_EQ(launch(across(Emulated{1}).dynamic(), 10, AddTo{7}, inout(x)).devices[0].items, 10);
  EXPECT_EQ(launch(across(Serial{}).dynamic(), 10, AddTo{7}, inout(x)).devices[0].items, 10);
  expect_sum(x, 14, 0, 10);
}

struct Index {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto x) const { x(i, j) = 100 * i + j; }
};

TEST_F(SharedLaunches, HaveArraysOfSeveralDimensions) {
  const CoherentArray<std::int64_t, rank<2>> a("a", 300, 20);
  launch(across(Threads{}, Emulated{0}, Emulated{1}).dynamic(small_parts), mdrange({300, 20}), Index{},
         out(a));
  const auto view = a.read();
  for (index_t i = 0; i < 300; ++i)
    for (index_t j = 0; j < 20; ++j) ASSERT_EQ(view(i, j), 100 * i + j);
}

TEST_F(SharedLaunches, OfImplicitArraysCopyEachRowOnce) {
  const Numbers x = iota(50'000, MemoryMode::Implicit);
  launch(across(Emulated{0}, Emulated{1}).dynamic(small_parts), 50'000, AddTo{1}, inout(x));
  EXPECT_EQ(x.counters().host_to_device.bytes, 8U * 50'000);
  EXPECT_EQ(x.counters().device_to_host.bytes, 8U * 50'000);
  expect_sum(x, 1, 0, 50'000);
}

TEST_F(SharedLaunches, GoThroughADeviceWithLittleMemory) {
  const Numbers x = iota(100'000), y("y", 100'000);
  coherent::set_budget(Emulated{0}, 300'000);
  launch(across(Emulated{0}, Threads{}).dynamic(small_parts), 100'000, Copy{}, in(x), out(y));
  expect_sum(y, 0, 0, 0);
}

TEST_F(SharedLaunches, OfOtherThreadsComeBeforeOrAfter) {
  const Numbers x = iota(20'000);
  const auto add = [&](int k) {
    for (int round = 0; round < 5; ++round)
      if (k == 0) launch(across(Threads{}, Emulated{0}).dynamic(small_parts), 20'000, AddTo{1}, inout(x));
      else launch(across(Emulated{0}, Emulated{1}).dynamic(small_parts), 20'000, AddTo{10}, inout(x));
  };
  std::thread other(add, 1);
  add(0);
  other.join();
  expect_sum(x, 55, 0, 20'000);
}

// ---- reductions

struct SumOf {
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const { sum += x(i); }
};
struct RowSums {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto x, double& sum) const { sum += x(i, j); }
};
struct SumFunctor {
  using value_type = double;
  STRATA_FUNCTION void init(double& v) const { v = 0; }
  STRATA_FUNCTION void join(double& a, const double& b) const { a += b; }
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const { sum += x(i); }
};
struct Half {
  STRATA_FUNCTION void operator()(double& sum, auto into) const { into(0) = sum / 2; }
};

TEST_F(SharedLaunches, ReduceInTheSameBitsWhoeverDidWhat) {
  constexpr index_t n = 100'000;
  const Line<double> x("x", n), half("half", 1);
  const CoherentArray<double, rank<0>> value("value"), value_of_functor("value");
  const CoherentArray<double, rank<2>> a("a", 500, 30);
  {
    const auto view = x.write();
    for (index_t i = 0; i < n; ++i) view(i) = mixed_number(i);
    const auto rows = a.write();
    for (index_t i = 0; i < 500; ++i)
      for (index_t j = 0; j < 30; ++j) rows(i, j) = mixed_number(30 * i + j);
  }
  double expected = 0, expected_rows = 0;
  launch_reduce(on(Serial{}), range(5, n), SumOf{}, Sum(expected), in(x));
  launch_reduce(on(Serial{}), mdrange({500, 30}), RowSums{}, Sum(expected_rows), in(a));
  const auto try_at = [&](const auto& place) {
    double sum = 0, rows = 0, of_functor = 0;
    launch_reduce(place, range(5, n), SumOf{}, Sum(sum), in(x));
    launch_reduce(place, mdrange({500, 30}), RowSums{}, Sum(rows), in(a));
    launch_reduce(place, range(5, n), SumFunctor{}, of_functor, in(x));
    launch_reduce(place, range(5, n), SumOf{}, Sum(value), in(x));
    launch_reduce(place, range(5, n), SumFunctor{}, value_of_functor, in(x));
    launch_reduce(place, range(5, n), SumFunctor{}, finalize(Half{}, out(half)), in(x));
    EXPECT_EQ(sum, expected);
    EXPECT_EQ(rows, expected_rows);
    EXPECT_EQ(of_functor, expected);
    EXPECT_EQ(value(), expected);
    EXPECT_EQ(value_of_functor(), expected);
    EXPECT_EQ(half(0), expected / 2);
    double none = 1;
    launch_reduce(place, range(7, 7), SumOf{}, Sum(none), in(x));
    EXPECT_EQ(none, 0);
  };
  try_at(across(Emulated{0}, Emulated{1}, Emulated{2}).dynamic(small_parts));
  try_at(across(Threads{}, Emulated{1}).dynamic(small_parts));
  try_at(across(Emulated{1}, Serial{}).weighted({1, 5}).dynamic());
}

// ---- what is refused

TEST_F(SharedLaunches, RefuseAccessBeyondTheRowsOfWhatIsWritten) {
  const auto place = across(Emulated{0}, Threads{}).dynamic(small_parts).named("stencil");
  const Numbers x = iota(1000), y("y", 1000);
  expect_parts(message_of<AccessConflict>([&] { launch(place, 1000, AddTo{1}, inout(x, halo(1, 1))); }),
               {"launch of stencil", "of \"x\"", "devices may not write what another one uses"});
  EXPECT_THROW(launch(place, 1000, AddTo{1}, out(y, everything)), AccessConflict);
  EXPECT_THROW(launch(place, range(1, 999), SumOfThree{}, in(x, halo(1, 1)), out(x)), AccessConflict);
  const auto two_at_once = rows([](ResidentRows r) { return ResidentRows{r.begin / 2, r.end / 2 + 1}; });
  EXPECT_THROW(launch(place, 1000, AddTo{1}, inout(x, two_at_once)), AccessConflict);
  expect_sum(x, 0, 0, 0);
  EXPECT_EQ(x.counters().host_to_device.bytes, 0U) << "something had begun";
}

TEST_F(SharedLaunches, RefuseRegionsOfTheSameTypeThatHaveChanged) {
  const auto place = across(Emulated{0}, Emulated{1}).dynamic(small_parts);
  const Numbers x = iota(9000);
  const auto add = [&](index_t reach) {
    const auto near = rows([reach](ResidentRows r) { return ResidentRows{r.begin - reach, r.end + reach}; });
    launch(place, 9000, AddTo{1}, inout(x, near));
  };
  for (int k = 0; k < 4; ++k) add(0);
  EXPECT_THROW(add(10), AccessConflict);
  expect_sum(x, 4, 0, 9000);
}

// What was learned counts for launches of the same kernel and size, until it is forgotten.
TEST_F(SharedLaunches, RememberKernelsBySizeLabelAndDevices) {
  const Numbers x = iota(1'000'000);
  const auto claims = [&](const auto& place, index_t n) {
    return launch(place, n, AddTo{1}, inout(x)).claims;
  };
  const auto both = across(Emulated{0}, Emulated{1}).dynamic();
  const int first = claims(both, 1'000'000);
  EXPECT_LT(claims(both, 1'000'000), first);
  EXPECT_LT(claims(both, 900'000), first) << "of nearly the same size";
  const auto foretold = [&](const auto& place, index_t n) {
    return launch(place, n, AddTo{1}, inout(x)).foretold;
  };
  EXPECT_GT(foretold(both, 900'000), 0);
  EXPECT_EQ(foretold(both.named("other"), 900'000), 0);
  EXPECT_EQ(foretold(across(Emulated{1}, Emulated{2}).dynamic(), 900'000), 0);
  EXPECT_EQ(foretold(both, 1000), 0);
  forget_shared_speeds();
  EXPECT_EQ(foretold(both, 900'000), 0);
}

TEST_F(SharedLaunches, OfOneDeviceThatIsBestAloneAreOneLaunchThere) {
  emulated::Config config = machine(2);
  config.capacity = 32 * mebi;
  config.item_factors = {1, 1000};
  emulated::configure(config);
  const Numbers x = iota(100'000);
  const auto both = across(Emulated{0}, Emulated{1}).dynamic();
  launch(both, 100'000, AddTo{1}, inout(x));

  const SharedReport report = launch(both, 100'000, AddTo{1}, inout(x));

  EXPECT_EQ(report.claims, 1);
  EXPECT_EQ(report.devices[0].items, 100'000);
  expect_sum(x, 2, 0, 100'000);
  // Where it fails, the device that took no part does the work.
  emulated::fail(emulated::Fault::Kernel, 1);
  const SharedReport after = launch(both, 100'000, AddTo{1}, inout(x));
  EXPECT_NE(after.devices[0].failure, "");
  EXPECT_EQ(after.devices[1].items, 100'000);
  expect_sum(x, 3, 0, 100'000);
}

TEST_F(SharedLaunches, RefuseWeightsAndOptionsThatAreNone) {
  const auto place = across(Emulated{0}, Emulated{1}).dynamic();
  expect_parts(message_of<Error>([&] { place.weighted({1, -1}); }), {"none negative and not all zero"});
  EXPECT_THROW(place.weighted({0, 0}), Error);
  EXPECT_THROW(place.weighted({1}), Error);
  EXPECT_THROW(place.weighted({1, std::nan("")}), Error);
  EXPECT_THROW(across(std::vector<Emulated>{}).dynamic(), NoSuchDevice);
  const Numbers x = iota(10);
  for (const DynamicOptions& options :
       {DynamicOptions{.host_seconds = -1}, DynamicOptions{.device_seconds = std::nan("")},
        DynamicOptions{.device_seconds = std::numeric_limits<double>::infinity()},
        DynamicOptions{.parts_ahead = 0}})
    expect_parts(
        message_of<Error>(
            [&] { launch(across(Emulated{0}, Emulated{1}).dynamic(options), 10, AddTo{1}, inout(x)); }),
        {"across(...).dynamic was given", "give times that are not negative, and at least one part"});
  expect_sum(x, 0, 0, 0);
}

TEST_F(SharedLaunches, RefuseWhatADeviceLacksBeforeAnythingBegins) {
  const auto place = across(Serial{}, Emulated{0}).dynamic(small_parts);
  const Numbers x = iota(5000, MemoryMode::Explicit);
  expect_parts(message_of<NotCurrent>([&] { launch(place, 5000, AddTo{1}, inout(x)); }),
               {"Emulated{0} does not have its current values", "call prefetch(box, device) before"});
  x.prefetch(x.domain(), Emulated{0});
  launch(place, 5000, AddTo{1}, inout(x));
  x.flush();
  expect_sum(x, 1, 0, 5000);
  EXPECT_THROW(launch(place, 5000, AddTo{1}, inout(Numbers())), Error);
  const Numbers y = iota(100);
  {
    const auto view = y.read();
    EXPECT_THROW(launch(place, 100, AddTo{1}, inout(y)), AccessConflict);
  }
  EXPECT_THROW(launch(place, 101, AddTo{1}, inout(y)), Error) << "more items than rows";
  expect_sum(y, 0, 0, 0);
}

// ---- failures

TEST_F(SharedLaunches, ThatADeviceFailsInAreDoneByTheOthers) {
  for (const emulated::Fault fault :
       {emulated::Fault::Kernel, emulated::Fault::Copy, emulated::Fault::Allocation})
    for (const bool with_host : {false, true})
      for (const int k : {1, 2, 4, 7}) {
        SCOPED_TRACE(std::to_string(static_cast<int>(fault)) + " " + std::to_string(k));
        const Numbers x = iota(30'000), y("y", 30'000, uninitialized);
        if (k < 7) forget_shared_speeds();  // otherwise a device that does all alone fails, too
        emulated::fail(fault, k);
        const auto check = [&](const SharedReport& report) {
          index_t items = 0;
          for (const auto& device : report.devices) items += device.items;
          EXPECT_EQ(items, 30'000) << report.explain();
        };
        if (with_host) {
          check(launch(across(Emulated{0}, Threads{}).dynamic(small_parts), 30'000, Copy{}, in(x), out(y)));
          check(launch(across(Emulated{0}, Threads{}).dynamic(small_parts), 30'000, AddTo{3}, inout(x)));
        } else {
          check(launch(across(Emulated{0}, Emulated{1}).dynamic(small_parts), 30'000, Copy{}, in(x), out(y)));
          check(launch(across(Emulated{0}, Emulated{1}).dynamic(small_parts), 30'000, AddTo{3}, inout(x)));
        }
        emulated::clear_faults();
        expect_sum(y, 0, 0, 0);
        expect_sum(x, 3, 0, 30'000);
      }
}

TEST_F(SharedLaunches, ReportTheDeviceThatFailed) {
  const Numbers x = iota(30'000);
  emulated::fail(emulated::Fault::Kernel, 3);
  const SharedReport report =
      launch(across(Emulated{0}, Emulated{1}).dynamic(small_parts), 30'000, AddTo{1}, inout(x));
  int failed = 0;
  for (const auto& device : report.devices) failed += device.failure.empty() ? 0 : 1;
  EXPECT_EQ(failed, 1);
  expect_parts(report.explain(), {"failed: "});
  expect_sum(x, 1, 0, 30'000);
}

TEST_F(SharedLaunches, ReduceWithADeviceThatFailed) {
  const Line<double> x("x", 50'000);
  {
    const auto view = x.write();
    for (index_t i = 0; i < 50'000; ++i) view(i) = mixed_number(i);
  }
  double expected = 0;
  launch_reduce(on(Serial{}), 50'000, SumOf{}, Sum(expected), in(x));
  for (const int k : {1, 2, 3, 5, 8}) {
    SCOPED_TRACE(k);
    emulated::fail(emulated::Fault::Kernel, k);
    double sum = 0;
    launch_reduce(across(Emulated{0}, Serial{}).dynamic(small_parts), 50'000, SumOf{}, Sum(sum), in(x));
    emulated::clear_faults();
    EXPECT_EQ(sum, expected);
  }
}

TEST_F(SharedLaunches, SayWhatIsLostWhereAFailedKernelMayHaveWrittenTheOnlyCopy) {
  const Numbers x = iota(30'000, MemoryMode::Managed);
  emulated::fail(emulated::Fault::Kernel, 3);
  std::string text;
  try {
    launch(across(Emulated{0}, Emulated{1}).dynamic(small_parts).named("add"), 30'000, AddTo{1}, inout(x));
    ADD_FAILURE() << "values were lost, and nothing said so";
  } catch (const DataLost& error) {
    text = error.what();
  }
  expect_parts(text, {"shared launch of add", "not done: work items [",
                      "lost, being nowhere else: ", "of \"x\"", "Write them anew before they are read"});
  // All that is not named has a value, old or new.
  for (const Residence& part : x.where(x.domain())) {
    if (part.memories.empty()) {
      EXPECT_TRUE(has(text, to_string(part.box) + " of \"x\""));
      continue;
    }
    const auto view = x.read(part.box);
    for (index_t i = part.box.lower(0); i < part.box.upper(0); ++i)
      ASSERT_TRUE(view(i) == i || view(i) == i + 1) << i;
  }
}

TEST_F(SharedLaunches, WithoutADeviceLeftThrowTheErrorOfTheFirst) {
  const Numbers x = iota(30'000);
  emulated::fail(emulated::Fault::Kernel, 2);
  expect_parts(message_of<KernelError>([&] {
                 launch(across(Emulated{0}).dynamic(small_parts).named("add"), 30'000, AddTo{1}, inout(x));
               }),
               {"shared launch of add", "not done: work items [", "no device is left"});
  const std::vector<std::int64_t> seen = values(x);
  for (index_t i = 0; i < 30'000; ++i)
    ASSERT_TRUE(seen[std::size_t(i)] == i || seen[std::size_t(i)] == i + 1) << i;
}

struct ThrowAt {
  index_t item;
  STRATA_FUNCTION void operator()(auto i, auto x) const {
#if !defined(__CUDA_ARCH__)
    if (index_t(i) == item) throw std::runtime_error("a kernel's own error");
#endif
    x(i) = 1;
  }
};

TEST_F(SharedLaunches, ThrowWhatAKernelThrows) {
  const Numbers x = iota(3000);
  EXPECT_EQ(message_of<std::runtime_error>([&] {
              launch(across(Serial{}, Threads{}).dynamic(small_parts), 3000, ThrowAt{1700}, out(x));
            }),
            "a kernel's own error");
  const Numbers y = iota(3000);
  EXPECT_EQ(message_of<std::runtime_error>([&] {
              launch(across(Emulated{0}, Serial{}).dynamic(small_parts), 3000, ThrowAt{1700}, out(y));
            }),
            "a kernel's own error");
}

}  // namespace
