// LU factors over tiled matrices: random shapes, tiles, places, budgets and schedulers give P A = L U, and
// solutions of systems; matrices that have no factors are named.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <strata/algorithms/linear/tiled/tiled_lu.hpp>

#include "algorithms/linear/tiled_cases.hpp"
#include "messages.hpp"

namespace {

using namespace strata_tests;
using namespace strata;
using linear::Pivoting;

template <class D>
class TiledLu : public OverPlaces<D> {};
TYPED_TEST_SUITE(TiledLu, TestDevices, DeviceName);

// What a panel, a tile and the integers of a step take.
template <class T>
index_t least_bytes(index_t n, index_t tile) {
  const index_t size = sizeof(T), b = std::min(n, tile), integers = 4 * (1 + 4 * b + n);
  return (n * b + b * b) * size + integers;
}
Dense random_dominant(Random& draw, index_t n) {
  Dense a = random_dense(draw, n, n);
  for (index_t i = 0; i < n; ++i) a(i, i) = static_cast<double>(n) + 1;
  return a;
}
void swap_rows(Dense& a, index_t i, index_t j, index_t columns) {
  for (index_t c = 0; c < columns; ++c) std::swap(a(i, c), a(j, c));
}
double largest(const Dense& a) { return distance(a, Dense(a.rows, a.columns)); }

// P A - L U, L in the order of rows that all swaps leave.
template <class T>
double distance_of_factors(const linear::LuFactors<T>& factors, Dense a) {
  const index_t n = a.rows, tile = factors.matrix.tile_order();
  const Dense both = values_of(factors.matrix);
  Dense lower(n, n), upper(n, n), product(n, n);
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < n; ++j) (j < i ? lower : upper)(i, j) = both(i, j);
  for (index_t k = 0; k < n; ++k) {
    const index_t pivot = factors.pivots[static_cast<std::size_t>(k)];
    EXPECT_GE(pivot, k);
    EXPECT_LT(pivot, n);
    if (pivot < k || pivot >= n) return std::numeric_limits<double>::infinity();
    swap_rows(a, k, pivot, n);
    swap_rows(lower, k, pivot, k / tile * tile);
  }
  if (factors.pivoting == Pivoting::Partial) {
    EXPECT_LE(largest(lower), 1 + 1e-6);
  }
  for (index_t i = 0; i < n; ++i) lower(i, i) = 1;
  add_product(product, 1, lower, upper, false);
  return distance(product, a);
}

template <class T, class Run>
void check_lu(Random& draw, const Run& run_somewhere) {
  const index_t n = draw(0, 9) == 0 ? draw(0, 2) : draw(3, 200), tile = random_tile(draw),
                columns = draw(0, 40);
  const bool pivots = draw(0, 2) > 0;
  const Dense a = pivots ? random_dense(draw, n, n) : random_dominant(draw, n),
              b = random_dense(draw, n, columns);
  const TiledMatrix<T> factored("a", n, n, tile), x("x", n, columns, tile), back("back", n, columns, tile);
  fill(factored, a);
  fill(x, b);

  const double of_a = largest(a);
  double apart = 0, of_x = 0;
  const bool tf32 = run_somewhere(
      tile * tile * static_cast<index_t>(sizeof(T)),
      [&](const auto& where, const auto& run) {
        linear::LuOptions options;
        static_cast<linear::TiledOptions&>(options) = run;
        options.pivoting = pivots ? Pivoting::Partial : Pivoting::None;
        const auto factors = linear::lu(factored, where, options);
        apart = distance_of_factors(factors, a);
        linear::solve(factors, x, where, run);
        fill(back, values_of(x));
        linear::product(factors, back, where, run);
      },
      least_bytes<T>(n, tile) + 3 * tile * tile * static_cast<index_t>(sizeof(T)) / 4);

  const auto text = [&] {
    return std::to_string(n) + ", " + std::to_string(tile) + ", " + std::to_string(columns) +
           (pivots ? ", with pivots" : "");
  };
  const double growth = 4;  // of what is left to factor, beside A
  const auto allowed = [&](double size) { return tolerance<T>(n, size, tf32, size); };
  EXPECT_LE(apart, allowed(growth * of_a)) << text();
  Dense solved(n, columns);
  const Dense values = values_of(x);
  of_x = largest(values);
  add_product(solved, 1, a, values, false);
  EXPECT_LE(distance(solved, b), allowed(growth * of_a * (1 + of_x))) << text();
  EXPECT_LE(distance(values_of(back), b), allowed(growth * of_a * (1 + of_x))) << text();
}

TYPED_TEST(TiledLu, FactorsAndSolutionsHaveSmallResiduals) {
  Random draw;
  const auto run = [&](index_t bytes, const auto& f, index_t least) {
    return this->run_somewhere(draw, bytes, f, least);
  };
  for (int trial = 0; trial < trials(12); ++trial) {
    check_lu<float>(draw, run);
    check_lu<double>(draw, run);
  }
}

// Whatever the order of tasks, what each tile goes through is the same.
TYPED_TEST(TiledLu, OfADeviceHaveTheSameBitsWhateverTheScheduleAndTheBudget) {
  Random draw;
  const index_t n = 130, tile = 32, bytes = tile * tile * 8;
  const Dense a = random_dominant(draw, n);
  for (const Pivoting pivoting : {Pivoting::None, Pivoting::Partial})
    for (const auto backend : {linear::Backend::Strata, linear::Backend::Vendor}) {
      if (backend == linear::Backend::Vendor && std::is_same_v<TypeParam, AnyHost> &&
          !linear::has_host_blas())
        continue;
      const TiledMatrix<double> first("a", n, n, tile), second("b", n, n, tile);
      fill(first, a);
      fill(second, a);
      linear::LuOptions options;
      options.pivoting = pivoting;
      options.backend = backend;
      options.invert_diagonal = true;

      options.run.scheduler = "eager";
      linear::lu(first, on(TypeParam{}), options);
      options.run.scheduler = "darts";
      options.run.queues = 3;
      this->set_budgets(n * tile * 8 + 2 * bytes);
      linear::lu(second, on(TypeParam{}), options);
      this->set_budgets(index_t{1} << 40);

      EXPECT_TRUE(have_same_bits(first, second));
    }
}

// Of a matrix whose diagonal tiles have condition numbers above 10^4.
TYPED_TEST(TiledLu, InvertedDiagonalTilesLeaveResidualsAsSmallAsSolving) {
  const index_t n = 150, tile = 40;
  Dense a(n, n);
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < n; ++j)
      a(i, j) = std::exp(-static_cast<double>((i - j) * (i - j)) / 8) + (i == j ? 1e-4 : 0);
  for (const Pivoting pivoting : {Pivoting::None, Pivoting::Partial})
    for (const bool inverts : {false, true}) {
      const TiledMatrix<double> matrix("a", n, n, tile);
      fill(matrix, a);
      linear::LuOptions options;
      options.pivoting = pivoting;
      options.invert_diagonal = inverts;
      options.backend = std::is_same_v<TypeParam, AnyHost> && !linear::has_host_blas()
                            ? linear::Backend::Strata
                            : linear::Backend::Vendor;

      const auto factors = linear::lu(matrix, on(TypeParam{}), options);

      EXPECT_LE(distance_of_factors(factors, a), tolerance<double>(n, 1)) << inverts;
    }
}

template <class D, class Check>
void for_each_backend(const Check& check) {
  for (const auto backend : {linear::Backend::Strata, linear::Backend::Vendor}) {
    if (backend == linear::Backend::Vendor && std::is_same_v<D, AnyHost> && !linear::has_host_blas())
      continue;
    for (const Pivoting pivoting : {Pivoting::None, Pivoting::Partial})
      for (const bool inverts : {false, true}) {
        linear::LuOptions options;
        options.backend = backend;
        options.pivoting = pivoting;
        options.invert_diagonal = inverts;
        check(options);
      }
  }
}
// The column that an error names; -1 without one.
template <class D>
index_t failed_column(const Dense& a, index_t tile, const linear::LuOptions& options) {
  const TiledMatrix<double> matrix("a", a.rows, a.columns, tile);
  fill(matrix, a);
  try {
    linear::lu(matrix, on(D{}), options);
  } catch (const linear::SingularMatrix& error) {
    EXPECT_EQ(error.tile, error.column / tile);
    EXPECT_NE(std::string(error.what())
                  .find("the pivot of column " + std::to_string(error.column) + ", in tile (" +
                        std::to_string(error.tile) + ", "),
              std::string::npos)
        << error.what();
    return error.column;
  }
  return -1;
}

TYPED_TEST(TiledLu, SingularMatricesAreNamedByTheColumn) {
  Random draw;
  const index_t n = 100, tile = 32;
  for_each_backend<TypeParam>([&](const linear::LuOptions& options) {
    for (const index_t column : {index_t{0}, index_t{31}, index_t{70}, index_t{99}}) {
      Dense a = random_dominant(draw, n);
      for (index_t i = 0; i < n; ++i) a(i, column) = 0;

      EXPECT_EQ(failed_column<TypeParam>(a, tile, options), column);
    }
  });
}

TYPED_TEST(TiledLu, NumbersThatAreNotFiniteAreNamedByTheFirstColumn) {
  Random draw;
  const index_t n = 100, tile = 32;
  for_each_backend<TypeParam>([&](const linear::LuOptions& options) {
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
      for (const index_t column : {index_t{0}, index_t{40}})
        for (const index_t row : {index_t{3}, index_t{99}}) {
          Dense a = random_dominant(draw, n);
          a(row, column) = bad;

          const index_t found = failed_column<TypeParam>(a, tile, options);

          // What is before is as it was, but for rows that are multiplied by an inverse.
          const index_t least = std::min(row, column);
          const bool spreads = *options.invert_diagonal && options.pivoting == Pivoting::None;
          EXPECT_GE(found, spreads ? least / tile * tile : least) << row << ", " << column;
          EXPECT_LE(found, std::max(row, column)) << row << ", " << column;
        }
  });
}

// Without pivots an element below one may be 10^7 times as large, by default, and no more than is asked for.
TYPED_TEST(TiledLu, PivotsThatAreTooSmallAreRefusedWithoutPivoting) {
  Random draw;
  const index_t n = 100, tile = 32;
  for_each_backend<TypeParam>([&](linear::LuOptions options) {
    const bool pivots = options.pivoting == Pivoting::Partial;
    for (const index_t below : {index_t{2}, index_t{90}}) {
      Dense a = random_dominant(draw, n);
      for (index_t j = 0; j < n; ++j) a(0, j) = 0;
      a(0, 0) = 1e-9, a(below, 0) = 1;
      const auto with = [&](double least) {
        options.least_pivot = least;
        return failed_column<TypeParam>(a, tile, options);
      };

      EXPECT_EQ(with(0), pivots ? -1 : 0);
      EXPECT_EQ(with(1e-10), -1);
      EXPECT_EQ(with(1e-8), pivots ? -1 : 0);
    }
  });
}

TEST(TiledLu, ShapesAndOptionsThatDoNotFitAreSaid) {
  const TiledMatrix<double> a("a", 10, 20, 8), c("c", 10, 10, 8), none("none", 0, 0, 8);
  const TiledMatrix<double> rhs("b", 10, 3, 8), wrong("b", 11, 3, 8), other("b", 10, 3, 4),
      empty("b", 10, 0, 8);
  const auto s = TiledMatrix<double>::symmetric("s", 10, 8);
  const auto where = on(Emulated{0});
  c.fill([](index_t i, index_t j) { return i == j ? 2.0 : 0.5; });
  linear::LuOptions wrong_options;
  wrong_options.least_pivot = 2;

  const auto factors = linear::lu(c, where);

  EXPECT_EQ(message_of<ShapeMismatch>([&] { linear::lu(a, where); }),
            "linear::lu: \"a\" (10 x 20 in tiles of order 8) is not square");
  EXPECT_EQ(message_of<ShapeMismatch>([&] { linear::lu(s, where); }),
            "linear::lu: \"s\" (10 x 10 in tiles of order 8, symmetric) has its lower tiles only");
  EXPECT_EQ(
      message_of<ShapeMismatch>([&] { linear::solve(factors, wrong, where); }),
      "linear::solve: the columns of \"c\" (10 x 10 in tiles of order 8) are not as many as the rows of "
      "\"b\" (11 x 3 in tiles of order 8)");
  EXPECT_THROW(linear::solve(factors, other, where), ShapeMismatch);
  EXPECT_THROW(linear::solve(factors, s, where), ShapeMismatch);
  EXPECT_THROW(linear::product(factors, other, where), ShapeMismatch);
  EXPECT_EQ(
      message_of<Error>([&] { linear::lu(c, where, wrong_options); }),
      "linear::lu: LuOptions::least_pivot is 2.000000: it is from 0 to 1, where 0 is for the root of the "
      "type's epsilon");
  EXPECT_EQ(linear::solve(factors, empty, where).tasks, 0);
  EXPECT_TRUE(linear::lu(none, where).pivots.empty());
}

TEST(TiledLu, ABudgetBelowAPanelAndATileIsSaidWithItsBytes) {
  const index_t n = 100, tile = 32, least = (n * tile + tile * tile) * 8;
  const TiledMatrix<double> a("a", n, n, tile);
  a.fill([](index_t i, index_t j) { return i == j ? 4.0 : 0.01; });
  coherent::set_budget(Emulated{0}, least - 1);

  const std::string text = message_of<tasks::TaskError>([&] { linear::lu(a, on(Emulated{0})); });
  coherent::set_budget(Emulated{0}, least);
  linear::lu(a, on(Emulated{0}));

  coherent::set_budget(Emulated{0}, index_t{1} << 40);
  EXPECT_NE(text.find("\"gather\" of \"linear::lu of a\" needs " + std::to_string(least) +
                      " bytes at once, of \"a(0, 0)\", \"panel of a\""),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("coherent::set_budget"), std::string::npos) << text;
}

}  // namespace
