// parallel_reduce: where results go, and how values are joined.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <vector>

#include "parallel_reduce_suite.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

TYPED_TEST_SUITE(ParallelReduce, TestDevices, DeviceName);

// A parameter that has a default is no value.
struct SumWithDefault {
  STRATA_FUNCTION void operator()(index_t i, double& sum, int extra = 1) const {
    sum += static_cast<double>(i + extra);
  }
};
TEST(ParallelReduceOnHost, TakesKernelsWithDefaults) {
  double sum = 0;
  parallel_reduce(on(Serial{}), 10, SumWithDefault{}, Sum(sum));
  EXPECT_EQ(sum, 55);
}

// A value of 1 MiB, of several blocks of items: stacks of threads hold a few.
struct CountInManyBins {
  static constexpr int bins = 1 << 17;
  struct value_type {
    double bin[bins];
  };
  using device_type = Threads;
  STRATA_FUNCTION void operator()(index_t i, value_type& counts) const { counts.bin[i % 5] += 1; }
  STRATA_FUNCTION static void init(value_type& counts) {
    for (double& count : counts.bin) count = 0;
  }
  STRATA_FUNCTION static void join(value_type& a, const value_type& b) {
    for (int k = 0; k < bins; ++k) a.bin[k] += b.bin[k];
  }
};
struct StoreSomeBins {
  double* some;
  STRATA_FUNCTION void operator()(const CountInManyBins::value_type& counts) const {
    for (int k = 0; k < 6; ++k) some[k] = counts.bin[k];
  }
};
TEST(ParallelReduceOnHost, JoinsValuesOfAMebibyte) {
  double counts[6];

  parallel_reduce(range(700, 10700), CountInManyBins{}, StoreSomeBins{counts});
  wait(Threads{});

  for (int k = 0; k < 5; ++k) EXPECT_EQ(counts[k], 2000) << k;
  EXPECT_EQ(counts[5], 0);
}

// ---- the paper's forms

// Finalize functors: by reference to const, and by reference, which may change the value on its way.
template <class D>
struct StoreRoot {
  Value<double, D> root;
  STRATA_FUNCTION void operator()(const double& sum) const { *root = sum < 0 ? -1 : sum + 0.25; }
};
template <class D>
struct ScaleAndStore {
  Value<double, D> scaled;
  STRATA_FUNCTION void operator()(double& sum) const {
    sum *= 2;
    *scaled = sum;
  }
};

TYPED_TEST(ParallelReduce, ReturnsStoresOrFinalizesTheSameValue) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const Dot<D> dot{make_vector<double, D>(n, [](index_t i) { return i % 7; }),
                     make_vector<double, D>(n, [](index_t i) { return i % 5 - 2; })};
    double expected = 0;
    for (index_t i = 0; i < n; ++i) expected += static_cast<double>((i % 7) * (i % 5 - 2));
    const auto root = create<Value<double, D>>("root"), scaled = create<Value<double, D>>("scaled"),
               plain = create<Value<double, D>>("plain");
    double stored = -1;

    const double returned = parallel_reduce(n, dot);
    parallel_reduce("dot", n, dot, stored);
    parallel_reduce(n, dot, StoreRoot<D>{root});
    parallel_reduce(n, dot, ScaleAndStore<D>{scaled});
    parallel_reduce(n, dot, plain);

    EXPECT_EQ(returned, expected) << n;
    EXPECT_EQ(stored, expected) << n;
    EXPECT_EQ(value_of(root), expected < 0 ? -1 : expected + 0.25) << n;
    EXPECT_EQ(value_of(scaled), 2 * expected) << n;
    EXPECT_EQ(value_of(plain), expected) << n;
  }
}

// With a state of its own in init and join: values are kept modulo a number known at run time.
template <class D, class Index>
struct SumModulo {
  using device_type = D;
  using value_type = std::int64_t;
  Vector<std::int64_t, D> x;
  std::int64_t modulus;

  STRATA_FUNCTION void operator()(Index i, std::int64_t& update) const { update = (update + x(i)) % modulus; }
  STRATA_FUNCTION void init(std::int64_t& update) const { update = 0; }
  STRATA_FUNCTION void join(std::int64_t& update, const std::int64_t& input) const {
    update = (update + input) % modulus;
  }
};

TYPED_TEST(ParallelReduce, AsksTheFunctorObjectForInitAndJoin) {
  using D = TypeParam;
  const auto x = make_vector<std::int64_t, D>(5003, [](index_t i) { return i * i; });
  std::int64_t expected = 0;
  for (std::int64_t i = 0; i < 5003; ++i) expected = (expected + i * i) % 10007;

  EXPECT_EQ(parallel_reduce(5003, SumModulo<D, int>{x, 10007}), expected);
  EXPECT_EQ(parallel_reduce(5003, SumModulo<D, typename D::index_type>{x, 10007}), expected);
}

struct Kinetic {
  using value_type = double;
  STRATA_FUNCTION void operator()(auto i, auto mass, auto velocity, double& energy) const {
    energy += mass(i) * velocity(i);
  }
  STRATA_FUNCTION static void init(double& v) { v = 0; }
  STRATA_FUNCTION static void join(double& v, const double& o) { v += o; }
};
struct Weighted {};
struct TaggedSum {
  STRATA_FUNCTION void operator()(Weighted, auto i, auto x, double& sum) const {
    sum += static_cast<double>(index_t(i)) * x(i);
  }
};

TYPED_TEST(ParallelReduce, TakesWithTagsLambdasAndQueues) {
  using D = TypeParam;
  constexpr index_t n = 1021;
  const auto x = make_vector<double, D>(n, [](index_t) { return 2; });
  const auto y = make_vector<double, D>(n, [](index_t i) { return i; });
  const Queue<D> queue;
  const auto on_queue = create<Value<double, D>>("on queue");
  double energy = 0, weighted = 0, lambda = 0;

  const double returned = parallel_reduce("energy", range(1, n), with(Kinetic{}, x, y));
  parallel_reduce(range(1, n).dynamic(), with(Kinetic{}, x, y), energy);
  parallel_reduce(tagged<Weighted>(n), with(TaggedSum{}, x), Sum(weighted));
  parallel_reduce(
      on(D{}), n, [=] STRATA_FUNCTION(int i, double& s) { s += y(i); }, Sum(lambda));
  parallel_reduce(
      "queued", on(queue), n, [=] STRATA_FUNCTION(index_t i, double& s) { s += x(i); }, Sum(on_queue));
  queue.wait();

  EXPECT_EQ(returned, 1021.0 * 1020);
  EXPECT_EQ(energy, 1021.0 * 1020);
  EXPECT_EQ(weighted, 1021.0 * 1020);
  EXPECT_EQ(lambda, 1021.0 * 510);
  EXPECT_EQ(value_of(on_queue), 2042.0);
}

// The result of one launch is the input of the next, with nobody waiting between.
TYPED_TEST(ParallelReduce, ResultsThatStayOnTheDeviceAreOrderedBeforeLaterKernels) {
  using D = TypeParam;
  const auto x = make_vector<double, D>(600, [](index_t) { return 1; });
  const auto sum = create<Value<double, D>>("sum");

  for (int round = 0; round < 3; ++round) {
    parallel_reduce(
        on(D{}), 600, [=] STRATA_FUNCTION(int i, double& s) { s += x(i); }, Sum(sum));
    parallel_for(on(D{}), 600, [=] STRATA_FUNCTION(int i) { x(i) += *sum; });
  }

  double expected = 1;
  for (int round = 0; round < 3; ++round) expected += 600 * expected;
  for (const double v : values_of(x)) ASSERT_EQ(v, expected);
}

// ---- named reducers

TYPED_TEST(ParallelReduce, NamedReducersAgreeWithASequentialLoop) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const auto number = [](index_t i) {
      return static_cast<int>(mix(static_cast<std::uint64_t>(i)) % 200) - 100;
    };
    const auto x = make_vector<int, D>(n, number);
    int sum = 7, least = 7, most = 7;
    double product = 7;
    MinMaxValue<int> both{7, 7};
    ValueLocation<int> first_least{7, 7}, first_most{7, 7};
    bool all_small = false, any_large = true;
    unsigned common = 7, seen = 7;

    parallel_reduce(
        on(D{}), n, [=] STRATA_FUNCTION(int i, int& v) { v += x(i); }, Sum(sum));
    parallel_reduce(
        on(D{}), n, [=] STRATA_FUNCTION(int i, double& v) { v *= i % 37 == 0 ? 2 : 1; }, Prod(product));
    parallel_reduce(
        on(D{}), n, [=] STRATA_FUNCTION(int i, int& v) { v = std::min(v, x(i)); }, Min(least));
    parallel_reduce(
        on(D{}), n, [=] STRATA_FUNCTION(int i, int& v) { v = std::max(v, x(i)); }, Max(most));
    parallel_reduce(
        on(D{}), n,
        [=] STRATA_FUNCTION(int i, MinMaxValue<int>& v) {
          v = {std::min(v.min, x(i)), std::max(v.max, x(i))};
        },
        MinMax(both));
    parallel_reduce(
        on(D{}), n,
        [=] STRATA_FUNCTION(int i, ValueLocation<int>& v) {
          if (x(i) < v.value || (x(i) == v.value && i < v.location)) v = {x(i), i};
        },
        MinLoc(first_least));
    parallel_reduce(
        on(D{}), n,
        [=] STRATA_FUNCTION(int i, ValueLocation<int>& v) {
          if (x(i) > v.value || (x(i) == v.value && i < v.location)) v = {x(i), i};
        },
        MaxLoc(first_most));
    parallel_reduce(
        on(D{}), n, [=] STRATA_FUNCTION(int i, bool& v) { v = v && x(i) < 99; }, LogicalAnd(all_small));
    parallel_reduce(
        on(D{}), n, [=] STRATA_FUNCTION(int i, bool& v) { v = v || x(i) >= 99; }, LogicalOr(any_large));
    parallel_reduce(
        on(D{}), n, [=] STRATA_FUNCTION(int i, unsigned& v) { v &= ~(1U << (x(i) & 31)); }, BitAnd(common));
    parallel_reduce(
        on(D{}), n, [=] STRATA_FUNCTION(int i, unsigned& v) { v |= 1U << (x(i) & 31); }, BitOr(seen));

    int e_sum = 0, e_least = std::numeric_limits<int>::max(), e_most = std::numeric_limits<int>::lowest();
    double e_product = 1;
    index_t at_least = std::numeric_limits<index_t>::max(), at_most = at_least;
    bool e_large = false;
    unsigned e_seen = 0;
    for (index_t i = 0; i < n; ++i) {
      const int v = number(i);
      e_sum += v;
      e_product *= i % 37 == 0 ? 2 : 1;
      if (v < e_least || i == 0) e_least = v, at_least = i;
      if (v > e_most || i == 0) e_most = v, at_most = i;
      e_large = e_large || v >= 99;
      e_seen |= 1U << (v & 31);
    }
    ASSERT_EQ(sum, e_sum) << n;
    ASSERT_EQ(product, e_product) << n;
    ASSERT_EQ(least, e_least) << n;
    ASSERT_EQ(most, e_most) << n;
    ASSERT_EQ(both.min, e_least) << n;
    ASSERT_EQ(both.max, e_most) << n;
    ASSERT_EQ(first_least.value, e_least) << n;
    ASSERT_EQ(first_least.location, at_least) << n;
    ASSERT_EQ(first_most.value, e_most) << n;
    ASSERT_EQ(first_most.location, at_most) << n;
    ASSERT_EQ(all_small, !e_large) << n;
    ASSERT_EQ(any_large, e_large) << n;
    ASSERT_EQ(common, ~e_seen) << n;
    ASSERT_EQ(seen, e_seen) << n;
  }
}

struct FourResults {
  STRATA_FUNCTION void operator()(auto i, auto x, auto calls, double& sum, double& greatest, int& count,
                                  ValueLocation<double>& least) const {
    calls(i) += 1;
    sum += x(i);
    greatest = x(i) > greatest ? x(i) : greatest;
    count += 1;
    if (x(i) < least.value) least = {x(i), i};
  }
};

TYPED_TEST(ParallelReduce, SeveralResultsComeFromOnePass) {
  using D = TypeParam;
  const auto x = make_vector<double, D>(2053, [](index_t i) { return (i * 37) % 2053; });
  const auto calls = create<Vector<int, D>>("calls", 2053);
  const auto greatest = create<Value<double, D>>("greatest");
  double sum = 0;
  int count = 0;
  ValueLocation<double> least{};

  parallel_reduce(2053, with(FourResults{}, x, calls), Sum(sum), Max(greatest), Sum(count), MinLoc(least));

  EXPECT_EQ(sum, 2053.0 * 1026);
  EXPECT_EQ(value_of(greatest), 2052.0);
  EXPECT_EQ(count, 2053);
  EXPECT_EQ(least.value, 0.0);
  EXPECT_EQ(least.location, 0);
  for (const int c : values_of(calls)) ASSERT_EQ(c, 1);
}

// ---- values of any size

template <class D, int Doubles>
void expect_struct_sums() {
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<double, D>(n, [](index_t i) { return i % 11 - 5; });
    double expected = 0;
    for (index_t i = 0; i < n; ++i) expected += static_cast<double>(i % 11 - 5);

    const auto sum = parallel_reduce(n, SumOfVectors<D, Doubles>{x});

    for (int k = 0; k < Doubles; ++k)
      ASSERT_EQ(sum.v[k], expected * (k + 1)) << Doubles << " doubles, n = " << n;
  }
}

TYPED_TEST(ParallelReduce, JoinsStructsFromThreeToThreeHundredDoubles) {
  expect_struct_sums<TypeParam, 3>();    // 32 lanes
  expect_struct_sums<TypeParam, 20>();   // fewer lanes than a block of lane indices
  expect_struct_sums<TypeParam, 300>();  // one lane
}

// A histogram: the number of bins is known at run time.
template <class D, class Index>
struct Histogram {
  using device_type = D;
  using value_type = int[];
  index_t value_count;
  Vector<int, D> x;

  STRATA_FUNCTION void operator()(Index i, int* bins) const {
    bins[x(i) % static_cast<int>(value_count)] += 1;
  }
  STRATA_FUNCTION void init(int* bins) const {
    for (index_t k = 0; k < value_count; ++k) bins[k] = 0;
  }
  STRATA_FUNCTION void join(int* bins, const int* more) const {
    for (index_t k = 0; k < value_count; ++k) bins[k] += more[k];
  }
};

template <class D>
struct StoreBins {
  Vector<int, D> target;
  STRATA_FUNCTION void operator()(int* bins) const {
    for (index_t k = 0; k < target.extent(0); ++k) target(k) = bins[k] + 1;
  }
};

template <class D, class Index>
void expect_histograms() {
  for (const index_t bins : {index_t{1}, index_t{10}, index_t{1000}}) {
    for (const index_t n : loop_sizes) {
      const Histogram<D, Index> histogram{bins,
                                          make_vector<int, D>(n, [](index_t i) { return (i * i) % 2003; })};
      std::vector<int> expected(static_cast<std::size_t>(bins), 0), finalized(expected);
      for (index_t i = 0; i < n; ++i) ++expected[static_cast<std::size_t>((i * i) % 2003 % bins)];
      for (std::size_t k = 0; k < expected.size(); ++k) finalized[k] = expected[k] + 1;
      std::vector<int> on_the_host(expected.size(), -1);
      const auto view = create<Vector<int, D>>("bins", bins), stored = create<Vector<int, D>>("stored", bins);

      parallel_reduce(n, histogram, on_the_host.data());
      parallel_reduce(n, histogram, view);
      parallel_reduce(n, histogram, StoreBins<D>{stored});

      ASSERT_EQ(on_the_host, expected) << bins << " bins, n = " << n;
      ASSERT_EQ(values_of(view), expected) << bins << " bins, n = " << n;
      ASSERT_EQ(values_of(stored), finalized) << bins << " bins, n = " << n;
    }
  }
}

TYPED_TEST(ParallelReduce, JoinsValuesWhoseLengthIsKnownAtRunTime) { expect_histograms<TypeParam, int>(); }

// Over a box: the sums of the columns of a plane of indices.
struct ColumnSums {
  using value_type = double[];
  index_t value_count;
  STRATA_FUNCTION void operator()(index_t i, index_t j, double* sums) const {
    sums[j] += static_cast<double>(100 * i + j);
  }
  STRATA_FUNCTION void init(double* sums) const {
    for (index_t k = 0; k < value_count; ++k) sums[k] = 0;
  }
  STRATA_FUNCTION void join(double* sums, const double* more) const {
    for (index_t k = 0; k < value_count; ++k) sums[k] += more[k];
  }
};
TYPED_TEST(ParallelReduce, JoinsRunTimeLengthValuesOverBoxes) {
  std::vector<double> sums(7, -1);
  for (const index_t rows : {1, 40, 3000}) {
    parallel_reduce(on(TypeParam{}), mdrange({2, 3}, {2 + rows, 7}), ColumnSums{7}, sums.data());

    for (index_t j = 0; j < 7; ++j) {
      double expected = 0;
      if (j >= 3)
        for (index_t i = 2; i < 2 + rows; ++i) expected += static_cast<double>(100 * i + j);
      EXPECT_EQ(sums[static_cast<std::size_t>(j)], expected) << j;
    }
  }
  const auto view = create<MDArray<double, TypeParam, rank<1>>>("sums", 7);
  parallel_reduce(on(TypeParam{}), mdrange({0, 0}, {0, 7}), ColumnSums{7}, view);
  EXPECT_EQ(on_host(view)(6), 0);
}

// ---- locations

// Where the largest and smallest elements of a plane are, as a plain struct.
struct Cell {
  int i, j;
};
struct FindCells {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto x, ValueLocation<double, Cell>& least,
                                  MinMaxLocation<double, Cell>& both) const {
    const Cell here{static_cast<int>(i), static_cast<int>(j)};
    const double v = x(i, j);
    if (v < least.value) least = {v, here};
    if (v < both.min) both.min = v, both.min_location = here;
    if (v > both.max) both.max = v, both.max_location = here;
  }
};
struct FindIndices {
  STRATA_FUNCTION void operator()(auto i, auto x, MinMaxLocation<double>& both) const {
    const index_t at = static_cast<index_t>(i);
    const double v = x(at);
    if (v < both.min) both.min = v, both.min_location = at;
    if (v > both.max) both.max = v, both.max_location = at;
  }
};
TYPED_TEST(ParallelReduce, FindsWhereTheExtremesAreAsIndicesAndAsStructs) {
  const auto x = create<MDArray<double, TypeParam, rank<2>>>("x", 37, 129);
  const auto host = create_mirror(x);
  for (index_t i = 0; i < 37; ++i)
    for (index_t j = 0; j < 129; ++j) host(i, j) = static_cast<double>((i * 57 + j * 31) % 1009);
  host(11, 77) = -4;
  host(30, 2) = 5000;
  deep_copy(x, host);
  ValueLocation<double, Cell> least{};
  MinMaxLocation<double, Cell> both{};

  parallel_reduce(mdrange({0, 0}, {37, 129}), with(FindCells{}, x), MinLoc(least), MinMaxLoc(both));

  EXPECT_EQ(least.value, -4);
  EXPECT_EQ(least.location.i, 11);
  EXPECT_EQ(least.location.j, 77);
  EXPECT_EQ(both.min_location.j, 77);
  EXPECT_EQ(both.max, 5000);
  EXPECT_EQ(both.max_location.i, 30);
  EXPECT_EQ(both.max_location.j, 2);

  // Of equal values the one with the smaller index, wherever they are joined.
  const auto y = create<MDArray<double, TypeParam, rank<1>>>("y", 5000);
  const auto line = create_mirror(y);
  for (const index_t i : {700, 3000}) line(i) = -1, line(i + 1) = 1;
  deep_copy(y, line);
  MinMaxLocation<double> found{};
  parallel_reduce(5000, with(FindIndices{}, y), MinMaxLoc(found));
  EXPECT_EQ(found.min_location, 700);
  EXPECT_EQ(found.max_location, 701);
  parallel_reduce(0, with(FindIndices{}, y), MinMaxLoc(found));
  EXPECT_EQ(found.min_location, std::numeric_limits<index_t>::max());
  EXPECT_EQ(found.min, std::numeric_limits<double>::infinity());
}

TYPED_TEST(ParallelReduce, JoinsRunTimeLengthValuesOfFunctorsThatTakeTheDevicesIndexType) {
  expect_histograms<TypeParam, typename TypeParam::index_type>();
}

// ---- lambdas that take any index

#ifndef __CUDACC__

template <class D>
class ParallelReduceOnHostThreads : public ::testing::Test {};
TYPED_TEST_SUITE(ParallelReduceOnHostThreads, HostThreadDevices, DeviceName);

TYPED_TEST(ParallelReduceOnHostThreads, CallsLambdasThatTakeAnyIndex) {
  using D = TypeParam;
  const auto x = make_vector<double, D>(2053, [](index_t i) { return (i * 37) % 2053; });
  double sum = 0;
  ValueLocation<double> least{};

  parallel_reduce(
      on(D{}), 2053,
      [=](auto i, double& s, ValueLocation<double>& l) {
        s += x(i);
        if (x(i) < l.value) l = {x(i), i};
      },
      Sum(sum), MinLoc(least));

  EXPECT_EQ(sum, 2053.0 * 1026);
  EXPECT_EQ(least.value, 0.0);
  EXPECT_EQ(least.location, 0);
}

#endif

}  // namespace
