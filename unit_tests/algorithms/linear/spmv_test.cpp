// SPDX-License-Identifier: Apache-2.0
#include "matrices.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class LinearSpmv : public ::testing::Test {
 protected:
  template <class T>
  static void expect_product(const HostMatrix<T>& a) {
    const auto matrix = on_device<T, D>(a);
    const auto x = make_vector<T, D>(a.columns, small_number);
    const auto y = make_vector<T, D>(a.rows, [](index_t) { return 99; });
    const Product expected = multiply(a, values_of(x));

    linear::spmv(matrix, x, y);

    const auto found = values_of(y);
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(static_cast<double>(found[i]), static_cast<double>(expected.value[i]),
                  static_cast<double>(expected.magnitude[i]) * 64 * std::numeric_limits<T>::epsilon())
          << "row " << i << " of " << a.rows;
  }
};
TYPED_TEST_SUITE(LinearSpmv, TestDevices, DeviceName);

TYPED_TEST(LinearSpmv, MultipliesRandomMatricesOfShortRows) {
  for (const index_t rows : {1, 2, 7, 64, 513, 4099}) {
    SCOPED_TRACE(::testing::Message() << "seed " << rows);
    const auto a =
        random_matrix<double>(rows, 100, static_cast<unsigned>(rows), [](index_t i) { return i % 9; });
    this->expect_product(a);
  }
}

TYPED_TEST(LinearSpmv, MultipliesRowsOfAllLengthsAroundThoseThatAreSummedInParts) {
  this->expect_product(random_matrix<double>(90, 200, 1, [](index_t i) { return i; }));
  this->expect_product(random_matrix<float>(90, 200, 2, [](index_t i) { return i; }));
}

TYPED_TEST(LinearSpmv, MultipliesMatricesOfLongRowsOnly) {
  this->expect_product(random_matrix<double>(33, 1000, 3, [](index_t) { return 700; }));
  this->expect_product(random_matrix<double>(100, 1000, 4, [](index_t) { return 20; }));
}

TYPED_TEST(LinearSpmv, EmptyRowsGiveZero) {
  this->expect_product(random_matrix<double>(1000, 50, 5, [](index_t i) { return i % 97 == 0 ? 3 : 0; }));
  this->expect_product(random_matrix<double>(100, 50, 6, [](index_t) { return 0; }));
}

TYPED_TEST(LinearSpmv, OneRowMayHoldNearlyAllEntries) {
  this->expect_product(random_matrix<double>(3000, 5000, 7, [](index_t i) { return i == 17 ? 5000 : 1; }));
  this->expect_product(random_matrix<double>(3000, 5000, 8, [](index_t i) { return i == 2999 ? 5000 : 0; }));
}

TYPED_TEST(LinearSpmv, NoRowsAreNoWork) {
  HostMatrix<double> a;
  a.columns = 5;
  this->expect_product(a);
}

TYPED_TEST(LinearSpmv, IndicesMayBeOfEitherWidth) {
  using D = TypeParam;
  using Matrix = linear::CrsMatrix<float, D, std::int64_t, std::int32_t>;
  const std::vector<std::int32_t> row_map{0, 1, 3};
  const std::vector<std::int64_t> entries{2, 0, 1};
  const std::vector<float> values{3, 10, 100};
  const auto a = linear::create_crs<Matrix>("A", 2, 3, row_map, entries, values);
  const auto x = make_vector<float, D>(3, [](index_t i) { return i + 1; });
  const auto y = make_vector<float, D>(2, [](index_t) { return 0; });

  linear::spmv(a, x, y);

  EXPECT_EQ(values_of(y), (std::vector<float>{9, 210}));
}

TYPED_TEST(LinearSpmv, CoefficientsAreNumbersOrValuesOfTheDevice) {
  using D = TypeParam;
  const auto a = on_device<double, D>(poisson<double>(100));
  const auto x = make_vector<double, D>(100, [](index_t) { return 1; });  // A x = 0 but at the ends: 1
  const auto y = make_vector<double, D>(100, [](index_t i) { return i; });
  const auto minus_two = create_value<Value<double, D>>();
  deep_copy(minus_two, -2.0);
  const Queue<D> queue;

  linear::spmv(on(queue), 3, a, x, 1, y);                  // y = i, and 3 more at the ends
  linear::spmv(on(queue), minus_two, a, x, minus_two, y);  // y = -2 i, and 8 less at the ends
  queue.wait();

  const auto found = values_of(y);
  for (std::size_t i = 0; i < 100; ++i)
    EXPECT_EQ(found[i], -2.0 * static_cast<double>(i) - (i == 0 || i == 99 ? 8 : 0));
}

TYPED_TEST(LinearSpmv, GivesTheSameBitsOnEveryHostDevice) {
  using D = TypeParam;
  if (!same_arithmetic<D>) GTEST_SKIP() << "equality is by tolerance there";
  const auto a = random_matrix<double>(700, 900, 9, [](index_t i) { return i % 90; });
  const auto x = make_vector<double, D>(900, mixed_number);
  const auto y = make_vector<double, D>(700, small_number);
  const auto serial_x = make_vector<double, Serial>(900, mixed_number);
  const auto serial_y = make_vector<double, Serial>(700, small_number);

  linear::spmv(on_device<double, D>(a), x, y);
  linear::spmv(on_device<double, Serial>(a), serial_x, serial_y);

  const auto found = values_of(y), expected = values_of(serial_y);
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_TRUE(same_bits(found[i], expected[i])) << i;
}

template <class Rows, class V>
struct SumRows {
  using device_type = typename V::device_type;
  Rows rows;
  V y;
  int group;
  STRATA_FUNCTION void operator()(index_t i) const {
    y(i) = linear::sum_of_row<double>(rows, rows.row_map(i), rows.row_map(i + 1), group);
  }
};

TYPED_TEST(LinearSpmv, KernelsOfOthersMaySumRowsAsItDoes) {
  using D = TypeParam;
  using Matrix = linear::CrsMatrix<double, D>;
  using V = Vector<double, D>;
  using Rows = strata::detail::CrsRows<Matrix, V>;
  const auto a = random_matrix<double>(300, 400, 10, [](index_t i) { return i % 90; });
  const auto matrix = on_device<double, D>(a);
  const auto x = make_vector<double, D>(400, mixed_number);
  const auto y = make_vector<double, D>(300, small_number), own = make_vector<double, D>(300, small_number);

  linear::spmv(matrix, x, y);
  const int group = linear::row_group(matrix.rows(), matrix.entry_count());
  parallel_for("sum rows", index_t{300}, SumRows<Rows, V>{Rows(matrix, x), own, group});

  const auto found = values_of(own), expected = values_of(y);
  const Product product = multiply(a, values_of(x));
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (same_arithmetic<D>) ASSERT_TRUE(same_bits(found[i], expected[i])) << i;
    else
      ASSERT_NEAR(found[i], expected[i],
                  static_cast<double>(product.magnitude[i]) * 64 * std::numeric_limits<double>::epsilon());
  }
}

TYPED_TEST(LinearSpmv, GroupsOfThreadsGiveTheProductToo) {
  using D = TypeParam;
  using Matrix = linear::CrsMatrix<double, D>;
  using V = Vector<double, D>;
  const auto a = random_matrix<double>(300, 400, 10, [](index_t i) { return i % 70; });
  const auto matrix = on_device<double, D>(a);
  const auto x = make_vector<double, D>(400, small_number);
  const auto y = make_vector<double, D>(300, small_number);
  const Product expected = multiply(a, values_of(x));
  using Rows = strata::detail::CrsRows<Matrix, V>;
  using Kernel = strata::detail::SpmvKernel<Rows, strata::detail::OneScalar, strata::detail::ZeroScalar, V>;

  for (const int group : {2, 4, 8, 16, 32}) {
    deep_copy(y, 99.0);
    strata::detail::launch_row_groups<2>("groups", strata::detail::Anywhere{}, 300, group,
                                         Kernel{Rows(matrix, x), {}, {}, y});
    const auto found = values_of(y);
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(found[i], static_cast<double>(expected.value[i]), 1e-13)
          << "group " << group << ", row " << i;
  }
}

TYPED_TEST(LinearSpmv, VectorsThatDoNotFitAreErrors) {
  using D = TypeParam;
  const auto a = on_device<double, D>(poisson<double>(10));
  const auto fits = make_vector<double, D>(10, small_number),
             longer = make_vector<double, D>(11, small_number);

  EXPECT_THROW(linear::spmv(a, longer, fits), ShapeMismatch);
  EXPECT_THROW(linear::spmv(a, fits, longer), ShapeMismatch);
}

TYPED_TEST(LinearSpmv, TheVendorsLibraryFindsTheSameUpToRounding) {
  using D = TypeParam;
  const auto a = random_matrix<double>(900, 700, 11, [](index_t i) { return i % 40; });
  const auto matrix = on_device<double, D>(a);
  const auto x = make_vector<double, D>(700, small_number);
  const auto y = make_vector<double, D>(900, [](index_t) { return 1; });
  const Product expected = multiply(a, values_of(x));
  const Queue<D> queue;

  linear::spmv(on(queue), matrix, x, y, linear::Backend::Vendor);
  linear::spmv(on(queue), 2, matrix, x, -1, y, linear::Backend::Vendor);
  queue.wait();

  const auto found = values_of(y);
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], static_cast<double>(expected.value[i]), 1e-12) << i;
}

TEST(LinearSpmvCuts, PiecesHaveEqualNumbersOfEntriesAndCoverAllRows) {
  std::vector<index_t> row_map{0};
  std::mt19937 random(12);
  for (int i = 0; i < 1000; ++i)
    row_map.push_back(row_map.back() +
                      (i < 100 ? std::uniform_int_distribution<index_t>(0, 60)(random) : i % 3));
  const auto offset = [&](index_t i) { return row_map[static_cast<std::size_t>(i)]; };

  for (const index_t pieces : {1, 2, 3, 7, 64}) {
    index_t before = strata::detail::first_row_of(offset, 1000, 0, pieces);
    EXPECT_EQ(before, 0);
    for (index_t p = 1; p <= pieces; ++p) {
      const index_t next = strata::detail::first_row_of(offset, 1000, p, pieces);
      ASSERT_LE(before, next);
      const index_t cost = offset(next) - offset(before) + strata::detail::row_charge * (next - before);
      const index_t all = offset(1000) + strata::detail::row_charge * 1000;
      EXPECT_LE(cost, all / pieces + 64) << "piece " << p << " of " << pieces;
      before = next;
    }
    EXPECT_EQ(before, 1000);
  }
}

TEST(LinearSpmvCuts, MoreThreadsWorkOnLongerRows) {
  EXPECT_EQ(linear::row_group(1000, 1000), 1);
  EXPECT_EQ(linear::row_group(1000, 0), 1);
  EXPECT_EQ(linear::row_group(1000, 7000), 1);
  EXPECT_EQ(linear::row_group(1000, 27000), 4);  // hexahedra: measured on an H200
  EXPECT_EQ(linear::row_group(1000, 1000000), 32);
}

}  // namespace
