// What launches that copy ask of a device: on a GPU each is a call of the driver, which takes as long as a
// small array. Patterns of the study of unified memory, as docs/memory_modes.md counts them.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdint>
#include <ostream>
#include <thread>

#include <strata/devices/emulated/calls.hpp>

#include "views/coherent/executor_fixture.hpp"

namespace strata::inline STRATA_ABI::emulated {
void PrintTo(const Calls& c, std::ostream* out) {
  *out << c.kernels << " kernels, " << c.copies << " copies, " << c.prefetches << " prefetches, " << c.records
       << " records, " << c.queue_waits << " waits of queues, " << c.queries << " queries, " << c.host_waits
       << " waits of the host, " << c.allocations << " allocations";
}
}  // namespace strata::inline STRATA_ABI::emulated

namespace {

using namespace coherent_testing;
using emulated::Calls;
using Numbers = CoherentArray<std::int64_t, rank<1>>;
constexpr index_t length = 512;

struct AddBoth {
  STRATA_FUNCTION void operator()(auto i, auto a, auto b, auto c) const { c(i) = a(i) + b(i); }
};

// Arrays of one mode, filled by the host before each run, until the host has what the kernels made.
class LaunchCalls : public CoherentTest {
 protected:
  static Numbers array(const char* label, MemoryMode mode, index_t n = length) {
    return Numbers(label, n, mode, main_in(Emulated{0}));
  }
  static void fill(const Numbers& x) {
    const auto view = x.write();
    for (index_t i = 0; i < x.extent(0); ++i) view(i) = i;
  }
  // Of the second run: the first one has made room on the device.
  template <class Prepare, class Run>
  static Calls of(const Prepare& prepare, const Run& run) {
    prepare();
    run();
    prepare();
    wait(Emulated{0});
    const Calls before = emulated::calls();
    run();
    return emulated::calls() - before;
  }
  static Calls full(MemoryMode mode) {
    const Numbers a = array("a", mode);
    return of([&] { fill(a); },
              [&] {
                launch(on(Emulated{0}), length, AddTo{5}, inout(a));
                EXPECT_EQ(a.read()(7), 12);
              });
  }
  static Calls partial(MemoryMode mode) {
    const Numbers a = array("a", mode), b = array("b", mode), c = array("c", mode);
    return of([&] { fill(a), fill(b); },
              [&] {
                launch(on(Emulated{0}), length, AddBoth{}, in(a), in(b), out(c));
                EXPECT_EQ(c.read()(7), 14);
              });
  }
  static Calls multikernel(MemoryMode mode) {
    const Numbers a = array("a", mode);
    return of([&] { fill(a); },
              [&] {
                launch(on(Emulated{0}), length, AddTo{5}, inout(a));
                launch(on(Emulated{0}), length, AddTo{6}, inout(a));
                EXPECT_EQ(a.read()(7), 18);
              });
  }
  // What a device has to be asked; whether an event is complete, and waits for those that are, cost a GPU
  // nothing once a later event of the queue is.
  static Calls asked(Calls calls) {
    calls.queries = calls.host_waits = 0;
    return calls;
  }
};

TEST_F(LaunchCalls, AShortCopyWaitsForNoQueue) {
  if (checked_build) GTEST_SKIP() << "checked builds look at what kernels have written, too";
  for (const MemoryMode mode : {MemoryMode::Smart, MemoryMode::Pinned}) {
    SCOPED_TRACE(to_string(mode));
    EXPECT_EQ(asked(full(mode)), (Calls{.kernels = 1, .copies = 2, .records = 1}));
    EXPECT_EQ(asked(partial(mode)), (Calls{.kernels = 1, .copies = 3, .records = 1}));
    EXPECT_EQ(asked(multikernel(mode)), (Calls{.kernels = 2, .copies = 2, .records = 2}));
  }
}
// Also not of values that the kernel has only read, and that nobody needs to have back.
TEST_F(LaunchCalls, ShortCopiesOfImplicitArraysWaitForNoQueue) {
  if (checked_build) GTEST_SKIP() << "checked builds look at what kernels have written, too";
  EXPECT_EQ(asked(full(MemoryMode::Implicit)), (Calls{.kernels = 1, .copies = 2, .records = 1}));
  EXPECT_EQ(asked(partial(MemoryMode::Implicit)), (Calls{.kernels = 1, .copies = 6, .records = 1}));
  EXPECT_EQ(asked(multikernel(MemoryMode::Implicit)), (Calls{.kernels = 2, .copies = 4, .records = 2}));
}
TEST_F(LaunchCalls, PagesOfShortArraysWaitForNoQueue) {
  if (checked_build) GTEST_SKIP() << "checked builds look at what kernels have written, too";
  EXPECT_EQ(asked(full(MemoryMode::Managed)), (Calls{.kernels = 1, .prefetches = 2}));
  EXPECT_EQ(asked(partial(MemoryMode::Managed)), (Calls{.kernels = 1, .prefetches = 4}));
  EXPECT_EQ(asked(multikernel(MemoryMode::Managed)), (Calls{.kernels = 2, .prefetches = 2, .records = 1}));
}
// A device has to be told once that they do: of what partial() writes in the second run, as in the first one
// the host has not used it yet.
TEST_F(LaunchCalls, NothingIsAskedForShortManagedArraysThatStayWithTheHost) {
  if (checked_build) GTEST_SKIP() << "checked builds look at what kernels have written, too";
  emulated::Config config = emulated::config();
  config.bytes_reached_at_host = 8 * length;
  emulated::configure(config);
  EXPECT_EQ(asked(full(MemoryMode::Managed)), (Calls{.kernels = 1}));
  EXPECT_EQ(asked(partial(MemoryMode::Managed)), (Calls{.kernels = 1, .prefetches = 1}));
  EXPECT_EQ(asked(multikernel(MemoryMode::Managed)), (Calls{.kernels = 2, .records = 1}));
}
TEST_F(LaunchCalls, MappedArraysAreCopiedByNobody) {
  if (checked_build) GTEST_SKIP() << "checked builds look at what kernels have written, too";
  EXPECT_EQ(asked(full(MemoryMode::Mapped)), (Calls{.kernels = 1}));
  EXPECT_EQ(asked(partial(MemoryMode::Mapped)), (Calls{.kernels = 1}));
}
// The host asks and waits a few times at most for each piece of work.
TEST_F(LaunchCalls, TheHostAsksSeldom) {
  for (const MemoryMode mode :
       {MemoryMode::Smart, MemoryMode::Pinned, MemoryMode::Managed, MemoryMode::Mapped}) {
    SCOPED_TRACE(to_string(mode));
    for (const Calls& calls : {full(mode), partial(mode), multikernel(mode)}) {
      EXPECT_LE(calls.queries, 3U);
      EXPECT_LE(calls.host_waits, 2 * (calls.kernels + calls.copies + calls.prefetches));
    }
  }
}

struct AddSlowly {
  STRATA_FUNCTION void operator()(auto i, auto x) const {
    if (static_cast<index_t>(i) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    x(i) += 5;
  }
};

// Copies that take longer than to begin them overlap kernels, on queues of their own: after a kernel that
// still runs one queue waits for another, and before it where the copy has not ended by then. So do those
// that the host waits for if they are of more than a MiB, of managed arrays 16 MiB.
TEST_F(LaunchCalls, LongCopiesHaveQueuesOfTheirOwn) {
  emulated::Config config = machine(1);
  config.copy_latency = 0;  // so that any copy is long
  config.capacity = 32 * mebi;
  leave_nothing();
  emulated::configure(config);
  for (const MemoryMode mode : {MemoryMode::Pinned, MemoryMode::Managed}) {
    const index_t many = (mode == MemoryMode::Managed ? 16 : 1) * mebi / 8 + 1;
    const Numbers a = array("a", mode, many);
    Calls calls = asked(of([&] { fill(a); },
                           [&] {
                             launch(on(Emulated{0}), many, AddSlowly{}, inout(a));
                             EXPECT_EQ(a.read()(7), 12);
                           }));
    EXPECT_GE(calls.queue_waits, 1U);
    EXPECT_LE(calls.queue_waits,
              3U);  // the second copy for the kernel, and for the first one where that goes on
    // What queues wait for is recorded: the kernel's event, and that of the first copy where it goes on.
    EXPECT_GE(calls.records, 1U);
    EXPECT_LE(calls.records, 2U);
    calls.queue_waits = calls.records = 0;
    EXPECT_EQ(calls, mode == MemoryMode::Pinned ? (Calls{.kernels = 1, .copies = 2})
                                                : (Calls{.kernels = 1, .prefetches = 2}));
  }
}

// Shorter ones that the host waits for follow their kernel, whatever it takes to begin them.
TEST_F(LaunchCalls, WhatTheHostReadsNextFollowsItsKernel) {
  emulated::Config config = machine(1);
  config.copy_latency = 0;
  leave_nothing();
  emulated::configure(config);
  const Numbers a = array("a", MemoryMode::Pinned);

  const Calls calls = asked(of([&] { fill(a); },
                               [&] {
                                 launch(on(Emulated{0}), length, AddSlowly{}, inout(a));
                                 EXPECT_EQ(a.read()(7), 12);
                               }));

  EXPECT_EQ(calls.queue_waits, 0U);  // the first copy is on that queue, too, which had nothing to do
  EXPECT_EQ(calls.copies, 2U);
  EXPECT_EQ(calls.kernels, 1U);
}

// A short copy does not wait for kernels that it has nothing to do with.
TEST_F(LaunchCalls, AShortCopyOvertakesKernelsOfOtherArrays) {
  emulated::Config config = machine(1);
  config.seconds_per_item = 1e-3;
  leave_nothing();
  emulated::configure(config);
  const Numbers a = array("a", MemoryMode::Pinned), b = array("b", MemoryMode::Pinned);
  fill(a), fill(b);
  launch(on(Emulated{0}), 1, AddTo{5}, inout(a));
  const auto plain = create<MDArray<std::int64_t, Emulated, rank<1>>>("plain", length);
  const double begin = emulated::now();

  // One more kernel on the queue, which coherent arrays do not know of, and one of another array.
  parallel_for(on(Emulated{0}), length, with(Iota{0}, plain));
  EXPECT_EQ(a.read()(0), 5);
  const double read = emulated::now() - begin;
  launch(on(Emulated{0}), length, AddTo{5}, inout(b));
  wait(Emulated{0});

  EXPECT_LT(read, 0.1);  // the kernels take half a second each
  EXPECT_GT(emulated::now() - begin, 0.9);
}

// Short copies may come before the record of events that nobody has asked for yet, but not any number.
TEST_F(LaunchCalls, FewShortCopiesComeBeforeARecord) {
  const auto x = create<MDArray<std::int64_t, Emulated, rank<1>>>("x", 2048);  // 16 KiB
  const auto y = create<MDArray<std::int64_t, Serial, rank<1>>>("y", 2048);
  const Queue<Emulated> queue = default_queue(Emulated{0});
  const auto records_of_copies = [&](int copies) {
    const Calls before = emulated::calls();
    const Event event = queue.record();
    for (int k = 0; k < copies; ++k) deep_copy(queue, x, y);
    const Calls asked = emulated::calls() - before;
    EXPECT_EQ(asked.copies, static_cast<std::uint64_t>(copies));
    queue.wait();
    return asked.records;
  };
  queue.wait();
  EXPECT_EQ(records_of_copies(4), 0U);
  EXPECT_EQ(records_of_copies(5), 1U);
  EXPECT_EQ(records_of_copies(20), 1U);
}

}  // namespace
