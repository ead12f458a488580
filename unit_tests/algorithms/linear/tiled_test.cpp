// Cholesky factors, products and solutions over tiled matrices: random shapes, tiles, places, budgets and
// schedulers give what plain loops on the host give.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <strata/algorithms/linear/tiled/tiled_cholesky.hpp>
#include <strata/algorithms/linear/tiled/tiled_product.hpp>
#include <strata/algorithms/linear/tiled/tiled_trsm.hpp>
#include <strata/algorithms/tasks/task_costs.hpp>

#include "algorithms/linear/tiled_cases.hpp"
#include "messages.hpp"

namespace {

using namespace strata_tests;
using namespace strata;

template <class D>
class TiledLinear : public OverPlaces<D> {};
TYPED_TEST_SUITE(TiledLinear, TestDevices, DeviceName);

template <class T, class Run>
void check_cholesky(Random& draw, const Run& run_somewhere) {
  const index_t n = draw(0, 9) == 0 ? draw(0, 2) : draw(3, 200), tile = random_tile(draw),
                columns = draw(0, 40);
  const Dense a = random_positive(draw, n), b = random_dense(draw, n, columns);
  const bool lower_only = draw(0, 2) > 0;
  const auto l = lower_only ? TiledMatrix<T>::symmetric("a", n, tile) : TiledMatrix<T>("a", n, n, tile);
  const TiledMatrix<T> x("x", n, columns, tile);
  fill(l, a);
  fill(x, b);

  const bool tf32 = run_somewhere(
      tile * tile * static_cast<index_t>(sizeof(T)), [&](const auto& where, const auto& options) {
        const TaskReport report = linear::cholesky(l, where, options);
        const index_t t = l.tile_rows(), tasks = t * (t + 1) * (t + 2) / 6, inverses = t > 0 ? t - 1 : 0;
        if (options.invert_diagonal) {
          EXPECT_EQ(report.tasks, tasks + (*options.invert_diagonal ? inverses : 0));
        }
        linear::solve(l, x, where, options);
      });

  Dense factor = values_of(l), product(n, n), solved(n, columns);
  for (index_t i = 0; i < n; ++i)
    for (index_t j = i + 1; j < n; ++j) factor(i, j) = 0;
  add_product(product, 1, factor, factor, true);
  EXPECT_LE(distance(product, a, true), tolerance<T>(n, static_cast<double>(n) + 1, tf32))
      << n << ", " << tile;
  add_product(solved, 1, a, values_of(x), false);
  EXPECT_LE(distance(solved, b), tolerance<T>(n, 4, tf32)) << n << ", " << tile << ", " << columns;
}

TYPED_TEST(TiledLinear, CholeskyAndSolveHaveSmallResiduals) {
  Random draw;
  const auto run = [&](index_t bytes, const auto& f) { return this->run_somewhere(draw, bytes, f); };
  for (int trial = 0; trial < trials(20); ++trial) {
    check_cholesky<float>(draw, run);
    check_cholesky<double>(draw, run);
  }
}

// By costs, as both were measured to be as fast, so that both have tasks: a GPU and its host, each by its
// library.
TYPED_TEST(TiledLinear, OfADeviceAndThreadsTogetherHaveSmallResiduals) {
  if (std::is_same_v<TypeParam, AnyHost>) GTEST_SKIP() << "Threads may be that device";
  const index_t n = 300, tile = 32, columns = 40;
  Random draw;
  const Dense a = random_positive(draw, n), b = random_dense(draw, n, columns);
  const auto l = TiledMatrix<double>::symmetric("a", n, tile, MemoryMode::Pinned);
  const TiledMatrix<double> x("x", n, columns, tile, MemoryMode::Pinned);
  fill(l, a), fill(x, b);
  TaskCosts costs;
  for (const char* const device : {"Threads", device_name<TypeParam>()})
    for (const char* const kernel : {"gemm", "syrk", "trsm"})
      for (const index_t tiles : {2, 3}) costs.add(device, kernel, tiles * tile * tile * 8, 1e-3);
  linear::TiledOptions options;
  options.run.scheduler = "dmda";
  options.run.costs = &costs;
  options.invert_diagonal = false;
  if (!linear::has_host_blas()) options.backend = linear::Backend::Strata;

  const TaskReport report = linear::cholesky(l, across(TypeParam{}, Threads{}), options);
  linear::solve(l, x, across(TypeParam{}, Threads{}), options);

  EXPECT_GT(report.devices[0].tasks, 0);
  EXPECT_GT(report.devices[1].tasks, 0);
  Dense factor = values_of(l), product(n, n), solved(n, columns);
  add_product(product, 1, factor, factor, true);
  add_product(solved, 1, a, values_of(x), false);
  EXPECT_LE(distance(product, a, true), tolerance<double>(n, static_cast<double>(n) + 1));
  EXPECT_LE(distance(solved, b), tolerance<double>(n, 4));
}

// Of a matrix whose diagonal tiles have condition numbers above 10^4.
TYPED_TEST(TiledLinear, InvertedDiagonalTilesLeaveResidualsAsSmallAsSolving) {
  const index_t n = 150, tile = 40;
  Dense a(n, n);
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < n; ++j)
      a(i, j) = std::exp(-static_cast<double>((i - j) * (i - j)) / 8) + (i == j ? 1e-4 : 0);
  double residuals[2];
  for (const bool inverts : {false, true}) {
    const auto l = TiledMatrix<double>::symmetric("a", n, tile);
    fill(l, a);
    linear::TiledOptions options;
    options.invert_diagonal = inverts;
    if (std::is_same_v<TypeParam, AnyHost> && !linear::has_host_blas())
      options.backend = linear::Backend::Strata;

    linear::cholesky(l, on(TypeParam{}), options);

    Dense product(n, n);
    add_product(product, 1, values_of(l), values_of(l), true);
    residuals[inverts ? 1 : 0] = distance(product, a, true);
  }
  EXPECT_LE(residuals[0], tolerance<double>(n, 1));
  EXPECT_LE(residuals[1], tolerance<double>(n, 1));
}

template <class T, class Run>
void check_products(Random& draw, const Run& run_somewhere) {
  const auto extent = [&] { return draw(0, 9) == 0 ? draw(0, 1) : draw(2, 120); };
  const index_t m = extent(), n = extent(), k = extent(), tile = random_tile(draw);
  const double alpha = static_cast<double>(draw(-2, 2)), beta = static_cast<double>(draw(-1, 1));
  const Dense a = random_dense(draw, m, k), b = random_dense(draw, k, n);
  Dense c = random_dense(draw, m, n), s = random_positive(draw, m);
  const TiledMatrix<T> ta("a", m, k, tile), tb("b", k, n, tile);
  const TiledMatrix<T> tc("c", m, n, tile);
  const auto ts = TiledMatrix<T>::symmetric("s", m, tile);
  fill(ta, a), fill(tb, b), fill(ts, s);
  // What is not read may be anything.
  if (beta == 0) tc.fill([](index_t, index_t) { return std::numeric_limits<T>::quiet_NaN(); });
  else fill(tc, c);

  const bool tf32 = run_somewhere(
      tile * tile * static_cast<index_t>(sizeof(T)), [&](const auto& where, const auto& options) {
        linear::gemm(static_cast<T>(alpha), ta, tb, static_cast<T>(beta), tc, where, options);
        linear::syrk(static_cast<T>(alpha), ta, static_cast<T>(beta), ts, where, options);
      });

  for (Dense* matrix : {&c, &s})
    for (double& x : matrix->values) x *= beta;
  add_product(c, alpha, a, b, false);
  add_product(s, alpha, a, a, true);
  EXPECT_LE(distance(values_of(tc), c), tolerance<T>(k, 8, tf32, 2))
      << m << ", " << n << ", " << k << ", " << tile;
  EXPECT_LE(distance(values_of(ts), s, true), tolerance<T>(k + m, 8, tf32, 2))
      << m << ", " << k << ", " << tile;
}

TYPED_TEST(TiledLinear, ProductsAreThoseOfPlainLoops) {
  Random draw;
  const auto run = [&](index_t bytes, const auto& f) { return this->run_somewhere(draw, bytes, f); };
  for (int trial = 0; trial < trials(20); ++trial) {
    check_products<float>(draw, run);
    check_products<double>(draw, run);
  }
}

TYPED_TEST(TiledLinear, WhatIsNotPositiveDefiniteIsNamedByRowAndTile) {
  const index_t n = 100, tile = 32;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {-1.0, 0.0, std::numeric_limits<double>::quiet_NaN(), infinity})
    for (const auto backend : {linear::Backend::Strata, linear::Backend::Vendor})
      for (const index_t row : {index_t{0}, index_t{31}, index_t{70}, index_t{99}}) {
        if (backend == linear::Backend::Vendor && std::is_same_v<TypeParam, AnyHost> &&
            !linear::has_host_blas())
          continue;
        const auto a = TiledMatrix<double>::symmetric("a", n, tile);
        a.fill([&](index_t i, index_t j) { return i != j ? 0.001 : i == row ? bad : 1.0; });
        linear::TiledOptions options;
        options.backend = backend;
        try {
          linear::cholesky(a, on(TypeParam{}), options);
          ADD_FAILURE() << "nothing was thrown";
        } catch (const linear::NotPositiveDefinite& error) {
          EXPECT_EQ(error.row, row);
          EXPECT_EQ(error.tile, row / tile);
          EXPECT_NE(std::string(error.what()).find("the pivot of row " + std::to_string(row) + ", in tile ("),
                    std::string::npos)
              << error.what();
        }
      }
}

// Of one that is below the diagonal the row is named, as its pivot is what it spoils first.
TYPED_TEST(TiledLinear, AnInfiniteElementBelowTheDiagonalIsNamedByItsRow) {
  const auto backends = {linear::Backend::Strata, linear::Backend::Vendor};
  for (const auto backend : backends)
    for (const index_t row : {index_t{31}, index_t{70}}) {
      if (backend == linear::Backend::Vendor && std::is_same_v<TypeParam, AnyHost> &&
          !linear::has_host_blas())
        continue;
      const auto a = TiledMatrix<double>::symmetric("a", 100, 32);
      a.fill([&](index_t i, index_t j) {
        return i == j ? 1.0 : i == row && j == 3 ? std::numeric_limits<double>::infinity() : 0.001;
      });
      linear::TiledOptions options;
      options.backend = backend;
      try {
        linear::cholesky(a, on(TypeParam{}), options);
        ADD_FAILURE() << "nothing was thrown";
      } catch (const linear::NotPositiveDefinite& error) {
        EXPECT_EQ(error.row, row);
        EXPECT_NE(std::string(error.what()).find("is negative, 0 or not finite"), std::string::npos);
      }
    }
}

// Whatever the order of tasks and the room, what each tile goes through is the same.
TYPED_TEST(TiledLinear, ResultsHaveTheSameBitsWhateverTheScheduleAndTheBudget) {
  Random draw;
  const index_t n = 130, tile = 32;
  const Dense positive = random_positive(draw, n), b = random_dense(draw, n, n);
  struct Results {
    TiledMatrix<double> l, product, square, solved;
  };
  const auto run = [&](const linear::TiledOptions& options) {
    const Results r{TiledMatrix<double>::symmetric("l", n, tile), TiledMatrix<double>("product", n, n, tile),
                    TiledMatrix<double>::symmetric("square", n, tile),
                    TiledMatrix<double>("solved", n, n, tile)};
    const TiledMatrix<double> tb("b", n, n, tile);
    fill(r.l, positive), fill(tb, b), fill(r.product, b), fill(r.square, positive), fill(r.solved, b);
    linear::cholesky(r.l, on(TypeParam{}), options);
    linear::gemm(2, tb, tb, -1, r.product, on(TypeParam{}), options);
    linear::syrk(-1, tb, 1, r.square, on(TypeParam{}), options);
    linear::trsm({.side = linear::Side::Right}, 1, r.l, r.solved, on(TypeParam{}), options);
    return r;
  };
  for (const auto backend : {linear::Backend::Strata, linear::Backend::Vendor}) {
    if (backend == linear::Backend::Vendor && std::is_same_v<TypeParam, AnyHost> && !linear::has_host_blas())
      continue;
    linear::TiledOptions options;
    options.backend = backend;
    options.run.scheduler = "eager";
    const Results first = run(options);
    for (const char* const scheduler : {"data-aware", "darts", "lws"}) {
      options.run.scheduler = scheduler;
      options.run.queues = 3;
      this->set_budgets(4 * tile * tile * 8);
      const Results second = run(options);
      this->set_budgets(index_t{1} << 40);

      EXPECT_TRUE(have_same_bits(first.l, second.l)) << scheduler;
      EXPECT_TRUE(have_same_bits(first.product, second.product)) << scheduler;
      EXPECT_TRUE(have_same_bits(first.square, second.square)) << scheduler;
      EXPECT_TRUE(have_same_bits(first.solved, second.solved)) << scheduler;
    }
  }
}

template <class T, class Run>
void check_trsm(Random& draw, const Run& run_somewhere) {
  const auto extent = [&] { return draw(0, 9) == 0 ? draw(0, 1) : draw(2, 120); };
  const linear::TriangularSystem system{draw(0, 1) == 0 ? linear::Side::Left : linear::Side::Right,
                                        draw(0, 1) == 0 ? linear::Triangle::Lower : linear::Triangle::Upper,
                                        draw(0, 1) == 0, draw(0, 1) == 0};
  const bool right = system.side == linear::Side::Right, upper = system.triangle == linear::Triangle::Upper;
  const index_t n = extent(), others = extent(), tile = random_tile(draw);
  const double alpha = static_cast<double>(draw(-1, 2));
  const Dense b = right ? random_dense(draw, others, n) : random_dense(draw, n, others);
  // What counts has small elements off the diagonal; the rest is not read.
  Dense a = random_dense(draw, n, n), op(n, n);
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < n; ++j) {
      const bool counts = i == j ? !system.unit_diagonal : upper == (j > i);
      a(i, j) = i == j ? 2 + a(i, j) / 2 : a(i, j) / static_cast<double>(n);
      const double value = counts ? a(i, j) : i == j ? 1 : 0;
      (system.transpose ? op(j, i) : op(i, j)) = value;
      if (!counts) a(i, j) = std::numeric_limits<double>::quiet_NaN();
    }
  const auto ta =
      !upper && draw(0, 1) == 0 ? TiledMatrix<T>::symmetric("a", n, tile) : TiledMatrix<T>("a", n, n, tile);
  const TiledMatrix<T> x("x", b.rows, b.columns, tile);
  fill(ta, a);
  if (alpha == 0) x.fill([](index_t, index_t) { return std::numeric_limits<T>::quiet_NaN(); });
  else fill(x, b);

  const bool tf32 = run_somewhere(tile * tile * static_cast<index_t>(sizeof(T)),
                                  [&](const auto& where, const linear::TiledOptions& options) {
                                    linear::trsm(system, static_cast<T>(alpha), ta, x, where, options);
                                  });

  Dense expected = b, product(b.rows, b.columns);
  for (double& value : expected.values) value *= alpha;
  if (right) add_product(product, 1, values_of(x), op, false);
  else add_product(product, 1, op, values_of(x), false);
  EXPECT_LE(distance(product, expected), tolerance<T>(n, 8, tf32, 2))
      << n << ", " << others << ", " << tile << ", " << right << upper << system.transpose
      << system.unit_diagonal << ", " << alpha;
}

TYPED_TEST(TiledLinear, TriangularSystemsAreSolvedAsBlasDoes) {
  Random draw;
  const auto run = [&](index_t bytes, const auto& f) { return this->run_somewhere(draw, bytes, f); };
  for (int trial = 0; trial < trials(40); ++trial) {
    check_trsm<float>(draw, run);
    check_trsm<double>(draw, run);
  }
}

TEST(TiledLinear, TriangularSystemsThatDoNotFitAreSaid) {
  const TiledMatrix<double> a("a", 10, 10, 8), wide("wide", 10, 20, 8), b("b", 20, 10, 8);
  const auto s = TiledMatrix<double>::symmetric("s", 10, 8);
  const auto where = on(Emulated{0});

  EXPECT_EQ(message_of<ShapeMismatch>([&] { linear::trsm({}, 1, a, b, where); }),
            "linear::trsm: the columns of \"a\" (10 x 10 in tiles of order 8) are not as many as the rows of "
            "\"b\" (20 x 10 in tiles of order 8)");
  EXPECT_NO_THROW(linear::trsm({.side = linear::Side::Right, .unit_diagonal = true}, 1, a, b, where));
  EXPECT_EQ(
      message_of<ShapeMismatch>([&] { linear::trsm({.triangle = linear::Triangle::Upper}, 1, s, a, where); }),
      "linear::trsm: \"s\" (10 x 10 in tiles of order 8, symmetric) has its lower tiles only");
  EXPECT_THROW(linear::trsm({}, 1, wide, a, where), ShapeMismatch);
  EXPECT_THROW(linear::trsm({}, 1, a, s, where), ShapeMismatch);
  // Also where no task would read A, or none both.
  for (const double alpha : {1.0, 0.0}) EXPECT_THROW(linear::trsm({}, alpha, a, a, where), AccessConflict);
  const TiledMatrix<double> one("one", 4, 4, 8);
  linear::TiledOptions inverts;
  inverts.invert_diagonal = true;
  EXPECT_THROW(linear::trsm({}, 1, one, one, where, inverts), AccessConflict);
}

TEST(TiledLinear, ShapesThatDoNotFitAreSaid) {
  const TiledMatrix<double> a("a", 10, 20, 8), b("b", 20, 10, 8), c("c", 10, 10, 8), other("d", 20, 10, 4);
  const auto s = TiledMatrix<double>::symmetric("s", 10, 8);
  const auto where = on(Emulated{0});

  EXPECT_EQ(message_of<ShapeMismatch>([&] { linear::cholesky(a, where); }),
            "linear::cholesky: \"a\" (10 x 20 in tiles of order 8) is not square");
  EXPECT_EQ(message_of<ShapeMismatch>([&] { linear::gemm(1, a, a, 0, c, where); }),
            "linear::gemm: the columns of \"a\" (10 x 20 in tiles of order 8) are not as many as the rows of "
            "\"a\" (10 x 20 in tiles of order 8)");
  EXPECT_EQ(
      message_of<ShapeMismatch>([&] { linear::gemm(1, a, other, 0, c, where); }),
      "linear::gemm: the tiles of \"a\" (10 x 20 in tiles of order 8) and of \"d\" (20 x 10 in tiles of "
      "order 4) differ in their order");
  EXPECT_THROW(linear::gemm(1, a, b, 0, s, where), ShapeMismatch);
  EXPECT_THROW(linear::syrk(1, a, 0, c, where), ShapeMismatch);
  EXPECT_THROW(linear::syrk(1, b, 0, s, where), ShapeMismatch);
  EXPECT_THROW(linear::solve(s, b, where), ShapeMismatch);
  EXPECT_THROW(linear::gemm(1, c, c, 0, c, where), AccessConflict);
  EXPECT_THROW(TiledMatrix<double>("e", -1, 1, 8), ExtentError);
  EXPECT_THROW(TiledMatrix<double>("e", 1, 1, 0), ExtentError);
  EXPECT_THROW(TiledMatrix<double>("e", std::numeric_limits<index_t>::max(), 1, 8), ExtentError);
  EXPECT_EQ(TiledMatrix<double>("e", 3, 3, std::numeric_limits<index_t>::max()).tile_rows(), 1);
  EXPECT_EQ(message_of<Error>([&] { static_cast<void>(s.tile(0, 1)); }),
            "TiledMatrix \"s\" has no tile (0, 1): it has 2 x 2 tiles, those on and below the diagonal");
  EXPECT_THROW(static_cast<void>(a.tile(2, 0)), Error);
}

TEST(TiledLinear, OfTheHostUseTheLibraryThatWasFound) {
  if (!linear::has_host_blas()) GTEST_SKIP() << "this host has no BLAS with LAPACK";
  const auto a = TiledMatrix<float>::symmetric("a", 150, 40);
  a.fill([](index_t i, index_t j) { return i == j ? 4.0f : 0.01f; });
  const auto same = TiledMatrix<float>::symmetric("a", 150, 40);
  same.fill([](index_t i, index_t j) { return i == j ? 4.0f : 0.01f; });
  linear::TiledOptions own;
  own.backend = linear::Backend::Strata;

  linear::cholesky(a, on(Threads{}));
  linear::cholesky(same, on(Threads{}), own);

  EXPECT_FALSE(linear::host_blas_name().empty());
  EXPECT_LE(distance(values_of(a), values_of(same)), tolerance<float>(150, 1));
}

// In a process of its own, as a library is looked for once.
TEST(TiledLinear, WhatToInstallIsSaidWhereTheHostHasNoBlas) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto tries = [] {
    setenv("STRATA_HOST_BLAS", "libno_such_blas.so", 1);
    const auto a = TiledMatrix<double>::symmetric("a", 10, 4);
    a.fill([](index_t i, index_t j) { return i == j ? 1.0 : 0.0; });
    const std::string text = message_of<Error>([&] { linear::cholesky(a, on(Threads{})); });
    linear::TiledOptions own;
    own.backend = linear::Backend::Strata;
    linear::cholesky(a, on(Threads{}), own);  // nothing was changed, and this needs no library
    std::fprintf(stderr, "%d %s", static_cast<int>(linear::has_host_blas()), text.c_str());
    std::_Exit(0);
  };
  EXPECT_EXIT(tries(), ::testing::ExitedWithCode(0),
              "0 Backend::Vendor needs a BLAS and a LAPACK on the host, and \"libno_such_blas.so\", which "
              "STRATA_HOST_BLAS names, cannot be loaded .*: install OpenBLAS");
}

TEST(TiledLinear, ABudgetBelowThreeTilesIsSaid) {
  const auto a = TiledMatrix<double>::symmetric("a", 100, 32);
  a.fill([](index_t i, index_t j) { return i == j ? 4.0 : 0.01; });
  coherent::set_budget(Emulated{0}, 3 * 32 * 32 * 8 - 1);

  const std::string text = message_of<tasks::TaskError>([&] { linear::cholesky(a, on(Emulated{0})); });

  coherent::set_budget(Emulated{0}, index_t{1} << 40);
  EXPECT_NE(text.find("24576 bytes at once, of \"a(2, 0)\", \"a(1, 0)\", \"a(2, 1)\""), std::string::npos)
      << text;
}

}  // namespace
