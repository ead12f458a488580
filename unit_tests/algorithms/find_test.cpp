// find and find_if: the smallest index, wherever it lies.
// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <vector>

#include <strata/algorithms/find.hpp>
#include <strata/core/error.hpp>

#include "arrays.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class Find : public ::testing::Test {};
TYPED_TEST_SUITE(Find, TestDevices, DeviceName);

struct IsNegative {
  STRATA_FUNCTION bool operator()(int value) const { return value < 0; }
};

TYPED_TEST(Find, ReturnsTheSmallestIndexOrTheEnd) {
  using D = TypeParam;
  for (const index_t n : {0, 1, 2, 127, 128, 129, 511, 512, 513, 4095, 4096, 4097, 100000}) {
    const auto x = make_vector<int, D>(n, [](index_t i) { return i; });
    const auto host = create_mirror_and_copy(x);

    EXPECT_EQ(find(x, -1), n);
    EXPECT_EQ(find_if(x, IsNegative{}), n);
    for (const index_t at : {index_t{0}, index_t{1}, n / 3, n / 2, n - 2, n - 1}) {
      if (at < 0 || at >= n) continue;
      EXPECT_EQ(find(x, static_cast<int>(at)), at) << n;
      host(at) = -5;
      host(n - 1) = -5;  // a later one does not matter
      const auto y = create<Vector<int, D>>("y", n);
      deep_copy(y, host);
      EXPECT_EQ(find_if(y, IsNegative{}), at) << n;
      for (index_t i = 0; i < n; ++i) host(i) = static_cast<int>(i);
    }
  }
}

TYPED_TEST(Find, GivesTheFirstOfMany) {
  using D = TypeParam;
  const auto x = make_vector<int, D>(200000, [](index_t i) { return i < 77777 ? 1 : -1; });

  for (int repeat = 0; repeat < 20; ++repeat) ASSERT_EQ(find_if(x, IsNegative{}), 77777);
  EXPECT_EQ(find(x, 1), 0);
}

TYPED_TEST(Find, PutsTheIndexIntoAVariableOrAValue) {
  using D = TypeParam;
  const Queue<D> queue(D{});
  const auto x = make_vector<int, D>(10000, [](index_t i) { return 9000 - i; });
  const auto index = create<Value<index_t, D>>("index");
  const auto other = create<Value<std::int32_t, D>>("other");
  unsigned host = 0;

  find_if(on(D{}).named("negative"), x, IsNegative{}, index);
  find(on(D{}), x, 8000, other);
  find(on(queue).named("zero"), x, 0, host);

  EXPECT_EQ(value_of(index), 9001);
  EXPECT_EQ(value_of(other), 1000);
  EXPECT_EQ(host, 9000U);
  EXPECT_EQ(find_if(on(queue).named("again"), x, IsNegative{}), 9001);
}

TYPED_TEST(Find, TakesAnyLayoutAndRunTimeRankOne) {
  using D = TypeParam;
  const auto matrix = create<MDArrayIn<LayoutTiled<8>, double, D, rank<2>>>("matrix", 1000, 3);
  const auto host = create_mirror_view(matrix);
  for (index_t i = 0; i < 1000; ++i) host(i, 2) = static_cast<double>(i);
  deep_copy(matrix, host);
  const auto any = create<MDArray<int, D>>("any", 30);

  EXPECT_EQ(find(subview(matrix, everything, 2), 321.0), 321);
  EXPECT_EQ(find(subview(matrix, everything, 1), 321.0), 1000);
  EXPECT_EQ(find(any, 0), 0);
  EXPECT_EQ(find(any, 1), 30);
  EXPECT_THROW(static_cast<void>(find(create<MDArray<int, D>>("other", 3, 3), 0)), ExtentError);
}

TYPED_TEST(Find, NeverFindsANaN) {
  using D = TypeParam;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto x = make_vector<double, D>(1000, [&](index_t i) {
    return i == 10 ? nan : i == 20 ? -0.0 : 1.0;
  });

  EXPECT_EQ(find(x, nan), 1000);
  EXPECT_EQ(find(x, 0.0), 20);
}

}  // namespace
