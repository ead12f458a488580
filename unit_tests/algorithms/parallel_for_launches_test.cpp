// Launches by parallel_for: what listeners hear of them, on which queue and instance they run, how long
// their views live; kernels that touch the host.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "parallel_for_suite.hpp"

namespace {

using namespace parallel_for_tests;

struct CopyTo {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) = x(i); }
};

template <class D>
class ParallelForLaunches : public ::testing::Test {};
TYPED_TEST_SUITE(ParallelForLaunches, TestDevices, DeviceName);

struct KeepEvents : Listener {
  struct Kept {
    EventKind kind;
    std::string name, device;
    int instance;
    std::uint64_t queue, id;
    std::int64_t items;
  };
  std::vector<Kept> kept;

  KeepEvents() { add_listener(*this); }
  ~KeepEvents() override { remove_listener(*this); }
  void on_event(const HookEvent& e) override {
    if (e.kind == EventKind::BeginFor || e.kind == EventKind::EndFor)
      kept.push_back({e.kind, kernel_name(e), e.device, e.instance, e.queue, e.id, e.items});
  }
};

TYPED_TEST(ParallelForLaunches, TellsListenersLabelDeviceQueueAndItems) {
  using D = TypeParam;
  const auto x = create<Vector<index_t, D>>("x", 20 + 2 * margin);
  const Queue<D> queue;
  KeepEvents events;

  parallel_for("named", range(3, 20), CountCallsByAuto<D>{x, 3});
  parallel_for(20, CountCallsByAuto<D>{x, 0});
  parallel_for("on a queue", on(queue), 20, CountCallsByAuto<D>{x, 0});
  queue.wait();
  wait(D{});

  ASSERT_EQ(events.kept.size(), 6U);
  EXPECT_EQ(events.kept[0].kind, EventKind::BeginFor);
  EXPECT_EQ(events.kept[1].kind, EventKind::EndFor);
  EXPECT_EQ(events.kept[0].name, "named");
  EXPECT_EQ(events.kept[0].device, device_name<D>());
  EXPECT_EQ(events.kept[0].instance, 0);
  EXPECT_EQ(events.kept[0].queue, 0U);
  EXPECT_EQ(events.kept[0].items, 17);
  EXPECT_EQ(events.kept[0].id, events.kept[1].id);
  EXPECT_NE(events.kept[2].name.find("CountCallsByAuto"), std::string::npos) << events.kept[2].name;
  EXPECT_NE(events.kept[2].id, events.kept[0].id);
  EXPECT_EQ(events.kept[4].name, "on a queue");
  EXPECT_EQ(events.kept[4].queue, queue.state().id());
}

TYPED_TEST(ParallelForLaunches, WorkOnOneQueueRunsInOrder) {
  using D = TypeParam;
  const Queue<D> queue;
  const auto x = create<Vector<std::int64_t, D>>("x", 1021);

  for (int step = 0; step < 20; ++step)
    parallel_for(on(queue), 1021, [=] STRATA_FUNCTION(int i) { x(i) = 2 * x(1020 - (1020 - i)) + step + i; });
  queue.wait();

  std::vector<std::int64_t> expected(1021, 0);
  for (int step = 0; step < 20; ++step)
    for (int i = 0; i < 1021; ++i)
      expected[static_cast<std::size_t>(i)] = 2 * expected[static_cast<std::size_t>(i)] + step + i;
  EXPECT_EQ(values_of(x), expected);
}

TYPED_TEST(ParallelForLaunches, QueuesWaitForEventsOfOtherQueues) {
  using D = TypeParam;
  const Queue<D> producer, consumer;
  const auto x = create<Vector<int, D>>("x", 600);
  const auto y = create<Vector<int, D>>("y", 600);

  for (int round = 1; round <= 10; ++round) {
    parallel_for(on(producer), 600, [=] STRATA_FUNCTION(int i) { x(i) = round * 1000 + i; });
    consumer.wait_for(producer.record());
    parallel_for(on(consumer), 600, [=] STRATA_FUNCTION(int i) { y(i) += x(599 - i); });
    producer.wait_for(consumer.record());
  }
  consumer.wait();

  const auto result = values_of(y);
  for (int i = 0; i < 600; ++i) ASSERT_EQ(result[static_cast<std::size_t>(i)], 55 * 1000 + 10 * (599 - i));
}

TYPED_TEST(ParallelForLaunches, SeveralQueuesWorkWithoutEachOther) {
  using D = TypeParam;
  std::vector<Queue<D>> queues;
  std::vector<Vector<int, D>> arrays;
  for (int q = 0; q < 5; ++q) {
    queues.emplace_back();
    arrays.push_back(create<Vector<int, D>>("x", 700));
  }

  for (int round = 0; round < 8; ++round)
    for (std::size_t q = 0; q < 5; ++q) {
      const auto x = arrays[q];
      parallel_for(on(queues[q]), 700, [=] STRATA_FUNCTION(int i) { x(i) += static_cast<int>(q) + i; });
    }
  for (const auto& queue : queues) queue.wait();

  for (std::size_t q = 0; q < 5; ++q) {
    const auto result = values_of(arrays[q]);
    for (int i = 0; i < 700; ++i)
      ASSERT_EQ(result[static_cast<std::size_t>(i)], 8 * (static_cast<int>(q) + i));
  }
}

TYPED_TEST(ParallelForLaunches, KeepsTheCountsOfItsViewsOnTheHost) {
  using D = TypeParam;
  const auto x = create<Vector<index_t, D>>("x", 1021 + 2 * margin);
  const CountCalls<D, int> kernel{x, 0};

  parallel_for(1021, kernel);
  const long while_queued = x.use_count();
  wait(D{});

  EXPECT_EQ(while_queued, 2);
  EXPECT_EQ(x.use_count(), 2);
}

// One item that takes some milliseconds.
template <class D>
struct Delay {
  using device_type = D;
  Vector<std::uint64_t, D> state;
  STRATA_FUNCTION void operator()(int i) const {
    for (int k = 0; k < 1000000; ++k) state(i) = mix(state(i));
  }
};

TYPED_TEST(ParallelForLaunches, ViewsMayDieWhileTheirKernelIsBehindASlowOne) {
  using D = TypeParam;
  constexpr index_t n = 4096;
  const auto y = create<Vector<int, D>>("y", n);
  const auto state = create<Vector<std::uint64_t, D>>("state", 1);
  const Queue<D> other;

  {
    const auto x = make_vector<int, D>(n, [](index_t i) { return i; });
    parallel_for(1, Delay<D>{state});
    parallel_for(on(D{}), n, [=] STRATA_FUNCTION(int i) { y(i) = x(i); });
  }
  // Were the block of x given away now, this would fill it before the kernel reads it.
  const auto z = create<Vector<int, D>>("z", n, uninitialized, on(other));
  deep_copy(other, z, -1);
  other.wait();

  const auto result = values_of(y);
  for (index_t i = 0; i < n; ++i) ASSERT_EQ(result[static_cast<std::size_t>(i)], i);
}

template <class D>
using AnotherMemory = std::conditional_t<D::memory_space::host_accessible, Emulated, Serial>;

TYPED_TEST(ParallelForLaunches, RefusesAtTheLaunchViewsOfAnotherMemoryAndNamesBoth) {
  using D = TypeParam;
  const auto x = create<Vector<int, AnotherMemory<D>>>("far away", 8);

  try {
    parallel_for("reader", on(D{}), 8, [=] STRATA_FUNCTION(int i) { x(i) = i; });
    FAIL() << "the launch was accepted";
  } catch (const WrongDevice& e) {
    const std::string message = e.what();
    for (const char* part : {"reader", device_name<D>(), "far away", AnotherMemory<D>::memory_space::kind})
      EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
  }
  wait(D{});
}

TEST(ParallelForOnEmulated, GoesToTheInstanceOfItsViews) {
  if (Emulated::count() < 2) GTEST_SKIP() << "one instance only";
  const Emulated second(1);
  const auto x = create<Vector<index_t, Emulated>>("x", 100 + 2 * margin, on(second));
  const auto y = create<Vector<index_t, Emulated>>("y", 100 + 2 * margin);
  KeepEvents events;

  parallel_for(100, CountCallsByAuto<Emulated>{x, 0});
  wait(second);
  EXPECT_THROW(parallel_for(on(Emulated(0)), 100, CountCallsByAuto<Emulated>{x, 0}), WrongDevice);
  EXPECT_THROW(parallel_for(100, with(CopyTo{}, x, y)), WrongDevice);

  ASSERT_EQ(events.kept.size(), 2U);
  EXPECT_EQ(events.kept[0].instance, 1);
  const auto host = create_mirror(x);
  deep_copy(host, x);
  for (index_t i = 0; i < 100; ++i) EXPECT_EQ(host(i + margin), i + thousand);
}

// ---- kernels that touch the host

#ifndef __CUDACC__

template <class D>
class ParallelForOnHostThreads : public ::testing::Test {};
TYPED_TEST_SUITE(ParallelForOnHostThreads, HostThreadDevices, DeviceName);

TYPED_TEST(ParallelForOnHostThreads, CallsLambdasThatTakeAnyIndex) {
  using D = TypeParam;
  const auto x = create<Vector<index_t, D>>("x", 513);

  parallel_for(on(D{}), range(2, 513), [=](auto i) { x(i) = index_t(i) + 1; });

  const auto xs = values_of(x);
  for (int i = 0; i < 513; ++i) ASSERT_EQ(xs[static_cast<std::size_t>(i)], i < 2 ? 0 : i + 1);
}

TYPED_TEST(ParallelForOnHostThreads, NeverTouchesTheCountsOfItsViews) {
  using D = TypeParam;
  const auto x = create<Vector<long, D>>("x", 1021);
  const auto counts = create<Vector<long, D>>("counts", 1021);
  const Vector<long, D>* const outside = &x;

  // The copies that the device works on are not counted; those of the host are: here, in the lambda, and,
  // until the launch returns, in what it hands to the device.
  const auto kernel = [=](int i) {
    const auto copy = x;
    copy(i) = copy.use_count();
    counts(i) = outside->use_count();
  };
  EXPECT_EQ(x.use_count(), 2);
  parallel_for(on(D{}), 1021, kernel);
  const long while_queued = x.use_count();

  for (const long seen : values_of(x)) ASSERT_EQ(seen, 0);
  for (const long seen : values_of(counts)) ASSERT_TRUE(seen == 2 || seen == 3) << seen;
  EXPECT_EQ(while_queued, 2);
  EXPECT_EQ(x.use_count(), 2);
}

TYPED_TEST(ParallelForOnHostThreads, ViewsMayDieWhileTheirKernelIsQueued) {
  using D = TypeParam;
  constexpr index_t n = 4096;
  const auto y = create<Vector<int, D>>("y", n);
  std::atomic<bool> gate = !is_asynchronous<D>;
  std::atomic<bool>* const open = &gate;
  const Queue<D> other;

  {
    const auto x = make_vector<int, D>(n, [](index_t i) { return i; });
    parallel_for(on(D{}), 1, [=](int) {
      while (!open->load()) std::this_thread::yield();
    });
    parallel_for(on(D{}), n, [=](int i) { y(i) = x(i); });
  }
  // Were the block of x given away now, this would fill it before the kernel reads it.
  const auto z = create<Vector<int, D>>("z", n, uninitialized, on(other));
  deep_copy(other, z, -1);
  other.wait();
  gate = true;

  const auto result = values_of(y);
  for (index_t i = 0; i < n; ++i) ASSERT_EQ(result[static_cast<std::size_t>(i)], i);
}

TYPED_TEST(ParallelForOnHostThreads, LaunchesInsideAKernelOfAHostDeviceRunToTheEnd) {
  using D = TypeParam;
  if constexpr (is_asynchronous<D>) {
    GTEST_SKIP() << "kernels of this device launch nothing";
  } else {
    constexpr int rows = 37, columns = 1021;
    const auto x = create<MDArray<int, D, columns>>("x", rows);
    const auto sums = create<Vector<int, D>>("sums", rows);

    parallel_for(on(D{}), rows, [=](int row) {
      parallel_for(on(D{}), columns, [=](int column) { x(row, column) += row + column; });
      int sum = 0;
      parallel_reduce(
          on(D{}), columns, [=](int column, int& s) { s += x(row, column); }, Sum(sum));
      sums(row) = sum;
    });

    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < columns; ++column) ASSERT_EQ(x(row, column), row + column);
      EXPECT_EQ(sums(row), columns * row + columns * (columns - 1) / 2);
    }
  }
}

TEST(ParallelForOnThreads, NestedLaunchesStayOnTheThreadOfTheirKernel) {
  std::atomic<int> elsewhere = 0;

  parallel_for(on(Threads{}), 64, [&](int) {
    const auto outer = std::this_thread::get_id();
    parallel_for(on(Threads{}), 1000, [&](int) { elsewhere += std::this_thread::get_id() != outer; });
  });

  EXPECT_EQ(elsewhere, 0);
}

#endif

}  // namespace
