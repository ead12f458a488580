// The table "what other parts of Strata mean in each mode" of docs/memory_modes.md, cell by cell:
//
// - host views, elements: memory_modes_test.cpp (ManagedPagesComeBeforeTheyAreTouched,
//   ExplicitArraysAreUsedWhereTheyAreOrNotAtAll, FullAccessMovesAnArrayInAndOut); here
//   ImplicitLaunchesLeaveAloneWhatTheHostWrites
// - regions: PartsAreCopiedAlone, ManagedPagesThatAreNotDeclaredFault there; here RegionsOfAllModes
// - budgets, eviction: SharedArraysTakeNoBudget, ExplicitArraysAreNeverEvicted there; here
//   ImplicitArraysNeedRoomForAll, PinnedArraysAreEvictedAsSmartOnes
// - across: ManagedArraysAreSharedByDevicesAndHosts there, HalosOfManagedArraysAreReadWhereTheyAre in
//   memory_modes_machines_test.cpp; here SharesOfAllModes, NoShareOfExplicitArraysIsBrought
// - streamed: StreamsReadAndWriteTheHostsMemory there; random problems in left_out_test.cpp; here
//   ManagedArraysThatAreStreamedFitADevice
// - tasks: here TasksRefuseArraysThatDecideThemselves
// - sequences: here SequencesOnOneDevice, SequencesOverDevices; random programs in sequence_programs_test.cpp
// - failed kernels: AFailedKernelLosesWhatItWroteInSharedMemory there; here
//   FailedKernelsLoseNothingThatTheHostHas, ImplicitArraysOutliveFailedKernels
// - where(): here ResidencesOfAllModes
// - files: here ArraysInFilesAreSmart; adopt: AdoptedMemoryIsInTheModesThatItCanBeIn there, and
//   AdoptedMemoryIsInEveryModeThatItCanBeIn in memory_modes_devices_test.cpp
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <thread>

#include <strata/algorithms/sequence/sequence.hpp>
#include <strata/algorithms/streaming/streamed.hpp>
#include <strata/algorithms/tasks/task_graph.hpp>
#include <strata/core/settings.hpp>
#include <strata/views/coherent/file_array.hpp>

#include "messages.hpp"
#include "views/coherent/executor_fixture.hpp"

namespace {

using namespace coherent_testing;
using Numbers = CoherentArray<std::int64_t, rank<1>>;

constexpr MemoryMode all_modes[] = {MemoryMode::Smart,   MemoryMode::Pinned,   MemoryMode::Managed,
                                    MemoryMode::Mapped,  MemoryMode::Explicit, MemoryMode::ExplicitPinned,
                                    MemoryMode::Implicit};
bool is_explicit(MemoryMode mode) {
  return mode == MemoryMode::Explicit || mode == MemoryMode::ExplicitPinned;
}
bool is_shared(MemoryMode mode) { return mode == MemoryMode::Managed || mode == MemoryMode::Mapped; }

class MemoryModesAt : public CoherentTest {
 protected:
  static Numbers filled(const char* label, MemoryMode mode, index_t n = 1000) {
    const Numbers x(label, n, mode, main_in(Emulated{0}));
    const auto view = x.write();
    for (index_t i = 0; i < n; ++i) view(i) = i;
    return x;
  }
  static void expect_values(const Numbers& x, std::int64_t factor, std::int64_t more) {
    if (is_explicit(x.memory_mode())) x.flush();
    const auto seen = values(x);
    for (std::size_t i = 0; i < seen.size(); ++i)
      ASSERT_EQ(seen[i], factor * static_cast<std::int64_t>(i) + more) << i;
  }
};

// Parts without work need nothing, and get no memory.
TEST_F(MemoryModesAt, SharesOfAllModes) {
  for (const MemoryMode mode : all_modes) {
    if (is_explicit(mode)) continue;
    SCOPED_TRACE(to_string(mode));
    for (const index_t n : {1, 2, 1000}) {
      const Numbers x = filled("x", mode, n);
      for (int k = 0; k < 3; ++k)
        launch(across(Emulated{0}, Emulated{1}, Emulated{2}), n, AddTo{2}, inout(x));
      launch(on(Emulated{1}), range(0, 0), AddTo{2}, inout(x));
      expect_values(x, 1, 6);
    }
  }
}
TEST_F(MemoryModesAt, NoShareOfExplicitArraysIsBrought) {
  for (const MemoryMode mode : {MemoryMode::Explicit, MemoryMode::ExplicitPinned}) {
    const Numbers x = filled("x", mode);
    x.prefetch(line(0, 500), Emulated{0});
    const auto where = across(Emulated{0}, Emulated{1});
    EXPECT_TRUE(has(message_of<NotCurrent>([&] { launch(where, 1000, AddTo{2}, inout(x)); }), "[500, 1000)"));
    x.prefetch(line(500, 1000), Emulated{1});
    launch(where, 1000, AddTo{2}, inout(x));
    expect_values(x, 1, 2);
  }
}

// Items [100, 200) and a neighbour to each side.
TEST_F(MemoryModesAt, RegionsOfAllModes) {
  for (const MemoryMode mode : all_modes) {
    SCOPED_TRACE(to_string(mode));
    const Numbers x = filled("x", mode), y = filled("y", mode);
    if (is_explicit(mode)) {
      x.prefetch(line(100, 200), Emulated{0});
      const auto sums = [&] {
        launch(on(Emulated{0}), range(100, 200), SumOfThree{}, in(x, halo(1, 1)), out(y));
      };
      EXPECT_TRUE(has(message_of<NotCurrent>(sums), "\"x\" is read at [99, 100)"));
      x.prefetch(line(99, 201), Emulated{0});
    }
    launch(on(Emulated{0}), range(100, 200), SumOfThree{}, in(x, halo(1, 1)), out(y));
    if (is_explicit(mode)) y.flush();
    EXPECT_EQ(y(100), 300);
    EXPECT_EQ(y(199), 597);
    EXPECT_EQ(y(200), 200);  // not an item
    const TransferCounters counters = x.counters();
    EXPECT_EQ(counters.host_to_device.bytes, mode == MemoryMode::Implicit ? 8000U
                                             : is_shared(mode)            ? 0U
                                                                          : 816U);
    EXPECT_EQ(counters.prefetched_to_devices.bytes, mode == MemoryMode::Managed ? 816U : 0U);
  }
}

TEST_F(MemoryModesAt, ImplicitArraysNeedRoomForAll) {
  const Numbers x = filled("x", MemoryMode::Implicit), y = filled("y", MemoryMode::Smart);
  coherent::set_budget(Emulated{0}, 4000);
  launch(on(Emulated{0}), range(0, 100), AddTo{1}, inout(y));
  EXPECT_THROW(launch(on(Emulated{0}), range(0, 100), AddTo{1}, inout(x)), OutOfMemory);
  coherent::set_budget(Emulated{0}, no_budget);
  launch(on(Emulated{0}), range(0, 100), AddTo{0}, inout(x));
  EXPECT_EQ(x.counters().host_to_device.bytes, 8000U);
  expect_values(x, 1, 0);
}
TEST_F(MemoryModesAt, PinnedArraysAreEvictedAsSmartOnes) {
  for (const MemoryMode mode : {MemoryMode::Smart, MemoryMode::Pinned}) {
    const Numbers x = filled("x", mode), y = filled("y", mode);
    coherent::set_budget(Emulated{0}, 8100);
    for (int k = 0; k < 3; ++k)
      for (const Numbers& array : {x, y}) launch(on(Emulated{0}), 1000, AddTo{1}, inout(array));
    EXPECT_LE(coherent::resident_bytes(Emulated{0}), 8100);
    expect_values(x, 1, 3);
    expect_values(y, 1, 3);
    coherent::set_budget(Emulated{0}, no_budget);
  }
}

// A kernel that fails has copied nothing back: the host's values are those of before.
TEST_F(MemoryModesAt, FailedKernelsLoseNothingThatTheHostHas) {
  for (const MemoryMode mode :
       {MemoryMode::Smart, MemoryMode::Pinned, MemoryMode::Explicit, MemoryMode::ExplicitPinned}) {
    SCOPED_TRACE(to_string(mode));
    const Numbers x = filled("x", mode);
    if (is_explicit(mode)) x.prefetch(x.domain(), Emulated{0});
    emulated::fail(emulated::Fault::Kernel, 1);
    launch(on(Emulated{0}), range(10, 20), AddTo{5}, inout(x));
    EXPECT_THROW(x.flush(), KernelError);
    expect_values(x, 1, 0);
  }
}

// What comes out of a launch is not what another thread is writing.
TEST_F(MemoryModesAt, ImplicitLaunchesLeaveAloneWhatTheHostWrites) {
  const Numbers x = filled("x", MemoryMode::Implicit);
  const auto view = x.write(line(0, 10));
  for (index_t i = 0; i < 10; ++i) view(i) = -1;
  std::thread([&] { launch(on(Emulated{0}), range(10, 20), AddTo{5}, inout(x)); }).join();
  EXPECT_EQ(x.counters().device_to_host.bytes, 80U);
  EXPECT_EQ(view(3), -1);
}
TEST_F(MemoryModesAt, ImplicitArraysOutliveFailedKernels) {
  const Numbers x = filled("x", MemoryMode::Implicit);
  emulated::fail(emulated::Fault::Kernel, 1);
  EXPECT_THROW(
      {
        launch(on(Emulated{0}), 1000, AddTo{5}, inout(x));
        x.flush();
      },
      Error);
  emulated::clear_faults();
  {
    const auto view = x.write();
    for (index_t i = 0; i < 1000; ++i) view(i) = i;
  }
  launch(on(Emulated{0}), 1000, AddTo{5}, inout(x));
  expect_values(x, 1, 5);
}

TEST_F(MemoryModesAt, ResidencesOfAllModes) {
  for (const MemoryMode mode : all_modes) {
    SCOPED_TRACE(to_string(mode));
    const Numbers x = filled("x", mode);
    if (is_explicit(mode)) x.prefetch(x.domain(), Emulated{0});
    launch(on(Emulated{0}), 1000, AddTo{5}, inout(x));
    const std::string expected = is_shared(mode) || mode == MemoryMode::Implicit ? "Host" : "Emulated{0}";
    ASSERT_EQ(x.where(x.domain()).size(), 1U);
    EXPECT_EQ(x.where(x.domain()).front().memories, std::vector<std::string>{expected});
  }
}

// Two loops, the second of which reads what the first one writes.
template <class Where>
void add_loops(Sequence<Where>& steps, const Numbers& x, const Numbers& y) {
  steps.loop("copy", 1000, Copy{}, in(x), out(y));
  steps.loop("add", 1000, AddTo{1}, inout(y));
  steps.loop("back", 1000, Copy{}, in(y), out(x));
}
TEST_F(MemoryModesAt, SequencesOnOneDevice) {
  for (const MemoryMode mode : all_modes) {
    SCOPED_TRACE(to_string(mode));
    const Numbers x = filled("x", mode), y("y", 1000, uninitialized, mode, main_in(Emulated{0}));
    Sequence steps("steps", on(Emulated{0}));
    add_loops(steps, x, y);
    if (is_explicit(mode)) {
      EXPECT_TRUE(has(message_of<NotCurrent>([&] { steps.run(4); }), "call prefetch(box, device) before"));
      steps.begin_with(0);
      x.prefetch(x.domain(), Emulated{0});
    }
    for (int k = 0; k < 3; ++k) steps.run(4);
    expect_values(x, 1, 12);
    // A run is one launch: implicit arrays are copied around it.
    const std::uint64_t copies = x.counters().host_to_device.count;
    EXPECT_EQ(copies, mode == MemoryMode::Implicit ? 3U : is_shared(mode) ? 0U : 1U);
  }
}
TEST_F(MemoryModesAt, SequencesOverDevices) {
  for (const MemoryMode mode : all_modes) {
    SCOPED_TRACE(to_string(mode));
    const Numbers x = filled("x", mode), y("y", 1000, uninitialized, mode, main_in(Emulated{0}));
    Sequence steps("steps", across(Emulated{0}, Emulated{1}));
    add_loops(steps, x, y);
    if (is_explicit(mode)) {
      EXPECT_THROW(steps.run(1), NotCurrent);
      steps.begin_with(0);
      x.prefetch(line(0, 500), Emulated{0});
      x.prefetch(line(500, 1000), Emulated{1});
    }
    for (int k = 0; k < 3; ++k) steps.run(4);
    expect_values(x, 1, 12);
  }
}
TEST_F(MemoryModesAt, SequencesOfExplicitArraysBringNoHalos) {
  const Numbers x = filled("x", MemoryMode::Explicit), y = filled("y", MemoryMode::Explicit);
  Sequence steps("steps", across(Emulated{0}, Emulated{1}));
  steps.loop("sums", range(1, 999), SumOfThree{}, in(x, halo(1, 1)), out(y));
  steps.loop("back", range(1, 999), Copy{}, in(y), out(x));
  for (int d = 0; d < 2; ++d) x.prefetch(x.domain(), Emulated{d});
  steps.run(1);
  EXPECT_THROW(steps.run(1), NotCurrent);
}

TEST_F(MemoryModesAt, TasksRefuseArraysThatDecideThemselves) {
  for (const MemoryMode mode : all_modes) {
    const Numbers x = filled("an array", mode);
    TaskGraph graph("graph");
    const auto add = [&] { graph.launch("add", 1000, AddTo{5}, inout(x)); };
    if (mode == MemoryMode::Smart || mode == MemoryMode::Pinned) {
      add();
      graph.run(on(Emulated{0}));
      expect_values(x, 1, 5);
      continue;
    }
    EXPECT_TRUE(has(message_of<Error>(add), "\"an array\" is in the memory mode " +
                                                std::string(to_string(mode)) +
                                                ", and a task decides itself what is copied when"));
    EXPECT_THROW(graph.call(
                     "call", [](const auto&, const auto&) {}, in(x)),
                 Error);
    EXPECT_THROW(graph.wont_use(x), Error);
    expect_values(x, 1, 0);
  }
}

// More than that is refused when it is created.
TEST_F(MemoryModesAt, ManagedArraysThatAreStreamedFitADevice) {
  const index_t many = emulated::config().capacity / 8 + 1;
  EXPECT_TRUE(
      has(message_of<OutOfMemory>([&] { Numbers("x", many, MemoryMode::Managed, main_in(Emulated{0})); }),
          "stream it, take memory of another kind"));
  const Numbers x = filled("x", MemoryMode::Pinned, many);
  launch(streamed(Emulated{0}, 1 << 16), many, AddTo{5}, inout(x));
  expect_values(x, 1, 5);
}
TEST_F(MemoryModesAt, ArraysInFilesAreSmart) {
  set_setting(&Settings::memory, "implicit");
  const std::string path = testing::TempDir() + "strata_memory_modes.bin";
  {
    const auto x = file_array<std::int64_t, rank<1>>(path, 100, overwrite);
    EXPECT_EQ(x.memory_mode(), MemoryMode::Smart);
  }
  set_setting(&Settings::memory, "smart");
  std::remove(path.c_str());
}

// What Strata itself makes is of no mode that it could not use.
struct SumElements {
  STRATA_FUNCTION void operator()(auto i, auto x, std::int64_t& sum) const { sum += x(i); }
};
TEST_F(MemoryModesAt, TheSettingIsForTheArraysOfPrograms) {
  for (const MemoryMode mode : all_modes) {
    SCOPED_TRACE(to_string(mode));
    const Numbers x = filled("x", MemoryMode::Smart);
    set_setting("memory", to_string(mode));
    std::int64_t sum = 0;
    launch_reduce(across(Emulated{0}, Emulated{1}), 1000, SumElements{}, Sum(sum), in(x));
    EXPECT_EQ(sum, 499500);
    TaskGraph graph("graph");
    const Numbers total("total", 1, MemoryMode::Smart);
    for (int k = 0; k < 3; ++k) graph.launch("add", 1, AddTo{5}, reduce(total));
    graph.run(on(Emulated{0}));
    EXPECT_EQ(total(0), 15);
    set_setting(&Settings::memory, "smart");
  }
}

}  // namespace
