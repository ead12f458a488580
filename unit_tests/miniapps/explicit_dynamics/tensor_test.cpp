// Small tensors: the solves and rotations that the element kernels rely on.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include <strata/miniapps/explicit_dynamics/rotation.hpp>
#include <strata/miniapps/explicit_dynamics/tensor.hpp>

namespace {

using namespace strata::dynamics;
using Mat = Matrix<double>;
using Vec = Vector<double>;
using Sym = Symmetric<double>;

class Tensors : public ::testing::Test {
 protected:
  double any(double low = -1, double high = 1) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  Vec any_vector() { return {any(), any(), any()}; }
  Mat any_matrix() { return {any(), any(), any(), any(), any(), any(), any(), any(), any()}; }
  Sym any_stretch() {
    return {any(0.7, 1.4), any(0.7, 1.4), any(0.7, 1.4), any(-0.2, 0.2), any(-0.2, 0.2), any(-0.2, 0.2)};
  }
  static double distance(const Vec& a, const Vec& b) { return std::sqrt(dot(a - b, a - b)); }
  static double distance(const Mat& a, const Mat& b) {
    return std::abs(a.xx - b.xx) + std::abs(a.xy - b.xy) + std::abs(a.xz - b.xz) + std::abs(a.yx - b.yx) +
           std::abs(a.yy - b.yy) + std::abs(a.yz - b.yz) + std::abs(a.zx - b.zx) + std::abs(a.zy - b.zy) +
           std::abs(a.zz - b.zz);
  }
  static Mat skew(const Vec& w) { return {0, -w.z, w.y, w.z, 0, -w.x, -w.y, w.x, 0}; }

 private:
  std::mt19937 random_{20};
};

TEST_F(Tensors, SymmetricAndSkewPartsMakeUpTheMatrix) {
  for (int n = 0; n < 100; ++n) {
    const Mat a = any_matrix(), d = full(symmetric_part(a)), w = skew(axial_vector(a));

    EXPECT_LT(distance(a, {d.xx + w.xx, d.xy + w.xy, d.xz + w.xz, d.yx + w.yx, d.yy + w.yy, d.yz + w.yz,
                           d.zx + w.zx, d.zy + w.zy, d.zz + w.zz}),
              1e-15);
  }
}

TEST_F(Tensors, AxialVectorTurnsAsTheSkewPartDoes) {
  const Vec w = any_vector(), b = any_vector();

  EXPECT_LT(distance(product(skew(w), b), cross(w, b)), 1e-15);
  EXPECT_LT(distance(axial_vector(skew(w)), w), 1e-15);
}

TEST_F(Tensors, SolveGivesBackTheVectorThatTheMatrixWasAppliedTo) {
  for (int n = 0; n < 1000; ++n) {
    const Sym v = any_stretch();
    const Vec b = any_vector();

    EXPECT_LT(distance(solve(v, product(full(v), b)), b), 1e-13);
  }
}

TEST_F(Tensors, InverseTimesMatrixIsTheIdentityOnBothSides) {
  for (int n = 0; n < 1000; ++n) {
    const Mat a = identity_plus(0.3, any_matrix());

    EXPECT_LT(distance(product(inverse(a), a), identity<double>()), 1e-12);
    EXPECT_LT(distance(product(a, inverse(a)), identity<double>()), 1e-12);
  }
}

TEST_F(Tensors, TurnedSolvesTheCayleyEquationAndStaysOrthogonal) {
  Mat r = identity<double>();
  for (int n = 0; n < 100; ++n) {
    const Vec a = any_vector();
    const Mat next = turned(a, r);

    EXPECT_LT(distance(product(identity_plus(-1.0, skew(a)), next), product(identity_plus(1.0, skew(a)), r)),
              1e-13);
    EXPECT_LT(distance(product(next, transposed(next)), identity<double>()), 1e-13);
    r = next;
  }
}

TEST_F(Tensors, RotatedAndUnrotatedUndoEachOtherAndKeepTheTrace) {
  const Mat r = turned(any_vector(), identity<double>());
  const Sym s = any_stretch();

  const Sym there = rotated(r, s), back = unrotated(r, there);

  EXPECT_LT(distance(full(there), product(product(r, full(s)), transposed(r))), 1e-14);
  EXPECT_LT(distance(full(back), full(s)), 1e-14);
  EXPECT_NEAR(trace(there), trace(s), 1e-14);
}

// The original program had two wrong signs in this solve; they do not show for V = I.
TEST_F(Tensors, RateOfRotationMakesTheRateOfTheStretchSymmetric) {
  for (int n = 0; n < 100; ++n) {
    const Mat l = any_matrix();
    const Sym v = any_stretch();
    const Vec omega = rotation_rate(symmetric_part(l), axial_vector(l), v);

    // V' = L V - V Omega
    const Mat a = product(l, full(v)), b = product(full(v), skew(omega));
    EXPECT_NEAR(a.xy - b.xy, a.yx - b.yx, 1e-13);
    EXPECT_NEAR(a.yz - b.yz, a.zy - b.zy, 1e-13);
    EXPECT_NEAR(a.zx - b.zx, a.xz - b.xz, 1e-13);
  }
}

TEST_F(Tensors, SecondOrderUpdateKeepsStretchTimesRotationTheDeformationGradient) {
  Decomposition<double> element{identity<double>(), {1, 1, 1, 0, 0, 0}, {}};
  Mat f = identity<double>();
  const Mat l{0.2, 0.5, -0.1, -0.3, 0.1, 0.4, 0.2, -0.2, -0.15};

  double error[2];
  for (const int steps : {100, 200}) {
    element = {identity<double>(), {1, 1, 1, 0, 0, 0}, {}};
    f = identity<double>();
    const double dt = 1.0 / steps;
    for (int n = 0; n < steps; ++n) {
      update<Update::Second>(element, l, dt);
      f = product(product(inverse(identity_plus(-dt / 2, l)), identity_plus(dt / 2, l)), f);
    }
    error[steps / 200] = distance(product(full(element.stretch), element.rotation), f);
  }

  EXPECT_LT(error[0], 1e-3);
  EXPECT_NEAR(std::log2(error[0] / error[1]), 2, 0.1);
}

}  // namespace
