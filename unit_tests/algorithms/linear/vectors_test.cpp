// SPDX-License-Identifier: Apache-2.0
#include "matrices.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
namespace linear = strata::linear;

template <class V>
struct StoreDouble {
  V target;
  STRATA_FUNCTION void operator()(const typename V::value_type& value) const { *target = 2 * value; }
};

template <class D>
class LinearVectors : public ::testing::Test {
 protected:
  template <class T>
  static long double reference_dot(const std::vector<T>& x, const std::vector<T>& y, long double& magnitude) {
    long double sum = 0;
    magnitude = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double term = static_cast<long double>(x[i]) * y[i];
      sum += term;
      magnitude += std::abs(term);
    }
    return sum;
  }
  template <class T>
  static void expect_dot(index_t n) {
    const auto x = make_vector<T, D>(n, [](index_t i) { return small_number(i); });
    const auto y = make_vector<T, D>(n, [](index_t i) { return small_number(i + 1000003); });
    long double magnitude = 0;
    const long double expected = reference_dot(values_of(x), values_of(y), magnitude);

    const T found = linear::dot(x, y);

    EXPECT_NEAR(static_cast<double>(found), static_cast<double>(expected),
                static_cast<double>(magnitude) * 32 * std::numeric_limits<T>::epsilon())
        << n;
  }
};
TYPED_TEST_SUITE(LinearVectors, TestDevices, DeviceName);

TYPED_TEST(LinearVectors, DotIsTheSumOfProducts) {
  for (const index_t n : loop_sizes) {
    this->template expect_dot<double>(n);
    this->template expect_dot<float>(n);
  }
  this->template expect_dot<double>(100003);
}

TYPED_TEST(LinearVectors, DotHasTheSameBitsOnTheHostOnTheDeviceAndInAFinalizeFunctor) {
  using D = TypeParam;
  const auto x = make_vector<double, D>(5000, small_number);
  const auto in_value = create_value<Value<double, D>>();
  const auto in_functor = create_value<Value<double, D>>();
  const Queue<D> queue;
  double on_host = 0, returned = linear::dot(x, x);

  linear::dot(on(queue), x, x, on_host);
  linear::dot(on(queue), x, x, in_value);
  linear::dot(on(queue), x, x, finalize(StoreDouble<Value<double, D>>{in_functor}));
  queue.wait();

  EXPECT_EQ(on_host, returned);
  EXPECT_EQ(value_of(in_value), returned);
  EXPECT_EQ(value_of(in_functor), 2 * returned);
}

TYPED_TEST(LinearVectors, DotHasTheSameBitsOnEveryHostDevice) {
  using D = TypeParam;
  if (!same_arithmetic<D>) GTEST_SKIP() << "equality is by tolerance there";
  const auto x = make_vector<double, D>(10007, mixed_number);
  const auto serial = make_vector<double, Serial>(10007, mixed_number);

  const double found = linear::dot(x, x), expected = linear::dot(serial, serial);

  EXPECT_TRUE(same_bits(found, expected)) << found << " " << expected;
}

TYPED_TEST(LinearVectors, Norm2IsTheRootOfTheSumOfSquares) {
  using D = TypeParam;
  const auto x = make_vector<double, D>(4099, small_number);
  const auto in_value = create_value<Value<double, D>>();
  const auto in_functor = create_value<Value<double, D>>();
  long double squares = 0;
  for (const double v : values_of(x)) squares += static_cast<long double>(v) * v;
  const double expected = static_cast<double>(std::sqrt(squares));

  const double returned = linear::norm2(x);
  linear::norm2(x, in_value);
  linear::norm2(x, finalize(StoreDouble<Value<double, D>>{in_functor}));

  EXPECT_NEAR(returned, expected, 1e-14 * expected);
  EXPECT_NEAR(value_of(in_value), returned, 1e-15 * returned);
  EXPECT_NEAR(value_of(in_functor), 2 * returned, 1e-15 * returned);
}

TYPED_TEST(LinearVectors, Norm2OfNoElementsIsZero) {
  const auto x = make_vector<double, TypeParam>(0, small_number);

  EXPECT_EQ(linear::norm2(x), 0);
}

TYPED_TEST(LinearVectors, AxpyAddsAMultipleByANumberOrByAValueOfTheDevice) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<double, D>(n, [](index_t i) { return i; });
    const auto y = make_vector<double, D>(n, [](index_t i) { return 3 * i + 1; });
    const auto a = create_value<Value<double, D>>();
    deep_copy(a, -4.0);

    linear::axpy(2, x, y);
    linear::axpy(a, x, y);

    const auto values = values_of(y);
    for (index_t i = 0; i < n; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], i + 1) << n;
  }
}

TYPED_TEST(LinearVectors, AxpbyScaleAndCopyFollowEachOtherOnAQueue) {
  using D = TypeParam;
  const auto x = make_vector<float, D>(1021, [](index_t i) { return i; });
  const auto y = make_vector<float, D>(1021, [](index_t i) { return 2 * i; });
  const auto z = make_vector<float, D>(1021, [](index_t) { return 7; });
  const auto b = create_value<Value<float, D>>();
  deep_copy(b, 0.5F);
  const Queue<D> queue;

  linear::axpby(on(queue), 3, x, b, y);  // y = 4 i
  linear::scale(on(queue), b, y);        // y = 2 i
  linear::copy(on(queue), y, z);         // z = 2 i
  linear::scale(on(queue), 0, y);        // y = 0
  queue.wait();

  const auto ys = values_of(y), zs = values_of(z);
  for (std::size_t i = 0; i < ys.size(); ++i) {
    ASSERT_EQ(ys[i], 0);
    ASSERT_EQ(zs[i], 2 * static_cast<float>(i));
  }
}

TYPED_TEST(LinearVectors, VectorsMayBeRowsAndColumnsOfAnArray) {
  using D = TypeParam;
  const auto table = create<MDArrayIn<LayoutRight, double, D, strata::rank<2>>>("table", 300, 3);
  deep_copy(subview(table, everything, 0), 1.0);
  deep_copy(subview(table, everything, 1), 2.0);

  linear::axpy(5, subview(table, everything, 0), subview(table, everything, 1));
  linear::copy(subview(table, everything, 1), subview(table, everything, 2));

  EXPECT_EQ(linear::dot(subview(table, everything, 0), subview(table, everything, 2)), 300 * 7);
  EXPECT_EQ(linear::dot(subview(table, 17, everything), subview(table, 18, everything)), 1 + 49 + 49);
}

// Parts that are small integers: sums are exact in every order.
template <class T>
T gaussian_integer(index_t i) {
  return T(static_cast<float>(mix(static_cast<std::uint64_t>(i)) % 9) - 4,
           static_cast<float>(mix(static_cast<std::uint64_t>(i) + 77777) % 9) - 4);
}

template <class T, class D>
void expect_dots_and_norms_of_complex_numbers() {
  using Real = typename T::value_type;
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<T, D>(n, gaussian_integer<T>);
    const auto y = make_vector<T, D>(n, [](index_t i) { return gaussian_integer<T>(i + 4099); });
    const auto in_value = create_value<Value<T, D>>();
    const auto norm_in_value = create_value<Value<Real, D>>(), twice_norm = create_value<Value<Real, D>>();
    T dot_product{};
    Real squares{};
    for (index_t i = 0; i < n; ++i) {
      dot_product += conj(gaussian_integer<T>(i)) * gaussian_integer<T>(i + 4099);
      squares += norm(gaussian_integer<T>(i));
    }

    const T returned = linear::dot(x, y);
    linear::dot(x, y, in_value, linear::Backend::Vendor);
    const Real length = linear::norm2(x);
    linear::norm2(x, norm_in_value);
    linear::norm2(x, StoreDouble<Value<Real, D>>{twice_norm});

    ASSERT_EQ(returned, dot_product) << n;
    ASSERT_EQ(value_of(in_value), dot_product) << n;
    ASSERT_EQ(length, std::sqrt(squares)) << n;
    ASSERT_NEAR(value_of(norm_in_value), length, 1e-6 * length) << n;
    ASSERT_NEAR(value_of(twice_norm), 2 * length, 2e-6 * length) << n;
  }
}

TYPED_TEST(LinearVectors, DotConjugatesTheFirstOfTwoComplexVectorsAndNormsAreReal) {
  expect_dots_and_norms_of_complex_numbers<strata::complex<float>, TypeParam>();
  expect_dots_and_norms_of_complex_numbers<strata::complex<double>, TypeParam>();
}

TYPED_TEST(LinearVectors, ComplexVectorsTakeRealAndComplexCoefficients) {
  using D = TypeParam;
  using Z = strata::complex<double>;
  const auto x = make_vector<Z, D>(1021, gaussian_integer<Z>);
  const auto y = make_vector<Z, D>(1021, [](index_t i) { return gaussian_integer<Z>(i + 5); });
  const auto z = make_vector<Z, D>(1021, gaussian_integer<Z>);
  const auto i_value = create_value<Value<Z, D>>();
  deep_copy(i_value, Z(0, 1));

  linear::axpy(Z(1, -2), x, y);     // y + (1 - 2i) x
  linear::axpby(2, x, i_value, y);  // i y + (4 + i) x
  linear::copy(y, z);
  linear::scale(-0.5, y);

  const auto ys = values_of(y), zs = values_of(z);
  for (index_t k = 0; k < 1021; ++k) {
    const Z expected = Z(0, 1) * gaussian_integer<Z>(k + 5) + Z(4, 1) * gaussian_integer<Z>(k);
    ASSERT_EQ(zs[static_cast<std::size_t>(k)], expected) << k;
    ASSERT_EQ(ys[static_cast<std::size_t>(k)], -0.5 * expected) << k;
  }
}

TYPED_TEST(LinearVectors, DotConjugatesWhatIsReadAtomically) {
  using D = TypeParam;
  using Z = strata::complex<double>;
  const auto x = make_vector<Z, D>(100, gaussian_integer<Z>);

  const Z found = linear::dot(atomic(x), x);

  EXPECT_EQ(found.imag(), 0);
  EXPECT_EQ(found, linear::dot(x, x));
}

TYPED_TEST(LinearVectors, VectorsOfDifferentLengthsAreAnError) {
  const auto x = make_vector<double, TypeParam>(10, small_number);
  const auto y = make_vector<double, TypeParam>(11, small_number);

  EXPECT_THROW(static_cast<void>(linear::dot(x, y)), ShapeMismatch);
  EXPECT_THROW(linear::axpy(1, x, y), ShapeMismatch);
  EXPECT_THROW(linear::axpy(1, x, y, linear::Backend::Vendor), ShapeMismatch);
  EXPECT_THROW(linear::copy(x, y), ShapeMismatch);
}

TYPED_TEST(LinearVectors, AnArrayOfRankTwoIsNoVector) {
  const auto x = create<MDArray<double, TypeParam>>("x", 4, 4);

  EXPECT_THROW(static_cast<void>(linear::norm2(x)), ExtentError);
}

TYPED_TEST(LinearVectors, WithoutAVendorLibraryStratasOwnKernelsRun) {
  using D = TypeParam;
  if (linear::has_vendor<D>()) GTEST_SKIP() << "this device has one";
  const auto x = make_vector<double, D>(5000, small_number);
  double found = 0;

  linear::dot(x, x, found, linear::Backend::Vendor);

  EXPECT_EQ(found, linear::dot(x, x));
}

TYPED_TEST(LinearVectors, TheVendorsLibraryFindsTheSameUpToRounding) {
  using D = TypeParam;
  if (!linear::has_vendor<D>()) GTEST_SKIP() << "this device has none";
  const auto x = make_vector<double, D>(5000, small_number);
  const auto y = make_vector<double, D>(5000, [](index_t i) { return 2 - small_number(i); });
  const auto norm = create_value<Value<double, D>>();
  double found = 0;
  const double expected = linear::dot(x, y);

  linear::dot(x, y, found, linear::Backend::Vendor);
  linear::norm2(x, norm, linear::Backend::Vendor);
  linear::axpy(1, x, y, linear::Backend::Vendor);  // y = 2
  linear::scale(norm, x, linear::Backend::Vendor);

  EXPECT_NEAR(found, expected, 1e-11);
  EXPECT_NEAR(linear::norm2(y), 2 * std::sqrt(5000.0), 1e-11);
  const double n = value_of(norm);
  EXPECT_NEAR(linear::norm2(x), n * n, 1e-10);
}

}  // namespace
