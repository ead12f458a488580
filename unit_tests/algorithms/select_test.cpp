// copy_if and partition: which elements, in which order, and where the count goes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include <strata/algorithms/select.hpp>
#include <strata/core/error.hpp>

#include "arrays.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

// Around words of 64 marks and blocks of 4096 items.
constexpr index_t select_sizes[] = {0, 1, 2, 63, 64, 65, 511, 512, 513, 4095, 4096, 4097, 12289, 100000};

// Holds for every `of`-th value, all (1) or none (0).
struct EveryNth {
  std::int64_t of;
  STRATA_FUNCTION bool operator()(std::int64_t value) const { return of != 0 && value % of == 0; }
};
std::int64_t item(index_t i) { return static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(i)) >> 8); }

template <class D>
class CopyIf : public ::testing::Test {};
TYPED_TEST_SUITE(CopyIf, TestDevices, DeviceName);

TYPED_TEST(CopyIf, KeepsTheOrderAndReturnsTheCount) {
  using D = TypeParam;
  for (const index_t n : select_sizes)
    for (const std::int64_t of : {0, 1, 2, 97}) {
      const auto x = make_vector<std::int64_t, D>(n, item);
      const auto y = make_vector<std::int64_t, D>(n + 1, [](index_t) { return -1; });
      std::vector<std::int64_t> expected;
      for (index_t i = 0; i < n; ++i)
        if (EveryNth{of}(item(i))) expected.push_back(item(i));
      const auto count = static_cast<index_t>(expected.size());
      expected.resize(static_cast<std::size_t>(n + 1), -1);

      EXPECT_EQ(copy_if(x, y, EveryNth{of}), count) << n << ", " << of;

      ASSERT_EQ(values_of(y), expected) << n << ", " << of;
    }
}

TYPED_TEST(CopyIf, PutsTheCountIntoAVariableOrAValue) {
  using D = TypeParam;
  const Queue<D> queue(D{});
  const auto x = make_vector<std::int64_t, D>(1000, [](index_t i) { return i; });
  const auto y = make_vector<std::int64_t, D>(1000, [](index_t) { return -1; });
  const auto empty = make_vector<std::int64_t, D>(0, [](index_t) { return 0; });
  const auto count = create<Value<index_t, D>>("count");
  const auto small = create<Value<std::int32_t, D>>("small");
  int host = -1;
  unsigned long of_none = 7;

  copy_if(on(D{}).named("tenth"), x, y, EveryNth{10}, count);
  copy_if(on(D{}), x, y, EveryNth{5}, small);
  copy_if(on(queue).named("half"), x, y, EveryNth{2}, host);
  copy_if(empty, y, EveryNth{1}, of_none);

  EXPECT_EQ(value_of(count), 100);
  EXPECT_EQ(value_of(small), 200);
  EXPECT_EQ(host, 500);
  EXPECT_EQ(of_none, 0UL);
  copy_if(empty, y, EveryNth{1}, count);
  EXPECT_EQ(value_of(count), 0);
}

TYPED_TEST(CopyIf, WritesNoMoreThanTheTargetHolds) {
  using D = TypeParam;
  for (const index_t n : {index_t{100}, index_t{20000}}) {
    const auto x = make_vector<std::int64_t, D>(n, [](index_t i) { return i; });
    const auto whole = make_vector<std::int64_t, D>(n, [](index_t) { return -1; });

    EXPECT_EQ(copy_if(x, subview(whole, range(0, 10)), EveryNth{2}), n / 2);

    const auto values = values_of(whole);
    EXPECT_EQ(values[9], 18);
    EXPECT_EQ(values[10], -1);
  }
}

TYPED_TEST(CopyIf, TakesViewsOfAnyLayout) {
  using D = TypeParam;
  const auto from = create<MDArrayIn<LayoutRight, std::int64_t, D, rank<2>>>("from", 9001, 3);
  const auto to = create<MDArrayIn<LayoutTiled<8>, std::int64_t, D, rank<2>>>("to", 9001, 2);
  const auto host = create_mirror_view(from);
  for (index_t i = 0; i < 9001; ++i) host(i, 1) = i;
  deep_copy(from, host);

  EXPECT_EQ(copy_if(subview(from, everything, 1), subview(to, everything, 1), EveryNth{3}), 3001);

  const auto result = on_host(to);
  for (index_t i = 0; i < 3001; ++i) ASSERT_EQ(result(i, 1), 3 * i);
  for (index_t i = 0; i < 9001; ++i) ASSERT_EQ(result(i, 0), 0);
}

TYPED_TEST(CopyIf, RefusesSharedMemoryAndOtherRanks) {
  using D = TypeParam;
  const auto x = make_vector<std::int64_t, D>(10, [](index_t i) { return i; });
  const auto any = create<MDArray<std::int64_t, D>>("any", 3, 3);

  EXPECT_THROW(copy_if(x, x, EveryNth{2}), LayoutError);
  EXPECT_THROW(copy_if(subview(x, range(0, 6)), subview(x, range(5, 10)), EveryNth{2}), LayoutError);
  EXPECT_THROW(copy_if(any, x, EveryNth{2}), ExtentError);
  EXPECT_THROW(partition(any, EveryNth{2}), ExtentError);
}

template <class D>
class Partition : public ::testing::Test {};
TYPED_TEST_SUITE(Partition, TestDevices, DeviceName);

TYPED_TEST(Partition, KeepsTheOrderOnBothSides) {
  using D = TypeParam;
  for (const index_t n : select_sizes)
    for (const std::int64_t of : {0, 1, 2, 97}) {
      const auto x = make_vector<std::int64_t, D>(n, item);
      std::vector<std::int64_t> expected = values_of(x);
      const auto border = std::stable_partition(expected.begin(), expected.end(), EveryNth{of});

      EXPECT_EQ(partition(x, EveryNth{of}), border - expected.begin()) << n << ", " << of;

      ASSERT_EQ(values_of(x), expected) << n << ", " << of;
    }
}

TYPED_TEST(Partition, TakesStridedViewsQueuesAndValues) {
  using D = TypeParam;
  const Queue<D> queue(D{});
  const auto matrix = create<MDArrayIn<LayoutRight, std::int64_t, D, rank<2>>>("matrix", 5000, 2);
  const auto host = create_mirror_view(matrix);
  for (index_t i = 0; i < 5000; ++i) host(i, 0) = host(i, 1) = i;
  deep_copy(matrix, host);
  const auto count = create<Value<index_t, D>>("count");
  short in_host = 0;

  partition(on(queue).named("left"), subview(matrix, everything, 0), EveryNth{5}, count);
  queue.wait();
  partition(subview(matrix, everything, 0), EveryNth{10}, in_host);

  EXPECT_EQ(value_of(count), 1000);
  EXPECT_EQ(in_host, 500);
  const auto result = on_host(matrix);
  for (index_t i = 0; i < 5000; ++i) ASSERT_EQ(result(i, 1), i);
  for (index_t i = 0; i < 500; ++i) ASSERT_EQ(result(i, 0), 10 * i);
  for (index_t i = 500; i < 1000; ++i) ASSERT_EQ(result(i, 0), 10 * (i - 500) + 5);
  EXPECT_EQ(result(1000, 0), 1);
}

#ifndef __CUDACC__

template <class D>
class ThrowingPredicate : public ::testing::Test {};
TYPED_TEST_SUITE(ThrowingPredicate, HostThreadDevices, DeviceName);

struct ThrowsAtValue {
  std::int64_t forbidden;
  bool operator()(std::int64_t value) const {
    if (value == forbidden) throw std::runtime_error("forbidden");
    return value % 2 == 0;
  }
};

TYPED_TEST(ThrowingPredicate, LeavesThePartitionedArrayAsItWas) {
  using D = TypeParam;
  for (const index_t n : {index_t{100}, index_t{20000}}) {
    const auto x = make_vector<std::int64_t, D>(n, [](index_t i) { return i; });
    const std::vector<std::int64_t> before = values_of(x);

    EXPECT_THROW(static_cast<void>(partition(x, ThrowsAtValue{n - 3})), std::runtime_error);

    EXPECT_EQ(values_of(x), before);
  }
}

#endif

}  // namespace
