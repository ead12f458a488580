// Reductions, scans, atomics and sorting of complex numbers, halfs and bfloat16s.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include <strata/algorithms/sort.hpp>
#include <strata/algorithms/transform_reduce.hpp>

#include "element_types.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class ElementTypeSums : public ElementTypes<D> {};
TYPED_TEST_SUITE(ElementTypeSums, TestDevices, DeviceName);

// ---- reductions and scans

struct AddElements {
  template <class I, class X, class T>
  STRATA_FUNCTION void operator()(I i, const X& x, T& sum) const {
    sum += x(i);
  }
};
struct Extremes {
  template <class I, class X, class T>
  STRATA_FUNCTION void operator()(I i, const X& x, T& least, T& most) const {
    const T v = x(i);
    least = v < least ? v : least;
    most = most < v ? v : most;
  }
};

template <class T>
T sum_of_elements(index_t n) {
  T sum{};
  for (index_t i = 0; i < n; ++i) sum += small_element<T>(i);
  return sum;
}

TYPED_TEST(ElementTypeSums, SumJoinsComplexNumbersIntoTheHostOrAValue) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<Complex, D>(n, small_element<Complex>);
    const auto f = make_vector<ComplexFloat, D>(n, small_element<ComplexFloat>);
    const auto kept = create<Value<Complex, D>>("kept");
    Complex sum(-1, -1);
    ComplexFloat float_sum(-1, -1);

    parallel_reduce(n, with(AddElements{}, x), Sum(sum));
    parallel_reduce(n, with(AddElements{}, x), Sum(kept));
    parallel_reduce(n, with(AddElements{}, f), Sum(float_sum));

    ASSERT_EQ(sum, sum_of_elements<Complex>(n)) << n;
    ASSERT_EQ(value_of(kept), sum) << n;
    ASSERT_EQ(float_sum, sum_of_elements<ComplexFloat>(n)) << n;
  }
}

// The total of halfs stays below 2^11, where integers are exact.
TYPED_TEST(ElementTypeSums, SumMinAndMaxJoinHalfs) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<half_t, D>(n, small_element<half_t>);
    const auto b = make_vector<bfloat16_t, D>(n, [](index_t i) { return i % 5 == 3 ? 2.5F : -1.0F; });
    half_t sum(-1), least(-1), most(-1);
    bfloat16_t b_least(-1), b_most(-1);

    parallel_reduce(n, with(AddElements{}, x), Sum(sum));
    parallel_reduce(n, with(Extremes{}, x), Min(least), Max(most));
    parallel_reduce(n, with(Extremes{}, b), Min(b_least), Max(b_most));

    const auto values = values_of(x);
    ASSERT_EQ(sum, sum_of_elements<float>(n)) << n;
    ASSERT_EQ(least, n == 0 ? INFINITY : float(*std::min_element(values.begin(), values.end()))) << n;
    ASSERT_EQ(most, n == 0 ? -INFINITY : float(*std::max_element(values.begin(), values.end()))) << n;
    ASSERT_EQ(b_least, n == 0 ? INFINITY : -1) << n;
    ASSERT_EQ(b_most, n == 0 ? -INFINITY : n <= 3 ? -1 : 2.5) << n;
  }
}

struct ToFloat {
  STRATA_FUNCTION float operator()(half_t x) const { return x; }
};

TYPED_TEST(ElementTypeSums, HalfsAreSummedInFloatByTransformReduce) {
  const auto x = make_vector<half_t, TypeParam>(30000, [](index_t) { return 0.25; });

  const float sum = transform_reduce(x, ToFloat{});

  EXPECT_EQ(sum, 7500) << "a sum of halfs would stay at 512";
}

template <class D>
struct ProductOfRotations {
  using device_type = D;
  using value_type = Complex;
  Vector<Complex, D> x;

  STRATA_FUNCTION void operator()(auto i, Complex& update) const { update *= x(i); }
  STRATA_FUNCTION static void init(Complex& update) { update = 1; }
  STRATA_FUNCTION static void join(Complex& update, const Complex& input) { update *= input; }
};

TYPED_TEST(ElementTypeSums, FunctorsJoinComplexNumbersTheirOwnWay) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const Complex turns[] = {1, {0, 1}, -1, {0, -1}};
    const auto turn = [&](index_t i) { return turns[mix(static_cast<std::uint64_t>(i)) % 4]; };
    Complex product, expected = 1;
    for (index_t i = 0; i < n; ++i) expected *= turn(i);

    parallel_reduce(n, ProductOfRotations<D>{make_vector<Complex, D>(n, turn)}, product);

    ASSERT_EQ(product, expected) << n;
  }
}

TYPED_TEST(ElementTypeSums, ScansSumComplexNumbersUpToEachElement) {
  using D = TypeParam;
  const auto check = [](auto type, index_t n) {
    using T = decltype(type);
    const auto x = make_vector<T, D>(n, small_element<T>);
    const auto y = create<Vector<T, D>>("y", n);

    inclusive_scan(x, y);
    exclusive_scan(x, x, T(100));

    const auto inclusive = values_of(y), exclusive = values_of(x);
    T sum{};
    for (index_t i = 0; i < n; ++i) {
      ASSERT_EQ(exclusive[static_cast<std::size_t>(i)], T(100) + sum) << n << ", " << i;
      sum += small_element<T>(i);
      ASSERT_EQ(inclusive[static_cast<std::size_t>(i)], sum) << n << ", " << i;
    }
  };
  for (const index_t n : loop_sizes) {
    check(Complex(), n);
    check(ComplexFloat(), n);
    check(half_t(), n);
  }
}

// ---- atomics

struct AddToAFew {
  template <class I, class X, class Y>
  STRATA_FUNCTION void operator()(I i, const X& x, const Y& sums) const {
    const index_t k = index_t(i);
    atomic_fetch_add(&sums(k % 3), x(k));
    atomic_fetch_sub(&sums(3 + k % 2), x(k));
  }
};

TYPED_TEST(ElementTypeSums, AtomicSumsLoseNothing) {
  using D = TypeParam;
  this->for_each_type([](auto type) {
    using T = decltype(type);
    constexpr index_t n = is_complex_v<T> ? 4099 : 401;
    const auto x = make_vector<T, D>(n, small_element<T>);
    const auto sums = create<Vector<T, D>>("sums", 5);

    parallel_for(n, with(AddToAFew{}, x, sums));

    std::vector<T> expected(5, T(0));
    for (index_t i = 0; i < n; ++i) {
      expected[static_cast<std::size_t>(i % 3)] += small_element<T>(i);
      expected[static_cast<std::size_t>(3 + i % 2)] -= small_element<T>(i);
    }
    ASSERT_EQ(values_of(sums), expected) << sizeof(T);
  });
}

struct AtomicExtremes {
  template <class I, class X, class Y>
  STRATA_FUNCTION void operator()(I i, const X& x, const Y& y) const {
    atomic_fetch_min(&y(0), x(i));
    atomic_fetch_max(&y(1), x(i));
  }
};

TYPED_TEST(ElementTypeSums, AtomicExtremesOfHalfsAreFound) {
  using D = TypeParam;
  const auto x =
      make_vector<half_t, D>(4099, [](index_t i) { return static_cast<float>(small_integer(i)) / 16; });
  const auto y = make_vector<half_t, D>(2, [](index_t) { return 0; });

  parallel_for(4099, with(AtomicExtremes{}, x, y));

  const auto values = values_of(x);
  EXPECT_EQ(values_of(y), (std::vector<half_t>{*std::min_element(values.begin(), values.end()),
                                               *std::max_element(values.begin(), values.end())}));
}

struct AddThroughAtomicView {
  template <class I, class X, class Y>
  STRATA_FUNCTION void operator()(I i, const X& x, const Y& sums) const {
    sums(index_t(i) % 3) += x(i);
  }
};

TYPED_TEST(ElementTypeSums, AtomicViewsAddWholeComplexNumbers) {
  using D = TypeParam;
  constexpr index_t n = 4099;
  const auto x = make_vector<Complex, D>(n, small_element<Complex>);
  const auto sums = create<Vector<Complex, D>>("sums", 3);

  parallel_for(n, with(AddThroughAtomicView{}, x, atomic(sums)));

  const auto found = values_of(sums);
  EXPECT_EQ(found[0] + found[1] + found[2], sum_of_elements<Complex>(n));
}

// ---- sorting

TYPED_TEST(ElementTypeSums, HalfsAreSortedWithNansLast) {
  using D = TypeParam;
  for (const index_t n : {1, 2, 513, 20011}) {
    const auto keys = make_vector<half_t, D>(
        n, [](index_t i) { return i % 100 == 7 ? std::nanf("") : static_cast<float>(small_integer(i)) / 8; });
    auto expected = values_of(keys);

    sort(keys);

    std::sort(expected.begin(), expected.end(), Ascending());
    const auto found = values_of(keys);
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_TRUE(std::isnan(expected[i]) ? std::isnan(found[i]) : found[i] == expected[i]) << i;
  }
}

struct ByMagnitude {
  STRATA_FUNCTION bool operator()(const Complex& a, const Complex& b) const noexcept {
    return norm(a) < norm(b);
  }
};

TYPED_TEST(ElementTypeSums, ComplexNumbersAreSortedByAnOrderOfOnesOwnAndCarriedAsValues) {
  using D = TypeParam;
  constexpr index_t n = 9001;
  const auto values = make_vector<Complex, D>(n, small_element<Complex>);
  const auto keys =
      make_vector<float, D>(n, [](index_t i) { return static_cast<float>(norm(small_element<Complex>(i))); });
  const auto by_norm = make_vector<Complex, D>(n, small_element<Complex>);

  sort_by_key(keys, values);
  sort(by_norm, ByMagnitude{});

  const auto sorted_keys = values_of(keys);
  const auto sorted_values = values_of(values), sorted_by_norm = values_of(by_norm);
  for (std::size_t i = 0; i < sorted_keys.size(); ++i) {
    ASSERT_EQ(norm(sorted_values[i]), sorted_keys[i]);
    ASSERT_EQ(norm(sorted_by_norm[i]), sorted_keys[i]);
  }
  EXPECT_TRUE(std::is_sorted(sorted_keys.begin(), sorted_keys.end()));
}

}  // namespace
