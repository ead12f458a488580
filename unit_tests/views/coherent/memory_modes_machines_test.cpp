// Memory modes on machines of which something differs: pages that fault, hosts that may not touch managed
// memory beside kernels, and links that mapped memory is read over.
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include <strata/algorithms/sequence/sequence.hpp>

#include "views/coherent/executor_fixture.hpp"

namespace {

using namespace coherent_testing;
using Numbers = CoherentArray<std::int64_t, rank<1>>;
constexpr index_t length = 1000;

struct ReadFrom {
  index_t k;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) = x(k); }
};

class MemoryModesOnMachines : public CoherentTest {
 protected:
  void SetUp() override {
    CoherentTest::SetUp();
    coherent::reset_counters();
  }
  static Numbers filled(const char* label, MemoryMode mode) {
    const Numbers x(label, length, mode, main_in(Emulated{0}));
    const auto view = x.write();
    for (index_t i = 0; i < length; ++i) view(i) = i;
    return x;
  }
  static void expect_values(const Numbers& x, std::int64_t more) {
    const std::vector<std::int64_t> seen = values(x);
    index_t wrong = 0;
    for (index_t i = 0; i < length; ++i) wrong += seen[static_cast<std::size_t>(i)] != i + more;
    EXPECT_EQ(wrong, 0);
  }
};

// Of all arrays, also of those that live on; what an array says itself is since its creation.
TEST_F(MemoryModesOnMachines, FaultsCountFromTheLastReset) {
  if (checked_build) GTEST_SKIP() << "checked builds refuse what was not declared";
  emulated::Config config = machine(1);
  config.managed_page = 4096;
  emulated::configure(config);
  const index_t page = 4096 / 8;
  {
    const Numbers x("x", 4 * page, MemoryMode::Managed, main_in(Emulated{0}));
    const Numbers y("y", 4 * page, MemoryMode::Managed, main_in(Emulated{0}));
    x.write()(0) = 7;
    launch(on(Emulated{0}), range(0, 1), ReadFrom{3 * page}, in(x), out(y));
    wait(Emulated{0});
    EXPECT_EQ(coherent::counters().faults.count, 1U);

    coherent::reset_counters();

    EXPECT_EQ(coherent::counters().faults.count, 0U);
    EXPECT_EQ(coherent::counters().faults.to_devices, 0U);
    EXPECT_EQ(x.counters().faults.count, 1U);
    launch(on(Emulated{0}), range(0, 1), ReadFrom{2 * page}, in(x), out(y));
    wait(Emulated{0});
    EXPECT_EQ(coherent::counters().faults.count, 1U);
    EXPECT_EQ(coherent::counters().faults.to_devices, 4096U);
    EXPECT_EQ(x.counters().faults.count, 2U);
  }
  EXPECT_EQ(coherent::counters().faults.count, 1U);  // arrays that are gone count, too
}

// With some GPUs and drivers a host that touches managed memory while a kernel runs, of whatever array, is
// ended.
TEST_F(MemoryModesOnMachines, WhereHostsMayNotTouchManagedMemoryBesideKernelsViewsWaitForAll) {
  for (const bool may : {true, false}) {
    SCOPED_TRACE(may);
    leave_nothing();
    emulated::Config config = machine(2);
    config.concurrent_managed_access = may;
    config.seconds_per_item = 1e-3;
    emulated::configure(config);
    const Numbers x = filled("x", MemoryMode::Managed), y = filled("y", MemoryMode::Smart),
                  z = filled("z", MemoryMode::Managed);
    const auto seconds_of = [&](const auto& access) {
      launch(on(Emulated{1}), range(0, 1), AddTo{1}, inout(y));  // the array has that device to think of
      wait(Emulated{1});
      launch(on(Emulated{0}), length, AddTo{5}, inout(y));
      const double begin = emulated::now();
      access();
      const double passed = emulated::now() - begin;
      wait(Emulated{0});
      return passed;
    };
    const double kernel = 1e-3 * length;
    const auto expect_wait = [&](double passed) { EXPECT_EQ(passed >= kernel, !may) << passed; };
    expect_wait(seconds_of([&] { static_cast<void>(x.read()); }));
    expect_wait(seconds_of([&] { static_cast<void>(x.write(line(3, 4))); }));
    expect_wait(seconds_of([&] { EXPECT_EQ(x(7), 7); }));
    expect_wait(seconds_of([&] { launch(on(Serial{}), range(0, 1), AddTo{0}, inout(x)); }));

    // Pages come by faults there.
    launch(on(Emulated{0}), length, AddTo{5}, inout(z));
    expect_values(z, 5);
    EXPECT_EQ(z.counters().prefetched_to_devices.bytes > 0, may);
    EXPECT_EQ(z.counters().faults.count > 0, !may);
    const char* reason = "";
    detail::DeviceInstance& device = Emulated{0}.backend();
    const SpaceId managed = device.shared_memory(detail::SharedMemory::Managed, reason)->space();
    EXPECT_EQ(device.has_system_atomics(managed, reason), may);
    if (!may) {
      EXPECT_TRUE(has(reason, "concurrent_managed_access"));
    }
  }
}

// Rows that a device reads beside its part are at home with another one, which writes them each time.
TEST_F(MemoryModesOnMachines, HalosOfManagedArraysAreReadWhereTheyAre) {
  emulated::Config config = machine(2);
  config.managed_page = 4096;
  emulated::configure(config);
  const index_t n = 8 * 4096 / 8;
  const Numbers x("x", n, MemoryMode::Managed, main_in(Emulated{0})),
      y("y", n, MemoryMode::Managed, main_in(Emulated{0}));
  const auto step = [&] {
    const auto where = across(Emulated{0}, Emulated{1});
    launch(where, n, AddTo{1}, inout(x));
    launch(where, range(1, n - 1), SumOfThree{}, in(x, halo(1, 1)), out(y));
  };
  step();
  step();
  wait(Emulated{0});
  wait(Emulated{1});
  const TransferCounters before = x.counters();

  for (int k = 0; k < 5; ++k) step();
  wait(Emulated{0});
  wait(Emulated{1});

  const TransferCounters after = x.counters();
  EXPECT_EQ(after.prefetched_to_devices.bytes, before.prefetched_to_devices.bytes) << x.explain();
  EXPECT_EQ(after.faults.count, before.faults.count);
  EXPECT_EQ(y(n / 2 - 1), 3 * 7);  // of both devices' rows
  EXPECT_EQ(y(n / 2), 3 * 7);
  // A device that uses all of the array brings it.
  launch(on(Emulated{1}), n, AddTo{1}, inout(x));
  wait(Emulated{1});
  EXPECT_GT(x.counters().prefetched_to_devices.bytes, after.prefetched_to_devices.bytes);
  EXPECT_EQ(x.counters().faults.count, after.faults.count);
  EXPECT_EQ(x(0), 8);
}

// ---- small managed arrays that stay with the host

struct SumOfThreeAndOne {
  STRATA_FUNCTION void operator()(auto i, auto x, auto near, auto y) const {
    y(i) = x(i) + near(i - 1) + near(i) + near(i + 1);
  }
};
struct CopyOfRows {
  STRATA_FUNCTION void operator()(auto i, auto, auto x, auto y) const { y(i) = x(i); }
};
struct AddPoint {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += x(); }
};

class SmallManagedArrays : public MemoryModesOnMachines {
 protected:
  void SetUp() override {
    MemoryModesOnMachines::SetUp();
    emulated::Config config = machine(2);
    config.managed_page = 4096;
    config.bytes_reached_at_host = 8 * length;
    emulated::configure(config);
  }
  static void add(const Numbers& x, int launches) {
    for (int k = 0; k < launches; ++k) launch(on(Emulated{0}), x.extent(0), AddTo{1}, inout(x));
    wait(Emulated{0});
  }
  // Its pages, moved for one device and moved by faults, in bytes.
  static index_t prefetched(const Numbers& x) {
    return static_cast<index_t>(x.counters().prefetched_to_devices.bytes);
  }
  static index_t faulted(const Numbers& x) {
    const PageFaults faults = x.counters().faults;
    return static_cast<index_t>(faults.to_devices + faults.to_host);
  }
};

TEST_F(SmallManagedArrays, ThatHostAndDeviceUseInTurnNeverMove) {
  const Numbers x = filled("x", MemoryMode::Managed), y = filled("y", MemoryMode::Managed);
  for (int k = 0; k < 5; ++k) {
    add(x, k % 2);
    launch(on(Emulated{k % 2}), range(1, length - 1), SumOfThree{}, in(x, halo(1, 1)), out(y));
    EXPECT_EQ(x(3) + y.read()(3), 4 * x(3));
  }
  expect_values(x, 2);
  for (const Numbers& array : {x, y}) {
    EXPECT_EQ(prefetched(array), 0) << array.explain();
    EXPECT_EQ(array.counters().prefetched_to_host.bytes, 0U);
    EXPECT_EQ(faulted(array), 0) << array.explain();
  }
}
// The next time they move with the first one, until no third one follows.
TEST_F(SmallManagedArrays, ThatStayWithTheDeviceMoveWithTheThirdLaunch) {
  const Numbers x = filled("x", MemoryMode::Managed);
  add(x, 2);
  EXPECT_EQ(prefetched(x), 0);
  add(x, 1);
  EXPECT_EQ(prefetched(x), 8 * length);
  add(x, 20);
  EXPECT_EQ(prefetched(x), 8 * length);
  expect_values(x, 23);
  EXPECT_EQ(x.counters().prefetched_to_host.bytes, 8U * length);
  EXPECT_EQ(faulted(x), 0);
  add(x, 1);
  EXPECT_EQ(prefetched(x), 2 * 8 * length);
  expect_values(x, 24);
  add(x, 2);
  EXPECT_EQ(prefetched(x), 2 * 8 * length);
  expect_values(x, 26);
  add(x, 3);
  EXPECT_EQ(prefetched(x), 3 * 8 * length);
  expect_values(x, 29);
}
// However often a launch declares an array.
TEST_F(SmallManagedArrays, CountLaunchesAndNotUses) {
  const Numbers x = filled("x", MemoryMode::Managed), y = filled("y", MemoryMode::Smart);
  const auto step = [&] {
    launch(on(Emulated{0}), range(1, length - 1), SumOfThreeAndOne{}, in(x), in(x, halo(1, 1)), out(y));
    wait(Emulated{0});
  };
  step();
  step();
  EXPECT_EQ(prefetched(x), 0);
  step();
  EXPECT_GE(prefetched(x), 8 * (length - 2));
  EXPECT_EQ(faulted(x), 0);
  EXPECT_EQ(y(5), 4 * 5);
}
// Many work items may read the same elements, a recorded run launches many times, and a larger array would
// take long.
TEST_F(SmallManagedArrays, OthersMoveAtOnce) {
  const auto expect_moved = [](const char* what, const Numbers& x, const auto& use) {
    const index_t before = prefetched(x);
    use(x);
    wait(Emulated{0});
    EXPECT_GE(prefetched(x) - before, 8 * length) << what;
  };
  const Numbers y = filled("y", MemoryMode::Smart);
  expect_moved("everything", filled("x", MemoryMode::Managed), [&](const Numbers& x) {
    launch(on(Emulated{0}), length, ReadFrom{3}, in(x, everything), out(y));
  });
  expect_moved("a wide halo", filled("x", MemoryMode::Managed), [&](const Numbers& x) {
    launch(on(Emulated{0}), length, Copy{}, in(x, halo(100, 100)), out(y));
  });
  expect_moved("several items a row", filled("x", MemoryMode::Managed), [&](const Numbers& x) {
    launch(on(Emulated{0}), mdrange({length, index_t{1}}), CopyOfRows{}, in(x), out(y));
  });
  expect_moved("rows by a function", filled("x", MemoryMode::Managed), [&](const Numbers& x) {
    launch(on(Emulated{0}), length, Copy{}, in(x, rows([](ResidentRows work) { return work; })), out(y));
  });
  expect_moved("prefetch()", filled("x", MemoryMode::Managed),
               [](const Numbers& x) { x.prefetch(x.domain(), Emulated{0}); });
  expect_moved("parts", filled("x", MemoryMode::Managed), [](const Numbers& x) {
    launch(across(Emulated{0}, Emulated{1}), length, AddTo{1}, inout(x));
    wait(Emulated{1});
  });
  expect_moved("a recorded run", filled("x", MemoryMode::Managed), [](const Numbers& x) {
    Sequence steps("steps", on(Emulated{0}));
    steps.loop("add", length, AddTo{1}, inout(x));
    steps.run(3);
  });
  const Numbers larger("larger", length + 1, MemoryMode::Managed, main_in(Emulated{0}));
  for (index_t i = 0; i <= length; ++i) larger(i) = i;
  expect_moved("larger", larger, [](const Numbers& x) { add(x, 1); });
}
TEST_F(SmallManagedArrays, OfOnePointMoveAtOnce) {
  const CoherentArray<std::int64_t, rank<0>> x("x", MemoryMode::Managed, main_in(Emulated{0}));
  const Numbers y = filled("y", MemoryMode::Smart);
  x.write()() = 5;
  launch(on(Emulated{0}), length, AddPoint{}, in(x), inout(y));
  EXPECT_EQ(y(7), 12);
  EXPECT_EQ(x.counters().prefetched_to_devices.bytes, 8U);
  EXPECT_EQ(x.counters().faults.count, 0U);
}
// Reads and writes go over the link, as those of mapped arrays.
TEST_F(SmallManagedArrays, TakeTheTimeOfTheLink) {
  const auto seconds = [](MemoryMode mode) {
    const Numbers x = filled("x", mode);
    const double begin = emulated::now();
    add(x, 1);
    return emulated::now() - begin;
  };
  EXPECT_DOUBLE_EQ(seconds(MemoryMode::Managed), seconds(MemoryMode::Mapped));
}
TEST_F(SmallManagedArrays, CannotBeOfLessThanNothing) {
  emulated::Config wrong = machine(1);
  wrong.bytes_reached_at_host = -1;
  EXPECT_TRUE(
      has(message_of<SettingError>([&] { emulated::configure(wrong); }), "bytes_reached_at_host is -1"));
}

// ---- machines that lack a memory

// What all modes do where a memory is missing: those that need it are refused with the reason, are smart
// where they were only preferred, and the others are there.
template <class Exception, class IsMissing>
void expect_missing(index_t n, const IsMissing& is_missing, const char* reason) {
  for (const MemoryMode mode :
       {MemoryMode::Smart, MemoryMode::Pinned, MemoryMode::Managed, MemoryMode::Mapped, MemoryMode::Explicit,
        MemoryMode::ExplicitPinned, MemoryMode::Implicit}) {
    SCOPED_TRACE(to_string(mode));
    const Numbers preferred("x", n, prefer(mode), main_in(Emulated{0}));
    EXPECT_EQ(preferred.memory_mode(), is_missing(mode) ? MemoryMode::Smart : mode);
    launch(on(Emulated{0}), length, Iota{5}, out(preferred));
    if (!is_missing(mode)) {
      EXPECT_EQ(Numbers("x", n, mode, main_in(Emulated{0})).memory_mode(), mode);
      continue;
    }
    EXPECT_EQ(preferred(7), 12);
    const std::string text = message_of<Exception>([&] { Numbers("x", n, mode, main_in(Emulated{0})); });
    EXPECT_TRUE(has(text, "\"x\"")) << text;
    EXPECT_TRUE(has(text, reason)) << text;
  }
}
TEST_F(MemoryModesOnMachines, WithoutManagedMemoryThatModeIsMissing) {
  emulated::Config config = machine(1);
  config.managed_memory = false;
  emulated::configure(config);
  expect_missing<Error>(
      length, [](MemoryMode mode) { return mode == MemoryMode::Managed; },
      "cannot be in the memory mode managed, as Emulated{0}: it has no managed memory "
      "(emulated::Config::managed_memory); choose another mode, or prefer(mode), which falls back to smart");
}
TEST_F(MemoryModesOnMachines, ALimitOnLockedPagesTakesTheModesThatNeedThem) {
  emulated::Config config = machine(1);
  config.pinned_capacity = 8 * length + 100;
  emulated::configure(config);
  const auto needs_locked = [](MemoryMode mode) {
    return mode == MemoryMode::Pinned || mode == MemoryMode::ExplicitPinned || mode == MemoryMode::Mapped;
  };

  expect_missing<OutOfMemory>(2 * length, needs_locked, "the limit on locked pages, ");
  const auto one = std::make_unique<Numbers>(filled("one", MemoryMode::Pinned));
  expect_missing<OutOfMemory>(length, needs_locked, "leaves 100 B (emulated::Config::pinned_capacity)");
  EXPECT_EQ((*one)(7), 7);
}
TEST_F(MemoryModesOnMachines, LockedPagesThatAreGivenBackMayBeLockedAgain) {
  emulated::Config config = machine(1);
  config.pinned_capacity = 8 * length;
  emulated::configure(config);
  for (int k = 0; k < 3; ++k) {
    const Numbers x = filled("x", MemoryMode::Mapped);
    launch(on(Emulated{0}), length, AddTo{5}, inout(x));
    expect_values(x, 5);
  }
  emulated::Config wrong = machine(1);
  wrong.pinned_capacity = -1;
  EXPECT_TRUE(has(message_of<SettingError>([&] { emulated::configure(wrong); }), "pinned_capacity is -1"));
}

// Of what is declared, as the link is all that can be slower: that is what a real device would read at least.
TEST_F(MemoryModesOnMachines, KernelsReadMappedArraysOverTheLink) {
  const auto seconds_of = [](MemoryMode mode, double link_total, const Range& part, bool writes) {
    leave_nothing();
    emulated::Config config = machine(1);
    config.seconds_per_item = 0;
    config.host_link_total = link_total;
    emulated::configure(config);
    const Numbers x("x", 100000, mode, main_in(Emulated{0}));
    launch(on(Emulated{0}), part, AddTo{0}, inout(x));
    wait(Emulated{0});
    const double begin = emulated::now();
    if (writes) launch(on(Emulated{0}), part, AddTo{5}, inout(x));
    else launch(on(Emulated{0}), part, ReadOnly{}, in(x));
    wait(Emulated{0});
    return emulated::now() - begin;
  };
  const double launch_latency = 1e-6, one_way = 8 * 100000 / 55e9;
  EXPECT_NEAR(seconds_of(MemoryMode::Pinned, 0, range(0, 100000), true), launch_latency, 1e-9);
  EXPECT_NEAR(seconds_of(MemoryMode::Mapped, 0, range(0, 100000), false), launch_latency + one_way, 1e-9);
  EXPECT_NEAR(seconds_of(MemoryMode::Mapped, 0, range(0, 100000), true), launch_latency + one_way, 1e-9);
  EXPECT_NEAR(seconds_of(MemoryMode::Mapped, 0, range(0, 50000), true), launch_latency + one_way / 2, 1e-9);
  EXPECT_NEAR(seconds_of(MemoryMode::Mapped, 55e9, range(0, 100000), true), launch_latency + 2 * one_way,
              1e-9);
}

}  // namespace
