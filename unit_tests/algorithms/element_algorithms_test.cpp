// count_if, min_element, unique, reverse, rotate, adjacent_difference and the scans of functions: against the
// standard library, on every device, for views of any layout, waiting and in queues.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include <strata/algorithms/element_algorithms.hpp>

#include "arrays.hpp"
#include "messages.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class ElementAlgorithms : public ::testing::Test {};
TYPED_TEST_SUITE(ElementAlgorithms, TestDevices, DeviceName);

int element(index_t i) { return static_cast<int>(mix(static_cast<std::uint64_t>(i)) % 23) / 4 - 2; }

std::vector<int> elements(index_t n) {
  std::vector<int> x;
  for (index_t i = 0; i < n; ++i) x.push_back(element(i));
  return x;
}

struct IsPositive {
  STRATA_FUNCTION bool operator()(int x) const { return x > 0; }
};
struct SquareOf {
  STRATA_FUNCTION long operator()(int x) const { return static_cast<long>(x) * x; }
};
struct SameParity {
  STRATA_FUNCTION bool operator()(int a, int b) const { return (a - b) % 2 == 0; }
};
struct PlusElements {
  STRATA_FUNCTION int operator()(int a, int b) const { return a + b; }
};

TYPED_TEST(ElementAlgorithms, CountsAndExtremes) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<int, D>(n, element);
    const std::vector<int> y = elements(n);

    EXPECT_EQ(count_if(x, IsPositive{}), std::count_if(y.begin(), y.end(), IsPositive{})) << n;
    EXPECT_EQ(count(on(D{}), x, -1), std::count(y.begin(), y.end(), -1)) << n;
    EXPECT_EQ(min_element(x), std::min_element(y.begin(), y.end()) - y.begin()) << n;
    EXPECT_EQ(max_element(on(D{}), x), std::max_element(y.begin(), y.end()) - y.begin()) << n;
    int found = -1;
    min_element(x, found);
    EXPECT_EQ(found, std::min_element(y.begin(), y.end()) - y.begin());
  }
}

TYPED_TEST(ElementAlgorithms, ExtremesAreNeverNaNs) {
  using D = TypeParam;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto of = [](const std::vector<double>& values) {
    return make_vector<double, D>(static_cast<index_t>(values.size()),
                                  [&](index_t i) { return values[static_cast<std::size_t>(i)]; });
  };

  EXPECT_EQ(min_element(of({nan, 1, 0, nan})), 2);
  EXPECT_EQ(max_element(of({nan, 0, 1, nan})), 2);
  EXPECT_EQ(min_element(of({nan, infinity, infinity})), 1);
  EXPECT_EQ(max_element(of({nan, -infinity, nan})), 1);
  EXPECT_EQ(min_element(of({nan, nan})), 2);
  EXPECT_EQ(max_element(of({nan})), 1);
  EXPECT_EQ(min_element(of({})), 0);
  std::vector<double> many(5000, nan);
  many[4321] = many[4500] = 3;
  EXPECT_EQ(min_element(of(many)), 4321);
  EXPECT_EQ(max_element(of(many)), 4321);
  const auto least = create<Value<ValueLocation<double>, D>>("least");
  min_element(on(D{}), of({nan, nan}), least);
  EXPECT_EQ(value_of(least).location, std::numeric_limits<index_t>::max());
}

TEST(MinLoc, ANumberReplacesANaN) {
  using Found = ValueLocation<double>;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  Found least{nan, 0}, most{nan, 0};

  detail::MinLocOf::join(least, Found{2, 5});
  detail::MinLocOf::join(least, Found{nan, 1});
  detail::MaxLocOf::join(most, Found{2, 5});
  detail::MaxLocOf::join(most, Found{nan, 1});

  EXPECT_EQ(least.value, 2);
  EXPECT_EQ(least.location, 5);
  EXPECT_EQ(most.value, 2);
  EXPECT_EQ(most.location, 5);
}

TYPED_TEST(ElementAlgorithms, CountsAndExtremesStayOnTheDeviceInAQueue) {
  using D = TypeParam;
  const Queue<D> queue(D{});
  const auto x = make_vector<int, D>(5000, element);
  const auto positive = create<Value<index_t, D>>("positive"), left = create<Value<index_t, D>>("left");
  const auto least = create<Value<ValueLocation<int>, D>>("least");

  count_if(on(queue).named("positive"), x, IsPositive{}, positive);
  min_element(on(queue), x, least);
  unique(on(queue), x, left);
  queue.wait();

  std::vector<int> y = elements(5000);
  EXPECT_EQ(value_of(positive), std::count_if(y.begin(), y.end(), IsPositive{}));
  EXPECT_EQ(value_of(least).location, std::min_element(y.begin(), y.end()) - y.begin());
  EXPECT_EQ(value_of(least).value, *std::min_element(y.begin(), y.end()));
  EXPECT_EQ(value_of(left), std::unique(y.begin(), y.end()) - y.begin());
}

TYPED_TEST(ElementAlgorithms, UniqueKeepsTheFirstOfEachRunInOrder) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<int, D>(n, element), z = make_vector<int, D>(n, element);
    std::vector<int> y = elements(n), w = y;
    y.erase(std::unique(y.begin(), y.end()), y.end());
    w.erase(std::unique(w.begin(), w.end(), SameParity{}), w.end());

    const index_t kept = unique(x), of_parity = unique_if(z, SameParity{});

    std::vector<int> front = values_of(x), front_of_z = values_of(z);
    front.resize(static_cast<std::size_t>(kept));
    front_of_z.resize(static_cast<std::size_t>(of_parity));
    EXPECT_EQ(front, y) << n;
    EXPECT_EQ(front_of_z, w) << n;
  }
}

TYPED_TEST(ElementAlgorithms, ReverseAndRotate) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<int, D>(n, [](index_t i) { return i; });
    std::vector<int> y = values_of(x);
    for (const index_t first : {index_t{0}, n / 3, n}) {
      reverse(x);
      std::reverse(y.begin(), y.end());
      EXPECT_EQ(values_of(x), y) << n;
      rotate(on(D{}), x, first);
      std::rotate(y.begin(), y.begin() + first, y.end());
      EXPECT_EQ(values_of(x), y) << n;
    }
  }
  const auto x = create<Vector<int, D>>("x", 5);
  expect_parts(message_of<LayoutError>([&] { rotate(x, 6); }), {"\"x\"", "[6, 7)", "[0, 5)"});
  EXPECT_THROW(rotate(x, -1), LayoutError);
}

TYPED_TEST(ElementAlgorithms, DifferencesAndScansOfFunctions) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<int, D>(n, element), y = create<Vector<int, D>>("y", n);
    const auto sums = create<Vector<long, D>>("sums", n);
    const std::vector<int> from = elements(n);
    std::vector<int> expected(from.size());
    std::vector<long> scanned(from.size());

    adjacent_difference(x, y);
    std::adjacent_difference(from.begin(), from.end(), expected.begin());
    EXPECT_EQ(values_of(y), expected) << n;
    adjacent_difference(on(D{}), x, y, PlusElements{});
    std::adjacent_difference(from.begin(), from.end(), expected.begin(), PlusElements{});
    EXPECT_EQ(values_of(y), expected) << n;
    transform_inclusive_scan(x, sums, SquareOf{});
    std::transform_inclusive_scan(from.begin(), from.end(), scanned.begin(), std::plus<>(), SquareOf{});
    EXPECT_EQ(values_of(sums), scanned) << n;
    transform_exclusive_scan(on(D{}), x, sums, SquareOf{}, 100);
    std::transform_exclusive_scan(from.begin(), from.end(), scanned.begin(), 100L, std::plus<>(), SquareOf{});
    EXPECT_EQ(values_of(sums), scanned) << n;
  }
  const auto x = create<Vector<int, D>>("x", 5), shorter = create<Vector<int, D>>("shorter", 4);
  EXPECT_THROW(adjacent_difference(x, x), LayoutError);
  EXPECT_THROW(adjacent_difference(x, shorter), ShapeMismatch);
  EXPECT_THROW(transform_inclusive_scan(x, shorter, SquareOf{}), ShapeMismatch);
}

TYPED_TEST(ElementAlgorithms, OfColumnsAndOfViewsThatBeginElsewhere) {
  using D = TypeParam;
  const auto matrix = create<MDArrayIn<LayoutRight, int, D, rank<2>>>("matrix", 600, 3);
  const auto column = subview(matrix, everything, 1), next = subview(matrix, everything, 2);
  std::vector<int> y = elements(600);
  deep_copy(column, make_vector<int, D>(600, element));

  adjacent_difference(column, next);
  EXPECT_EQ(on_host(matrix)(7, 2), y[7] - y[6]);
  rotate(column, 100);
  std::rotate(y.begin(), y.begin() + 100, y.end());
  reverse(column);
  std::reverse(y.begin(), y.end());
  EXPECT_EQ(max_element(column), std::max_element(y.begin(), y.end()) - y.begin());
  EXPECT_EQ(unique(column), std::unique(y.begin(), y.end()) - y.begin());
  EXPECT_EQ(on_host(matrix)(5, 1), y[5]);
  EXPECT_EQ(on_host(matrix)(599, 0), 0);

  using Offset = View<int, D, RankExtents<1>, LayoutOffset<LayoutRight>>;
  const index_t begin[] = {-4};
  const auto x = create<Offset>("x", typename Offset::mapping_type(RankExtents<1>(9), begin));
  deep_copy(x, make_vector<int, D>(9, [](index_t i) { return i == 2 ? 5 : 0; }));
  EXPECT_EQ(max_element(x), -2);
  rotate(x, -2);
  EXPECT_EQ(max_element(x), -4);
  EXPECT_EQ(unique(x), 2);
}

}  // namespace
