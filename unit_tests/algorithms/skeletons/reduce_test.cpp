// reduce, its rows and columns, and map_reduce: values by plain loops, start values, operations by name and
// by the user, bits.
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "places.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using namespace strata::skeletons;
using strata_tests::number;

template <class D>
class Reduce : public SkeletonTest {};
TYPED_TEST_SUITE(Reduce, TestDevices, DeviceName);

struct Larger {
  template <class T>
  STRATA_FUNCTION T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};
/// Neither 0 nor what a name would begin with is neutral.
struct PlusPlusOne {
  STRATA_FUNCTION std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return a + b + 1; }
};
/// x -> (a x + b) modulo 2^16 in one number: the composition of maps is associative and depends on the order.
struct Compose {
  STRATA_FUNCTION std::uint32_t operator()(std::uint32_t first, std::uint32_t next) const {
    const std::uint32_t a = next >> 16, b = next & 0xffff;
    return (a * (first >> 16)) << 16 | ((a * (first & 0xffff) + b) & 0xffff);
  }
};
struct Product {
  template <class T, class U>
  STRATA_FUNCTION T operator()(const T& a, const U& b) const {
    return a * static_cast<T>(b);
  }
};
struct WeightedByIndex {
  STRATA_FUNCTION std::int64_t operator()(index_t i, index_t j, std::int64_t a) const {
    return a * (i - 3 * j);
  }
};
struct Looked {
  template <class V>
  STRATA_FUNCTION double operator()(int at, const V& table) const {
    return table(at);
  }
};

TYPED_TEST(Reduce, AllElementsAreJoinedByNamedOperations) {
  for_each_place<TypeParam>([](const auto& where) {
    for (const index_t n : some_sizes) {
      const auto x = make_numbers<std::int64_t, 1>("x", {n});
      std::int64_t sum = 0, least = std::numeric_limits<std::int64_t>::max();
      for (index_t i = 0; i < n; ++i) {
        sum += number(i);
        least = std::min(least, number(i));
      }

      ASSERT_EQ(reduce(where, Sum, x), sum) << n;
      ASSERT_EQ(reduce(where, Sum, 1000, x), sum + 1000) << n;
      ASSERT_EQ(reduce(where, Min, x), least) << n;
      ASSERT_EQ(reduce(where, Min, -400, x), std::min<std::int64_t>(least, -400)) << n;
    }
  });
}

TYPED_TEST(Reduce, AUsersOperationNeedsNoNeutralElement) {
  for_each_place<TypeParam>([](const auto& where) {
    for (const index_t n : some_sizes) {
      const auto x = make_numbers<std::uint32_t, 1>("x", {n});
      std::uint32_t by_hand = 12345;
      for (index_t i = 0; i < n; ++i) by_hand = PlusPlusOne{}(by_hand, static_cast<std::uint32_t>(number(i)));

      ASSERT_EQ(reduce(where, PlusPlusOne{}, 12345, x), by_hand) << n;
    }
  });
}

TYPED_TEST(Reduce, ArraysOfAnyRankAreJoinedWhole) {
  for_each_place<TypeParam>([](const auto& where) {
    const auto a = make_numbers<std::int64_t, 2>("a", {45, 23});
    const auto b = make_numbers<std::int64_t, 4, LayoutRight>("b", {13, 3, 4, 5});
    std::int64_t sum = 0, most = -1000;
    for (index_t k = 0; k < 45 * 23; ++k) sum += number(k);
    for (index_t k = 0; k < 13 * 60; ++k) most = std::max(most, number(k));

    ASSERT_EQ(reduce(where, Sum, 7, a), sum + 7);
    ASSERT_EQ(reduce(where, Larger{}, -1000, b), most);
  });
}

TYPED_TEST(Reduce, SumsOfRealNumbersHaveTheSameBitsOnAnyNumberOfDevices) {
  const auto x =
      make_array<double, 1>("x", {5000}, [](index_t k) { return 1 / (1.0 + static_cast<double>(k)); });
  const double alone = reduce(on(Serial{}), Sum, x);
  if constexpr (runs_on_host_threads<TypeParam>)  // GPUs contract products and sums
    for_each_place<TypeParam>([&](const auto& where) { ASSERT_EQ(reduce(where, Sum, x), alone); });
}

TYPED_TEST(Reduce, RowsAndColumnsAreJoinedInTheirOrder) {
  for_each_place<TypeParam>([](const auto& where) {
    static constexpr index_t n = 53, m = 31;
    const auto a = make_numbers<std::uint32_t, 2>("a", {n, m});
    const auto b = make_array<double, 2, LayoutRight>(
        "b", {n, m}, [](index_t k) { return 1.0 / double(number(k) + 1001); });
    const CoherentArray<std::uint32_t, rank<1>> rows_of_a("rows of a", n), columns_of_a("columns of a", m);
    const CoherentArray<double, rank<1>> rows_of_b("rows of b", n), columns_of_b("columns of b", m);

    reduce_rows(where, Compose{}, 1u << 16, rows_of_a, a);
    reduce_columns(where, Compose{}, 3u << 16, columns_of_a, a);
    reduce_rows(where, Sum, rows_of_b, b);
    reduce_columns(where, Sum, 0.5, columns_of_b, b);

    std::vector<std::uint32_t> rows_a(n, 1u << 16), columns_a(m, 3u << 16);
    std::vector<double> rows_b(n, 0.0), columns_b(m, 0.5);
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < m; ++j) {
        const auto r = static_cast<std::size_t>(i), c = static_cast<std::size_t>(j);
        const auto element = static_cast<std::uint32_t>(number(i * m + j));
        rows_a[r] = Compose{}(rows_a[r], element);
        columns_a[c] = Compose{}(columns_a[c], element);
        rows_b[r] += 1.0 / double(number(i * m + j) + 1001);
        columns_b[c] += 1.0 / double(number(i * m + j) + 1001);
      }
    ASSERT_EQ(values_of(rows_of_a), rows_a);
    ASSERT_EQ(values_of(columns_of_a), columns_a);
    ASSERT_EQ(values_of(rows_of_b), rows_b);
    ASSERT_EQ(values_of(columns_of_b), columns_b);
  });
}

TYPED_TEST(Reduce, EmptyRowsGiveTheStart) {
  const CoherentArray<int, rank<2>> a("a", 3, 0);
  const CoherentArray<int, rank<1>> y("y", 3);

  reduce_rows(on(TypeParam{}), Sum, 4, y, a);

  EXPECT_EQ(values_of(y), std::vector<int>(3, 4));
}

TYPED_TEST(Reduce, MapReduceJoinsFunctionsOfElementsInOnePass) {
  for_each_place<TypeParam>([](const auto& where) {
    for (const index_t n : some_sizes) {
      const auto x = make_numbers<std::int64_t, 1>("x", {n});
      const auto y = make_numbers<int, 1>("y", {n}, 1);
      std::int64_t dot = 0, most = -7;
      for (index_t i = 0; i < n; ++i) {
        dot += number(i) * number(i, 1);
        most = std::max(most, number(i) * number(i, 1));
      }

      ASSERT_EQ(map_reduce(where, Product{}, Sum, x, y), dot) << n;
      ASSERT_EQ(map_reduce(where, Product{}, Sum, std::int64_t{3}, x, y), dot + 3) << n;
      ASSERT_EQ(map_reduce(where, Product{}, Larger{}, std::int64_t{-7}, x, y), most) << n;
    }
  });
}

TYPED_TEST(Reduce, MapReduceTakesIndicesAndOperandsThatAreReadAnywhere) {
  for_each_place<TypeParam>([](const auto& where) {
    const auto a = make_numbers<std::int64_t, 2>("a", {41, 9});
    const auto at = make_array<int, 1>("at", {600}, [](index_t k) { return k % 4; });
    const auto table = make_array<double, 1>("table", {4}, [](index_t k) { return k * k; });
    std::int64_t weighted = 0;
    for (index_t k = 0; k < 41 * 9; ++k) weighted += number(k) * (k / 9 - 3 * (k % 9));

    ASSERT_EQ(map_reduce(where, WeightedByIndex{}, Sum, a), weighted);
    ASSERT_EQ(map_reduce(where, Looked{}, Sum, 0.25, at, in(table, everything)),
              150.0 * (0 + 1 + 4 + 9) + 0.25);
  });
}

TYPED_TEST(Reduce, ShapesThatDoNotFitAreErrorsThatNameBothArrays) {
  const CoherentArray<int, rank<2>> a("matrix", 3, 5);
  const CoherentArray<int, rank<1>> y("vector", 4), z("other", 5);
  const auto where = on(TypeParam{});

  EXPECT_TRUE(contains(message_of<ShapeMismatch>([&] { reduce_rows(where, Sum, y, a); }),
                       {"reduce_rows", "matrix", "vector"}));
  EXPECT_TRUE(contains(message_of<ShapeMismatch>([&] { reduce_columns(where, Sum, y, a); }),
                       {"reduce_columns", "matrix", "vector"}));
  EXPECT_TRUE(contains(message_of<ShapeMismatch>([&] { map_reduce(where, Product{}, Sum, y, z); }),
                       {"map_reduce", "vector", "other"}));
}

}  // namespace
