// The Chebyshev polynomial as preconditioner of the conjugate gradients.
// SPDX-License-Identifier: Apache-2.0
#include "matrices.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using linear::CgOptions;
using linear::CgResult;

template <class D>
class LinearChebyshev : public ::testing::Test {
 protected:
  template <class T>
  static CgOptions options(int degree, double tolerance) {
    CgOptions options;
    options.preconditioner = linear::Preconditioner::Chebyshev;
    options.chebyshev_degree = degree;
    options.relative_tolerance = tolerance;
    return options;
  }
  template <class T>
  static Vector<T, D> right_hand_side(index_t n) {
    return make_vector<T, D>(n, [](index_t i) { return small_number(i); });
  }
  template <class T>
  static Vector<T, D> zeros(index_t n) {
    return make_vector<T, D>(n, [](index_t) { return 0; });
  }
};
TYPED_TEST_SUITE(LinearChebyshev, TestDevices, DeviceName);

TYPED_TEST(LinearChebyshev, SolvesInDoubleAndFloat) {
  using D = TypeParam;
  const auto a = poisson<double>(12, 11, 13);
  const auto b = this->template right_hand_side<double>(a.rows), x = this->template zeros<double>(a.rows);
  const auto fa = poisson<float>(20, 20);
  const auto fb = this->template right_hand_side<float>(400), fx = this->template zeros<float>(400);

  const CgResult result =
      linear::solve_cg(on_device<double, D>(a), b, x, this->template options<double>(4, 1e-10));
  const CgResult single =
      linear::solve_cg(on_device<float, D>(fa), fb, fx, this->template options<float>(4, 1e-4));

  ASSERT_TRUE(result) << linear::to_string(result.status);
  ASSERT_TRUE(single) << linear::to_string(single.status);
  EXPECT_LE(relative_residual(a, values_of(x), values_of(b)), 1e-9);
  EXPECT_LE(relative_residual(fa, values_of(fx), values_of(fb)), 1e-3);
}

TYPED_TEST(LinearChebyshev, EveryDegreeSavesIterations) {
  using D = TypeParam;
  const auto a = on_device<double, D>(poisson<double>(40, 40));
  const auto b = this->template right_hand_side<double>(1600);
  CgOptions jacobi;
  jacobi.relative_tolerance = 1e-10;
  const auto solve = [&](const CgOptions& options) {
    return linear::solve_cg(a, b, this->template zeros<double>(1600), options).iterations;
  };

  const index_t by_diagonal = solve(jacobi), degree0 = solve(this->template options<double>(0, 1e-10)),
                degree1 = solve(this->template options<double>(1, 1e-10)),
                degree4 = solve(this->template options<double>(4, 1e-10));

  EXPECT_EQ(degree0, by_diagonal);  // a polynomial of degree 0 is a factor
  EXPECT_LT(degree1, by_diagonal * 3 / 4);
  EXPECT_LT(degree4, by_diagonal / 3);
}

TYPED_TEST(LinearChebyshev, ReplayedGraphsAndSolversUsedAgainGiveTheSameBits) {
  using D = TypeParam;
  const linear::ConjugateGradients solver(on_device<double, D>(poisson<double>(25, 25)),
                                          this->template options<double>(3, 1e-9));
  const auto b = this->template right_hand_side<double>(625);
  const auto direct = this->template zeros<double>(625), replayed = this->template zeros<double>(625);
  const Queue<D> queue;

  ASSERT_TRUE(solver.solve(on(queue), b, direct));
  linear::ConjugateGradients recorded = solver;
  CgOptions options = solver.options();
  options.record = true;
  options.check_every = 5;
  recorded.set_options(options);
  ASSERT_TRUE(recorded.solve(on(queue), b, replayed));

  const auto expected = values_of(direct), found = values_of(replayed);
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_TRUE(same_bits(found[i], expected[i])) << i;
}

TYPED_TEST(LinearChebyshev, ASolverOfTheDiagonalMayChangeToThePolynomial) {
  using D = TypeParam;
  linear::ConjugateGradients<linear::CrsMatrix<double, D>> solver(
      on_device<double, D>(poisson<double>(10, 10)));
  const auto x = this->template zeros<double>(100);

  solver.set_options(this->template options<double>(2, 1e-9));
  const CgResult result = solver.solve(this->template right_hand_side<double>(100), x);

  EXPECT_TRUE(result);
}

TYPED_TEST(LinearChebyshev, RefusesARatioAndADegreeThatMakeNoPolynomial) {
  using D = TypeParam;
  const auto a = on_device<double, D>(poisson<double>(4, 4));
  CgOptions ratio = this->template options<double>(3, 1e-8), degree = ratio;
  ratio.chebyshev_ratio = 1;
  degree.chebyshev_degree = -1;

  EXPECT_THROW(linear::ConjugateGradients(a, ratio), SettingError);
  EXPECT_THROW(linear::ConjugateGradients(a, degree), SettingError);
}

}  // namespace
