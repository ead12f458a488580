// parallel_scan: prefixes, totals and start values.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "arrays.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class ParallelScan : public ::testing::Test {};
TYPED_TEST_SUITE(ParallelScan, TestDevices, DeviceName);

std::int64_t number(index_t i) {
  return static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(i)) % 100) - 30;
}

// Prefix sums from `start`, one after the other.
template <class T, class F>
std::vector<T> prefixes(index_t n, T start, bool inclusive, const F& f) {
  std::vector<T> result;
  for (index_t i = 0; i < n; ++i) {
    const T before = start;
    start += f(i);
    result.push_back(inclusive ? start : before);
  }
  return result;
}

TYPED_TEST(ParallelScan, InclusiveScanSumsUpToAndWithEachElement) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<std::int64_t, D>(n, number);
    const auto y = create<Vector<std::int64_t, D>>("y", n);

    inclusive_scan(x, y);

    ASSERT_EQ(values_of(y), prefixes<std::int64_t>(n, 0, true, number)) << n;
  }
}

TYPED_TEST(ParallelScan, ExclusiveScanSumsUpToEachElementFromAStart) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<std::int64_t, D>(n, number);
    const auto y = create<Vector<std::int64_t, D>>("y", n), z = create<Vector<std::int64_t, D>>("z", n);

    exclusive_scan(x, y);
    exclusive_scan(x, z, 1000);

    ASSERT_EQ(values_of(y), prefixes<std::int64_t>(n, 0, false, number)) << n;
    ASSERT_EQ(values_of(z), prefixes<std::int64_t>(n, 1000, false, number)) << n;
  }
}

TYPED_TEST(ParallelScan, SourceAndDestinationMayBeOneArray) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<std::int64_t, D>(n, number), y = make_vector<std::int64_t, D>(n, number);

    inclusive_scan(x, x);
    exclusive_scan(y, y, -5);

    ASSERT_EQ(values_of(x), prefixes<std::int64_t>(n, 0, true, number)) << n;
    ASSERT_EQ(values_of(y), prefixes<std::int64_t>(n, -5, false, number)) << n;
  }
}

// More items than a GPU takes at a time, so that blocks wait for sums of many before them.
TYPED_TEST(ParallelScan, ManyIntegersOfEveryWidthAreSummedFromAStart) {
  using D = TypeParam;
  const auto expect_prefixes = [](index_t n, auto zero, int start) {
    using T = decltype(zero);
    const auto element = [](index_t i) { return static_cast<T>(number(i)); };
    const auto x = make_vector<T, D>(n, element);
    const auto y = create<Vector<T, D>>("y", n);

    exclusive_scan(x, y, static_cast<T>(start));

    ASSERT_EQ(values_of(y), prefixes<T>(n, static_cast<T>(start), false, element)) << n;
  };
  for (const index_t n : {131072, 135169, 300007}) {
    expect_prefixes(n, std::int8_t{}, 3);
    expect_prefixes(n, std::uint16_t{}, 1000);
    expect_prefixes(n, std::int32_t{}, -5);
  }
  expect_prefixes(4000037, std::int64_t{}, 12345);
}

/// x -> factor x + summand modulo 2^16, in one number: composition depends on the order.
struct ComposeAffine {
  using value_type = std::uint32_t;
  STRATA_FUNCTION static std::uint32_t map_of(index_t i) {
    return static_cast<std::uint32_t>(i * 2 + 1) << 16 | static_cast<std::uint32_t>((i * i) & 0xffff);
  }
  STRATA_FUNCTION static void init(std::uint32_t& map) { map = 1u << 16; }
  // First `map`, then `next`.
  STRATA_FUNCTION static void join(std::uint32_t& map, const std::uint32_t& next) {
    const std::uint32_t factor = next >> 16, summand = next & 0xffff;
    map = (factor * (map >> 16)) << 16 | ((factor * (map & 0xffff) + summand) & 0xffff);
  }
  STRATA_FUNCTION void operator()(auto i, auto y, std::uint32_t& map, bool final) const {
    join(map, map_of(i));
    if (final) y(i) = map;
  }
};

TYPED_TEST(ParallelScan, MapsAreComposedInOrderOverManyBlocks) {
  using D = TypeParam;
  constexpr index_t n = 500009;
  const auto y = create<Vector<std::uint32_t, D>>("y", n);

  parallel_scan(n, with(ComposeAffine{}, y));

  std::uint32_t map = 1u << 16;
  std::vector<std::uint32_t> expected;
  for (index_t i = 0; i < n; ++i) {
    ComposeAffine::join(map, ComposeAffine::map_of(i));
    expected.push_back(map);
  }
  ASSERT_EQ(values_of(y), expected);
}

// ---- kernels

// Places the selected elements one behind the other: the use that scans are made for.
struct Compact {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, int& count, bool final) const {
    if (x(i) < 0) return;
    if (final) y(count) = x(i);
    ++count;
  }
};

TYPED_TEST(ParallelScan, KernelsPlaceElementsByTheirPrefix) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<std::int64_t, D>(n, number);
    const auto y = create<Vector<std::int64_t, D>>("y", n);
    int count = -1;

    parallel_scan("compact", n, with(Compact{}, x, y), Sum(count));

    std::vector<std::int64_t> expected;
    for (index_t i = 0; i < n; ++i)
      if (number(i) >= 0) expected.push_back(number(i));
    ASSERT_EQ(count, static_cast<int>(expected.size())) << n;
    expected.resize(static_cast<std::size_t>(n));
    ASSERT_EQ(values_of(y), expected) << n;
  }
}

TYPED_TEST(ParallelScan, TotalsGoToTheHostOrStayInAValue) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<std::int64_t, D>(n, number);
    const auto kept = create<Value<std::int64_t, D>>("total");
    std::int64_t total = -1, from_start = -1, expected = 0;
    for (index_t i = 0; i < n; ++i) expected += number(i);
    const auto kernel = [=] STRATA_FUNCTION(int i, std::int64_t& sum, bool) { sum += x(i); };

    parallel_scan(on(D{}), n, kernel, Sum(total));
    parallel_scan(on(D{}), n, kernel, Sum(from_start), 77);
    parallel_scan("kept", on(D{}), n, kernel, Sum(kept));

    ASSERT_EQ(total, expected) << n;
    ASSERT_EQ(from_start, expected + 77) << n;
    ASSERT_EQ(value_of(kept), expected) << n;
  }
}

TYPED_TEST(ParallelScan, TakesRangesThatBeginAnywhere) {
  using D = TypeParam;
  for (const Range& r :
       {range(-700, -3), range(-5, 12), range(511, 1030), range(3, 2000).chunk(7).dynamic()}) {
    const auto y = create<Vector<std::int64_t, D>>("y", r.size());
    const Queue<D> queue;

    parallel_scan(
        on(queue), r,
        [=] STRATA_FUNCTION(int i, std::int64_t& sum, bool final) {
          sum += i;
          if (final) y(i - r.first) = sum;
        },
        sum_of<std::int64_t>);
    queue.wait();

    ASSERT_EQ(values_of(y),
              prefixes<std::int64_t>(r.size(), 0, true, [&](index_t i) { return i + r.first; }));
  }
}

TYPED_TEST(ParallelScan, NamedReducersOtherThanSumsGiveRunningExtrema) {
  using D = TypeParam;
  const auto x = make_vector<std::int64_t, D>(2053, number);
  const auto y = create<Vector<std::int64_t, D>>("y", 2053);
  std::int64_t greatest = 0;

  parallel_scan(
      on(D{}), 2053,
      [=] STRATA_FUNCTION(int i, std::int64_t& most, bool final) {
        most = std::max(most, x(i));
        if (final) y(i) = most;
      },
      Max(greatest));

  std::vector<std::int64_t> expected;
  for (index_t i = 0; i < 2053; ++i)
    expected.push_back(i == 0 ? number(i) : std::max(expected.back(), number(i)));
  EXPECT_EQ(values_of(y), expected);
  EXPECT_EQ(greatest, expected.back());
}

// ---- functors with value_type, init and join

// Affine maps v -> a v + b, modulo 2^64: joining does not commute, so that order shows.
struct Affine {
  std::uint64_t a, b;
  friend bool operator==(const Affine&, const Affine&) = default;
};
STRATA_FUNCTION Affine then(const Affine& first, const Affine& second) {
  return {second.a * first.a, second.a * first.b + second.b};
}
Affine affine(index_t i) {
  return {2 * mix(static_cast<std::uint64_t>(i)) + 1, mix(static_cast<std::uint64_t>(i) + 7777777)};
}

template <class D, class Index>
struct Compose {
  using device_type = D;
  using value_type = Affine;
  Vector<Affine, D> x, y;

  STRATA_FUNCTION void operator()(Index i, Affine& update, bool final) const {
    update = then(update, x(i));
    if (final) y(i) = update;
  }
  STRATA_FUNCTION static void init(Affine& update) { update = {1, 0}; }
  STRATA_FUNCTION static void join(Affine& update, const Affine& input) { update = then(update, input); }
};

template <class D>
Vector<Affine, D> make_affine(index_t n) {
  const auto x = create<Vector<Affine, D>>("x", n);
  const auto host = create_mirror(x);
  for (index_t i = 0; i < n; ++i) host(i) = affine(i);
  deep_copy(x, host);
  return x;
}

template <class D, class Index>
void expect_compositions() {
  for (const index_t n : loop_sizes) {
    const Compose<D, Index> compose{make_affine<D>(n), create<Vector<Affine, D>>("y", n)};
    const Compose<D, Index> from_start{compose.x, create<Vector<Affine, D>>("z", n)};
    const auto kept = create<Value<Affine, D>>("kept");
    Affine total{}, total_from_start{};
    const Affine start{3, 5};

    parallel_scan(n, compose);
    parallel_scan(n, compose, total);
    parallel_scan(n, compose, kept);
    parallel_scan("from start", n, from_start, total_from_start, start);

    std::vector<Affine> expected, expected_from_start;
    Affine sum{1, 0}, sum_from_start = start;
    for (index_t i = 0; i < n; ++i) {
      expected.push_back(sum = then(sum, affine(i)));
      expected_from_start.push_back(sum_from_start = then(sum_from_start, affine(i)));
    }
    ASSERT_EQ(values_of(compose.y), expected) << n;
    ASSERT_EQ(values_of(from_start.y), expected_from_start) << n;
    ASSERT_EQ(total, sum) << n;
    ASSERT_EQ(value_of(kept), sum) << n;
    ASSERT_EQ(total_from_start, sum_from_start) << n;
  }
}

TYPED_TEST(ParallelScan, FunctorsJoinInOrder) { expect_compositions<TypeParam, int>(); }

TYPED_TEST(ParallelScan, FunctorsJoinInOrderOverManyTiles) {
  using D = TypeParam;
  constexpr index_t n = 300007;
  const Compose<D, int> compose{make_affine<D>(n), create<Vector<Affine, D>>("y", n)};
  Affine total{};

  parallel_scan(n, compose, total);

  std::vector<Affine> expected;
  Affine sum{1, 0};
  for (index_t i = 0; i < n; ++i) expected.push_back(sum = then(sum, affine(i)));
  EXPECT_EQ(values_of(compose.y), expected);
  EXPECT_EQ(total, sum);
}

TYPED_TEST(ParallelScan, FunctorsMayTakeTheDevicesIndexType) {
  expect_compositions<TypeParam, typename TypeParam::index_type>();
}

// A functor of values of any kind: how often it is called is what counts.
template <class T>
struct CountCalls {
  using value_type = T;
  index_t first;
  STRATA_FUNCTION void operator()(auto i, auto final_calls, auto other_calls, T&, bool final) const {
    (final ? final_calls : other_calls)(index_t(i) - first) += 1;
  }
  STRATA_FUNCTION static void init(T& value) { value = T{}; }
  STRATA_FUNCTION static void join(T&, const T&) {}
};

template <class D, class T>
void expect_calls() {
  for (const Range& r : {range(0, 4099), range(-700, 600), range(5, 517), range(-9000, 17000),
                         range(1000, 1001), range(9, 3)}) {
    const auto final_calls = create<Vector<int, D>>("final calls", r.size());
    const auto other_calls = create<Vector<int, D>>("other calls", r.size());

    parallel_scan(r, with(CountCalls<T>{r.first}, final_calls, other_calls));

    for (const int calls : values_of(final_calls)) ASSERT_EQ(calls, 1) << r.first << ", " << r.last;
    for (const int calls : values_of(other_calls)) ASSERT_LE(calls, 1) << r.first << ", " << r.last;
  }
}

TYPED_TEST(ParallelScan, CallsEachIndexWithFinalExactlyOnceAndAtMostOnceWithout) {
  expect_calls<TypeParam, int>();
  expect_calls<TypeParam, double>();
  expect_calls<TypeParam, Affine>();
}

struct Backwards {};
struct TaggedScan {
  STRATA_FUNCTION void operator()(Backwards, auto i, auto x, auto y, std::int64_t& sum, bool final) const {
    if (final) y(index_t(i)) = sum;
    sum -= x(index_t(i));
  }
};

TYPED_TEST(ParallelScan, TakesTags) {
  using D = TypeParam;
  const auto x = make_vector<std::int64_t, D>(1021, number);
  const auto y = create<Vector<std::int64_t, D>>("y", 1021);

  parallel_scan(tagged<Backwards>(1021), with(TaggedScan{}, x, y), sum_of<std::int64_t>);

  EXPECT_EQ(values_of(y), prefixes<std::int64_t>(1021, 0, false, [](index_t i) { return -number(i); }));
}

// ---- floating-point values: parallel_scan_bits_test.cpp has their bits

TYPED_TEST(ParallelScan, InfinitiesAndNansReachAllLaterPrefixes) {
  using D = TypeParam;
  const auto x = make_vector<double, D>(2000, [](index_t i) {
    return i == 700 ? std::numeric_limits<double>::infinity() : i == 1500 ? std::nan("") : 1.0;
  });

  inclusive_scan(x, x);

  const auto y = values_of(x);
  for (std::size_t i = 0; i < 2000; ++i) {
    if (i < 700) ASSERT_EQ(y[i], static_cast<double>(i + 1));
    else if (i < 1500) ASSERT_EQ(y[i], std::numeric_limits<double>::infinity());
    else ASSERT_TRUE(std::isnan(y[i]));
  }
}

// ---- lambdas that take any index

#ifndef __CUDACC__

template <class D>
class ParallelScanOnHostThreads : public ::testing::Test {};
TYPED_TEST_SUITE(ParallelScanOnHostThreads, HostThreadDevices, DeviceName);

TYPED_TEST(ParallelScanOnHostThreads, CallsLambdasThatTakeAnyIndex) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<std::int64_t, D>(n, number);
    const auto y = create<Vector<std::int64_t, D>>("y", n);

    parallel_scan(
        on(D{}), n,
        [=](auto i, std::int64_t& sum, bool final) {
          sum += x(i);
          if (final) y(i) = sum;
        },
        sum_of<std::int64_t>);

    ASSERT_EQ(values_of(y), prefixes<std::int64_t>(n, 0, true, number)) << n;
  }
}

#endif

}  // namespace
