// Graphs: what is recorded does not run, and each replay does all of it again.
#include <memory>

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

}  // namespace
