// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>

#include <strata/miniapps/coherent_apps/checks.hpp>
#include <strata/miniapps/coherent_apps/images.hpp>
#include <strata/miniapps/coherent_apps/lu.hpp>
#include <strata/miniapps/coherent_apps/mandelbrot.hpp>
#include <strata/miniapps/coherent_apps/nbody.hpp>
#include <strata/miniapps/coherent_apps/sph.hpp>

namespace strata::inline STRATA_ABI::coherent_apps {

using miniapp::check_near;
using miniapp::check_relative;
using miniapp::check_zero;
using miniapp::RunReport;

namespace {

std::size_t place(index_t i) { return static_cast<std::size_t>(i); }

// What bodies have together.
struct BodySums {
  double energy = 0;
  std::array<double, 3> momentum{}, angular{};
};
// At the beginning of the last step, `dt` before the positions.
BodySums body_sums(const std::vector<double>& numbers, double dt) {
  BodySums sums;
  for (std::size_t at = 0; at < numbers.size(); at += 11) {
    const double *end = &numbers[at], *v = end + 3, *a = end + 6, mass = end[9], potential = end[10];
    double x[3];
    for (int d = 0; d < 3; ++d) x[d] = end[d] - dt * (v[d] + 0.5 * dt * a[d]);
    for (std::size_t d = 0; d < 3; ++d) {
      const std::size_t e = (d + 1) % 3, f = (d + 2) % 3;
      sums.momentum[d] += mass * v[d];
      sums.angular[d] += mass * (x[e] * v[f] - x[f] * v[e]);
      sums.energy += 0.5 * mass * v[d] * v[d];
    }
    sums.energy += 0.5 * mass * potential;
  }
  return sums;
}

void check_nbody(const AppRequest& request, const AppOutcome& outcome, const RunApp& run, RunReport& report) {
  const double dt = time_step_of(request);
  std::vector<Body> begin(place(request.n));
  for (index_t i = 0; i < request.n; ++i) begin[place(i)] = MakeBodies{request.n}.body(i);
  const auto first = body_sums(numbers_of([&](index_t i) { return begin[place(i)]; }, request.n), 0);
  const auto last = body_sums(outcome.values, dt);
  double momentum = 0, angular = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    momentum = std::max(momentum, std::abs(last.momentum[d] - first.momentum[d]));
    angular = std::max(angular, std::abs(last.angular[d] - first.angular[d]));
  }
  report.add_result("energy", last.energy);
  report.add_result("angular momentum", last.angular[2]);
  // Velocities are differences of positions over time.
  const double rounding = 32 * std::numeric_limits<double>::epsilon() *
                          static_cast<double>(2 * request.steps) / std::min(dt, 1.0);
  report.checks.push_back(check_zero("momentum, its change", momentum, rounding));
  report.checks.push_back(check_zero("angular momentum, its change", angular, rounding));
  if (request.steps == 1) return;
  AppRequest shorter = request;
  shorter.steps = 1;
  const double early = body_sums(run(shorter).values, dt).energy;
  report.checks.push_back(
      check_relative("energy, against that of the first steps", last.energy, early, 10 * dt * dt));
}

void check_lu(const AppRequest& request, const AppOutcome& outcome, RunReport& report) {
  const index_t rows = request.n;
  const std::vector<double>& factors = outcome.values;
  report.checks.push_back(check_near("steps, as the matrix counted them", factors[place(rows * rows)],
                                     static_cast<double>(request.steps), 0));
  if (request.steps < rows) return;
  // Some elements of L U.
  double greatest = 0;
  constexpr index_t samples = 2000;
  for (index_t s = 0; s < samples; ++s) {
    const index_t at = random(7, s).uniform<index_t>(0, rows * rows), i = at / rows, j = at % rows;
    double product = 0, size = 0;
    for (index_t k = 0; k <= std::min(i, j); ++k) {
      const double l = k == i ? 1 : factors[place(i * rows + k)], term = l * factors[place(k * rows + j)];
      product += term;
      size += std::abs(term);
    }
    greatest = std::max(greatest, std::abs(product - static_cast<double>(matrix_element(rows, at))) / size);
  }
  // Higham, Accuracy and Stability of Numerical Algorithms, theorem 9.3.
  report.checks.push_back(check_zero("|L U - A| over |L| |U|, greatest of 2000 elements", greatest,
                                     static_cast<double>(rows) * 0x1p-24));
}

void check_sph(const AppRequest& request, const AppOutcome& outcome, RunReport& report) {
  const ShockTube tube(request.n);
  const double time = static_cast<double>(request.steps) * time_step_of(request);
  double energy_begin = 0, energy = 0, momentum = 0, difference = 0, mass = 0;
  for (index_t i = ShockTube::wall; i < request.n - ShockTube::wall; ++i) {
    const Particle begin = tube.particle(i);
    const double* now = &outcome.values[place(5 * i)];
    const double m = begin.mass, velocity = now[1];
    energy_begin += m * static_cast<double>(begin.energy);
    energy += m * (now[4] + 0.5 * velocity * velocity);
    momentum += m * velocity;
    difference += m / now[2] * std::abs(now[2] - sod_state(now[0] / time).density);
    mass += m;
  }
  report.add_result("time", time);
  report.add_result("energy", energy);
  report.add_result("momentum", momentum);
  report.add_result("density, difference from the exact one, summed over the tube", difference);
  const bool is_free = time < tube.time_to_walls();
  report.checks.push_back(
      check_relative("energy, against that of time 0", energy, energy_begin, is_free ? 1e-4 : 0.05));
  if (!is_free) {
    report.notes.push_back("waves came to the walls: there is no exact solution to compare with");
    return;
  }
  report.checks.push_back(
      check_relative("momentum, against the difference of pressures times time", momentum, 0.9 * time, 0.03));
  report.checks.push_back(check_zero("density, against the exact one", difference,
                                     0.003 + 10 * static_cast<double>(tube.distance)));
}

void check_mandelbrot(const AppRequest& request, const AppOutcome& outcome, RunReport& report) {
  const index_t n = request.n;
  const auto picture = Mandelbrot::picture(n, request.steps - 1);
  index_t inside = 0, wrong = 0;
  for (const double count : outcome.values) inside += count == Mandelbrot::most ? 1 : 0;
  const double share = static_cast<double>(inside) / static_cast<double>(n * n);
  report.add_result("area of the set in the picture", share * picture.side * picture.side);
  constexpr index_t samples = 2000;
  for (index_t s = 0; s < samples; ++s) {
    const index_t at = random(7, s).uniform<index_t>(0, n * n);
    const std::complex<double> c(picture.coordinate(picture.left, at % n),
                                 picture.coordinate(picture.bottom, at / n));
    std::complex<double> z = 0;
    int count = 0;
    for (; count < Mandelbrot::most && std::norm(z) <= 4; ++count) z = z * z + c;
    wrong += outcome.values[place(at)] == count ? 0 : 1;
  }
  // Near the edge of the set rounding decides.
  report.checks.push_back(
      check_zero("of 2000 points, computed by complex numbers, others", static_cast<double>(wrong), 20));
  if (request.steps == 1 && n >= 128)
    report.checks.push_back(check_near("area of the set", share * picture.side * picture.side, 1.5066,
                                       2 / static_cast<double>(n)));
}

// In one pass, each for itself.
void check_ppmcc(const AppRequest& request, const AppOutcome& outcome, RunReport& report) {
  const Images images = Images::correlated();
  double x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  for (index_t i = 0; i < request.n; ++i) {
    const double a = images.x(i) - 0.5, b = images.y(i) - 0.5;
    x += a;
    y += b;
    xx += a * a;
    xy += a * b;
    yy += b * b;
  }
  const auto n = static_cast<double>(request.n);
  const double expected = (xy - x * y / n) / std::sqrt((xx - x * x / n) * (yy - y * y / n));
  report.add_result("PPMCC", outcome.values[0]);
  report.checks.push_back(check_near("PPMCC, against a loop", outcome.values[0], expected, 1e-10));
  report.checks.push_back(check_near("PPMCC, against how the images were made", outcome.values[0],
                                     images.share, 5 / std::sqrt(n)));
}

void check_mse(const AppRequest& request, const AppOutcome& outcome, RunReport& report) {
  const Images images = Images::alike();
  double sum = 0;
  for (index_t i = 0; i < request.n; ++i) {
    const double error = images.x(i) - images.y(i);
    sum += error * error;
  }
  report.add_result("MSE", outcome.values[0]);
  report.checks.push_back(
      check_relative("MSE, against a loop", outcome.values[0], sum / static_cast<double>(request.n), 1e-10));
}

}  // namespace

SodState sod_state(double speed) {
  // Toro, Riemann Solvers and Numerical Methods for Fluid Dynamics, section 4.3.3, test 1: between the waves
  // the gas has this pressure and velocity.
  constexpr double gamma = 1.4, pressure = 0.303130178050646, velocity = 0.927452620048950;
  const SodState left{1, 0, 1}, right{0.125, 0, 0.1};
  // Left of the contact it went through a rarefaction.
  const double sound = std::sqrt(gamma), cooled = sound * std::pow(pressure, (gamma - 1) / (2 * gamma));
  if (speed < -sound) return left;
  if (speed < velocity - cooled) {
    const double inside = 2 / (gamma + 1) * (sound + speed), local = inside - speed;
    const double density = std::pow(local / sound, 2 / (gamma - 1));
    return {density, inside, density * local * local / gamma};
  }
  if (speed < velocity) return {std::pow(pressure, 1 / gamma), velocity, pressure};
  // Right of it through a shock.
  const double ratio = pressure / right.pressure, rest = (gamma - 1) / (gamma + 1);
  const double shock = std::sqrt(gamma * right.pressure / right.density *
                                 ((gamma + 1) / (2 * gamma) * ratio + (gamma - 1) / (2 * gamma)));
  if (speed < shock) return {right.density * (ratio + rest) / (ratio * rest + 1), velocity, pressure};
  return right;
}

void add_checks(const AppRequest& request, const AppOutcome& outcome, const RunApp& run, RunReport& report) {
  if (request.app == "nbody") check_nbody(request, outcome, run, report);
  if (request.app == "lu") check_lu(request, outcome, report);
  if (request.app == "sph") check_sph(request, outcome, report);
  if (request.app == "mandelbrot") check_mandelbrot(request, outcome, report);
  if (request.app == "ppmcc") check_ppmcc(request, outcome, report);
  if (request.app == "mse") check_mse(request, outcome, report);
}

void add_comparison(const AppRequest& request, const AppOutcome& outcome, const AppOutcome& other,
                    bool same_bits, RunReport& report) {
  double difference = 0, sum = 0, unequal = 0;
  const std::size_t count = std::min(outcome.values.size(), other.values.size());
  for (std::size_t k = 0; k < count; ++k) {
    const double value = outcome.values[k], expected = other.values[k];
    difference += std::abs(value - expected);
    sum += std::abs(expected);
    unequal += value == expected ? 0 : 1;
  }
  report.checks.push_back(check_near("values, as many as on Serial",
                                     static_cast<double>(outcome.values.size()),
                                     static_cast<double>(other.values.size()), 0));
  if (same_bits || request.app == "mandelbrot") {
    // At the edge of the set rounding decides.
    const double tolerance = same_bits ? 0 : 0.01 * static_cast<double>(count);
    report.checks.push_back(check_zero("values that differ from those on Serial", unequal, tolerance));
    return;
  }
  report.checks.push_back(check_zero("differences from Serial, over the values",
                                     difference / (sum > 0 ? sum : 1), app_kind(request.app).tolerance));
}

}  // namespace strata::inline STRATA_ABI::coherent_apps
