// Graphs: what is recorded does not run, and each replay does all of it again.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "test_devices.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class GraphTest : public ::testing::Test {};
TYPED_TEST_SUITE(GraphTest, TestDevices, DeviceName);

template <class D>
using Array = MDArray<double, D, rank<1>>;

struct Increment {
  double by;
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) += by; }
};
struct Add {
  using value_type = double;
  STRATA_FUNCTION static void init(double& sum) { sum = 0; }
  STRATA_FUNCTION static void join(double& sum, const double& other) { sum += other; }
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const { sum += x(i); }
};
template <class D>
struct StoreDouble {
  Value<double, D> target;
  STRATA_FUNCTION void operator()(const double& sum) const { *target = 2 * sum; }
};
struct Large {  // more parameters than a launch takes
  double table[5000];
  STRATA_FUNCTION void operator()(index_t i, auto x) const { x(i) = table[i]; }
};

template <class D>
double element(const Array<D>& x, index_t i) {
  double value = 0;
  deep_copy(value, subview(x, i));
  return value;
}

TYPED_TEST(GraphTest, RunsWhatWasRecordedWithEachLaunchAndNotBefore) {
  using D = TypeParam;
  const auto x = create<Array<D>>("x", 1000), y = create<Array<D>>("y", 1000);
  const auto sum = create<Value<double, D>>("sum");
  const Queue<D> queue;

  const Graph<D> graph = record(queue, [&] {
    parallel_for("count", on(queue), 1000, with(Increment{1}, x));
    parallel_reduce(on(queue), 1000, with(Add{}, x), StoreDouble<D>{sum});
    deep_copy(queue, y, x);
  });
  EXPECT_EQ(element(x, 7), 0);
  for (int k = 0; k < 3; ++k) graph.launch(queue);
  queue.wait();

  EXPECT_GE(graph.size(), 3);
  EXPECT_EQ(element(x, 999), 3);
  EXPECT_EQ(element(y, 0), 3);
  double twice = 0;
  deep_copy(twice, sum);
  EXPECT_EQ(twice, 6000);
}

TYPED_TEST(GraphTest, KeepsItsArraysAliveAndOwnsItsKernels) {
  using D = TypeParam;
  const Queue<D> queue;
  const auto y = create<Array<D>>("y", 100);
  Graph<D> graph;
  {
    const auto x = create<Array<D>>("x", 100);
    deep_copy(x, 5.0);
    const auto kernel = std::make_unique<Large>();
    for (int k = 0; k < 5000; ++k) kernel->table[k] = k;
    graph = record(queue, [&] {
      parallel_for(on(queue), 100, with(Increment{1}, x));
      deep_copy(queue, y, x);
      parallel_for(on(queue), 50, with(*kernel, y));
    });
  }
  const auto other = create<Array<D>>("other", 100);  // would take the memory of x
  deep_copy(other, -1.0);
  graph.launch(queue);
  graph.launch(queue);
  queue.wait();

  EXPECT_EQ(element(y, 49), 49);
  EXPECT_EQ(element(y, 50), 7);
  EXPECT_EQ(element(other, 50), -1);
}

TYPED_TEST(GraphTest, RefusesWhatWaitsAndWhatGoesElsewhere) {
  using D = TypeParam;
  const auto x = create<Array<D>>("x", 10);
  const Queue<D> queue, another;
  double sum = 0;

  EXPECT_THROW(static_cast<void>(record(queue, [&] { parallel_reduce(on(queue), 10, with(Add{}, x), sum); })),
               Error);
  EXPECT_THROW(static_cast<void>(record(queue, [&] { deep_copy(x, 1.0); })), Error);
  EXPECT_THROW(
      static_cast<void>(record(queue, [&] { parallel_for(on(another), 10, with(Increment{1}, x)); })), Error);
  EXPECT_THROW(static_cast<void>(record(queue, [&] { static_cast<void>(record(another, [] {})); })), Error);
  // The queue works on as if nothing had happened.
  parallel_for(on(queue), 10, with(Increment{1}, x));
  queue.wait();

  EXPECT_EQ(element(x, 3), 1);
}

// ---- branches, and functions of the host

struct Join {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, auto z) const { z(i) = x(i) * y(i); }
};

TYPED_TEST(GraphTest, BranchesAreDoneBeforeWhatFollowsThem) {
  using D = TypeParam;
  const auto x = create<Array<D>>("x", 5000), y = create<Array<D>>("y", 5000),
             z = create<Array<D>>("z", 5000);
  const auto sum_of_x = create<Value<double, D>>("sum of x"), sum_of_y = create<Value<double, D>>("sum of y");
  const Queue<D> queue;
  wait(D{});
  const auto step = [&] {
    parallel_for(on(queue), 5000, with(Increment{1}, x));
    when_all(
        queue,
        [&] {
          parallel_for(on(queue), 5000, with(Increment{1}, x));
          parallel_reduce(on(queue), 5000, with(Add{}, x), StoreDouble<D>{sum_of_x});
        },
        [&] {
          when_all(
              queue, [&] { parallel_for(on(queue), 2500, with(Increment{3}, subview(y, range(0, 2500)))); },
              [&] { parallel_for(on(queue), 2500, with(Increment{3}, subview(y, range(2500, 5000)))); });
          parallel_reduce(on(queue), 5000, with(Add{}, y), StoreDouble<D>{sum_of_y});
        });
    parallel_for(on(queue), 5000, with(Join{}, x, y, z));
  };

  const Graph<D> graph = record(queue, step);
  EXPECT_EQ(element(x, 7), 0);
  graph.launch(queue);
  graph.launch(queue);
  queue.wait();
  EXPECT_EQ(element(x, 4999), 4);
  EXPECT_EQ(element(y, 2500), 6);
  EXPECT_EQ(element(z, 2499), 24);

  step();  // without a graph
  queue.wait();
  EXPECT_EQ(element(z, 4999), 54);
  double twice_x = 0, twice_y = 0;
  deep_copy(twice_x, sum_of_x);
  deep_copy(twice_y, sum_of_y);
  EXPECT_EQ(twice_x, 2 * 6 * 5000);
  EXPECT_EQ(twice_y, 2 * 9 * 5000);
}

TYPED_TEST(GraphTest, FunctionsOfTheHostRunInTheOrderOfTheQueue) {
  using D = TypeParam;
  using Host = MDArray<double, Serial, rank<1>>;
  const auto x = create<Array<D>>("x", 100);
  const auto host = create<Host>("host", 100);
  const Queue<D> queue;
  wait(D{});
  double seen[4] = {-1, -1, -1, -1};
  int calls = 0;

  then_host(queue, [&] { seen[3] = 0; });
  queue.wait();
  EXPECT_EQ(seen[3], 0);
  const auto step = [&] {
    parallel_for(on(queue), 100, with(Increment{1}, x));
    if constexpr (D::memory_space::host_accessible) {
      then_host(queue, [&] { seen[calls++] = x(99); });
    } else if constexpr (runs_on_host_threads<D>) {
      deep_copy(queue, host, x);
      then_host(queue, [&] { seen[calls++] = host(99); });
    } else {
      then_host(queue, [&] { seen[calls] = calls + 1, ++calls; });
    }
  };
  const Graph<D> graph = record(queue, step);
  EXPECT_EQ(calls, 0);
  for (int k = 0; k < 2; ++k) graph.launch(queue);
  step();
  queue.wait();

  EXPECT_EQ(calls, 3);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(seen[k], k + 1);
}

TYPED_TEST(GraphTest, CallsFunctionsOfTheHostAlsoWhenItIsGone) {
  using D = TypeParam;
  const Queue<D> queue;
  std::vector<int> seen(2);

  {
    const Graph<D> graph = record(queue, [&] {
      then_host(queue, [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
      then_host(queue, [&seen, added = std::vector<int>{3, 4}] {
        for (std::size_t k = 0; k < 2; ++k) seen[k] += added[k];
      });
    });
    for (int k = 0; k < 2; ++k) graph.launch(queue);
  }
  queue.wait();

  EXPECT_EQ(seen, (std::vector<int>{6, 8}));
}

TYPED_TEST(GraphTest, WhatAFunctionOfTheHostThrowsIsThrownByTheQueue) {
  using D = TypeParam;
  const Queue<D> queue;

  EXPECT_THROW(
      {
        then_host(queue, [] { throw KernelError("too much"); });
        queue.wait();
      },
      KernelError);
  EXPECT_NO_THROW(queue.wait());
  EXPECT_THROW(
      {
        then_host(queue, [] { throw KernelError("too much"); });
        queue.record().wait();
      },
      KernelError);
  if constexpr (is_asynchronous<D>) {
    EXPECT_THROW(queue.wait(), KernelError);  // the event leaves it there
  }
  EXPECT_THROW(
      {
        then_host(queue, [] { throw KernelError("too much"); });
        wait(D{});
      },
      KernelError);
  EXPECT_NO_THROW(queue.wait());
  const Queue<D> another;
  EXPECT_THROW(static_cast<void>(record(queue, [&] { then_host(another, [] {}); })), Error);
  EXPECT_THROW(static_cast<void>(record(queue, [&] { when_all(another, [] {}); })), Error);
  EXPECT_THROW(static_cast<void>(record(queue, [&] { when_all(queue, [] { throw KernelError("no"); }); })),
               KernelError);
  const Graph<D> after = record(queue, [&] {
    when_all(
        queue, [] {}, [] {});
  });  // the queue is as before
  after.launch(queue);
  queue.wait();
}

}  // namespace
