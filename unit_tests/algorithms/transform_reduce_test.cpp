// transform_reduce: of one view and of two, into every kind of result.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include <strata/algorithms/parallel_reduce.hpp>
#include <strata/algorithms/transform_reduce.hpp>
#include <strata/core/error.hpp>

#include "arrays.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class TransformReduce : public ::testing::Test {};
TYPED_TEST_SUITE(TransformReduce, TestDevices, DeviceName);

struct Square {
  STRATA_FUNCTION double operator()(double x) const { return x * x; }
};
struct Multiply {
  STRATA_FUNCTION double operator()(double x, float y) const { return x * static_cast<double>(y); }
};
struct Distance {
  double from;
  STRATA_FUNCTION double operator()(double x) const { return x < from ? from - x : x - from; }
};
struct IsOdd {
  STRATA_FUNCTION index_t operator()(double x) const { return static_cast<index_t>(x) % 2 != 0 ? 1 : 0; }
};
// What transform_reduce is made of, by hand.
struct AddSquares {
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const { sum += x(i) * x(i); }
};

TYPED_TEST(TransformReduce, ReturnsTheSum) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<double, D>(n, [](index_t i) { return i % 100 - 50; });
    const auto y = make_vector<float, D>(n, [](index_t i) { return i % 7; });
    double squares = 0, products = 0;
    index_t odd = 0;
    for (index_t i = 0; i < n; ++i) {
      squares += static_cast<double>((i % 100 - 50) * (i % 100 - 50));
      products += static_cast<double>((i % 100 - 50) * (i % 7));
      odd += (i % 100 - 50) % 2 != 0;
    }

    EXPECT_EQ(transform_reduce(x, Square{}), squares) << n;
    EXPECT_EQ(transform_reduce(x, y, Multiply{}), products) << n;
    const index_t found = transform_reduce(on(D{}).named("odd"), x, IsOdd{});
    EXPECT_EQ(found, odd) << n;
  }
}

TYPED_TEST(TransformReduce, GivesTheBitsOfParallelReduce) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<double, D>(n, mixed_number);
    double by_hand = 0;

    parallel_reduce(n, with(AddSquares{}, x), Sum(by_hand));

    EXPECT_TRUE(same_bits(transform_reduce(x, Square{}), by_hand)) << n;
  }
}

TYPED_TEST(TransformReduce, FeedsNamedReducersOnHostAndDevice) {
  using D = TypeParam;
  const Queue<D> queue(D{});
  const auto x = make_vector<double, D>(5000, [](index_t i) { return i; });
  const auto y = make_vector<float, D>(5000, [](index_t) { return 2; });
  const auto sum = create<Value<double, D>>("sum"), twice = create<Value<double, D>>("twice");
  double largest = 0, of_all = 0;
  MinMaxValue<double> both{};
  ValueLocation<double> nearest{};

  transform_reduce(on(queue).named("distance"), x, Distance{1234.25}, Sum(of_all), Max(largest), MinMax(both),
                   MinLoc(nearest));
  transform_reduce(x, Square{}, Sum(sum));
  transform_reduce(on(D{}).named("twice"), x, y, Multiply{}, Sum(twice));

  double expected = 0;
  for (int i = 0; i < 5000; ++i) expected += std::abs(i - 1234.25);
  EXPECT_EQ(of_all, expected);
  EXPECT_EQ(largest, 4999 - 1234.25);
  EXPECT_EQ(both.min, 0.25);
  EXPECT_EQ(both.max, 4999 - 1234.25);
  EXPECT_EQ(nearest.value, 0.25);
  EXPECT_EQ(nearest.location, 1234);
  EXPECT_EQ(value_of(sum), 4999.0 * 5000 * 9999 / 6);
  EXPECT_EQ(value_of(twice), 4999.0 * 5000);
}

TYPED_TEST(TransformReduce, LocatesTheSmallestAndTheLargest) {
  using D = TypeParam;
  const auto x = make_vector<double, D>(5000, [](index_t i) { return i == 4000 ? 9000 : i; });
  MinMaxLocation<double> found{};

  transform_reduce(x, Distance{1234.25}, MinMaxLoc(found));

  EXPECT_EQ(found.min, 0.25);
  EXPECT_EQ(found.max, 9000 - 1234.25);
  EXPECT_EQ(found.min_location, 1234);
  EXPECT_EQ(found.max_location, 4000);
}

TYPED_TEST(TransformReduce, TakesAnyLayout) {
  using D = TypeParam;
  const auto matrix = create<MDArrayIn<LayoutRight, double, D, rank<2>>>("matrix", 1000, 3);
  const auto host = create_mirror_view(matrix);
  for (index_t i = 0; i < 1000; ++i)
    for (index_t j = 0; j < 3; ++j) host(i, j) = static_cast<double>(j);
  deep_copy(matrix, host);

  EXPECT_EQ(transform_reduce(subview(matrix, everything, 2), Square{}), 4000);
  EXPECT_EQ(transform_reduce(subview(matrix, everything, 1), Square{}), 1000);
}

TYPED_TEST(TransformReduce, RefusesOtherShapesAndRanks) {
  using D = TypeParam;
  const auto x = make_vector<double, D>(10, mixed_number);
  const auto y = make_vector<float, D>(9, mixed_number);
  const auto any = create<MDArray<double, D>>("any", 3, 3);

  EXPECT_THROW(static_cast<void>(transform_reduce(x, y, Multiply{})), ShapeMismatch);
  EXPECT_THROW(static_cast<void>(transform_reduce(any, Square{})), ExtentError);
}

}  // namespace
