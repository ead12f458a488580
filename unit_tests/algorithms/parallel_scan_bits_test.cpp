// parallel_scan: the bits of floating-point prefixes, which are those of one order of joins on every device.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "arrays.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class ParallelScanBits : public ::testing::Test {};
TYPED_TEST_SUITE(ParallelScanBits, TestDevices, DeviceName);

// The order of core/scan_order.hpp, written as plainly as possible: tiles of 8192 items by global index, in a
// tile blocks of 512 items and in a block runs of 16, both counted from the tile's first item. Returns the
// prefix before each item, and at last the total.
template <class T, class Element>
std::vector<T> prefixes_in_order(index_t begin, index_t end, T start, const Element& element) {
  const auto sum_of = [&](index_t from, index_t to) {
    T sum = element(from);
    for (index_t i = from + 1; i < to; ++i) sum += element(i);
    return sum;
  };
  std::vector<T> result;
  T tile_prefix = start;
  for (index_t tile = begin; tile < end;) {
    const auto number = static_cast<index_t>(std::floor(static_cast<double>(tile) / 8192));
    const index_t tile_end = std::min(end, (number + 1) * 8192);
    T blocks{};  // the sum of those so far
    for (index_t block = tile; block < tile_end; block += 512) {
      const index_t block_end = std::min(tile_end, block + 512);
      std::vector<T> runs;
      for (index_t run = block; run < block_end; run += 16)
        runs.push_back(sum_of(run, std::min(block_end, run + 16)));
      for (std::size_t distance = 1; distance < 32; distance *= 2) {
        const std::vector<T> old = runs;
        for (std::size_t l = distance; l < runs.size(); ++l) {
          runs[l] = old[l - distance];
          runs[l] += old[l];
        }
      }
      T block_prefix = tile_prefix;
      if (block > tile) block_prefix += blocks;
      T prefix{};
      for (index_t i = block; i < block_end; ++i) {
        if ((i - block) % 16 == 0) {
          prefix = block_prefix;
          if (i > block) prefix += runs[static_cast<std::size_t>((i - block) / 16 - 1)];
        }
        result.push_back(prefix);
        prefix += element(i);
      }
      if (block == tile) blocks = runs.back();
      else blocks += runs.back();
    }
    tile_prefix += blocks;
    tile = tile_end;
  }
  result.push_back(tile_prefix);
  return result;
}

template <class T>
void expect_same_bits(const std::vector<T>& values, const std::vector<T>& expected, const std::string& what) {
  ASSERT_EQ(values.size(), expected.size()) << what;
  for (std::size_t k = 0; k < values.size(); ++k)
    ASSERT_TRUE(same_bits(values[k], expected[k])) << what << ", item " << k;
}

template <class T>
T element(index_t i) {
  return static_cast<T>(mixed_number(i));
}

struct PrefixesBefore {
  index_t first;
  template <class T>
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, T& sum, bool final) const {
    const T own = x(index_t(i) - first);  // x and y may be one array
    if (final) y(index_t(i) - first) = sum;
    sum += own;
  }
};

// The prefix before each item of [begin, begin + n), and the total.
template <class T, class D>
std::vector<T> prefixes_on(index_t begin, index_t n, T start) {
  const auto x = make_vector<T, D>(n, [&](index_t i) { return element<T>(i + begin); });
  const auto y = create<Vector<T, D>>("y", n);
  T total = -1;
  parallel_scan(range(begin, begin + n), with(PrefixesBefore{begin}, x, y), Sum(total), start);
  std::vector<T> prefixes = values_of(y);
  prefixes.push_back(total);
  return prefixes;
}

template <class T, class D>
void expect_bits_of_the_order(index_t begin, index_t n) {
  const T start = static_cast<T>(0.125);
  expect_same_bits(prefixes_on<T, D>(begin, n, start),
                   prefixes_in_order<T>(begin, begin + n, start, element<T>),
                   "from " + std::to_string(begin) + ", " + std::to_string(n) + " items");
}

TYPED_TEST(ParallelScanBits, PrefixesHaveTheBitsOfTheOrderAroundItsEdges) {
  using D = TypeParam;
  for (const index_t begin : {0, 5, -700, 8191, -8193})
    for (const index_t n : {0, 1, 15, 16, 17, 511, 512, 513, 1000, 8191, 8192, 8193, 17000}) {
      expect_bits_of_the_order<double, D>(begin, n);
      expect_bits_of_the_order<float, D>(begin, n);
    }
}

TYPED_TEST(ParallelScanBits, PrefixesHaveTheBitsOfTheOrderOverRandomRanges) {
  using D = TypeParam;
  std::mt19937 random(7);
  const auto pick = [&](int low, int high) {
    return low + static_cast<index_t>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (int round = 0; round < 12; ++round) {
    expect_bits_of_the_order<double, D>(pick(-30000, 30000), pick(0, 60000));
    expect_bits_of_the_order<float, D>(pick(-30000, 30000), pick(0, 60000));
  }
}

TYPED_TEST(ParallelScanBits, PrefixesHaveTheBitsOfTheOrderOverManyTiles) {
  expect_bits_of_the_order<double, TypeParam>(-3, 1000003);
  expect_bits_of_the_order<float, TypeParam>(0, 700001);
}

// More tiles than any GPU holds at a time.
TYPED_TEST(ParallelScanBits, PrefixesHaveTheBitsOfTheOrderOverTenMillionItemsSlow) {
  expect_bits_of_the_order<double, TypeParam>(1, 10000000);
}

// Chance decides how far the blocks of a GPU look back, so that bits which depend on it differ at some time.
TYPED_TEST(ParallelScanBits, BitsAreTheSameEachTime) {
  using D = TypeParam;
  constexpr index_t n = 500000;
  const auto x = make_vector<double, D>(n, element<double>);
  const auto first = create<Vector<double, D>>("first", n);
  inclusive_scan(x, first);
  const std::vector<double> expected = values_of(first);
  for (int round = 0; round < 20; ++round) {
    const auto y = create<Vector<double, D>>("y", n);
    inclusive_scan(x, y);
    expect_same_bits(values_of(y), expected, "round " + std::to_string(round));
  }
}

// ---- many tiles at a time: GPUs look back as far as ever

// 1 in each 16th element: prefixes are exact in float, too.
struct EverySixteenth {
  STRATA_FUNCTION void operator()(index_t i, auto x) const {
    x(i) = static_cast<decltype(x(i) + 0)>(i % 16 == 0 ? 1 : 0);
  }
};
struct CountWrong {
  STRATA_FUNCTION void operator()(index_t i, auto y, auto z, index_t& wrong) const {
    using T = decltype(y(i) + 0);
    wrong += y(i) != static_cast<T>(i / 16 + 1);
    wrong += z(i) != static_cast<T>((i + 15) / 16);
  }
};

template <class T, class D>
void expect_right_prefixes() {
  constexpr index_t n = runs_on_host_threads<D> ? 100000 : 50000000;
  const auto x = create<Vector<T, D>>("x", n), y = create<Vector<T, D>>("y", n);
  const auto z = create<Vector<T, D>>("z", n);
  parallel_for(n, with(EverySixteenth{}, x));
  for (int round = 0; round < 3; ++round) {
    deep_copy(y, T(-1));
    deep_copy(z, T(-1));
    index_t wrong = -1;

    inclusive_scan(x, y);
    parallel_scan(n, with(PrefixesBefore{0}, x, z), sum_of<T>);

    parallel_reduce(n, with(CountWrong{}, y, z), Sum(wrong));
    EXPECT_EQ(wrong, 0) << round;
  }
}

TYPED_TEST(ParallelScanBits, PrefixesOverVeryManyTilesAreRight) {
  expect_right_prefixes<double, TypeParam>();
  expect_right_prefixes<std::int64_t, TypeParam>();
  if constexpr (!runs_on_host_threads<TypeParam>) {  // where tiles are of so many bytes
    expect_right_prefixes<float, TypeParam>();
    expect_right_prefixes<std::int32_t, TypeParam>();
  }
}

TYPED_TEST(ParallelScanBits, ScansOfElementsHaveTheBitsOfTheOrderAlsoInPlace) {
  using D = TypeParam;
  for (const index_t n : {1, 17, 513, 8193, 30011}) {
    const auto x = make_vector<double, D>(n, element<double>), y = create<Vector<double, D>>("y", n);
    const auto z = create<Vector<double, D>>("z", n), w = make_vector<double, D>(n, element<double>);

    inclusive_scan(x, y);
    exclusive_scan(x, z, 0.5);
    exclusive_scan(w, w);
    inclusive_scan(x, x);

    auto before = prefixes_in_order<double>(0, n, 0, element<double>);
    std::vector<double> through;
    for (index_t i = 0; i < n; ++i)
      through.push_back(before[static_cast<std::size_t>(i)] + element<double>(i));
    auto from_half = prefixes_in_order<double>(0, n, 0.5, element<double>);
    before.pop_back();
    from_half.pop_back();
    expect_same_bits(values_of(y), through, "inclusive");
    expect_same_bits(values_of(z), from_half, "exclusive");
    expect_same_bits(values_of(w), before, "exclusive, in place");
    expect_same_bits(values_of(x), through, "inclusive, in place");
  }
}

// ---- values of several numbers

template <class Number, int Count>
struct Several {
  Number number[Count];
  STRATA_FUNCTION Several& operator+=(const Several& other) {
    for (int k = 0; k < Count; ++k) number[k] += other.number[k];
    return *this;
  }
};
// Number k of item i is k + 1 times the number of the item.
template <class S, class Number>
STRATA_FUNCTION S several(Number of_item) {
  S value;
  int k = 0;
  for (Number& number : value.number) number = of_item * static_cast<Number>(++k);
  return value;
}

template <class S>
struct SumSeveral {
  using value_type = S;
  template <class X>
  STRATA_FUNCTION void operator()(auto i, const X& x, auto y, S& sum, bool final) const {
    if (final) y(i) = sum;
    sum += several<S, typename X::value_type>(x(i));
  }
  STRATA_FUNCTION static void init(S& sum) { sum = S{}; }
  STRATA_FUNCTION static void join(S& sum, const S& other) { sum += other; }
};

template <class D, class Number, int Count>
void expect_bits_of_several(index_t n) {
  using S = Several<Number, Count>;
  const auto x = make_vector<Number, D>(n, element<Number>);
  const auto y = create<Vector<S, D>>("y", n);
  S total{};

  parallel_scan(n, with(SumSeveral<S>{}, x, y), total);

  std::vector<S> sums = values_of(y);
  sums.push_back(total);
  const auto element_of = [](index_t i) { return several<S, Number>(element<Number>(i)); };
  expect_same_bits(sums, prefixes_in_order<S>(0, n, S{}, element_of),
                   std::to_string(Count) + " numbers, " + std::to_string(n) + " items");
}

TYPED_TEST(ParallelScanBits, ValuesOfSeveralNumbersHaveTheBitsOfTheOrder) {
  using D = TypeParam;
  for (const index_t n : {0, 1, 17, 513, 8193, 20011}) {
    expect_bits_of_several<D, float, 3>(n);
    expect_bits_of_several<D, double, 5>(n);
    if constexpr (!runs_on_host_threads<D>) {
      expect_bits_of_several<D, float, 1>(n);
      expect_bits_of_several<D, float, 2>(n);
      expect_bits_of_several<D, double, 2>(n);
    }
  }
  expect_bits_of_several<D, double, 5>(300007);
}

// On GPUs too large for shared memory.
TYPED_TEST(ParallelScanBits, ValuesOfManyNumbersHaveTheBitsOfTheOrder) {
  using D = TypeParam;
  for (const index_t n : {1, 600, 17000}) expect_bits_of_several<D, float, 270>(n);
}

// ---- finalize functors

template <class D, class T>
struct SumAndFinalize {
  using value_type = T;
  template <class X>
  STRATA_FUNCTION void operator()(auto i, const X& x, auto y, T& sum, bool final) const {
    sum += x(i);
    if (final) y(i) = sum;
  }
  STRATA_FUNCTION static void init(T& sum) { sum = 0; }
  STRATA_FUNCTION static void join(T& sum, const T& other) { sum += other; }
};
// Reads what the scan has written.
template <class D, class T>
struct CountOnes {
  Vector<T, D> y;
  Value<index_t, D> wrong;
  STRATA_FUNCTION void operator()(const T& total) const {
    index_t found = total != static_cast<T>(y.extent(0));
    for (index_t i = 0; i < y.extent(0); i += 97) found += y(i) != static_cast<T>(i + 1);
    *wrong = found;
  }
};

template <class D, class T>
void expect_finalize_after_all() {
  constexpr index_t n = 200000;
  const auto x = create<Vector<T, D>>("x", n), y = create<Vector<T, D>>("y", n);
  const auto wrong = create<Value<index_t, D>>("wrong");
  deep_copy(x, T(1));
  for (int round = 0; round < 5; ++round) {
    deep_copy(y, T(0));
    deep_copy(wrong, index_t{-1});
    parallel_scan(n, with(SumAndFinalize<D, T>{}, x, y), finalize(CountOnes<D, T>{y, wrong}));
    EXPECT_EQ(value_of(wrong), 0);
  }
}

TYPED_TEST(ParallelScanBits, FinalizeFunctorsReadAllPrefixes) {
  expect_finalize_after_all<TypeParam, double>();
  expect_finalize_after_all<TypeParam, int>();
}

// ---- queues and graphs

TYPED_TEST(ParallelScanBits, ScansOnSeveralQueuesAtATimeDoNotMeet) {
  using D = TypeParam;
  constexpr index_t n = 200003;
  constexpr int count = 4;
  std::vector<Queue<D>> queues(count);
  std::vector<Vector<double, D>> x, y;
  for (int q = 0; q < count; ++q) {
    x.push_back(make_vector<double, D>(n, [&](index_t i) { return element<double>(i + 1000 * q); }));
    y.push_back(create<Vector<double, D>>("y", n));
  }

  for (int round = 0; round < 5; ++round)
    for (std::size_t q = 0; q < count; ++q) exclusive_scan(on(queues[q]), x[q], y[q]);
  for (const Queue<D>& queue : queues) queue.wait();

  for (std::size_t q = 0; q < count; ++q) {
    auto expected = prefixes_in_order<double>(
        0, n, 0, [&](index_t i) { return element<double>(i + 1000 * static_cast<index_t>(q)); });
    expected.pop_back();
    expect_same_bits(values_of(y[q]), expected, "queue " + std::to_string(q));
  }
}

TYPED_TEST(ParallelScanBits, RecordedScansStartAnewAtEachLaunch) {
  using D = TypeParam;
  constexpr index_t n = 100003;
  const auto x = make_vector<double, D>(n, element<double>), y = create<Vector<double, D>>("y", n);
  const auto total = create<Value<double, D>>("total");
  const Queue<D> queue;
  const Graph<D> graph = record(queue, [&] {
    exclusive_scan(on(queue), x, y);
    parallel_scan(on(queue), n, with(PrefixesBefore{0}, y, y), Sum(total));
  });

  const auto once = prefixes_in_order<double>(0, n, 0, element<double>);
  const auto twice =
      prefixes_in_order<double>(0, n, 0, [&](index_t i) { return once[static_cast<std::size_t>(i)]; });
  for (int launch = 0; launch < 3; ++launch) {
    deep_copy(y, -1.0);
    wait(D{});
    graph.launch(queue);
    queue.wait();
    auto values = values_of(y);
    values.push_back(value_of(total));
    expect_same_bits(values, twice, "launch " + std::to_string(launch));
  }
}

}  // namespace
