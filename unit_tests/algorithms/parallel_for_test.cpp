// parallel_for: which indices a kernel is called with, in all the ways a kernel and a range can be written.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "arrays.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class ParallelFor : public ::testing::Test {};
TYPED_TEST_SUITE(ParallelFor, TestDevices, DeviceName);

// Adds i + 1000 at x(i - first + margin): wrong, missing and repeated calls all show.
inline constexpr index_t margin = 16;
inline constexpr index_t mark = 1000;

template <class D, class Index>
struct CountCalls {
  using device_type = D;
  Vector<index_t, D> x;
  index_t first;

  STRATA_FUNCTION void operator()(Index i) const {
    x(static_cast<index_t>(i) - first + margin) += static_cast<index_t>(i) + mark;
  }
};

template <class D>
struct CountCallsByAuto {
  using device_type = D;
  Vector<index_t, D> x;
  index_t first;

  STRATA_FUNCTION void operator()(auto i) const { x(index_t(i) - first + margin) += index_t(i) + mark; }
};

void expect_called_once_each(const std::vector<index_t>& calls, index_t first, index_t last,
                             const std::string& what) {
  for (std::size_t k = 0; k < calls.size(); ++k) {
    const index_t i = static_cast<index_t>(k) - margin + first;
    ASSERT_EQ(calls[k], i >= first && i < last ? i + mark : 0) << what << ", index " << i;
  }
}

template <class D, class Kernel>
void expect_kernel_covers_sizes(const char* what) {
  for (const index_t n : loop_sizes) {
    const auto x = create<Vector<index_t, D>>("x", n + 2 * margin);

    parallel_for(n, Kernel{x, 0});

    expect_called_once_each(values_of(x), 0, n, what + std::string(", n = ") + std::to_string(n));
  }
}

TYPED_TEST(ParallelFor, CallsFunctorsThatTakeIntegersOncePerIndex) {
  expect_kernel_covers_sizes<TypeParam, CountCalls<TypeParam, int>>("int");
  expect_kernel_covers_sizes<TypeParam, CountCalls<TypeParam, index_t>>("index_t");
  expect_kernel_covers_sizes<TypeParam, CountCalls<TypeParam, std::size_t>>("size_t");
  expect_kernel_covers_sizes<TypeParam, CountCalls<TypeParam, typename TypeParam::size_type>>("size_type");
}

TYPED_TEST(ParallelFor, CallsFunctorsThatTakeTheDevicesIndexTypeOncePerIndex) {
  expect_kernel_covers_sizes<TypeParam, CountCalls<TypeParam, typename TypeParam::index_type>>("index_type");
}

TYPED_TEST(ParallelFor, CallsFunctorsThatTakeAnyIndexOncePerIndex) {
  expect_kernel_covers_sizes<TypeParam, CountCallsByAuto<TypeParam>>("auto");
}

TYPED_TEST(ParallelFor, CoversRangesWithOffsetsChunksAndSchedules) {
  using D = TypeParam;
  const Range ranges[] = {range(5, 12),
                          range(1, 8),
                          range(3, 4),
                          range(-700, -3),
                          range(-5, 12),
                          range(-8, 0),
                          range(-513, 513),
                          range(7, 1021),
                          range(0, 1021).chunk(1),
                          range(3, 1021).chunk(5),
                          range(-9, 600).chunk(64),
                          range(0, 100).chunk(1000),
                          range(1, 1021).dynamic(),
                          range(-77, 901).dynamic(3),
                          range(0, 9).dynamic(100)};
  for (const Range& r : ranges) {
    const auto x = create<Vector<index_t, D>>("x", r.size() + 2 * margin);
    const auto y = create<Vector<index_t, D>>("y", r.size() + 2 * margin);

    parallel_for(r, CountCalls<D, int>{x, r.first});
    parallel_for(r, CountCallsByAuto<D>{y, r.first});

    const std::string what = "range " + std::to_string(r.first) + " to " + std::to_string(r.last) +
                             ", chunk " + std::to_string(r.chunk_size);
    expect_called_once_each(values_of(x), r.first, r.last, what);
    expect_called_once_each(values_of(y), r.first, r.last, what + ", auto");
  }
}

TYPED_TEST(ParallelFor, CallsNothingForEmptyRanges) {
  using D = TypeParam;
  for (const Range& r :
       {range(0), range(5, 5), range(7, 3), range(-3, -9), range(-4), range(9, 2).dynamic()}) {
    const auto x = create<Vector<index_t, D>>("x", 2 * margin);

    parallel_for(r, CountCallsByAuto<D>{x, r.first});
    parallel_for(-7, CountCalls<D, int>{x, r.first});

    expect_called_once_each(values_of(x), r.first, r.first, "empty");
  }
}

TYPED_TEST(ParallelFor, TakesNumbersOfAnyIntegerType) {
  using D = TypeParam;
  const auto x = create<Vector<index_t, D>>("x", 9 + 2 * margin);

  parallel_for(static_cast<short>(9), CountCallsByAuto<D>{x, 0});
  parallel_for(9U, CountCallsByAuto<D>{x, 0});
  parallel_for(std::size_t{9}, CountCallsByAuto<D>{x, 0});

  for (auto calls = values_of(x); const index_t i : {0, 4, 8})
    EXPECT_EQ(calls[static_cast<std::size_t>(i + margin)], 3 * (i + mark));
}

struct Axpy {
  double a;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += a * x(i); }
};

// Three views of different element types and ranks, one of constant elements.
struct Convert {
  STRATA_FUNCTION void operator()(auto i, const auto& in, const auto& out, auto factor) const {
    for (int k = 0; k < 3; ++k) out(i, k) = static_cast<float>(in(i)) * *factor + static_cast<float>(k);
  }
};

TYPED_TEST(ParallelFor, CallsKernelsWithTheViewsOfWith) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<double, D>(n, [](index_t i) { return i; });
    const auto y = make_vector<double, D>(n, [](index_t i) { return 3 * i + 1; });

    parallel_for(n, with(Axpy{2}, x, y));

    const auto result = values_of(y);
    for (index_t i = 0; i < n; ++i)
      ASSERT_EQ(result[static_cast<std::size_t>(i)], static_cast<double>(5 * i + 1)) << "n = " << n;
  }
}

TYPED_TEST(ParallelFor, CallsKernelsWithViewsOfDifferentTypesAndRanks) {
  using D = TypeParam;
  constexpr index_t n = 77;
  const auto in = make_vector<int, D>(n, [](index_t i) { return i; });
  const auto out = create<MDArray<float, D, 3>>("out", n);
  const auto factor = create<Value<float, D>>("factor");
  deep_copy(factor, 0.5F);
  const Vector<const int, D> constant = in;

  parallel_for("convert", n, with(Convert{}, constant, out, factor));

  wait(D{});
  const auto result = on_host(out);
  for (index_t i = 0; i < n; ++i)
    for (int k = 0; k < 3; ++k) ASSERT_EQ(result(i, k), static_cast<float>(i) * 0.5F + static_cast<float>(k));
}

TYPED_TEST(ParallelFor, CallsLambdasOnADevice) {
  using D = TypeParam;
  const auto x = create<Vector<index_t, D>>("x", 513);
  const auto y = create<Vector<index_t, D>>("y", 513);

  parallel_for(on(D{}), 513, [=] STRATA_FUNCTION(int i) { x(i) = 7 * i; });
  parallel_for(on(D{}), range(2, 513), [=] STRATA_FUNCTION(index_t i) { y(i) = i + 1; });

  const auto xs = values_of(x), ys = values_of(y);
  for (int i = 0; i < 513; ++i) {
    ASSERT_EQ(xs[static_cast<std::size_t>(i)], 7 * i);
    ASSERT_EQ(ys[static_cast<std::size_t>(i)], i < 2 ? 0 : i + 1);
  }
}

struct Double {};
struct Increment {};

template <class D>
struct TwoOperators {
  using device_type = D;
  Vector<int, D> x;

  STRATA_FUNCTION void operator()(Double, int i) const { x(i) *= 2; }
  STRATA_FUNCTION void operator()(Increment, auto i) const { x(i) += 1; }
};

struct TwoOperatorsOfViews {
  STRATA_FUNCTION void operator()(Double, int i, auto x) const { x(i) *= 2; }
  STRATA_FUNCTION void operator()(Increment, auto i, auto x) const { x(i) += 1; }
};

TYPED_TEST(ParallelFor, ChoosesAnOperatorByWorkTag) {
  using D = TypeParam;
  const auto x = make_vector<int, D>(100, [](index_t i) { return i; });
  const auto y = make_vector<int, D>(100, [](index_t i) { return i; });

  parallel_for(tagged<Increment>(100), TwoOperators<D>{x});
  parallel_for(tagged<Double>(range(50, 100)), TwoOperators<D>{x});
  parallel_for("tag", tagged<Increment>(100), with(TwoOperatorsOfViews{}, y));
  parallel_for(tagged<Double>(range(50, 100).dynamic()), with(TwoOperatorsOfViews{}, y));

  const auto xs = values_of(x), ys = values_of(y);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(xs[static_cast<std::size_t>(i)], (i + 1) * (i < 50 ? 1 : 2));
    ASSERT_EQ(ys[static_cast<std::size_t>(i)], (i + 1) * (i < 50 ? 1 : 2));
  }
}

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

TYPED_TEST(ParallelFor, TellsListenersLabelDeviceQueueAndItems) {
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

TYPED_TEST(ParallelFor, WorkOnOneQueueRunsInOrder) {
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

TYPED_TEST(ParallelFor, QueuesWaitForEventsOfOtherQueues) {
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

TYPED_TEST(ParallelFor, SeveralQueuesWorkWithoutEachOther) {
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

template <class D, int Bytes>
struct LargeFunctor {
  using device_type = D;
  Vector<std::int64_t, D> x;
  std::int64_t table[Bytes / 8];

  STRATA_FUNCTION void operator()(auto i) const { x(i) = table[index_t(i) % (Bytes / 8)] + index_t(i); }
};

template <class D, int Bytes>
void expect_large_functor_runs() {
  constexpr index_t n = 2053;
  const auto x = create<Vector<std::int64_t, D>>("x", n);
  LargeFunctor<D, Bytes> functor{x, {}};
  for (int k = 0; k < Bytes / 8; ++k) functor.table[k] = 1000000 + 17 * k;

  parallel_for(n, functor);
  for (std::int64_t& t : functor.table) t = -1;  // the launch has its own copy

  const auto result = values_of(x);
  for (index_t i = 0; i < n; ++i)
    ASSERT_EQ(result[static_cast<std::size_t>(i)], 1000000 + 17 * (i % (Bytes / 8)) + i) << Bytes << " bytes";
}

TYPED_TEST(ParallelFor, RunsCopiesOfFunctorsOfAnySize) {
  expect_large_functor_runs<TypeParam, 8>();
  expect_large_functor_runs<TypeParam, 992>();
  expect_large_functor_runs<TypeParam, 3072>();
  expect_large_functor_runs<TypeParam, 10240>();
}

TYPED_TEST(ParallelFor, KeepsTheCountsOfItsViewsOnTheHost) {
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

TYPED_TEST(ParallelFor, ViewsMayDieWhileTheirKernelIsBehindASlowOne) {
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

TYPED_TEST(ParallelFor, RefusesAtTheLaunchViewsOfAnotherMemoryAndNamesBoth) {
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
  EXPECT_THROW(parallel_for(100, with(Axpy{1}, x, y)), WrongDevice);

  ASSERT_EQ(events.kept.size(), 2U);
  EXPECT_EQ(events.kept[0].instance, 1);
  const auto host = create_mirror(x);
  deep_copy(host, x);
  for (index_t i = 0; i < 100; ++i) EXPECT_EQ(host(i + margin), i + mark);
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
