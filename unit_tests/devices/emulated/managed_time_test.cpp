// Virtual time of managed memory: faults and prefetches to the digit, however fast the host enqueues.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <mutex>

#include <strata/core/profiling/hooks.hpp>
#include <strata/devices/emulated/timeline.hpp>

#include "devices/emulated/managed.hpp"

namespace {

using namespace emulated_testing;

class EmulatedManagedTime : public ManagedTest {
 protected:
  void SetUp() override {
    ManagedTest::SetUp();
    emulated::reset_time();
  }
};

TEST_F(EmulatedManagedTime, FaultsOfAKernelDelayItsEndAndThoseOfTheHostItsClock) {
  const SharedArray x = pages(8);
  const Queue<Emulated> queue;

  parallel_for(on(queue), 4, AddEvery{x.in(Emulated{}), 2 * per_page});
  queue.wait();
  EXPECT_EQ(emulated::now(), 4 * item + 4 * (fault + up));

  EXPECT_EQ(x[0] + x[per_page] + x[2 * per_page], 2);
  EXPECT_EQ(emulated::now(), 4 * item + 4 * (fault + up) + 2 * (fault + down));

  parallel_for(on(queue), 3, AddEvery{x.in(Emulated{}), 2 * per_page});
  queue.wait();
  EXPECT_EQ(emulated::now(), 7 * item + 6 * (fault + up) + 2 * (fault + down));
}

TEST_F(EmulatedManagedTime, PagesBetweenInstancesTakeTheirLinkOrTheWayOverTheHost) {
  for (const bool linked : {true, false}) {
    emulated::Config config = emulated::config();
    if (!linked) config.peer_bandwidth = 0;
    emulated::configure(config);
    const SharedArray x = pages(1);
    const Queue<Emulated> first(Emulated{0}), second(Emulated{1});

    parallel_for(on(first), 1, AddEvery{x.in(Emulated{0}), 1});
    first.wait();
    parallel_for(on(second), 1, AddEvery{x.in(Emulated{1}), 1});
    second.wait();

    EXPECT_EQ(emulated::now(), 2 * item + 2 * fault + up + (linked ? peer : down + up));
  }
}

// The same end, whether the work before has run when the next is enqueued or has not begun.
TEST_F(EmulatedManagedTime, IsTheSameHoweverFarTheQueuesHadCome) {
  for (const bool held : {false, true}) {
    const SharedArray x = pages(8);
    const Queue<Emulated> first(Emulated{0}), second(Emulated{1});
    emulated::reset_time();
    Gate gate;

    gate.hold(first);
    if (!held) gate.open();
    const auto drain = [&] {
      while (!held && !first.idle()) std::this_thread::yield();
    };
    parallel_for(on(first), 4, AddEvery{x.in(Emulated{0}), per_page});
    drain();
    const auto event = first.record();
    parallel_for(on(first), 2, AddEvery{x.in(Emulated{0}) + 4 * per_page, per_page});
    drain();
    second.wait_for(event);
    parallel_for(on(second), 1, AddEvery{x.in(Emulated{1}) + 7 * per_page, 1});
    gate.open();

    second.wait();
    const double event_end = 5 * item + 4 * (fault + up);
    EXPECT_EQ(emulated::now(), event_end + item + fault + up);
    first.wait();
    EXPECT_EQ(emulated::now(), event_end + 2 * item + 2 * (fault + up));
  }
}

TEST_F(EmulatedManagedTime, AQueueThatWouldWaitInAnyCaseDoesNotLag) {
  const SharedArray x = pages(4);
  const auto own = create<Array>("own", 1, uninitialized);
  const Queue<Emulated> first(Emulated{0}), second(Emulated{1});
  emulated::reset_time();

  parallel_for(on(first), 1, AddEvery{x.in(Emulated{0}), 1});
  parallel_for(on(second), 100, AddEvery{x.in(Emulated{1}) + per_page, 1});
  const auto event = second.record();
  first.wait_for(event);
  parallel_for(on(first), 1, with(SetAll{1}, own));
  first.wait();

  EXPECT_EQ(emulated::now(), 101 * item + fault + up) << "the faults of `first` were over long before";
  second.wait();
}

// What `first` lags by when the block is freed, or the wait begins, is over before its kernel begins.
TEST_F(EmulatedManagedTime, FreedBlocksAndWaitsDoNotWaitForALagThatIsOver) {
  const auto own = create<Array>("own", 1, uninitialized);
  const index_t used = emulated::used(0);
  for (const bool by_instance : {true, false}) {
    const SharedArray x = pages(1);
    const Queue<Emulated> first(Emulated{0}), second(Emulated{1});
    emulated::reset_time();
    Gate gate;

    parallel_for(on(first), 1, AddEvery{x.in(Emulated{0}), 1});
    while (!first.idle()) std::this_thread::yield();
    gate.hold(second);
    parallel_for(on(second), 100, [](index_t) {});
    first.wait_for(second.record());
    parallel_for(on(first), 1, with(SetAll{1}, own));
    { const auto freed = create<Array>("freed", 1, uninitialized); }
    EXPECT_GT(emulated::used(0), used) << "while work is under way";
    gate.open();
    if (by_instance) wait(Emulated{0}), wait(Emulated{1});
    else first.wait(), second.wait();

    EXPECT_EQ(emulated::now(), 102 * item);
    EXPECT_EQ(emulated::used(0), used);
  }
}

// The kernel of `second` waits for its engine longer than for the pages of `first`.
TEST_F(EmulatedManagedTime, WorkThatWaitsForItsEngineDoesNotLagLonger) {
  for (const bool is_over : {false, true}) {
    const SharedArray x = pages(1);
    const Queue<Emulated> first(Emulated{0}), second(Emulated{1}), busy(Emulated{1});
    emulated::reset_time();

    parallel_for(on(busy), 20, [](index_t) {});
    parallel_for(on(first), 1, AddEvery{x.in(Emulated{0}), 1});
    const Event event = first.record();
    while (is_over && !event.complete()) std::this_thread::yield();
    second.wait_for(event);
    parallel_for(on(second), 1, [](index_t) {});
    second.wait();

    EXPECT_EQ(emulated::now(), 21 * item)
        << (is_over ? "the pages had come" : "the pages may be on their way");
    first.wait();
    busy.wait();
  }
}

TEST_F(EmulatedManagedTime, FreedBlocksDoNotWaitForPagesOfLaterKernels) {
  const SharedArray x = pages(4);
  const Queue<Emulated> queue;
  auto block = create<Array>("block", 1, uninitialized);
  emulated::reset_time();
  Gate gate;

  gate.hold(queue);
  block = Array();
  parallel_for(on(queue), 4, AddEvery{x.in(Emulated{}), per_page});
  gate.open();
  while (!queue.idle()) std::this_thread::yield();
  emulated::advance(item);

  EXPECT_EQ(emulated::used(0), 0);
  queue.wait();
}

// The second block gets free an item later than the first, though that is not known yet.
TEST_F(EmulatedManagedTime, AllocationsWaitForTheBlockThatWasFreedFirst) {
  const auto a_third = [] { return create<Array>("a third", 5 * mebi / 16, uninitialized); };
  const SharedArray x = pages(1);
  const Queue<Emulated> queue;
  auto first = a_third(), second = a_third();
  const auto third = a_third();
  emulated::reset_time();
  Gate gate;

  parallel_for(on(queue), 1, AddEvery{x.in(Emulated{}), 1});
  while (!queue.idle()) std::this_thread::yield();
  first = Array();
  gate.hold(queue);
  second = Array();
  std::jthread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  const auto fourth = a_third();
  opener.join();

  EXPECT_EQ(emulated::now(), item + fault + up);
  queue.wait();
}

TEST_F(EmulatedManagedTime, WaitsForEventsAndInstancesMoveTheClockToTheLatestEnd) {
  const SharedArray x = pages(4);
  const Queue<Emulated> queue;

  parallel_for(on(queue), 2, AddEvery{x.in(Emulated{}), per_page});
  const auto event = queue.record();
  event.wait();
  EXPECT_EQ(emulated::now(), 2 * item + 2 * (fault + up));

  parallel_for(on(queue), 2, AddEvery{x.in(Emulated{}) + 2 * per_page, per_page});
  wait(Emulated{});
  EXPECT_EQ(emulated::now(), 4 * item + 4 * (fault + up));
}

TEST_F(EmulatedManagedTime, APrefetchTakesACopyOfThePagesThatAreElsewhere) {
  emulated::Config config = emulated::config();
  config.copy_latency = 0x1p-6;
  emulated::configure(config);
  const SharedArray x = pages(8);
  const Queue<Emulated> queue;
  emulated::keep_trace(true);

  prefetch(queue, x.range(0, 6 * per_page, true, true));
  queue.wait();
  const double first = 0x1p-6 + 6 * up;
  EXPECT_EQ(emulated::now(), first);
  prefetch(queue, x.range(0, 6 * per_page, true, true));
  queue.wait();
  EXPECT_EQ(emulated::now(), first) << "all were there";
  prefetch(queue, x.range(4 * per_page, 4 * per_page, true, true));
  parallel_for("add", on(queue), 8, AddEvery{x.in(Emulated{}), per_page});
  queue.wait();
  EXPECT_EQ(emulated::now(), first + 0x1p-6 + 2 * up + 8 * item);
  const double before = emulated::now();
  prefetch(queue, x.range(0, 8 * per_page, true, false), true);
  queue.wait();
  EXPECT_EQ(emulated::now(), before + 0x1p-6 + 8 * down);
  EXPECT_MOVES(x, 0, 0, 0);

  std::vector<emulated::Operation> work;
  for (const emulated::Operation& each : emulated::trace())
    if (each.engine != "host") work.push_back(each);
  ASSERT_EQ(work.size(), 4u);
  EXPECT_EQ(work[0].engine, "upload 0");
  EXPECT_EQ(work[0].bytes, std::size_t(6 * page));
  EXPECT_EQ(work[0].end, first);
  EXPECT_EQ(work[3].engine, "download 0");
  EXPECT_EQ(work[3].start, before);
  for (const emulated::Operation& each : work)
    if (each.label == "add") {
      EXPECT_EQ(each.start, first + 0x1p-6 + 2 * up) << "after the second prefetch";
    }
}

TEST_F(EmulatedManagedTime, ListenersLearnTheTimesWithFaultsAndPrefetches) {
  struct Times : Listener {
    std::mutex mutex;
    std::vector<std::string> labels;
    std::vector<detail::TimeSpan> spans;
    std::vector<std::size_t> bytes;
    void on_event(const HookEvent& event) override {
      if (event.kind != EventKind::DeviceTime) return;
      const std::lock_guard lock(mutex);
      labels.push_back(event.label);
      spans.push_back({event.begin_seconds, event.end_seconds});
      bytes.push_back(event.bytes);
    }
  } times;
  const SharedArray x = pages(4);
  const Queue<Emulated> queue;

  add_listener(times);
  prefetch(queue, x.range(0, 2 * per_page, true, true));
  prefetch(queue, x.range(0, 2 * per_page, true, true));
  parallel_for("add", on(queue), 4, AddEvery{x.in(Emulated{}), per_page});
  queue.wait();
  remove_listener(times);

  EXPECT_EQ(times.labels, (std::vector<std::string>{"prefetch", "add"})) << "the second had nothing to do";
  EXPECT_EQ(times.bytes, (std::vector<std::size_t>{2 * page, 0}));
  EXPECT_EQ(times.spans,
            (std::vector<detail::TimeSpan>{{0, 2 * up}, {2 * up, 4 * up + 2 * fault + 4 * item}}));
}

TEST_F(EmulatedManagedTime, WhatIsOnlyWrittenMovesNothingButPagesInPart) {
  const SharedArray x = pages(8);
  x[0] = 5;
  const Queue<Emulated> queue;

  EXPECT_EQ(prefetch(queue, x.range(per_page / 2, 4 * per_page, false, true)), std::size_t(5 * page));
  queue.wait();

  EXPECT_EQ(emulated::now(), 2 * up) << "the first page and the last are written in part";
  parallel_for(on(queue), 5, AddEvery{x.in(Emulated{}), per_page});
  queue.wait();
  EXPECT_MOVES(x, 0, 0, 0);
  EXPECT_EQ(x[0], 6);
}

TEST_F(EmulatedManagedTime, WritesToSharedPagesMoveNoBytes) {
  const SharedArray x = pages(4);
  const Queue<Emulated> queue;
  prefetch(queue, x.range(0, 4 * per_page, true, false, true));
  queue.wait();
  EXPECT_EQ(emulated::now(), 4 * up);

  parallel_for(on(queue), 4, AddEvery{x.in(Emulated{}), per_page});
  queue.wait();

  EXPECT_EQ(emulated::now(), 4 * up + 4 * item + 4 * fault);
  EXPECT_MOVES(x, 4, 0, 0);
}

TEST_F(EmulatedManagedTime, EvictedPagesCostTheKernelThatNeededTheRoom) {
  emulated::set_capacity(0, 2 * page);
  const SharedArray x = pages(2), y = pages(1);
  const Queue<Emulated> queue;
  prefetch(queue, x.range(0, 2 * per_page, true, true));
  queue.wait();
  const double before = emulated::now();

  parallel_for(on(queue), 1, AddEvery{y.in(Emulated{}), 1});
  queue.wait();

  EXPECT_EQ(emulated::now(), before + item + fault + up + down);
  emulated::set_capacity(0, 4 * mebi);
}

}  // namespace
