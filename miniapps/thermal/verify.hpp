// The tests of the method, as functions that a program (--verify) and the unit tests share. Each solves a
// problem with a known answer on a device and returns what it compared.
//
// `verify` runs all of them. Reference figures are of independent programs.
#pragma once

#include <numbers>
#include <vector>

#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/fem/box.hpp>
#include <strata/miniapps/fem/selector.hpp>
#include <strata/miniapps/thermal/arrays_for.hpp>
#include <strata/miniapps/thermal/error_norms.hpp>

namespace strata::inline STRATA_ABI::thermal {

using Checks = std::vector<miniapp::Check>;

/// A heat problem on a box, for tests.
template <class Device, class T = double, class Source = BlockSource>
using BoxHeat = HeatEquation<ArraysFor<Device>, T, Source>;

template <class Device>
fem::Mesh<ArraysFor<Device>> test_box(const std::string& spec, const Device& device) {
  return fem::make_box<ArraysFor<Device>>(fem::parse_box(spec), device);
}

inline SolveSettings exact_settings() {
  SolveSettings settings;
  settings.tolerance = 1e-14;
  return settings;
}

/// Gives all nodes of the box's surface a temperature each.
template <class Heat, class Function>
void give_surface(Heat& heat, const Function& function) {
  for (const char* side : {"x_min", "x_max", "y_min", "y_max", "z_min", "z_max"})
    heat.give_values(fem::select_nodes(heat.mesh(), side), function);
}

/// T = 1 + x + 2 y + 3 z
struct LinearSolution {
  STRATA_FUNCTION double value(double x, double y, double z) const { return 1 + x + 2 * y + 3 * z; }
};
/// T = z + Q/(2 k) z (L - z)
struct SlabSolution {
  double length, bend;
  STRATA_FUNCTION double value(double, double, double z) const { return z + bend * z * (length - z); }
};
/// T = sin pi x sin pi y sin pi z, of the source 3 pi^2 k T.
struct SineSolution {
  static constexpr double pi = std::numbers::pi;
  STRATA_FUNCTION double value(double x, double y, double z) const {
    return std::sin(pi * x) * std::sin(pi * y) * std::sin(pi * z);
  }
  STRATA_FUNCTION void gradient(double x, double y, double z, double (&g)[3]) const {
    g[0] = pi * std::cos(pi * x) * std::sin(pi * y) * std::sin(pi * z);
    g[1] = pi * std::sin(pi * x) * std::cos(pi * y) * std::sin(pi * z);
    g[2] = pi * std::sin(pi * x) * std::sin(pi * y) * std::cos(pi * z);
  }
};
struct SineSource {
  static constexpr bool needs_position = true;
  double factor;
  STRATA_FUNCTION double operator()(double x, double y, double z) const {
    return factor * SineSolution{}.value(x, y, z);
  }
};
/// T = (a z + 1)^-2 of -K T'' + T^2 = 0, K = 1/(6 a^2).
struct SinkSolution {
  double a;
  STRATA_FUNCTION double value(double, double, double z) const { return 1 / ((a * z + 1) * (a * z + 1)); }
};
/// A conductivity 1 + beta T between T = 0 at z = 0 and `top` at z = 1: T + beta T^2/2 is linear.
struct KirchhoffSolution {
  double beta, top;
  STRATA_FUNCTION double value(double, double, double z) const {
    const double theta = z * (top + beta * top * top / 2);
    return (std::sqrt(1 + 2 * beta * theta) - 1) / beta;
  }
};
/// T = sin pi z
struct ModeSolution {
  double amplitude;
  STRATA_FUNCTION double value(double, double, double z) const {
    return amplitude * std::sin(std::numbers::pi * z);
  }
};

/// A linear field is found exactly on a distorted mesh.
template <class Device>
Checks verify_patch(const Device& device) {
  BoxHeat<Device> heat(test_box("box:5x4x3:1,1,1:random=0.15", device), {{{2.5, 1, 0}}}, exact_settings());
  give_surface(heat, LinearSolution{});
  heat.solve_steady();
  return {miniapp::check_zero("patch: linear field on a distorted mesh", nodal_error(heat, LinearSolution{}),
                              1e-12)};
}

/// The original problem: a slab with source, exact at the nodes; and the heat through its ends.
template <class Device>
Checks verify_slab(const Device& device) {
  Checks checks;
  for (const int n : {4, 8}) {
    const double length = 2 * (n + 1), k = 2, q = 1, area = n * (n + 1);
    const std::string box =
        std::to_string(n) + "x" + std::to_string(n + 1) + "x" + std::to_string(2 * (n + 1));
    BoxHeat<Device> heat(test_box("box:" + box, device), {{{k, 1, q}}}, exact_settings());
    const int bottom = heat.give(fem::select_nodes(heat.mesh(), "z<=min"), 0);
    const int top = heat.give(fem::select_nodes(heat.mesh(), "z_max"), length);
    heat.solve_steady();
    const SlabSolution exact{length, q / (2 * k)};
    const double greatest = n == 4 ? 12.25 : 30.25;
    checks.push_back(
        miniapp::check_zero("slab " + box + ": error at nodes", nodal_error(heat, exact) / greatest, 1e-10));
    heat.compute_balance(0);
    const double slope = q * length / (2 * k);
    checks.push_back(miniapp::check_relative("slab " + box + ": heat in at z = 0", heat.heat_flow(bottom),
                                             -k * (1 + slope) * area, 1e-10));
    checks.push_back(miniapp::check_relative("slab " + box + ": heat in at z = L", heat.heat_flow(top),
                                             k * (1 - slope) * area, 1e-10));
  }
  return checks;
}

/// The error norms of the manufactured solution on n x n x n elements.
template <class Device>
ErrorNorms sine_errors(int n, const char* options, const Device& device) {
  const std::string count = std::to_string(n);
  const double k = 1.5;
  SolveSettings settings;
  settings.tolerance = 1e-13;
  BoxHeat<Device, double, SineSource> heat(
      test_box("box:" + count + "x" + count + "x" + count + ":1,1,1" + options, device), {{{k, 1, 0}}},
      settings, {3 * SineSolution::pi * SineSolution::pi * k});
  for (const char* side : {"x_min", "x_max", "y_min", "y_max", "z_min", "z_max"})
    heat.give(fem::select_nodes(heat.mesh(), side), 0);
  heat.solve_steady();
  return error_norms(heat, SineSolution{});
}

/// A manufactured solution converges with the orders of the method, and its errors are those known.
template <class Device>
Checks verify_sine(const Device& device) {
  const double known[] = {2.299232e-2, 5.746192e-3, 1.436711e-3};
  Checks checks;
  ErrorNorms coarse{};
  for (int level = 0; level < 3; ++level) {
    const int n = 4 << level;
    const ErrorNorms fine = sine_errors(n, "", device);
    const std::string name = "sine, n = " + std::to_string(n);
    checks.push_back(miniapp::check_relative(name + ": L2 error", fine.l2, known[level], 1e-5));
    if (level > 0) {
      checks.push_back(
          miniapp::check_between(name + ": order in L2", std::log2(coarse.l2 / fine.l2), 1.9, 2.1));
      checks.push_back(
          miniapp::check_between(name + ": order in H1", std::log2(coarse.h1 / fine.h1), 0.9, 1.1));
    }
    coarse = fine;
  }
  return checks;
}

/// The same on distorted meshes.
template <class Device>
Checks verify_distorted_sine(const Device& device) {
  const double known[] = {1.138163e-2, 3.149590e-3, 8.078588e-4};
  Checks checks;
  double coarse = 0;
  for (int level = 0; level < 3; ++level) {
    const int n = 8 << level;
    const double fine = sine_errors(n, ":wave=0.1", device).l2;
    const std::string name = "sine, distorted, n = " + std::to_string(n);
    checks.push_back(miniapp::check_relative(name + ": L2 error", fine, known[level], 1e-5));
    if (level == 2)
      checks.push_back(miniapp::check_between(name + ": order in L2", std::log2(coarse / fine), 1.8, 2.1));
    coarse = fine;
  }
  return checks;
}

/// The heat sink T^2: known errors, and the steps of Newton's method.
template <class Device>
Checks verify_sink(const Device& device) {
  const double known[] = {8.758e-4, 2.223e-4, 5.538e-5};
  const double a = 1 / std::numbers::sqrt2 - 1;
  Checks checks;
  double coarse = 0;
  for (int level = 0; level < 3; ++level) {
    const int n = 4 << level;
    SolveSettings settings;
    settings.newton_tolerance = 1e-7;
    Problem problem{{{1 / (6 * a * a), 1, 0}}};
    problem.sink = 1;
    BoxHeat<Device> heat(test_box("box:2x2x" + std::to_string(n) + ":1,1,1", device), problem, settings);
    heat.give(fem::select_nodes(heat.mesh(), "z_min"), 1);
    heat.give(fem::select_nodes(heat.mesh(), "z_max"), 2);
    heat.solve_steady();
    const double fine = nodal_error(heat, SinkSolution{a});
    const std::string name = "sink, n = " + std::to_string(n);
    checks.push_back(miniapp::check_relative(name + ": error at nodes", fine, known[level], 1e-3));
    checks.push_back(miniapp::check_near(name + ": Newton steps",
                                         static_cast<double>(heat.statistics().newton_steps), 3, 0));
    if (level > 0)
      checks.push_back(miniapp::check_between(name + ": order", std::log2(coarse / fine), 1.9, 2.1));
    coarse = fine;
  }
  return checks;
}

/// A conductivity that doubles over the slab: exact at the nodes, as T + beta T^2/2 is linear.
template <class Device>
Checks verify_conductivity(const Device& device) {
  const KirchhoffSolution exact{0.5, 2};
  Problem problem{{{1, 1, 0}}};
  problem.beta = exact.beta;
  BoxHeat<Device> heat(test_box("box:3x2x8:1,1,1", device), problem, SolveSettings{});
  heat.give(fem::select_nodes(heat.mesh(), "z_min"), 0);
  const int top = heat.give(fem::select_nodes(heat.mesh(), "z_max"), exact.top);
  heat.solve_steady();
  heat.compute_balance(0);
  const double flow = exact.top + exact.beta * exact.top * exact.top / 2;
  return {miniapp::check_zero("conductivity 1 + T/2: error at nodes", nodal_error(heat, exact), 1e-9),
          miniapp::check_relative("conductivity 1 + T/2: heat in at z = 1", heat.heat_flow(top), flow, 1e-9)};
}

/// A mode decays by the factor of backward Euler and consistent mass, which is known to the last digit.
template <class Device>
Checks verify_decay(const Device& device) {
  const int n = 12, steps = 10;
  const double k = 2, c = 3, dt = 0.02, h = 1.0 / n, angle = std::numbers::pi * h;
  const double rate = k / c * 6 / (h * h) * (1 - std::cos(angle)) / (2 + std::cos(angle));
  BoxHeat<Device> heat(test_box("box:3x2x" + std::to_string(n) + ":1,1,1", device), {{{k, c, 0}}},
                       exact_settings());
  heat.give(fem::select_nodes(heat.mesh(), "z_min"), 0);
  heat.give(fem::select_nodes(heat.mesh(), "z_max"), 0);
  heat.set_temperatures(ModeSolution{1});
  for (int s = 0; s < steps; ++s) heat.step(dt);
  const double amplitude = std::pow(1 + rate * dt, -steps);
  return {miniapp::check_zero("decay of a mode, " + std::to_string(steps) + " steps",
                              nodal_error(heat, ModeSolution{amplitude}) / amplitude, 1e-11)};
}

}  // namespace strata::inline STRATA_ABI::thermal

#include <strata/miniapps/thermal/verify_structure.hpp>
