// Memory modes: what moves in each, what each refuses, and that all compute the same. What other parts of
// Strata mean in each mode is the table of docs/memory_modes.md; random programs over arrays of all modes are
// in executor_property_test.cpp, those of explicit ones here.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <strata/algorithms/streaming/streamed.hpp>
#include <strata/core/log.hpp>
#include <strata/core/settings.hpp>

#include "core/random.hpp"
#include "views/coherent/executor_fixture.hpp"

namespace {

using namespace coherent_testing;
using Numbers = CoherentArray<std::int64_t, rank<1>>;
using strata_tests::Random;

constexpr MemoryMode all_modes[] = {MemoryMode::Smart,   MemoryMode::Pinned,   MemoryMode::Managed,
                                    MemoryMode::Mapped,  MemoryMode::Explicit, MemoryMode::ExplicitPinned,
                                    MemoryMode::Implicit};
constexpr index_t length = 1000;
constexpr std::uint64_t n_bytes = 8 * length;

bool is_explicit(MemoryMode mode) {
  return mode == MemoryMode::Explicit || mode == MemoryMode::ExplicitPinned;
}

struct AddBoth {
  STRATA_FUNCTION void operator()(auto i, auto a, auto b, auto c) const { c(i) = a(i) + b(i); }
};

class MemoryModes : public CoherentTest {
 protected:
  void SetUp() override {
    CoherentTest::SetUp();
    coherent::reset_counters();
  }
  void TearDown() override {
    set_setting(&Settings::memory, "smart");
    CoherentTest::TearDown();
  }
  static Numbers filled(const char* label, MemoryMode mode) {
    const Numbers x(label, length, mode, main_in(Emulated{0}));
    const auto view = x.write();
    for (index_t i = 0; i < length; ++i) view(i) = i;
    return x;
  }
  // What a program of explicit arrays adds.
  static void bring(const Numbers& x) {
    if (is_explicit(x.memory_mode())) x.prefetch(x.domain(), Emulated{0});
  }
  static void take(const Numbers& x) {
    if (is_explicit(x.memory_mode())) x.flush();
  }
};

// The benchmarks of the study of unified memory: bytes to and from the device, in arrays, and copies.
struct Counts {
  std::uint64_t in, out, copies;
};
void expect_copies(const std::vector<Numbers>& arrays, const Counts& expected) {
  TransferCounters sum;
  for (const Numbers& x : arrays) sum += x.counters();
  EXPECT_EQ(sum.host_to_device.bytes, expected.in * n_bytes);
  EXPECT_EQ(sum.device_to_host.bytes, expected.out * n_bytes);
  EXPECT_EQ(sum.host_to_device.count + sum.device_to_host.count, expected.copies);
}
void expect_values(const Numbers& x, std::int64_t factor, std::int64_t more) {
  const std::vector<std::int64_t> seen = values(x);
  index_t wrong = 0;
  for (index_t i = 0; i < length; ++i) wrong += seen[static_cast<std::size_t>(i)] != factor * i + more;
  EXPECT_EQ(wrong, 0);
}
bool copies_whole(MemoryMode mode) { return mode == MemoryMode::Implicit; }
bool copies_nothing(MemoryMode mode) { return mode == MemoryMode::Managed || mode == MemoryMode::Mapped; }

TEST_F(MemoryModes, FullAccessMovesAnArrayInAndOut) {
  for (const MemoryMode mode : all_modes) {
    SCOPED_TRACE(to_string(mode));
    const Numbers a = filled("a", mode);
    bring(a);
    launch(on(Emulated{0}), length, AddTo{5}, inout(a));
    take(a);
    expect_values(a, 1, 5);
    expect_copies({a}, copies_nothing(mode) ? Counts{0, 0, 0} : Counts{1, 1, 2});
  }
}

TEST_F(MemoryModes, PartialAccessMovesWhatIsReadInAndWhatIsWrittenOut) {
  for (const MemoryMode mode : all_modes) {
    SCOPED_TRACE(to_string(mode));
    const Numbers a = filled("a", mode), b = filled("b", mode);
    const Numbers c("c", length, mode, main_in(Emulated{0}));
    bring(a), bring(b);
    launch(on(Emulated{0}), length, AddBoth{}, in(a), in(b), out(c));
    take(c);
    expect_values(c, 2, 0);
    expect_copies({a, b, c}, copies_nothing(mode) ? Counts{0, 0, 0}
                             : copies_whole(mode) ? Counts{3, 3, 6}
                                                  : Counts{2, 1, 3});
  }
}

TEST_F(MemoryModes, SeveralKernelsMoveAnArrayOnceButImplicitly) {
  for (const MemoryMode mode : all_modes) {
    SCOPED_TRACE(to_string(mode));
    const Numbers a = filled("a", mode);
    bring(a);
    launch(on(Emulated{0}), length, AddTo{5}, inout(a));
    launch(on(Emulated{0}), length, AddTo{6}, inout(a));
    take(a);
    expect_values(a, 1, 11);
    expect_copies({a}, copies_nothing(mode) ? Counts{0, 0, 0}
                       : copies_whole(mode) ? Counts{2, 2, 4}
                                            : Counts{1, 1, 2});
  }
}

TEST_F(MemoryModes, PartsAreCopiedAlone) {
  for (const MemoryMode mode : {MemoryMode::Smart, MemoryMode::Pinned}) {
    SCOPED_TRACE(to_string(mode));
    const Numbers a = filled("a", mode);
    launch(on(Emulated{0}), range(100, 300), AddTo{5}, inout(a));
    EXPECT_EQ(a.counters().host_to_device.bytes, 200U * 8);
    EXPECT_EQ(a(100), 105);
    EXPECT_EQ(a.counters().device_to_host.bytes, 8U);
  }
}

TEST_F(MemoryModes, LaunchesOverNoItemsMoveNothing) {
  for (const MemoryMode mode : all_modes) {
    SCOPED_TRACE(to_string(mode));
    const Numbers a = filled("a", mode);
    launch(on(Emulated{0}), range(7, 7), AddTo{5}, inout(a));
    expect_values(a, 1, 0);
    expect_copies({a}, Counts{0, 0, 0});
  }
}

// ---- managed

TEST_F(MemoryModes, ManagedPagesComeBeforeTheyAreTouched) {
  const Numbers a = filled("a", MemoryMode::Managed);
  launch(on(Emulated{0}), length, AddTo{5}, inout(a));
  expect_values(a, 1, 5);
  launch(on(Emulated{0}), length, AddTo{5}, inout(a));
  launch(on(Emulated{0}), length, AddTo{5}, inout(a));  // the pages are there
  wait(Emulated{0});
  const TransferCounters counters = a.counters();
  EXPECT_EQ(counters.prefetched_to_devices.count, 2U);
  EXPECT_EQ(counters.prefetched_to_devices.bytes, 2 * n_bytes);
  EXPECT_EQ(counters.prefetched_to_host.count, 1U);
  EXPECT_TRUE(counters.faults.is_known);
  EXPECT_EQ(counters.faults.count, 0U) << a.explain();
  EXPECT_EQ(counters.allocated.bytes, 0U);
  EXPECT_TRUE(has(a.explain(), "memory mode managed"));
  EXPECT_TRUE(has(a.explain(), ": with Emulated{0}"));
}

struct ReadFrom {
  index_t k;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) = x(k); }
};

// What a kernel touches and does not declare comes by faults. Unchecked: checked builds refuse the access.
TEST_F(MemoryModes, ManagedPagesThatAreNotDeclaredFault) {
  if (checked_build) GTEST_SKIP() << "checked builds refuse what was not declared";
  emulated::Config config = machine(1);
  config.managed_page = 4096;
  emulated::configure(config);
  const index_t page = 4096 / 8;
  const Numbers x("x", 4 * page, MemoryMode::Managed, main_in(Emulated{0})),
      y("y", 4 * page, MemoryMode::Managed, main_in(Emulated{0}));
  {
    const auto view = x.write();
    view(3 * page) = 7;
  }
  launch(on(Emulated{0}), range(0, 1), ReadFrom{3 * page}, in(x), out(y));
  wait(Emulated{0});
  EXPECT_EQ(y(0), 7);
  EXPECT_EQ(x.counters().faults.count, 1U) << x.explain();
  EXPECT_EQ(x.counters().faults.to_devices, 4096U);
}

TEST_F(MemoryModes, ManagedArraysAreSharedByDevicesAndHosts) {
  const Numbers x = filled("x", MemoryMode::Managed);
  const Numbers y("y", length, MemoryMode::Managed, main_in(Emulated{0}));
  for (int step = 0; step < 5; ++step) {
    launch(across(Emulated{0}, Threads{}, Emulated{1}), range(1, length - 1), SumOfThree{}, in(x, halo(1, 1)),
           out(y));
    launch(across(Emulated{1}, Emulated{2}), range(1, length - 1), Copy{}, in(y), inout(x));
  }
  std::vector<std::int64_t> expected(length);
  for (index_t i = 0; i < length; ++i) expected[static_cast<std::size_t>(i)] = i;
  for (int step = 0; step < 5; ++step) {
    const std::vector<std::int64_t> before = expected;
    for (std::size_t i = 1; i + 1 < before.size(); ++i)
      expected[i] = before[i - 1] + before[i] + before[i + 1];
  }
  EXPECT_EQ(values(x), expected);
  EXPECT_EQ(x.counters().host_to_device.bytes + x.counters().peer.bytes, 0U);
}

// One allocation, which is the host's: devices need no room for it, and give none up.
TEST_F(MemoryModes, SharedArraysTakeNoBudget) {
  for (const MemoryMode mode : {MemoryMode::Managed, MemoryMode::Mapped}) {
    const Numbers a = filled("a", mode);
    coherent::set_budget(Emulated{0}, 8);
    launch(on(Emulated{0}), length, AddTo{5}, inout(a));
    EXPECT_EQ(coherent::resident_bytes(Emulated{0}), 0);
    expect_values(a, 1, 5);
    coherent::set_budget(Emulated{0}, no_budget);
  }
}

TEST_F(MemoryModes, AFailedKernelLosesWhatItWroteInSharedMemory) {
  for (const MemoryMode mode : {MemoryMode::Managed, MemoryMode::Mapped}) {
    SCOPED_TRACE(to_string(mode));
    const Numbers a = filled("a", mode), b = filled("b", mode);
    launch(on(Emulated{0}), length, AddTo{5}, inout(a));
    emulated::fail(emulated::Fault::Kernel, 1);
    launch(on(Emulated{0}), range(10, 20), AddTo{5}, inout(b));
    // There is no other copy.
    EXPECT_TRUE(has(message_of<DataLost>([&] { b.flush(); }), "being nowhere else: [10, 20) of \"b\""));
    {
      const auto view = b.write(line(10, 20));
      for (index_t i = 10; i < 20; ++i) view(i) = i;
    }
    expect_values(b, 1, 0);
    expect_values(a, 1, 5);
  }
}

// ---- explicit

TEST_F(MemoryModes, ExplicitArraysAreUsedWhereTheyAreOrNotAtAll) {
  for (const MemoryMode mode : {MemoryMode::Explicit, MemoryMode::ExplicitPinned}) {
    const Numbers a = filled("first", mode);
    const std::string refused =
        message_of<NotCurrent>([&] { launch(on(Emulated{0}).named("add"), length, AddTo{5}, inout(a)); });
    EXPECT_TRUE(has(refused, "launch of add: \"first\" is read at [0, 1000) on Emulated"));
    EXPECT_TRUE(has(refused, "call prefetch(box, device) before"));
    expect_values(a, 1, 0);

    a.prefetch(line(0, 500), Emulated{0});
    EXPECT_TRUE(has(message_of<NotCurrent>([&] { launch(on(Emulated{0}), length, AddTo{5}, inout(a)); }),
                    "is read at [500, 1000)"));
    launch(on(Emulated{0}), range(0, 500), AddTo{5}, inout(a));
    const std::string stale = message_of<NotCurrent>([&] { a.read(); });
    EXPECT_TRUE(has(stale, "the host does not have the current values of \"first\" at [0, 500)"));
    EXPECT_TRUE(has(stale, "call flush() before"));
    EXPECT_THROW(static_cast<void>(std::int64_t{a(3)}), NotCurrent);
    EXPECT_EQ(a(700), 700);
    EXPECT_THROW(launch(on(Serial{}), length, AddTo{5}, inout(a)), NotCurrent);
    a.flush();
    EXPECT_EQ(a(3), 8);
    EXPECT_EQ(a.counters().host_to_device.bytes, 500U * 8);
    EXPECT_EQ(a.counters().device_to_host.bytes, 500U * 8);
  }
}

TEST_F(MemoryModes, ExplicitArraysAreNeverEvicted) {
  for (const MemoryMode mode : {MemoryMode::Explicit, MemoryMode::ExplicitPinned}) {
    const Numbers a = filled("a", mode), b = filled("b", MemoryMode::Smart);
    coherent::set_budget(Emulated{0}, 8 * length + 100);
    a.prefetch(a.domain(), Emulated{0});
    const std::string text =
        message_of<OutOfMemory>([&] { launch(on(Emulated{0}), length, AddTo{5}, inout(b)); });
    EXPECT_TRUE(has(text, "\"a\"")) << text;
    launch(on(Emulated{0}), length, AddTo{5}, inout(a));
    a.flush();
    expect_values(a, 1, 5);
  }
}

// A launch or a host view goes well exactly where the oracle has current values.
TEST_F(MemoryModes, ExplicitArraysSayExactlyWhatIsMissing) {
  Random random;
  constexpr int devices = 3;
  for (int program = 0; program < strata_tests::trials(60) && !HasFailure(); ++program) {
    const index_t n = random(1, 40);
    const Numbers x("x", n, random(0, 1) == 0 ? MemoryMode::Explicit : MemoryMode::ExplicitPinned,
                    main_in(Emulated{0}));
    std::vector<std::int64_t> now(static_cast<std::size_t>(n), 0);
    std::vector<unsigned> where(static_cast<std::size_t>(n), 1);  // bit 0: the host, bit d + 1: device d
    for (int step = 0; step < 20; ++step) {
      const index_t begin = random(0, n - 1), end = random(begin + 1, n);
      const int d = static_cast<int>(random(0, devices - 1));
      const auto all = [&](unsigned bit) {
        bool has_all = true;
        for (index_t i = begin; i < end; ++i)
          has_all = has_all && (where[static_cast<std::size_t>(i)] & bit) != 0;
        return has_all;
      };
      const auto each = [&](const auto& f) {
        for (index_t i = begin; i < end; ++i)
          f(now[static_cast<std::size_t>(i)], where[static_cast<std::size_t>(i)]);
      };
      const unsigned device = 2U << d;
      switch (random(0, 4)) {
        case 0:
          x.prefetch(line(begin, end), Emulated{d});
          each([&](std::int64_t&, unsigned& at) { at |= device; });
          break;
        case 1:
          if (!all(device)) {
            EXPECT_THROW(launch(on(Emulated{d}), range(begin, end), AddTo{3}, inout(x)), NotCurrent);
            break;
          }
          launch(on(Emulated{d}), range(begin, end), AddTo{3}, inout(x));
          each([&](std::int64_t& value, unsigned& at) { value += 3, at = device; });
          break;
        case 2:
          x.flush();
          for (unsigned& at : where) at |= 1U;
          break;
        case 3: {
          const auto view = x.write(line(begin, end));
          for (index_t i = begin; i < end; ++i) view(i) = step;
          each([&](std::int64_t& value, unsigned& at) { value = step, at = 1U; });
          break;
        }
        default:
          if (!all(1U)) {
            EXPECT_THROW(x.read(line(begin, end)), NotCurrent);
            break;
          }
          const auto view = x.read(line(begin, end));
          for (index_t i = begin; i < end; ++i) EXPECT_EQ(view(i), now[static_cast<std::size_t>(i)]);
      }
    }
    x.flush();
    EXPECT_EQ(values(x), now);
  }
}

// ---- how a mode is chosen

TEST_F(MemoryModes, TheSettingIsTheModeOfArraysWithoutOne) {
  EXPECT_EQ(Numbers("x", 4).memory_mode(), MemoryMode::Smart);
  for (const MemoryMode mode : all_modes) {
    set_setting("memory", to_string(mode));
    EXPECT_EQ(Numbers("x", 4).memory_mode(), mode);
    EXPECT_EQ(Numbers("x", 4, MemoryMode::Pinned).memory_mode(), MemoryMode::Pinned);
    EXPECT_EQ(memory_mode_of(to_string(mode)), mode);
  }
  EXPECT_TRUE(has(message_of<SettingError>([] { set_setting("memory", "unified"); }), "explicit-pinned"));
  EXPECT_TRUE(has(message_of<SettingError>([] { memory_mode_of("unified"); }),
                  "there is no memory mode \"unified\"; there are smart, pinned, managed"));
}

TEST_F(MemoryModes, AnArrayHasOneModeForItsLife) {
  EXPECT_TRUE(has(message_of<Error>([] { Numbers("x", 4, MemoryMode::Pinned, MemoryMode::Managed); }),
                  "two memory modes, pinned and managed"));
  const Numbers x("x", 4, MemoryMode::Implicit);
  set_setting("memory", "managed");
  EXPECT_EQ(x.memory_mode(), MemoryMode::Implicit);
}

// More managed memory than a device has is refused, and nothing else is tried.
TEST_F(MemoryModes, WhatIsNotAvailableIsAnErrorUnlessItWasOnlyPreferred) {
  const index_t too_many = 2 * emulated::config().capacity / 8;
  EXPECT_THROW(Numbers("x", too_many, MemoryMode::Managed, main_in(Emulated{0})), OutOfMemory);
  const Numbers x("x", too_many, prefer(MemoryMode::Managed), main_in(Emulated{0}));
  EXPECT_EQ(x.memory_mode(), MemoryMode::Smart);
  EXPECT_EQ(Numbers("x", 4, prefer(MemoryMode::Managed), main_in(Emulated{0})).memory_mode(),
            MemoryMode::Managed);
}

TEST_F(MemoryModes, AModeThatNobodyNamedAndOneThatWasOnlyPreferredAreSaidAtInfo) {
  std::vector<std::string> said;
  set_setting("log", "info");
  set_log_function([](LogLevel, const char* text,
                      void* list) { static_cast<std::vector<std::string>*>(list)->emplace_back(text); },
                   &said);

  set_setting("memory", "implicit");
  const Numbers x("x", 4), again("again", 4);
  set_setting("memory", "pinned");
  const Numbers other("other", 4), named("named", 4, MemoryMode::Smart);
  const Numbers large("large", 2 * emulated::config().capacity / 8, prefer(MemoryMode::Managed),
                      main_in(Emulated{0}));
  set_log_function(nullptr);
  set_setting("log", "warning");

  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(said[0], "coherent arrays whose memory mode nobody named are implicit (the setting memory)");
  EXPECT_EQ(said[1], "coherent arrays whose memory mode nobody named are pinned (the setting memory)");
  EXPECT_EQ(said[2].find("\"large\" is in the memory mode smart instead of managed, as "), 0u) << said[2];
}

TEST_F(MemoryModes, AdoptedMemoryIsInTheModesThatItCanBeIn) {
  using Plain = MDArray<std::int64_t, Serial, rank<1>>;
  const auto plain = create<Plain>("plain", length);
  const auto on_device = create<View<std::int64_t, Emulated, RankExtents<1>, LayoutRight>>("device", length);
  for (const MemoryMode mode : {MemoryMode::Smart, MemoryMode::Explicit, MemoryMode::Implicit}) {
    const Numbers x = Numbers::adopt("x", plain, mode);
    EXPECT_EQ(x.memory_mode(), mode);
    EXPECT_TRUE(has(x.explain(), "memory mode " + std::string(to_string(mode)))) << x.explain();
  }
  for (const MemoryMode mode : {MemoryMode::Managed, MemoryMode::Mapped, MemoryMode::Pinned}) {
    const std::string text = message_of<Error>([&] { Numbers::adopt("x", on_device, mode); });
    EXPECT_TRUE(has(text, "\"x\", whose memory was adopted, cannot be in the memory mode " +
                              std::string(to_string(mode))));
    set_setting("memory", to_string(mode));
    EXPECT_EQ(Numbers::adopt("x", on_device).memory_mode(), MemoryMode::Smart);
  }
}

// ---- other parts of Strata

struct SumElements {
  STRATA_FUNCTION void operator()(auto i, auto x, std::int64_t& sum) const { sum += x(i); }
};

TEST_F(MemoryModes, ResultsAreTheSameWhereverTheyAreJoined) {
  for (const MemoryMode mode : all_modes) {
    SCOPED_TRACE(to_string(mode));
    const Numbers a = filled("a", mode);
    bring(a);
    std::int64_t sum = 0;
    launch_reduce(on(Emulated{0}), length, SumElements{}, Sum(sum), in(a));
    EXPECT_EQ(sum, length * (length - 1) / 2);
  }
}

TEST_F(MemoryModes, StreamsReadAndWriteTheHostsMemory) {
  for (const MemoryMode mode : all_modes) {
    SCOPED_TRACE(to_string(mode));
    const Numbers a = filled("a", mode), b("b", length, mode, main_in(Emulated{0}));
    launch(streamed(Emulated{0}, 4000).named("add"), length, Copy{}, in(a), out(b));
    expect_values(b, 1, 0);
    if (!is_explicit(mode)) continue;
    // What only a device has is not brought.
    a.prefetch(a.domain(), Emulated{0});
    launch(on(Emulated{0}), length, AddTo{1}, inout(a));
    EXPECT_THROW(launch(streamed(Emulated{0}, 4000), length, Copy{}, in(a), out(b)), NotCurrent);
  }
}

TEST_F(MemoryModes, TasksTakeOnlyWhatTheyMayCopyThemselves) {
  for (const MemoryMode mode : all_modes) {
    const Numbers a = filled("an array", mode);
    const bool may = mode == MemoryMode::Smart || mode == MemoryMode::Pinned;
    if (may) detail::require_copies(*a.state().get(), "a task");
    else
      EXPECT_TRUE(
          has(message_of<Error>([&] { detail::require_copies(*a.state().get(), "a task"); }),
              "\"an array\" is in the memory mode " + std::string(to_string(mode)) + ", and a task decides"));
  }
}

}  // namespace
