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
  linear::dot(on(queue), x, x, StoreDouble<Value<double, D>>{in_functor});
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
  linear::norm2(x, StoreDouble<Value<double, D>>{in_functor});

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
  deep_copy(subview(table, strata::all, 0), 1.0);
  deep_copy(subview(table, strata::all, 1), 2.0);

  linear::axpy(5, subview(table, strata::all, 0), subview(table, strata::all, 1));
  linear::copy(subview(table, strata::all, 1), subview(table, strata::all, 2));

  EXPECT_EQ(linear::dot(subview(table, strata::all, 0), subview(table, strata::all, 2)), 300 * 7);
  EXPECT_EQ(linear::dot(subview(table, 17, strata::all), subview(table, 18, strata::all)), 1 + 49 + 49);
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
