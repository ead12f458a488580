// Queues of Emulated: asynchronous, in order, where launches go, and copies between memories.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <thread>
#include <vector>

#include <strata/devices/emulated/calls.hpp>

#include "devices/emulated/fixture.hpp"

namespace {

using namespace emulated_testing;

class EmulatedQueue : public EmulatedTest {};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// ---- asynchrony and order

TEST_F(EmulatedQueue, LaunchReturnsBeforeTheKernelIsDone) {
  const Queue<Emulated> queue;
  Gate gate;

  gate.hold(queue);
  gate.wait_until_reached();

  EXPECT_FALSE(queue.idle());
  gate.open();
  queue.wait();
  EXPECT_TRUE(queue.idle());
}

TEST_F(EmulatedQueue, WorkOfOneQueueIsDoneInOrder) {
  const Queue<Emulated> queue;
  const auto x = create<Array>("x", 100);
  Gate gate;

  gate.hold(queue);
  for (int k = 1; k <= 10; ++k) {
    parallel_for(on(queue), 100, with(AddAll{k}, x));
    deep_copy(queue, x, k);
  }
  parallel_for(on(queue), 100, with(AddAll{5}, x));
  gate.open();
  queue.wait();

  EXPECT_EQ(elements(x), std::vector<int>(100, 15));
}

// Also at once after a wait for its event: configure() and reset_time() refuse queues that are not idle.
TEST_F(EmulatedQueue, IsIdleWhenItsLastEventIsCompleteAndOnlyThen) {
  const Queue<Emulated> queue;
  const auto x = create<Array>("x", 1);
  int busy = 0;
  for (int k = 0; k < 4000; ++k) {
    parallel_for(on(queue), 1, with(AddAll{1}, x));
    const strata::Event event = queue.record();
    if (k % 2 == 0) {
      event.wait();
      busy += queue.idle() ? 0 : 1;
    } else {
      while (!queue.idle()) std::this_thread::yield();
      busy += event.complete() ? 0 : 1;
    }
  }
  EXPECT_EQ(busy, 0);
  EXPECT_EQ(elements(x), std::vector<int>(1, 4000));
}

TEST_F(EmulatedQueue, AnEventIsTheEndOfItsQueueUntilMoreIsEnqueued) {
  const Queue<Emulated> queue, other;
  const auto x = create<Array>("x", 10);
  for (const bool is_idle : {true, false}) {
    Gate gate;
    if (!is_idle) gate.hold(queue);
    const Event event = queue.record();
    EXPECT_TRUE(event.state()->is_end());

    parallel_for(on(other), 10, with(AddAll{1}, x));
    EXPECT_TRUE(event.state()->is_end());
    parallel_for(on(queue), 10, with(AddAll{1}, x));
    EXPECT_FALSE(event.state()->is_end());
    gate.open();
    queue.wait();
    other.wait();
    EXPECT_FALSE(event.state()->is_end());
  }
}

TEST_F(EmulatedQueue, CallsAreCounted) {
  const Queue<Emulated> queue, other;
  const emulated::Calls before = emulated::calls();

  const auto x = create<Array>("x", 10, uninitialized);
  const auto y = create<Array>("y", 10, uninitialized);
  parallel_for(on(queue), 10, with(AddAll{1}, x));
  deep_copy(queue, x, 1);
  deep_copy(queue, y, x);
  const Event event = queue.record();
  other.wait_for(event);
  queue.wait_for(event);  // its order is enough
  static_cast<void>(event.complete());
  event.wait();
  queue.wait();

  EXPECT_EQ(emulated::calls() - before, (emulated::Calls{.kernels = 1,
                                                         .copies = 2,
                                                         .records = 1,
                                                         .queue_waits = 1,
                                                         .queries = 1,
                                                         .host_waits = 2,
                                                         .allocations = 2}));
  other.wait();
}

TEST_F(EmulatedQueue, CopyOfAnotherQueueOverlapsAKernel) {
  const Queue<Emulated> compute, transfer;
  const auto x = create<Array>("x", 10);
  Gate gate;

  gate.hold(compute);
  gate.wait_until_reached();
  deep_copy(transfer, x, 7);
  transfer.wait();  // would hang if it waited for the kernel

  EXPECT_FALSE(compute.idle());
  gate.open();
  compute.wait();
  EXPECT_EQ(elements(x), std::vector<int>(10, 7));
}

TEST_F(EmulatedQueue, KernelsOfDifferentInstancesOverlap) {
  const Queue<Emulated> first(Emulated{0}), second(Emulated{1});
  std::atomic<int> arrived{0};
  const auto meet = [&arrived](index_t) {
    arrived.fetch_add(1);
    while (arrived.load() < 2) std::this_thread::yield();
  };

  parallel_for(on(first), 1, meet);
  parallel_for(on(second), 1, meet);
  first.wait();  // either would hang if they took turns
  second.wait();

  EXPECT_EQ(arrived.load(), 2);
}

TEST_F(EmulatedQueue, WaitForAnInstanceWaitsForAllItsQueuesAndNoOther) {
  const Queue<Emulated> first(Emulated{0}), second(Emulated{0}), other(Emulated{1});
  const auto x = create<Array>("x", 4, on(Emulated{0})), y = create<Array>("y", 4, on(Emulated{0}));
  Gate gate;

  gate.hold(other);
  parallel_for(on(first), 4, with(SetAll{1}, x));
  parallel_for(on(second), 4, with(SetAll{2}, y));
  wait(Emulated{0});

  EXPECT_TRUE(first.idle());
  EXPECT_TRUE(second.idle());
  EXPECT_FALSE(other.idle());
}

TEST_F(EmulatedQueue, WorkGoesOnWhenTheHandleIsGone) {
  const auto x = create<Array>("x", 1000);
  Gate gate;
  {
    const Queue<Emulated> queue;
    gate.hold(queue);
    parallel_for(on(queue), 1000, with(SetAll{3}, x));
  }

  gate.open();
  wait(Emulated{0});  // the queue without a handle, too

  EXPECT_EQ(elements(x), std::vector<int>(1000, 3));
}

TEST_F(EmulatedQueue, ManyThreadsMaySubmitToTheDefaultQueue) {
  const auto x = create<Array>("x", 64);
  std::vector<std::thread> threads;

  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&x] {
      const auto mine = x;
      for (int k = 0; k < 50; ++k) parallel_for(64, with(AddAll{1}, mine));
    });
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(elements(x), std::vector<int>(64, 400));
}

TEST_F(EmulatedQueue, WaitInsideAKernelIsAnErrorAndNoDeadlock) {
  const Queue<Emulated> queue;

  parallel_for("waits for itself", on(queue), 1, [&queue](index_t) { queue.wait(); });

  EXPECT_TRUE(contains(message_of<Error>([&] { queue.wait(); }), "inside a kernel on Emulated"));
}

// ---- where launches go

TEST_F(EmulatedQueue, LaunchWithoutAQueueGoesToTheInstanceOfItsViews) {
  const auto x = create<Array>("x", 10, on(Emulated{2}));
  Gate gate;

  gate.hold(default_queue(Emulated{2}));
  parallel_for(10, with(SetAll{4}, x));

  EXPECT_TRUE(default_queue(Emulated{0}).idle());
  EXPECT_FALSE(default_queue(Emulated{2}).idle());
  gate.open();
  EXPECT_EQ(elements(x), std::vector<int>(10, 4));
}

TEST_F(EmulatedQueue, OnAQueueOfAnotherInstanceRunsThere) {
  const Queue<Emulated> queue(Emulated{1});
  const auto x = create<Array>("x", 10, on(queue));

  parallel_for(on(queue), 10, with(SetAll{4}, x));
  queue.wait();

  EXPECT_EQ(x.allocation().get()->space, (SpaceId{EmulatedSpace::kind, 1}));
  EXPECT_EQ(elements(x), std::vector<int>(10, 4));
}

TEST_F(EmulatedQueue, LaunchElsewhereNamesTheLabelAndBothInstances) {
  const auto x = create<Array>("far away", 10, on(Emulated{1}));

  for (const auto& where : {on(Emulated{0}), on(Queue<Emulated>(Emulated{0}))}) {
    const std::string text =
        message_of<WrongDevice>([&] { parallel_for("my kernel", where, 10, with(SetAll{4}, x)); });

    EXPECT_TRUE(contains(text, "my kernel")) << text;
    EXPECT_TRUE(contains(text, "launched on Emulated{0}")) << text;
    EXPECT_TRUE(contains(text, "\"far away\" lives in Emulated{1}")) << text;
  }
}

TEST_F(EmulatedQueue, MixedInstancesAreAnErrorThatNamesTheViewThatIsElsewhere) {
  const auto x = create<Array>("x here", 10, on(Emulated{0}));
  const auto y = create<Array>("y there", 10, on(Emulated{1}));
  const auto both = [](index_t i, const Array& a, const Array& b) { a(i) = b(i); };

  const std::string anywhere = message_of<WrongDevice>([&] { parallel_for(10, with(both, x, y)); });
  const std::string on_second =
      message_of<WrongDevice>([&] { parallel_for(on(Emulated{1}), 10, with(both, x, y)); });

  EXPECT_TRUE(contains(anywhere, "launched on Emulated{0}")) << anywhere;
  EXPECT_TRUE(contains(anywhere, "\"y there\" lives in Emulated{1}")) << anywhere;
  EXPECT_TRUE(contains(on_second, "launched on Emulated{1}")) << on_second;
  EXPECT_TRUE(contains(on_second, "\"x here\" lives in Emulated{0}")) << on_second;
}

TEST_F(EmulatedQueue, InstanceThatDoesNotExistIsAnError) {
  EXPECT_TRUE(contains(message_of<NoSuchDevice>([] { Emulated{3}; }), "Emulated{3}: there are 3 instances"));
  EXPECT_THROW(Emulated{-1}, NoSuchDevice);
  EXPECT_EQ(Emulated::count(), 3);
}

TEST_F(EmulatedQueue, DefaultQueueOutlivesAConfigurationWithoutItsInstance) {
  const Queue<Emulated> last = default_queue(Emulated{2});
  emulated::Config fewer = round_config();
  fewer.count = 2;
  emulated::configure(fewer);

  EXPECT_THROW(parallel_for(on(last), 1, [](index_t) {}), NoSuchDevice);
  EXPECT_THROW((void)last.record(), NoSuchDevice);

  emulated::configure(round_config());
  std::atomic<int> calls{0};
  parallel_for(on(last), 8, [&calls](index_t) { calls.fetch_add(1); });
  last.wait();
  EXPECT_EQ(calls.load(), 8);
}

TEST_F(EmulatedQueue, ConfigurationInUseIsNotReplaced) {
  {
    const auto x = create<Array>("still here", 10, on(Emulated{1}));
    const std::string text = message_of<Error>([] { emulated::configure(round_config()); });
    EXPECT_TRUE(contains(text, "Emulated{1}") && contains(text, "\"still here\" 40 bytes")) << text;
  }
  {
    const Queue<Emulated> queue(Emulated{2});
    const std::string text = message_of<Error>([] { emulated::configure(round_config()); });
    EXPECT_TRUE(contains(text, "a queue of Emulated{2} lives")) << text;
  }
  {
    Gate gate;
    gate.hold(default_queue<Emulated>());
    const std::string text = message_of<Error>([] { emulated::configure(round_config()); });
    EXPECT_TRUE(contains(text, "work is under way on Emulated{0}")) << text;
  }
  wait(Emulated{});
  emulated::Config bad = round_config();
  bad.threads = 0;
  EXPECT_THROW(emulated::configure(bad), SettingError);
}

TEST_F(EmulatedQueue, InstancesHaveSpeedsOfTheirOwn) {
  emulated::Config config = round_config();
  config.item_factors = {4, 0.5};
  emulated::configure(config);
  const auto seconds_on = [](int instance) {
    const auto x = create<Array>("x", 1024, on(Emulated{instance}));
    wait(Emulated{instance});
    const double begin = emulated::now();
    parallel_for(1024, with(SetAll{1}, x));
    wait(Emulated{instance});
    return emulated::now() - begin;
  };
  EXPECT_EQ(seconds_on(0), 4);
  EXPECT_EQ(seconds_on(1), 0.5);
  EXPECT_EQ(seconds_on(2), 1);
  for (const std::vector<double>& wrong : {std::vector<double>{-1}, std::vector<double>{1, 1, 1, 1}}) {
    config.item_factors = wrong;
    const std::string text = message_of<SettingError>([&] { emulated::configure(config); });
    EXPECT_TRUE(contains(text, "item_factors")) << text;
  }
}

// ---- copies

TEST_F(EmulatedQueue, CopiesBetweenInstancesWithAndWithoutALink) {
  for (const double bandwidth : {0x1p21, 0.0}) {
    emulated::Config config = round_config();
    config.peer_bandwidth = bandwidth;
    emulated::configure(config);
    const auto x = create<Array>("x", 1000, on(Emulated{0})), y = create<Array>("y", 1000, on(Emulated{1}));
    const Queue<Emulated> source(Emulated{0}), destination(Emulated{1});

    parallel_for(1000, with(SetAll{1}, x));
    deep_copy(y, x);
    EXPECT_EQ(elements(y), std::vector<int>(1000, 1));

    deep_copy(source, x, 2);
    deep_copy(source, y, x);
    source.wait();
    EXPECT_EQ(elements(y), std::vector<int>(1000, 2));

    deep_copy(x, 3);
    deep_copy(destination, y, x);
    destination.wait();
    EXPECT_EQ(elements(y), std::vector<int>(1000, 3));
  }
}

TEST_F(EmulatedQueue, BlockingCopyIsOrderedAfterTheDefaultQueuesOfBothInstances) {
  const auto x = create<Array>("x", 100, on(Emulated{0})), y = create<Array>("y", 100, on(Emulated{1}));
  Gate source_gate, destination_gate;

  source_gate.hold(default_queue(Emulated{0}));
  destination_gate.hold(default_queue(Emulated{1}));
  parallel_for(100, with(SetAll{1}, x));
  parallel_for(100, with(SetAll{2}, y));
  std::thread opener([&] {
    source_gate.wait_until_reached();
    destination_gate.wait_until_reached();
    source_gate.open();
    destination_gate.open();
  });
  deep_copy(y, x);
  opener.join();

  EXPECT_EQ(elements(y), std::vector<int>(100, 1));
}

TEST_F(EmulatedQueue, BlockingCopyWaitsForNoOtherQueue) {
  const Queue<Emulated> other;
  const auto x = create<Array>("x", 10);
  Gate gate;

  gate.hold(other);
  gate.wait_until_reached();
  EXPECT_EQ(elements(x), std::vector<int>(10, 0));

  EXPECT_FALSE(other.idle());
}

TEST_F(EmulatedQueue, CopyOnAQueueThatOwnsNeitherArrayIsAnError) {
  const auto x = create<Array>("x", 10, on(Emulated{0})), y = create<Array>("y", 10, on(Emulated{1}));
  const Queue<Emulated> third(Emulated{2});

  const std::string text = message_of<WrongDevice>([&] { deep_copy(third, y, x); });

  EXPECT_TRUE(contains(text, "Emulated{2}") && contains(text, "Emulated{1}") &&
              contains(text, "Emulated{0}"));
  EXPECT_TRUE(contains(text, "\"x\"") && contains(text, "\"y\"")) << text;
}

TEST_F(EmulatedQueue, HostArraysAreCopiedAsynchronously) {
  using HostArray = MDArray<int, Serial, rank<1>>;
  const Queue<Emulated> queue;
  const auto from = create<HostArray>("from", 1000), to = create<HostArray>("to", 1000);
  const auto x = create<Array>("x", 1000);
  for (int i = 0; i < 1000; ++i) from(i) = i;
  Gate gate;

  gate.hold(queue);
  deep_copy(queue, x, from);
  parallel_for(on(queue), 1000, with(AddAll{1}, x));
  deep_copy(queue, to, x);
  EXPECT_EQ(to(999), 0);
  gate.open();
  queue.wait();

  for (int i = 0; i < 1000; ++i) ASSERT_EQ(to(i), i + 1);
}

// A layout with no more than the concept asks for: copies have to go element by element.
struct Reversed {
  template <class E>
  class mapping {
   public:
    using extents_type = E;
    using index_type = index_t;
    using layout_type = Reversed;
    mapping() = default;
    explicit mapping(const E& extents) : extents_(extents) {}
    const E& extents() const { return extents_; }
    index_t required_span_size() const { return extents_.extent(0) * extents_.extent(1); }
    template <class... I>
    index_t operator()(I... i) const {
      const index_t index[] = {static_cast<index_t>(i)...};
      return required_span_size() - 1 - (index[0] * extents_.extent(1) + index[1]);
    }

   private:
    E extents_{};
  };
};

TEST_F(EmulatedQueue, LayoutsOfOnesOwnAreCopiedByIndexAlsoWhenTheViewIsGone) {
  using Own = View<int, Emulated, MDArray<int, Emulated, rank<2>>::extents_type, Reversed>;
  const Queue<Emulated> queue;
  const auto to = create<MDArray<int, Serial, rank<2>>>("to", 3, 5);
  const auto from = create<MDArray<int, Serial, rank<2>>>("from", 3, 5);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 5; ++j) from(i, j) = 10 * i + j;
  Gate gate;

  gate.hold(queue);
  {
    const auto x = create<Own>("own layout", 3, 5);
    deep_copy(queue, x, from);
    deep_copy(queue, to, x);
  }
  gate.open();
  queue.wait();

  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 5; ++j) EXPECT_EQ(to(i, j), 10 * i + j);
}

}  // namespace
