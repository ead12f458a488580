// sort and sort_by_key: order, stability, what happens to NaNs, and to the arrays where the order throws.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <strata/algorithms/sort.hpp>
#include <strata/core/error.hpp>

#include "arrays.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

// Around the shortest run that is sorted by itself, and several of them.
constexpr index_t sort_sizes[] = {0, 1, 2, 3, 31, 511, 512, 513, 4099, 8191, 8192, 16411, 100000};

template <class T>
T key_of(const char* kind, index_t i, index_t n) {
  const std::string name(kind);
  const std::uint64_t mixed = mix(static_cast<std::uint64_t>(i));
  if (name == "sorted") return static_cast<T>(i - n / 2);
  if (name == "reversed") return static_cast<T>(n / 2 - i);
  if (name == "equal") return static_cast<T>(7);
  if (name == "few values") return static_cast<T>(static_cast<index_t>(mixed % 5) - 2);
  return static_cast<T>(static_cast<index_t>(mixed >> 33) - (index_t{1} << 30));
}
constexpr const char* key_kinds[] = {"sorted", "reversed", "equal", "few values", "random"};

template <class D>
class Sort : public ::testing::Test {};
TYPED_TEST_SUITE(Sort, TestDevices, DeviceName);

template <class T, class D>
void sorts_as_std_does() {
  for (const char* kind : key_kinds)
    for (const index_t n : sort_sizes) {
      const auto keys = make_vector<T, D>(n, [&](index_t i) { return key_of<T>(kind, i, n); });
      std::vector<T> expected = values_of(keys);
      std::sort(expected.begin(), expected.end());

      sort(keys);

      ASSERT_EQ(values_of(keys), expected) << kind << ", " << n;
    }
}

TYPED_TEST(Sort, PutsIntegersInAscendingOrder) {
  sorts_as_std_does<std::int32_t, TypeParam>();
  if constexpr (!runs_on_host_threads<TypeParam>) sorts_as_std_does<std::uint64_t, TypeParam>();  // digits
}

TYPED_TEST(Sort, PutsRealNumbersInAscendingOrder) {
  sorts_as_std_does<double, TypeParam>();
  if constexpr (!runs_on_host_threads<TypeParam>) sorts_as_std_does<float, TypeParam>();
}

TYPED_TEST(Sort, DescendingIsTheReverse) {
  using D = TypeParam;
  for (const index_t n : sort_sizes) {
    const auto keys = make_vector<double, D>(n, mixed_number);
    std::vector<double> expected = values_of(keys);
    std::sort(expected.rbegin(), expected.rend());

    sort(keys, Descending{});

    EXPECT_EQ(values_of(keys), expected) << n;
  }
}

// Small and large elements, with an order of their own.
struct Particle {
  float x;
  std::int32_t cell;
};
struct LargeRecord {
  std::int64_t key;
  double data[9];
};
struct ByCell {
  STRATA_FUNCTION bool operator()(const Particle& a, const Particle& b) const { return a.cell < b.cell; }
};
struct ByRecordKey {
  STRATA_FUNCTION bool operator()(const LargeRecord& a, const LargeRecord& b) const { return a.key > b.key; }
};

TYPED_TEST(Sort, TakesAnOrderOfStructs) {
  using D = TypeParam;
  for (const index_t n : {index_t{0}, index_t{1}, index_t{513}, index_t{20011}}) {
    const auto particles = make_vector<Particle, D>(n, [](index_t i) {
      return Particle{static_cast<float>(i),
                      static_cast<std::int32_t>(mix(static_cast<std::uint64_t>(i)) % 1000)};
    });
    const auto records = make_vector<LargeRecord, D>(n, [](index_t i) {
      return LargeRecord{static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(i))),
                         {static_cast<double>(i)}};
    });
    double sum = 0;
    for (index_t i = 0; i < n; ++i) sum += static_cast<double>(i);

    sort(particles, ByCell{});
    sort(records, ByRecordKey{});

    double found = 0;
    const auto p = values_of(particles);
    for (std::size_t i = 0; i < p.size(); ++i) {
      found += static_cast<double>(p[i].x);
      if (i > 0) {
        ASSERT_LE(p[i - 1].cell, p[i].cell);
      }
      ASSERT_EQ(p[i].cell, static_cast<std::int32_t>(mix(static_cast<std::uint64_t>(p[i].x)) % 1000));
    }
    EXPECT_EQ(found, sum);
    const auto r = values_of(records);
    for (std::size_t i = 0; i < r.size(); ++i) {
      if (i > 0) {
        ASSERT_GE(r[i - 1].key, r[i].key);
      }
      ASSERT_EQ(r[i].key, static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(r[i].data[0]))));
    }
  }
}

TYPED_TEST(Sort, PutsNaNsLastAndKeepsBothZeros) {
  using D = TypeParam;
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  const double special[] = {nan, -nan, 0.0, -0.0, infinity, -infinity, 1.5, -1.5};
  for (const index_t n : {index_t{8}, index_t{20000}})
    for (const bool descending : {false, true}) {
      const auto keys = make_vector<double, D>(n, [&](index_t i) { return special[i % 8]; });

      if (descending) sort(keys, Descending{});
      else sort(keys);

      std::vector<double> values = values_of(keys);
      if (descending) std::reverse(values.begin(), values.end());
      const std::size_t each = values.size() / 8;
      const auto slice = [&](std::size_t from, std::size_t to) {
        return std::vector<double>(values.begin() + static_cast<std::ptrdiff_t>(from * each),
                                   values.begin() + static_cast<std::ptrdiff_t>(to * each));
      };
      EXPECT_EQ(slice(0, 1), std::vector<double>(each, -infinity));
      EXPECT_EQ(slice(1, 2), std::vector<double>(each, -1.5));
      EXPECT_EQ(slice(2, 4), std::vector<double>(2 * each, 0.0));
      EXPECT_EQ(slice(4, 5), std::vector<double>(each, 1.5));
      EXPECT_EQ(slice(5, 6), std::vector<double>(each, infinity));
      for (const double v : slice(6, 8)) ASSERT_TRUE(std::isnan(v));
      std::size_t negative_zeros = 0;
      for (const double v : slice(2, 4)) negative_zeros += std::signbit(v);
      EXPECT_EQ(negative_zeros, each);
    }
}

TYPED_TEST(Sort, OfPartOfAnArrayLeavesTheRest) {
  using D = TypeParam;
  const auto whole = make_vector<int, D>(10000, [](index_t i) { return 10000 - i; });
  const auto part = subview(whole, range(1000, 9000));

  sort(part);

  const std::vector<int> values = values_of(whole);
  EXPECT_EQ(values[999], 9001);
  EXPECT_EQ(values[1000], 1001);
  EXPECT_EQ(values[8999], 9000);
  EXPECT_EQ(values[9000], 1000);
}

TYPED_TEST(Sort, TakesViewsOfRunTimeRankOneAndOnesWithAnIndexOffset) {
  using D = TypeParam;
  const auto any = create<MDArray<int, D>>("any", 100);
  const auto values = make_vector<int, D>(100, [](index_t i) { return 100 - i; });
  const auto host = create_mirror_view(any);
  for (index_t i = 0; i < 100; ++i) host(i) = static_cast<int>(100 - i);
  deep_copy(any, host);
  sort(values);

  sort(any);

  deep_copy(host, any);
  for (index_t i = 0; i < 100; ++i) EXPECT_EQ(host(i), i + 1);
  EXPECT_THROW(sort(create<MDArray<int, D>>("matrix", 3, 3)), ExtentError);
}

TYPED_TEST(Sort, SortsElementsThatAreNoNeighboursByWayOfACopy) {
  using D = TypeParam;
  const auto matrix = create<MDArrayIn<LayoutRight, double, D, rank<2>>>("matrix", 1000, 3);
  const auto host = create_mirror(matrix);
  for (index_t i = 0; i < 1000; ++i) {
    host(i, 0) = static_cast<double>(i);
    host(i, 1) = static_cast<double>((i * 617) % 1000);
    host(i, 2) = -7;
  }
  deep_copy(matrix, host);
  const auto tiled = create<MDArrayIn<LayoutTiled<8>, double, D, rank<2>>>("tiled", 1000, 2);
  const auto places = make_vector<int, D>(1000, [](index_t i) { return i; });
  deep_copy(subview(tiled, everything, 0), subview(matrix, everything, 1));
  const Queue<D> queue(D{});

  sort(on(queue), subview(tiled, everything, 0), Descending{});
  queue.wait();
  sort_by_key(subview(matrix, everything, 1), subview(matrix, everything, 0));

  deep_copy(host, matrix);
  const auto of_tiles = on_host(tiled);
  for (index_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(of_tiles(i, 0), static_cast<double>(999 - i));
    EXPECT_EQ(of_tiles(i, 1), 0);
    EXPECT_EQ(host(i, 1), static_cast<double>(i));
    EXPECT_EQ(static_cast<index_t>(host(i, 0)) * 617 % 1000, i);  // moved with its key
    EXPECT_EQ(host(i, 2), -7);
  }
  sort_by_key(subview(matrix, everything, 0), places);
  EXPECT_EQ(on_host(matrix)(999, 0), 999);
  EXPECT_EQ(values_of(places)[0], 0);
  EXPECT_THROW(sort_by_key(subview(matrix, everything, 1), subview(matrix, everything, 1)), LayoutError);
}

TYPED_TEST(Sort, RunsOnTheQueueAskedForUnderItsLabel) {
  using D = TypeParam;
  const Queue<D> queue(D{});
  const auto keys = make_vector<int, D>(1000, [](index_t i) { return -i; });

  sort(on(queue).named("by hand"), keys);
  sort(on(D{}).named("again"), keys);
  sort(on(D{}), keys);
  queue.wait();

  const std::vector<int> values = values_of(keys);
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
}

// ---- sort_by_key

template <class D>
class SortByKey : public ::testing::Test {};
TYPED_TEST_SUITE(SortByKey, TestDevices, DeviceName);

template <class D, class K, class V, class Less, class MakeValue>
void moves_values_stably(const Less& less, const MakeValue& value) {
  for (const char* kind : key_kinds)
    for (const index_t n : sort_sizes) {
      const auto keys = make_vector<K, D>(n, [&](index_t i) { return key_of<K>(kind, i, n); });
      const auto values = make_vector<V, D>(n, value);
      const std::vector<K> before = values_of(keys);
      std::vector<index_t> order(before.size());
      std::iota(order.begin(), order.end(), index_t{0});
      std::stable_sort(order.begin(), order.end(), [&](index_t a, index_t b) {
        return less(before[static_cast<std::size_t>(a)], before[static_cast<std::size_t>(b)]);
      });

      sort_by_key(keys, values, less);

      const std::vector<K> sorted = values_of(keys);
      const std::vector<V> moved = values_of(values);
      for (std::size_t i = 0; i < order.size(); ++i) {
        ASSERT_EQ(sorted[i], before[static_cast<std::size_t>(order[i])]) << kind << ", " << n << ", " << i;
        ASSERT_TRUE(same_bits(moved[i], value(order[i]))) << kind << ", " << n << ", " << i;
      }
    }
}

struct NumberOf {
  index_t operator()(index_t i) const { return i; }
};
struct RecordOf {
  LargeRecord operator()(index_t i) const { return {i, {0, 1, 2, 3, 4, 5, 6, 7, static_cast<double>(i)}}; }
};
struct ByMagnitude {
  STRATA_FUNCTION bool operator()(std::int32_t a, std::int32_t b) const { return a * a < b * b; }
};

TYPED_TEST(SortByKey, KeepsTheOrderOfEqualKeys) {
  moves_values_stably<TypeParam, std::int32_t, index_t>(Ascending{}, NumberOf{});
  moves_values_stably<TypeParam, float, index_t>(Descending{}, NumberOf{});
}

TYPED_TEST(SortByKey, TakesAnOrderAndLargeValues) {
  using D = TypeParam;
  moves_values_stably<D, std::int64_t, LargeRecord>(Ascending{}, RecordOf{});
  const auto keys = make_vector<std::int32_t, D>(9001, [](index_t i) { return i % 21 - 10; });
  const auto values = make_vector<index_t, D>(9001, [](index_t i) { return i; });

  sort_by_key(on(D{}).named("magnitude"), keys, values, ByMagnitude{});

  const auto k = values_of(keys);
  const auto v = values_of(values);
  for (std::size_t i = 0; i < k.size(); ++i) {
    ASSERT_EQ(k[i], v[i] % 21 - 10);
    if (i == 0) continue;
    ASSERT_LE(std::abs(k[i - 1]), std::abs(k[i]));
    if (std::abs(k[i - 1]) == std::abs(k[i])) {
      ASSERT_LT(v[i - 1], v[i]);
    }
  }
}

TYPED_TEST(SortByKey, TakesBothZerosForEqualAndPutsNaNsLast) {
  using D = TypeParam;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto keys = make_vector<double, D>(9000, [&](index_t i) {
    const double kinds[] = {0.0, -nan, -0.0, nan, 1.0, -1.0};
    return kinds[i % 6];
  });
  const auto values = make_vector<index_t, D>(9000, [](index_t i) { return i; });

  sort_by_key(keys, values);

  const auto k = values_of(keys);
  const auto v = values_of(values);
  for (std::size_t i = 0; i < 1500; ++i) ASSERT_EQ(k[i], -1.0);
  for (std::size_t i = 1500; i < 4500; ++i) {
    ASSERT_EQ(k[i], 0.0);
    ASSERT_EQ(std::signbit(k[i]), v[i] % 6 == 2);
    if (i > 1500) {
      ASSERT_LT(v[i - 1], v[i]);
    }
  }
  std::vector<index_t> of_nans(v.begin() + 6000, v.end()), expected;
  std::sort(of_nans.begin(), of_nans.end());
  for (index_t i = 0; i < 9000; ++i)
    if (i % 6 == 1 || i % 6 == 3) expected.push_back(i);
  EXPECT_EQ(of_nans, expected);
  for (std::size_t i = 6000; i < 9000; ++i) ASSERT_EQ(std::isnan(k[i]), true);
}

TYPED_TEST(SortByKey, RefusesOtherShapesAndSharedMemory) {
  using D = TypeParam;
  const auto keys = make_vector<int, D>(10, [](index_t i) { return i; });
  const auto values = make_vector<int, D>(9, [](index_t i) { return i; });

  EXPECT_THROW(sort_by_key(keys, values), ShapeMismatch);
  EXPECT_THROW(sort_by_key(keys, keys), LayoutError);
  EXPECT_THROW(sort_by_key(subview(keys, range(0, 6)), subview(keys, range(4, 10))), LayoutError);
  EXPECT_EQ(values_of(keys), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

// ---- orders that throw, where they can

#ifndef __CUDACC__

template <class D>
class ThrowingOrder : public ::testing::Test {};
TYPED_TEST_SUITE(ThrowingOrder, HostThreadDevices, DeviceName);

struct ThrowsAt {
  int forbidden;
  bool operator()(int a, int b) const {
    if (a == forbidden) throw std::runtime_error("forbidden");
    return a < b;
  }
};

TYPED_TEST(ThrowingOrder, LeavesKeysAndValuesAsTheyWere) {
  using D = TypeParam;
  for (const index_t n : {index_t{100}, index_t{50000}}) {
    const auto keys = make_vector<int, D>(
        n, [](index_t i) { return static_cast<int>(mix(static_cast<std::uint64_t>(i)) % 5000); });
    const auto values = make_vector<index_t, D>(n, [](index_t i) { return i; });
    const std::vector<int> keys_before = values_of(keys);
    const std::vector<index_t> values_before = values_of(values);
    const ThrowsAt order{keys_before[static_cast<std::size_t>(n / 2)]};
    const auto sort_and_wait = [&](bool with_values) {
      if (with_values) sort_by_key(keys, values, order);
      else sort(keys, order);
      wait(D{});
    };

    EXPECT_THROW(sort_and_wait(false), std::runtime_error) << n;
    EXPECT_THROW(sort_and_wait(true), std::runtime_error) << n;

    EXPECT_EQ(values_of(keys), keys_before) << n;
    EXPECT_EQ(values_of(values), values_before) << n;
  }
}

#endif

}  // namespace
