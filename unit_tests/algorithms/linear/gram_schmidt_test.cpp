// SPDX-License-Identifier: Apache-2.0
#include <strata/devices/graph.hpp>

#include "matrices.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class LinearGramSchmidt : public ::testing::Test {
 protected:
  // Columns far from parallel, so that modified Gram-Schmidt keeps full accuracy.
  static double element(index_t i, index_t k) {
    return small_number(i * 31 + k * 1000003) + (i % (k + 2) == 0 ? 1.5 : 0);
  }
  template <class V>
  static V make_columns(index_t n, index_t count) {
    const auto q = create<V>("Q", n, count);
    const auto host = create_mirror(q);
    for (index_t k = 0; k < count; ++k)
      for (index_t i = 0; i < n; ++i) host(i, k) = static_cast<typename V::value_type>(element(i, k));
    deep_copy(q, host);
    return q;
  }

  template <class V>
  static void expect_factors(index_t n, index_t count, double tolerance) {
    const auto q = make_columns<V>(n, count);
    const auto r = create<V>("R", count, count);
    deep_copy(r, typename V::value_type(-9));

    linear::gram_schmidt(q, r);

    wait(D{});
    const auto hq = on_host(q);
    const auto hr = on_host(r);
    for (index_t a = 0; a < count; ++a)
      for (index_t b = 0; b <= a; ++b) {
        long double dot = 0;
        for (index_t i = 0; i < n; ++i) dot += static_cast<long double>(hq(i, a)) * hq(i, b);
        EXPECT_NEAR(static_cast<double>(dot), a == b ? 1 : 0, tolerance) << "columns " << a << " and " << b;
      }
    for (index_t c = 0; c < count; ++c) {
      EXPECT_GT(hr(c, c), 0);
      for (index_t b = c + 1; b < count; ++b) EXPECT_EQ(hr(b, c), -9) << "R below its diagonal was written";
    }
    for (index_t i = 0; i < n; ++i)
      for (index_t c = 0; c < count; ++c) {
        long double product = 0;
        for (index_t b = 0; b <= c; ++b) product += static_cast<long double>(hq(i, b)) * hr(b, c);
        ASSERT_NEAR(static_cast<double>(product), static_cast<typename V::value_type>(element(i, c)),
                    tolerance)
            << "row " << i << ", column " << c;
      }
  }
};
TYPED_TEST_SUITE(LinearGramSchmidt, TestDevices, DeviceName);

TYPED_TEST(LinearGramSchmidt, GivesOrthonormalColumnsWhoseProductWithRIsTheMatrix) {
  using D = TypeParam;
  this->template expect_factors<MultiVector<double, D>>(1021, 8, 1e-12);
  this->template expect_factors<MultiVector<float, D>>(4099, 3, 1e-4);
  this->template expect_factors<MDArrayIn<LayoutLeft, double, D, strata::rank<2>>>(600, 5, 1e-12);
  this->template expect_factors<MDArrayIn<LayoutRight, double, D, strata::rank<2>>>(600, 5, 1e-12);
}

TYPED_TEST(LinearGramSchmidt, ASquareMatrixAndASingleColumnWork) {
  using D = TypeParam;
  this->template expect_factors<MultiVector<double, D>>(7, 7, 1e-11);
  this->template expect_factors<MultiVector<double, D>>(17, 1, 1e-13);
  this->template expect_factors<MultiVector<double, D>>(1, 1, 1e-15);
}

TYPED_TEST(LinearGramSchmidt, ItsCoefficientsAreThoseOfTheTextbook) {
  using D = TypeParam;
  using V = MultiVector<double, D>;
  constexpr index_t n = 513, count = 4;
  const V q = this->template make_columns<V>(n, count);
  std::vector<std::vector<long double>> a(count);
  for (index_t k = 0; k < count; ++k)
    for (index_t i = 0; i < n; ++i) a[static_cast<std::size_t>(k)].push_back(this->element(i, k));
  const V r = create<V>("R", count, count);

  linear::gram_schmidt(q, r);

  wait(D{});
  const auto hr = on_host(r);
  const auto product = [&](std::size_t i, std::size_t j) {
    long double sum = 0;
    for (std::size_t p = 0; p < a[i].size(); ++p) sum += a[i][p] * a[j][p];
    return sum;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const long double norm = std::sqrt(product(i, i));
    EXPECT_NEAR(hr(static_cast<index_t>(i), static_cast<index_t>(i)), static_cast<double>(norm), 1e-12);
    for (auto& value : a[i]) value /= norm;
    for (std::size_t j = i + 1; j < count; ++j) {
      const long double dot = product(i, j);
      EXPECT_NEAR(hr(static_cast<index_t>(i), static_cast<index_t>(j)), static_cast<double>(dot), 1e-12);
      for (std::size_t p = 0; p < a[i].size(); ++p) a[j][p] -= dot * a[i][p];
    }
  }
}

TYPED_TEST(LinearGramSchmidt, ColumnByColumnOnAQueueGivesTheBitsOfTheWhole) {
  using D = TypeParam;
  using V = MultiVector<double, D>;
  const V q = this->template make_columns<V>(700, 4), once = this->template make_columns<V>(700, 4);
  const V r = create<V>("R", 4, 4), r_once = create<V>("R", 4, 4);
  const auto tmp = create_value<Value<double, D>>();
  const Queue<D> queue;

  for (index_t i = 0; i < 4; ++i) linear::gram_schmidt_column(on(queue), q, r, tmp, i);
  linear::gram_schmidt(once, r_once);
  queue.wait();
  wait(D{});

  const auto a = on_host(r), b = on_host(r_once), qa = on_host(q), qb = on_host(once);
  for (index_t i = 0; i < 4; ++i)
    for (index_t j = 0; j < 4; ++j) EXPECT_TRUE(same_bits<double>(a(i, j), b(i, j)));
  for (index_t i = 0; i < 700; ++i) EXPECT_TRUE(same_bits<double>(qa(i, 3), qb(i, 3)));
}

TYPED_TEST(LinearGramSchmidt, AsOneGraphItGivesTheBitsOfTheLaunches) {
  using D = TypeParam;
  using V = MultiVector<double, D>;
  const V q = this->template make_columns<V>(700, 4), plain = this->template make_columns<V>(700, 4);
  const V r = create<V>("R", 4, 4), r_plain = create<V>("R", 4, 4);
  const auto tmp = create_value<Value<double, D>>();
  const Queue<D> queue;

  const Graph<D> graph = record(queue, [&] { linear::gram_schmidt(on(queue), q, r, tmp); });
  graph.launch(queue);
  linear::gram_schmidt(on(queue), plain, r_plain, tmp);
  queue.wait();

  constexpr index_t columns = strata::detail::gram_schmidt_columns<D>;  // that a launch takes
  // Norms, two launches a group of columns behind, and a scaling of the last one.
  EXPECT_EQ(graph.size(), columns == 1 ? 4 + 2 * (3 + 2 + 1) + 1 : 4 + 2 * (1 + 1 + 1) + 1);
  const auto a = on_host(r), b = on_host(r_plain), qa = on_host(q), qb = on_host(plain);
  for (index_t i = 0; i < 4; ++i)
    for (index_t j = 0; j < 4; ++j) EXPECT_TRUE(same_bits<double>(a(i, j), b(i, j)));
  for (index_t i = 0; i < 700; ++i) EXPECT_TRUE(same_bits<double>(qa(i, 3), qb(i, 3)));
}

TYPED_TEST(LinearGramSchmidt, AColumnOfZerosStaysZeroAndGivesNoNaN) {
  using D = TypeParam;
  using V = MultiVector<double, D>;
  const V q = create<V>("Q", 100, 3), r = create<V>("R", 3, 3);
  deep_copy(subview(q, everything, 0), 1.0);
  deep_copy(subview(q, range(0, 50), 2), 1.0);

  linear::gram_schmidt(q, r);

  wait(D{});
  const auto hq = on_host(q), hr = on_host(r);
  EXPECT_EQ(hr(1, 1), 0);
  EXPECT_EQ(hr(1, 2), 0);
  EXPECT_EQ(hq(99, 1), 0);
  EXPECT_NEAR(hq(0, 2), 0.1, 1e-14);
  EXPECT_NEAR(hq(99, 2), -0.1, 1e-14);
}

TYPED_TEST(LinearGramSchmidt, RMustHaveARowAndAColumnForEachColumn) {
  using D = TypeParam;
  using V = MultiVector<double, D>;
  const V q = create<V>("Q", 10, 3), r = create<V>("R", 3, 4);

  EXPECT_THROW(linear::gram_schmidt(q, r), ShapeMismatch);
}

}  // namespace
