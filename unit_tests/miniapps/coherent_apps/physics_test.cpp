// What the applications compute, against solutions and programs that know nothing of theirs.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <strata/devices/serial/device.hpp>
#include <strata/miniapps/coherent_apps/checks.hpp>
#include <strata/miniapps/coherent_apps/lu.hpp>
#include <strata/miniapps/coherent_apps/mandelbrot.hpp>
#include <strata/miniapps/coherent_apps/nbody.hpp>
#include <strata/miniapps/coherent_apps/run_app.hpp>
#include <strata/miniapps/coherent_apps/sph.hpp>

namespace {

using namespace strata;
using namespace strata::coherent_apps;
using Point = std::array<double, 3>;

std::vector<double> values_of(const AppRequest& request) {
  return run_app(std::vector<AnyHost>{Serial{}}, request).values;
}
std::size_t place(index_t i) { return static_cast<std::size_t>(i); }

// Bodies with velocities kicked twice a step: the same steps, written otherwise.
std::vector<Point> move_plainly(index_t n, int steps, double dt) {
  std::vector<Point> x(place(n)), v(place(n)), a(place(n));
  for (index_t i = 0; i < n; ++i) {
    const Body body = MakeBodies{n}.body(i);
    std::copy_n(body.position, 3, x[place(i)].begin());
    std::copy_n(body.velocity, 3, v[place(i)].begin());
  }
  const auto pull = [&] {
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = {};
      for (std::size_t j = 0; j < a.size(); ++j) {
        double square = MoveBodies::softening * MoveBodies::softening;
        for (std::size_t d = 0; d < 3; ++d) square += std::pow(x[j][d] - x[i][d], 2);
        for (std::size_t d = 0; d < 3; ++d)
          a[i][d] += (x[j][d] - x[i][d]) / (static_cast<double>(n) * std::pow(square, 1.5));
      }
    }
  };
  const auto kick = [&] {
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t d = 0; d < 3; ++d) v[i][d] += 0.5 * dt * a[i][d];
  };
  pull();
  for (int s = 0; s < steps; ++s) {
    kick();
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t d = 0; d < 3; ++d) x[i][d] += dt * v[i][d];
    pull();
    kick();
  }
  return x;
}
double position_error(const std::vector<double>& numbers, const std::vector<Point>& expected) {
  double error = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (std::size_t d = 0; d < 3; ++d)
      error = std::max(error, std::abs(numbers[11 * i + d] - expected[i][d]));
  return error;
}

TEST(NBody, MovesAsAPlainProgramDoes) {
  for (const index_t n : {64, 67})
    EXPECT_LT(position_error(values_of({"nbody", n, 10, 0.02}), move_plainly(n, 20, 0.02)), 1e-12);
}
TEST(NBody, HalfTheStepMakesAQuarterOfTheError) {
  const std::vector<Point> exact = move_plainly(100, 512, 0.4 / 512);
  const auto error = [&](index_t steps) {
    return position_error(values_of({"nbody", 100, steps, 0.2 / static_cast<double>(steps)}), exact);
  };

  EXPECT_NEAR(error(8) / error(16), 4, 0.4);
  EXPECT_NEAR(error(16) / error(32), 4, 0.4);
}
TEST(NBody, FallsOutOfRestTowardsTheMiddle) {
  const std::vector<double> numbers = values_of({"nbody", 1000, 1});
  double inwards = 0;
  for (std::size_t at = 0; at < numbers.size(); at += 11)
    for (std::size_t d = 0; d < 3; ++d) inwards += numbers[at + d] * numbers[at + 6 + d] / 1000;

  // Of a homogeneous ball of mass and radius 1 the acceleration is -x, and the mean of |x|^2 is 3/5.
  EXPECT_NEAR(inwards, -0.6, 0.06);
}

TEST(Lu, HasTheFactorsOfDoolittle) {
  for (const index_t rows : {1, 2, 20, 37}) {
    std::vector<std::vector<double>> a(place(rows), std::vector<double>(place(rows)));
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < rows; ++j) a[place(i)][place(j)] = matrix_element(rows, i * rows + j);
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j < a.size(); ++j) {
        for (std::size_t k = 0; k < std::min(i, j); ++k) a[i][j] -= a[i][k] * a[k][j];
        if (j < i) a[i][j] /= a[j][j];
      }

    const std::vector<double> factors = values_of({"lu", rows, rows});

    ASSERT_EQ(factors.size(), place(rows * rows + 1));
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j < a.size(); ++j)
        EXPECT_NEAR(factors[i * a.size() + j], a[i][j], 1e-5 * std::max(1.0, std::abs(a[i][j])));
    EXPECT_EQ(factors.back(), static_cast<double>(rows));
  }
}

// Integrals over the tube: mass and energy are kept, the pressures push.
TEST(Sod, KeepsMassMomentumAndEnergy) {
  constexpr double time = 0.2;
  constexpr int points = 1000000;
  double mass = 0, momentum = 0, energy = 0;
  for (int k = 0; k < points; ++k) {
    const SodState s = sod_state(((k + 0.5) / points - 0.5) / time);
    mass += s.density / points;
    momentum += s.density * s.velocity / points;
    energy += (s.pressure / 0.4 + 0.5 * s.density * s.velocity * s.velocity) / points;
  }

  EXPECT_NEAR(mass, 0.5625, 1e-6);
  EXPECT_NEAR(momentum, 0.9 * time, 1e-6);
  EXPECT_NEAR(energy, 0.5 * (1 + 0.1) / 0.4, 2e-6);
}
TEST(Sph, HasThePlateausOfTheExactSolution) {
  const AppRequest request{"sph", 450, 600};
  const double time = 600 * time_step_of(request);
  double left = 0, right = 0, left_count = 0, right_count = 0, fastest = 0;

  const std::vector<double> values = values_of(request);

  for (std::size_t at = 0; at < values.size(); at += 5) {
    const double speed = values[at] / time;
    fastest = std::max(fastest, values[at + 1]);
    if (speed > 0.1 && speed < 0.75) {
      left += values[at + 2];
      left_count += 1;
    } else if (speed > 1.1 && speed < 1.6) {
      right += values[at + 2];
      right_count += 1;
    }
  }
  EXPECT_NEAR(time, 0.15, 0.001);
  ASSERT_GT(std::min(left_count, right_count), 4);
  EXPECT_NEAR(left / left_count, sod_state(0.5).density, 0.01);
  EXPECT_NEAR(right / right_count, sod_state(1.3).density, 0.01);
  EXPECT_NEAR(fastest, sod_state(1).velocity, 0.06);
}
TEST(Sph, WallsStayAsTheyAre) {
  const std::vector<double> values = values_of({"sph", 300, 20});
  const ShockTube tube(300);
  for (const index_t i : {index_t{0}, ShockTube::wall - 1, 300 - ShockTube::wall, index_t{299}}) {
    const Particle begin = tube.particle(i);
    EXPECT_EQ(values[place(5 * i)], begin.position[0]);
    EXPECT_EQ(values[place(5 * i + 2)], begin.density);
  }
  EXPECT_NE(values[place(5 * ShockTube::wall)], tube.particle(ShockTube::wall).density);
}

TEST(MandelbrotSet, IsItsOwnMirrorImage) {
  constexpr index_t n = 64;
  const std::vector<double> counts = values_of({"mandelbrot", n, 1});
  for (index_t i = 0; i < n / 2; ++i)
    for (index_t j = 0; j < n; ++j)
      EXPECT_EQ(counts[place(i * n + j)], counts[place((n - 1 - i) * n + j)]) << i << ' ' << j;
}
TEST(MandelbrotSet, HasKnownPoints) {
  const Mandelbrot picture = Mandelbrot::picture(1, 0);
  for (const double inside : {-2.0, -1.0, 0.0, 0.25})
    EXPECT_EQ(picture.iterations(inside, 0), Mandelbrot::most);
  EXPECT_EQ(picture.iterations(1, 0), 3);  // 0, 1, 2, 5
  EXPECT_EQ(picture.iterations(0, 3), 1);
  EXPECT_LT(picture.iterations(0.26, 0), Mandelbrot::most);
}

}  // namespace
