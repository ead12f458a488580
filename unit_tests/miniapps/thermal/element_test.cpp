// The transforms of element.hpp against the usual loops over Gauss points.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include <strata/miniapps/thermal/element.hpp>

namespace {

using namespace strata;
using namespace strata::thermal;

constexpr int corner_sign[8][3] = {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1},
                                   {-1, -1, 1},  {1, -1, 1},  {1, 1, 1},  {-1, 1, 1}};

struct Reference {
  double stiffness[8][8] = {}, mass[8][8] = {}, load[8] = {};

  explicit Reference(const double (&x)[8][3]) {
    const double g = 1 / std::sqrt(3.0);
    for (const auto& q : corner_sign) {
      double shape[8], local[8][3], j[3][3] = {};
      for (int i = 0; i < 8; ++i) {
        double f[3];
        for (int a = 0; a < 3; ++a) f[a] = (1 + corner_sign[i][a] * g * q[a]) / 2;
        shape[i] = f[0] * f[1] * f[2];
        for (int a = 0; a < 3; ++a) local[i][a] = shape[i] / f[a] * corner_sign[i][a] / 2;
        for (int a = 0; a < 3; ++a)
          for (int d = 0; d < 3; ++d) j[a][d] += local[i][a] * x[i][d];
      }
      double inverse[3][3], det = 0;
      for (int a = 0; a < 3; ++a)
        for (int d = 0; d < 3; ++d)
          inverse[d][a] = j[(a + 1) % 3][(d + 1) % 3] * j[(a + 2) % 3][(d + 2) % 3] -
                          j[(a + 1) % 3][(d + 2) % 3] * j[(a + 2) % 3][(d + 1) % 3];
      for (int d = 0; d < 3; ++d) det += j[0][d] * inverse[d][0];
      double gradient[8][3] = {};
      for (int i = 0; i < 8; ++i)
        for (int d = 0; d < 3; ++d)
          for (int a = 0; a < 3; ++a) gradient[i][d] += inverse[d][a] / det * local[i][a];
      for (int i = 0; i < 8; ++i) {
        load[i] += det * shape[i];
        for (int k = 0; k < 8; ++k) {
          mass[i][k] += det * shape[i] * shape[k];
          for (int d = 0; d < 3; ++d) stiffness[i][k] += det * gradient[i][d] * gradient[k][d];
        }
      }
    }
  }
};

struct RandomHex {
  double x[8][3], by_bits[3][8];

  explicit RandomHex(unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> move(-0.2, 0.2);
    for (int i = 0; i < 8; ++i)
      for (int d = 0; d < 3; ++d) {
        x[i][d] = (corner_sign[i][d] + 1) / 2.0 + move(random);
        by_bits[d][bits_of_corner(i)] = x[i][d];
      }
  }
};

TEST(ThermalElement, BitsOfCornersAreTheirSigns) {
  for (int i = 0; i < 8; ++i)
    for (int a = 0; a < 3; ++a) EXPECT_EQ(bits_of_corner(i) >> a & 1, corner_sign[i][a] > 0) << i;
}

TEST(ThermalElement, StiffnessIsTheGaussSumOfRandomHexahedra) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    const RandomHex hex(seed);
    const Reference reference(hex.x);
    Metric<double> metric;
    double none[8], k[8][8];

    measure(hex.by_bits, metric);
    monomial_matrix<false>(metric.flow, none, k);
    double found[8][8];
    corner_matrix<false>(k, 2.0, [&](auto i, auto j, double v) { found[i][j] = v / 2; });

    for (int i = 0; i < 8; ++i) {
      for (int j = 0; j < 8; ++j) {
        const int low = std::min(bits_of_corner(i), bits_of_corner(j)),
                  high = std::max(bits_of_corner(i), bits_of_corner(j));
        EXPECT_NEAR(found[low][high], reference.stiffness[i][j], 2e-15) << seed;
      }
    }
  }
}

TEST(ThermalElement, MassAddsToStiffness) {
  const RandomHex hex(7);
  const Reference reference(hex.x);
  Metric<double> metric;
  double weight[8], k[8][8], found[8][8];

  measure(hex.by_bits, metric);
  for (int q = 0; q < 8; ++q) weight[q] = 3 * metric.volume[q];
  monomial_matrix<true>(metric.flow, weight, k);
  corner_matrix<true>(k, 2.0, [&](auto i, auto j, double v) { found[i][j] = v / 2; });

  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) {
      const int low = std::min(bits_of_corner(i), bits_of_corner(j)),
                high = std::max(bits_of_corner(i), bits_of_corner(j));
      EXPECT_NEAR(found[low][high], reference.stiffness[i][j] + 3 * reference.mass[i][j], 2e-15);
    }
  }
}

TEST(ThermalElement, DensitiesGoToTheCorners) {
  const RandomHex hex(11);
  const Reference reference(hex.x);
  Metric<double> metric;
  double density[8];

  measure(hex.by_bits, metric);
  for (int q = 0; q < 8; ++q) density[q] = metric.volume[q];
  density_to_corners(density);

  for (int i = 0; i < 8; ++i) EXPECT_NEAR(density[bits_of_corner(i)], reference.load[i], 1e-15);
}

TEST(ThermalElement, FarFromTheOriginFloatKeepsItsDigits) {
  RandomHex hex(3);
  const Reference reference(hex.x);
  Metric<float> metric;
  float none[8], k[8][8], found[8][8];
  for (auto& direction : hex.by_bits)
    for (double& x : direction) x += 1e6;

  measure(hex.by_bits, metric);
  monomial_matrix<false>(metric.flow, none, k);
  corner_matrix<false>(k, 1.0f, [&](auto i, auto j, float v) { found[i][j] = v; });

  for (int i = 0; i < 8; ++i)
    EXPECT_NEAR(found[bits_of_corner(i)][bits_of_corner(i)], reference.stiffness[i][i], 1e-6);
}

}  // namespace
