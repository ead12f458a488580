// Freeing on Emulated never waits and is always safe: blocks that queued work may use are in quarantine.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdlib>

#include "devices/emulated/fixture.hpp"

namespace {

using namespace emulated_testing;
using HostArray = MDArray<int, Serial, rank<1>>;

constexpr index_t n = 1024;
constexpr index_t bytes = n * static_cast<index_t>(sizeof(int));

class EmulatedFreeing : public EmulatedTest {};

TEST_F(EmulatedFreeing, ViewMayDieWhileItsKernelIsQueued) {
  const Queue<Emulated> queue;
  const auto result = create<HostArray>("result", n);
  Gate gate;

  gate.hold(queue);
  {
    const auto x = create<Array>("x", n, uninitialized);
    parallel_for(on(queue), n, with(SetAll{9}, x));
    deep_copy(queue, result, x);
  }
  const auto other = create<Array>("other", n, uninitialized);
  deep_copy(Queue<Emulated>(), other, 1);  // would be seen in `result` if it had the same memory
  gate.open();
  queue.wait();

  for (int i = 0; i < n; ++i) ASSERT_EQ(result(i), 9);
}

TEST_F(EmulatedFreeing, BlockIsNotReusedWhileWorkIsPendingAndIsAfterwards) {
  const Queue<Emulated> queue;
  Gate gate;
  gate.hold(queue);
  const int* first = nullptr;
  {
    const auto x = create<Array>("x", n, uninitialized);
    first = x.data();
    parallel_for(on(queue), n, with(SetAll{1}, x));
  }

  EXPECT_EQ(emulated::used(0), bytes) << "blocks in quarantine count";
  EXPECT_NE(create<Array>("y", n, uninitialized).data(), first);

  gate.open();
  queue.wait();
  EXPECT_EQ(emulated::used(0), 0);
  EXPECT_EQ(create<Array>("z", n, uninitialized).data(), first);
}

TEST_F(EmulatedFreeing, BlockWaitsForAllQueuesThatHadWorkAndForNoLaterWork) {
  const Queue<Emulated> first(Emulated{0}), second(Emulated{1});
  Gate gate_first, gate_second, later;
  gate_first.hold(first);
  gate_second.hold(second);
  { const auto x = create<Array>("x", n, uninitialized); }

  gate_first.open();
  first.wait();
  EXPECT_EQ(emulated::used(0), bytes) << "a copy on the queue of the other instance could use it";

  later.hold(second);
  gate_second.open();
  later.wait_until_reached();
  emulated::advance(1);  // beyond the end of the second gate
  EXPECT_EQ(emulated::used(0), 0);
}

TEST_F(EmulatedFreeing, QueueWithoutAHandleIsWaitedForToo) {
  const auto result = create<HostArray>("result", n);
  Gate gate;
  {
    const auto x = create<Array>("x", n, uninitialized);
    const Queue<Emulated> queue;
    gate.hold(queue);
    parallel_for(on(queue), n, with(SetAll{2}, x));
    deep_copy(queue, result, x);
  }

  EXPECT_EQ(emulated::used(0), bytes);
  const auto other = create<Array>("other", n, uninitialized);
  deep_copy(other, 1);
  gate.open();
  wait(Emulated{});

  for (int i = 0; i < n; ++i) ASSERT_EQ(result(i), 2);
}

TEST_F(EmulatedFreeing, IdleDeviceFreesAtOnce) {
  { const auto x = create<Array>("x", n); }

  EXPECT_EQ(emulated::used(0), 0);
}

TEST_F(EmulatedFreeing, AllocationWaitsForQuarantinedBlocksRatherThanFail) {
  const Queue<Emulated> queue;
  const index_t most = 3 * mebi / static_cast<index_t>(sizeof(int));
  Gate gate;
  gate.hold(queue);
  {
    const auto x = create<Array>("x", most, uninitialized);
    parallel_for(on(queue), 64, with(SetAll{1}, x));
  }
  std::thread opener([&] {
    gate.wait_until_reached();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });

  const auto y = create<Array>("y", most, uninitialized);  // only after x

  EXPECT_TRUE(queue.idle());
  EXPECT_EQ(emulated::now(), 65 * 0x1p-10) << "the host waited in virtual time, too";
  EXPECT_LE(emulated::peak(0), 4 * mebi);
  opener.join();
}

// The clock does not come to the end of the work that the freed block waits for.
TEST_F(EmulatedFreeing, AllocationUnderAHeldClockGetsABlockWhoseWorkHasRun) {
  const Queue<Emulated> queue;
  const index_t most = 3 * mebi / static_cast<index_t>(sizeof(int));
  const emulated::HeldClock held;
  {
    const auto x = create<Array>("x", most, uninitialized);
    parallel_for(on(queue), 64, with(SetAll{1}, x));
  }

  const auto y = create<Array>("y", most, uninitialized);

  EXPECT_TRUE(queue.idle()) << "only after x";
  EXPECT_EQ(emulated::now(), 0);
  EXPECT_LE(emulated::peak(0), 4 * mebi);
}

TEST_F(EmulatedFreeing, AllocationThatNoFreedBlockCanServeFails) {
  const Queue<Emulated> queue;
  const auto kept = create<Array>("kept", 3 * mebi / 4, uninitialized);
  { const auto x = create<Array>("x", n, uninitialized), y = create<Array>("y", n, uninitialized); }

  EXPECT_THROW((void)create<Array>("z", mebi, uninitialized), OutOfMemory);
}

TEST_F(EmulatedFreeing, StreamOfTemporariesStaysBelowTheCapacity) {
  const Queue<Emulated> queues[2];
  const auto total = create<Array>("total", 1);
  const index_t count = mebi / 4;  // 1 MiB each, 64 of them, 4 MiB of memory

  for (int k = 0; k < 64; ++k) {
    const auto& queue = queues[k % 2];
    const auto x = create<Array>("x", count, uninitialized, on(queue));
    deep_copy(queue, x, k);
    parallel_for(
        on(queue), 1,
        with([](index_t, const Array& u,
                const Array& sum) { __atomic_fetch_add(&sum(0), u(u.extent(0) - 1), __ATOMIC_RELAXED); },
             x, total));
  }
  wait(Emulated{});

  EXPECT_EQ(elements(total)[0], 63 * 64 / 2);
  EXPECT_LE(emulated::peak(0), 4 * mebi);
  EXPECT_GT(emulated::peak(0), 2 * mebi) << "nothing overlapped";
}

TEST_F(EmulatedFreeing, ThreadsMayAllocateLaunchAndFreeAtOnce) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;

  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t, &wrong] {
      const Emulated device(t % 2);
      const Queue<Emulated> queue(device);
      const auto host = create<HostArray>("host", n);
      for (int k = 0; k < 40; ++k) {
        {
          const auto x = create<Array>("x", n, uninitialized, on(queue));
          parallel_for(on(queue), n, with(SetAll{t * 1000 + k}, x));
          deep_copy(queue, host, x);
        }
        queue.wait();
        for (int i = 0; i < n; ++i)
          if (host(i) != t * 1000 + k) wrong.fetch_add(1);
      }
    });
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(wrong.load(), 0);
}

// ---- the end of the process

using EmulatedFreeingDeathTest = EmulatedFreeing;

// Static views of both kinds of lifetime: made before the device started, and after.
TEST_F(EmulatedFreeingDeathTest, StaticViewsAreFreedAfterTheRuntimeHasEnded) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");

  EXPECT_EXIT(
      {
        static Array early;
        early = create<Array>("early", n);
        static const Array late = create<Array>("late", n);
        parallel_for(n, with(SetAll{1}, early));
        finalize();
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
