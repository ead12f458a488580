// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "matrices.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using linear::CgOptions;
using linear::CgResult;
using linear::CgStatus;

template <class D>
class LinearCg : public ::testing::Test {
 protected:
  template <class T>
  static Vector<T, D> right_hand_side(index_t n) {
    return make_vector<T, D>(n, [](index_t i) { return small_number(i); });
  }
  static CgOptions tolerance(double relative) {
    CgOptions options;
    options.relative_tolerance = relative;
    return options;
  }
  // Solves on D and on Serial: the true residual is small, the iteration counts are equal.
  template <class T>
  static void expect_solved(const HostMatrix<T>& a, double relative) {
    const auto matrix = on_device<T, D>(a);
    const auto b = right_hand_side<T>(a.rows);
    const auto x = make_vector<T, D>(a.rows, [](index_t) { return 0; });

    const CgResult result = linear::solve_cg(matrix, b, x, tolerance(relative));

    EXPECT_EQ(result.status, CgStatus::Converged) << linear::to_string(result.status);
    EXPECT_LE(result.residual, relative * result.right_hand_side);
    EXPECT_LE(relative_residual(a, values_of(x), values_of(b)), 10 * relative);
    EXPECT_LT(result.iterations, a.rows + 10);
    const CgResult serial = LinearCg<Serial>::template solve_again<T>(a, relative);
    if (same_arithmetic<D>) EXPECT_EQ(result.iterations, serial.iterations);
    else EXPECT_NEAR(static_cast<double>(result.iterations), static_cast<double>(serial.iterations), 1);
  }

 public:
  template <class T>
  static CgResult solve_again(const HostMatrix<T>& a, double relative) {
    const auto x = make_vector<T, D>(a.rows, [](index_t) { return 0; });
    return linear::solve_cg(on_device<T, D>(a), right_hand_side<T>(a.rows), x, tolerance(relative));
  }
};
TYPED_TEST_SUITE(LinearCg, TestDevices, DeviceName);

TYPED_TEST(LinearCg, SolvesPoissonsEquationInOneTwoAndThreeDimensions) {
  this->expect_solved(poisson<double>(300), 1e-10);
  this->expect_solved(poisson<double>(40, 30), 1e-10);
  this->expect_solved(poisson<double>(12, 11, 13), 1e-10);
  this->expect_solved(poisson<float>(20, 20), 1e-4);
}

TYPED_TEST(LinearCg, WhoWatchesIsToldAtEachLookButTheLast) {
  using D = TypeParam;
  const auto a = on_device<double, D>(poisson<double>(25, 25));
  const auto b = this->template right_hand_side<double>(625);
  std::vector<CgResult> seen;
  CgOptions options;
  options.check_every = 7;
  options.watch = [&](const CgResult& so_far) { seen.push_back(so_far); };
  const auto x = make_vector<double, D>(625, [](index_t) { return 0; });

  const CgResult result = linear::solve_cg(a, b, x, options);

  ASSERT_TRUE(result);
  ASSERT_EQ(static_cast<index_t>(seen.size()), (result.iterations - 1) / 7);
  for (std::size_t k = 0; k < seen.size(); ++k) {
    EXPECT_EQ(seen[k].status, CgStatus::Running);
    EXPECT_EQ(seen[k].iterations, 7 * static_cast<index_t>(k + 1));
    EXPECT_GT(seen[k].residual, 0);
    EXPECT_EQ(seen[k].right_hand_side, result.right_hand_side);
  }
}

TYPED_TEST(LinearCg, TheResultDoesNotDependOnHowOftenTheHostLooks) {
  using D = TypeParam;
  const auto a = on_device<double, D>(poisson<double>(25, 25));
  const auto b = this->template right_hand_side<double>(625);
  std::vector<double> first;
  index_t iterations = 0;

  for (const int every : {1, 7, 1000}) {
    CgOptions options;
    options.check_every = every;
    const auto x = make_vector<double, D>(625, [](index_t) { return 0; });

    const CgResult result = linear::solve_cg(a, b, x, options);

    ASSERT_TRUE(result);
    const auto found = values_of(x);
    if (first.empty()) {
      first = found;
      iterations = result.iterations;
    }
    EXPECT_EQ(result.iterations, iterations);
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_TRUE(same_bits(found[i], first[i])) << every;
  }
}

TYPED_TEST(LinearCg, ASolverSolvesAgainFromItsOwnSolutionWithoutAnIteration) {
  using D = TypeParam;
  const auto matrix = on_device<double, D>(poisson<double>(20, 20));
  const linear::ConjugateGradients solver(matrix, this->tolerance(1e-9));
  const auto b = this->template right_hand_side<double>(400);
  const auto x = make_vector<double, D>(400, [](index_t) { return 1; });
  const Queue<D> queue;

  const CgResult first = solver.solve(on(queue), b, x);
  const auto relaxed = this->tolerance(1e-8);
  linear::ConjugateGradients again = solver;
  again.set_options(relaxed);
  const CgResult second = again.solve(on(queue), b, x);

  EXPECT_TRUE(first);
  EXPECT_GT(first.iterations, 0);
  EXPECT_TRUE(second);
  EXPECT_EQ(second.iterations, 0);
}

TYPED_TEST(LinearCg, IterationsEnqueuedByHandAreThoseOfSolve) {
  using D = TypeParam;
  const auto matrix = on_device<double, D>(poisson<double>(30));
  const linear::ConjugateGradients solver(matrix);
  const auto b = this->template right_hand_side<double>(30);
  const auto x = make_vector<double, D>(30, [](index_t) { return 0; });
  const Queue<D> queue;

  solver.begin(on(queue), b, x);
  for (int k = 0; k < 5; ++k) solver.iterate(on(queue), x);
  const CgResult after_five = solver.look(on(queue));
  for (int k = 0; k < 100; ++k) solver.iterate(on(queue), x);
  const CgResult at_the_end = solver.look(on(queue));

  EXPECT_EQ(after_five.status, CgStatus::Running);
  EXPECT_EQ(after_five.iterations, 5);
  EXPECT_EQ(at_the_end.status, CgStatus::Converged);
  EXPECT_LE(at_the_end.iterations, 32);
}

TYPED_TEST(LinearCg, ReplayingAGraphOfIterationsGivesTheSameBits) {
  using D = TypeParam;
  const auto matrix = on_device<double, D>(poisson<double>(25, 25));
  const auto b = this->template right_hand_side<double>(625);
  const auto plain = make_vector<double, D>(625, [](index_t) { return 0; });
  const auto replayed = make_vector<double, D>(625, [](index_t) { return 0; });
  CgOptions options;
  options.check_every = 7;
  options.max_iterations = 1000;  // no multiple of 7
  const Queue<D> queue;

  const CgResult first = linear::solve_cg(on(queue), matrix, b, plain, options);
  options.record = true;
  const CgResult second = linear::solve_cg(on(queue), matrix, b, replayed, options);

  EXPECT_TRUE(second);
  EXPECT_EQ(first.iterations, second.iterations);
  const auto expected = values_of(plain), found = values_of(replayed);
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_TRUE(same_bits(found[i], expected[i])) << i;
}

TYPED_TEST(LinearCg, TheDiagonalAsPreconditionerSavesIterationsOnBadlyScaledMatrices) {
  using D = TypeParam;
  HostMatrix<double> a = poisson<double>(30, 30);
  for (index_t i = 0; i < a.rows; ++i)  // S A S with a diagonal S
    for (auto k = static_cast<std::size_t>(a.row_map[static_cast<std::size_t>(i)]);
         k < static_cast<std::size_t>(a.row_map[static_cast<std::size_t>(i) + 1]); ++k)
      a.values[k] *= (1 + static_cast<double>(i % 31)) * (1 + a.entries[k] % 31);
  const auto matrix = on_device<double, D>(a);
  const auto b = this->template right_hand_side<double>(900);
  const auto solve = [&](linear::Preconditioner preconditioner) {
    CgOptions options;
    options.preconditioner = preconditioner;
    const auto x = make_vector<double, D>(900, [](index_t) { return 0; });
    return linear::solve_cg(matrix, b, x, options);
  };

  const CgResult with = solve(linear::Preconditioner::Jacobi), without = solve(linear::Preconditioner::None);

  EXPECT_TRUE(with);
  EXPECT_TRUE(without);
  EXPECT_LT(2 * with.iterations, without.iterations);
}

TYPED_TEST(LinearCg, AFunctionTakesThePlaceOfThePreconditionerUntilItIsTakenAway) {
  using D = TypeParam;
  HostMatrix<double> a = poisson<double>(30, 30), inverse_diagonal;
  inverse_diagonal.columns = a.rows;
  for (index_t i = 0; i < a.rows; ++i) {  // S A S with a diagonal S
    const auto scale = [](index_t k) { return 1 + static_cast<double>(k % 31); };
    for (auto k = static_cast<std::size_t>(a.row_map[static_cast<std::size_t>(i)]);
         k < static_cast<std::size_t>(a.row_map[static_cast<std::size_t>(i) + 1]); ++k)
      a.values[k] *= scale(i) * scale(a.entries[k]);
    inverse_diagonal.add(i, 0.25 / (scale(i) * scale(i)));
    inverse_diagonal.end_row();
  }
  const auto matrix = on_device<double, D>(a), inverse = on_device<double, D>(inverse_diagonal);
  const auto b = this->template right_hand_side<double>(900);
  linear::ConjugateGradients solver(matrix, this->tolerance(1e-10));
  const auto solve = [&] {
    const auto x = make_vector<double, D>(900, [](index_t) { return 0; });
    const CgResult result = solver.solve(b, x);
    EXPECT_LE(relative_residual(a, values_of(x), values_of(b)), 1e-9);
    return result;
  };

  const CgResult jacobi = solve();
  index_t calls = 0;
  solver.set_preconditioner([&](const auto& where, const auto& r, const auto& z) {
    ++calls;
    linear::spmv(where, inverse, r, z);
  });
  const CgResult own = solve();
  solver.set_preconditioner({});
  const CgResult again = solve();

  EXPECT_TRUE(own);
  EXPECT_NEAR(static_cast<double>(own.iterations), static_cast<double>(jacobi.iterations), 2);
  EXPECT_GE(calls, own.iterations);
  if (D::memory_space::host_accessible) {
    EXPECT_EQ(calls, own.iterations);
  }
  EXPECT_EQ(again.iterations, jacobi.iterations);
}

TYPED_TEST(LinearCg, AFunctionThatIsNotPositiveOrNotFiniteIsReportedAndLeavesTheGuess) {
  using D = TypeParam;
  linear::ConjugateGradients solver(on_device<double, D>(poisson<double>(10)));
  const auto b = this->template right_hand_side<double>(10);
  const auto status_with = [&](double factor) {
    const auto x = make_vector<double, D>(10, [](index_t) { return 0.5; });
    solver.set_preconditioner([&](const auto& where, const auto& r, const auto& z) {
      linear::copy(where, r, z);
      linear::scale(where, factor, z);
    });
    const CgResult result = solver.solve(b, x);
    if (!result) {
      EXPECT_EQ(values_of(x), std::vector<double>(10, 0.5));
    }
    return result.status;
  };

  EXPECT_EQ(status_with(1), CgStatus::Converged);
  EXPECT_EQ(status_with(-1), CgStatus::NotPositiveDefinite);
  EXPECT_EQ(status_with(0), CgStatus::NotPositiveDefinite);
  EXPECT_EQ(status_with(std::numeric_limits<double>::quiet_NaN()), CgStatus::NotFinite);
}

TYPED_TEST(LinearCg, ARightHandSideOfZeroGivesZeroWhateverTheGuess) {
  using D = TypeParam;
  const auto x = make_vector<double, D>(100, [](index_t i) { return i; });
  const auto b = make_vector<double, D>(100, [](index_t) { return 0; });

  const CgResult result = linear::solve_cg(on_device<double, D>(poisson<double>(100)), b, x);

  EXPECT_TRUE(result);
  EXPECT_EQ(result.iterations, 0);
  EXPECT_EQ(result.residual, 0);
  EXPECT_EQ(linear::norm2(x), 0);
}

TYPED_TEST(LinearCg, TooFewIterationsAreReportedAndLeaveTheLastIterate) {
  using D = TypeParam;
  const auto a = poisson<double>(200);
  CgOptions options;
  options.max_iterations = 33;
  options.check_every = 10;
  const auto b = this->template right_hand_side<double>(200);
  const auto x = make_vector<double, D>(200, [](index_t) { return 0; });

  const CgResult result = linear::solve_cg(on_device<double, D>(a), b, x, options);

  EXPECT_EQ(result.status, CgStatus::MaxIterations);
  EXPECT_EQ(result.iterations, 33);
  EXPECT_FALSE(result);
  EXPECT_NEAR(relative_residual(a, values_of(x), values_of(b)), result.residual / result.right_hand_side,
              1e-10);
}

TYPED_TEST(LinearCg, WithoutIterationsTheGuessIsJudged) {
  using D = TypeParam;
  CgOptions options;
  options.max_iterations = 0;
  const auto x = make_vector<double, D>(10, [](index_t) { return 0; });

  const CgResult result = linear::solve_cg(on_device<double, D>(poisson<double>(10)),
                                           this->template right_hand_side<double>(10), x, options);

  EXPECT_EQ(result.status, CgStatus::MaxIterations);
  EXPECT_NEAR(result.residual, result.right_hand_side, 1e-14);
}

TYPED_TEST(LinearCg, AnIndefiniteMatrixIsReportedAndGivesNoNaN) {
  using D = TypeParam;
  HostMatrix<double> a;  // positive diagonal, eigenvalues 3 and -1
  a.columns = 2;
  a.add(0, 1), a.add(1, 2), a.end_row();
  a.add(0, 2), a.add(1, 1), a.end_row();
  const auto matrix = on_device<double, D>(a);
  const auto b = make_vector<double, D>(2, [](index_t i) { return i == 0 ? 1 : -1; });
  const auto at_once = make_vector<double, D>(2, [](index_t i) { return i == 0 ? 0.25 : -0.25; });
  const auto later = make_vector<double, D>(2, [](index_t) { return 0.5; });

  const CgResult first = linear::solve_cg(matrix, b, at_once), second = linear::solve_cg(matrix, b, later);

  EXPECT_EQ(first.status, CgStatus::NotPositiveDefinite);
  EXPECT_EQ(first.iterations, 0);
  EXPECT_EQ(values_of(at_once), (std::vector<double>{0.25, -0.25}));
  EXPECT_EQ(second.status, CgStatus::NotPositiveDefinite);
  EXPECT_EQ(second.iterations, 1);
  for (const double value : values_of(later)) EXPECT_TRUE(std::isfinite(value));
}

TYPED_TEST(LinearCg, AMissingOrNegativeDiagonalEntryIsReportedAndLeavesTheGuess) {
  using D = TypeParam;
  HostMatrix<double> missing, negative;
  missing.columns = negative.columns = 2;
  missing.add(0, 1), missing.end_row(), missing.add(0, 1), missing.end_row();
  negative.add(0, 1), negative.end_row(), negative.add(1, -1), negative.end_row();
  for (const auto& a : {missing, negative}) {
    const auto x = make_vector<double, D>(2, [](index_t) { return 0.25; });

    const CgResult result =
        linear::solve_cg(on_device<double, D>(a), this->template right_hand_side<double>(2), x);

    EXPECT_EQ(result.status, CgStatus::NotPositiveDefinite);
    EXPECT_EQ(result.iterations, 0);
    EXPECT_EQ(values_of(x), (std::vector<double>{0.25, 0.25}));
  }
}

TYPED_TEST(LinearCg, NotANumberInTheRightHandSideIsReported) {
  using D = TypeParam;
  const auto b = make_vector<double, D>(
      50, [](index_t i) { return i == 7 ? std::numeric_limits<double>::quiet_NaN() : 1.0; });
  const auto x = make_vector<double, D>(50, [](index_t) { return 0; });

  const CgResult result = linear::solve_cg(on_device<double, D>(poisson<double>(50)), b, x);

  EXPECT_EQ(result.status, CgStatus::NotFinite);
  EXPECT_EQ(linear::norm2(x), 0);
}

TYPED_TEST(LinearCg, OverflowOnTheWayIsReportedAndKeepsTheLastIterate) {
  using D = TypeParam;
  HostMatrix<double> a;  // p.Ap overflows, the residual does not
  a.columns = 1;
  a.add(0, 1e-300), a.end_row();
  const auto b = make_vector<double, D>(1, [](index_t) { return 1e10; });
  const auto x = make_vector<double, D>(1, [](index_t) { return 0; });

  const CgResult result = linear::solve_cg(on_device<double, D>(a), b, x);

  EXPECT_EQ(result.status, CgStatus::NotFinite);
  EXPECT_EQ(values_of(x), std::vector<double>{0});
}

TYPED_TEST(LinearCg, AMatrixWithoutRowsIsSolved) {
  using D = TypeParam;
  const auto none = make_vector<double, D>(0, small_number);

  const CgResult result = linear::solve_cg(on_device<double, D>(HostMatrix<double>{}), none, none);

  EXPECT_TRUE(result);
  EXPECT_EQ(result.iterations, 0);
}

TYPED_TEST(LinearCg, MatricesAndVectorsThatDoNotFitAreErrors) {
  using D = TypeParam;
  const auto ten = make_vector<double, D>(10, small_number),
             eleven = make_vector<double, D>(11, small_number);
  const auto square = on_device<double, D>(poisson<double>(10));
  auto wide = poisson<double>(10);
  wide.columns = 11;
  const auto oblong = on_device<double, D>(wide);

  EXPECT_THROW(static_cast<void>(linear::solve_cg(square, eleven, ten)), ShapeMismatch);
  EXPECT_THROW(static_cast<void>(linear::solve_cg(square, ten, eleven)), ShapeMismatch);
  EXPECT_THROW(static_cast<void>(linear::solve_cg(oblong, ten, eleven)), ShapeMismatch);
}

}  // namespace
