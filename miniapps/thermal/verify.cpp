// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include <strata/miniapps/thermal/verify.hpp>

namespace strata::inline STRATA_ABI::thermal {

using miniapp::check_between;
using miniapp::check_near;
using miniapp::check_relative;
using miniapp::check_zero;
using std::numbers::pi;

std::unique_ptr<Heat> Verification::heat(const std::string& box, const ProblemOfBlocks& problem,
                                         SolveSettings solve, bool on_serial) const {
  solve.tolerance = tolerance(1e-14, 1e-7);
  HeatRequest request{box};
  request.type = is_float_ ? "float" : "double";
  request.problem = problem;
  request.solve = solve;
  return on_serial ? serial_(request) : make_(request);
}

namespace {

/// T = 1 + x + 2 y + 3 z
struct LinearSolution : Solution {
  double value(double x, double y, double z) const override { return 1 + x + 2 * y + 3 * z; }
};
/// T = z + Q/(2 k) z (L - z)
struct SlabSolution : Solution {
  double length, bend;
  SlabSolution(double l, double b) : length(l), bend(b) {}
  double value(double, double, double z) const override { return z + bend * z * (length - z); }
};
/// T = sin pi x sin pi y sin pi z, of the source 3 pi^2 k T.
struct SineSolution : Solution {
  double value(double x, double y, double z) const override {
    return std::sin(pi * x) * std::sin(pi * y) * std::sin(pi * z);
  }
  void gradient(double x, double y, double z, double (&g)[3]) const override {
    g[0] = pi * std::cos(pi * x) * std::sin(pi * y) * std::sin(pi * z);
    g[1] = pi * std::sin(pi * x) * std::cos(pi * y) * std::sin(pi * z);
    g[2] = pi * std::sin(pi * x) * std::sin(pi * y) * std::cos(pi * z);
  }
};
/// T = (a z + 1)^-2 of -K T'' + T^2 = 0, K = 1/(6 a^2).
struct SinkSolution : Solution {
  double a;
  explicit SinkSolution(double of) : a(of) {}
  double value(double, double, double z) const override { return 1 / ((a * z + 1) * (a * z + 1)); }
};
/// A conductivity 1 + beta T between T = 0 at z = 0 and `top` at z = 1: T + beta T^2/2 is linear.
struct KirchhoffSolution : Solution {
  double beta = 0.5, top = 2;
  double value(double, double, double z) const override {
    const double theta = z * (top + beta * top * top / 2);
    return (std::sqrt(1 + 2 * beta * theta) - 1) / beta;
  }
};
/// T = A sin pi z
struct ModeSolution : Solution {
  double amplitude;
  explicit ModeSolution(double a) : amplitude(a) {}
  double value(double, double, double z) const override { return amplitude * std::sin(pi * z); }
};

std::string text(int n) { return std::to_string(n); }

double error_of(const Heat& heat, const Solution& exact) {
  return nodal_error(heat.mesh(), heat.temperatures(), exact);
}

/// A linear field is found exactly on a distorted mesh.
void verify_patch(Verification& v) {
  const auto heat = v.heat("box:5x4x3:1,1,1:random=0.15", uniform({2.5, 1, 0}));
  const LinearSolution exact;
  const auto values = nodal_values(heat->mesh(), exact);
  for (const char* side : {"x_min", "x_max", "y_min", "y_max", "z_min", "z_max"}) heat->give(side, values);
  heat->solve_steady();
  v.add(check_zero("patch: linear field on a distorted mesh", error_of(*heat, exact),
                   v.tolerance(1e-12, 2e-5)));
}

/// The original problem: a slab with source, exact at the nodes; and the heat through its ends.
void verify_slab(Verification& v) {
  for (const int n : {4, 8}) {
    const double length = 2 * (n + 1), k = 2, q = 1, area = n * (n + 1);
    const std::string box = text(n) + "x" + text(n + 1) + "x" + text(2 * (n + 1)), name = "slab " + box;
    const auto heat = v.heat("box:" + box, uniform({k, 1, q}));
    heat->give("z<=min", 0);
    heat->give("z_max", length);
    heat->solve_steady();
    const double greatest = n == 4 ? 12.25 : 30.25, slope = q * length / (2 * k);
    v.add(check_zero(name + ": error at nodes", error_of(*heat, SlabSolution(length, q / (2 * k))) / greatest,
                     v.tolerance(1e-10, 1e-4)));
    const HeatState state = heat->state(0);
    v.add(check_relative(name + ": heat in at z = 0", state.flows.at(0), -k * (1 + slope) * area,
                         v.tolerance(1e-10, 1e-4)));
    v.add(check_relative(name + ": heat in at z = L", state.flows.at(1), k * (1 - slope) * area,
                         v.tolerance(1e-10, 1e-4)));
    v.add(check_zero(name + ": balance of heat", state.imbalance() / (q * state.volume),
                     v.tolerance(1e-11, 1e-4)));
  }
}

/// The error norms of the manufactured solution on n x n x n elements.
ErrorNorms sine_errors(const Verification& v, int n, const char* options) {
  const double k = 1.5;
  const SineSolution exact;
  const auto heat =
      v.heat("box:" + text(n) + "x" + text(n) + "x" + text(n) + ":1,1,1" + options, uniform({k, 1, 0}));
  for (const char* side : {"x_min", "x_max", "y_min", "y_max", "z_min", "z_max"}) heat->give(side, 0);
  const fem::HostMesh mesh = heat->mesh();
  heat->assemble();
  heat->add_load(loads_of(mesh, exact, 3 * pi * pi * k));
  heat->eliminate();
  heat->solve();
  return error_norms(mesh, heat->temperatures(), exact);
}

/// A manufactured solution converges with the orders of the method, and its errors are those known.
void verify_sine(Verification& v) {
  const double known[] = {2.299232e-2, 5.746192e-3, 1.436711e-3};
  ErrorNorms coarse{};
  for (int level = 0; level < 3; ++level) {
    const int n = 4 << level;
    const ErrorNorms fine = sine_errors(v, n, "");
    const std::string name = "sine, n = " + text(n);
    v.add(check_relative(name + ": L2 error", fine.l2, known[level], v.tolerance(1e-5, 1e-3)));
    if (level > 0) {
      v.add(check_between(name + ": order in L2", std::log2(coarse.l2 / fine.l2), 1.9, 2.1));
      v.add(check_between(name + ": order in H1", std::log2(coarse.h1 / fine.h1), 0.9, 1.1));
    }
    coarse = fine;
  }
}

/// The same on distorted meshes.
void verify_distorted_sine(Verification& v) {
  const double known[] = {1.138163e-2, 3.149590e-3, 8.078588e-4};
  double coarse = 0;
  for (int level = 0; level < 3; ++level) {
    const int n = 8 << level;
    const double fine = sine_errors(v, n, ":wave=0.1").l2;
    const std::string name = "sine, distorted, n = " + text(n);
    v.add(check_relative(name + ": L2 error", fine, known[level], v.tolerance(1e-5, 2e-3)));
    if (level == 2) v.add(check_between(name + ": order in L2", std::log2(coarse / fine), 1.8, 2.1));
    coarse = fine;
  }
}

/// The heat sink T^2: known errors, and the steps of Newton's method.
void verify_sink(Verification& v) {
  const double known[] = {8.758e-4, 2.223e-4, 5.538e-5};
  const double a = 1 / std::numbers::sqrt2 - 1;
  double coarse = 0;
  const int levels = v.is_float() ? 2 : 3;  // then the error is what rounding makes
  for (int level = 0; level < levels; ++level) {
    const int n = 4 << level;
    SolveSettings solve = v.solve();
    solve.newton_tolerance = v.tolerance(1e-7, 1e-5);
    const auto heat = v.heat("box:2x2x" + text(n) + ":1,1,1", uniform({1 / (6 * a * a), 1, 0}, 0, 1), solve);
    heat->give("z_min", 1);
    heat->give("z_max", 2);
    heat->solve_steady();
    const double fine = error_of(*heat, SinkSolution(a));
    const std::string name = "sink, n = " + text(n);
    v.add(check_relative(name + ": error at nodes", fine, known[level], v.tolerance(1e-3, 1e-2)));
    v.add(check_near(name + ": Newton steps", static_cast<double>(heat->statistics().newton_steps), 3, 0));
    if (level > 0) v.add(check_between(name + ": order", std::log2(coarse / fine), 1.9, 2.1));
    coarse = fine;
  }
}

/// A conductivity that doubles over the slab: exact at the nodes, as T + beta T^2/2 is linear.
void verify_conductivity(Verification& v) {
  const KirchhoffSolution exact;
  SolveSettings solve = v.solve();
  solve.newton_tolerance = v.tolerance(1e-10, 1e-5);
  const auto heat = v.heat("box:3x2x8:1,1,1", uniform({1, 1, 0}, exact.beta), solve);
  heat->give("z_min", 0);
  heat->give("z_max", exact.top);
  heat->solve_steady();
  const double flow = exact.top + exact.beta * exact.top * exact.top / 2;
  v.add(check_zero("conductivity 1 + T/2: error at nodes", error_of(*heat, exact), v.tolerance(1e-9, 1e-4)));
  v.add(check_relative("conductivity 1 + T/2: heat in at z = 1", heat->state(0).flows.at(1), flow,
                       v.tolerance(1e-9, 1e-4)));
}

/// A mode decays by the factor of backward Euler and consistent mass, which is known to the last digit.
void verify_decay(Verification& v) {
  const int n = 12, steps = 10;
  const double k = 2, c = 3, h = 1.0 / n, angle = pi * h;
  const double rate = k / c * 6 / (h * h) * (1 - std::cos(angle)) / (2 + std::cos(angle));
  const auto heat = v.heat("box:3x2x" + text(n) + ":1,1,1", uniform({k, c, 0}));
  heat->give("z_min", 0);
  heat->give("z_max", 0);
  const auto begin = nodal_values(heat->mesh(), ModeSolution(1));
  for (const double dt : {0.02, 1e-7}) {
    heat->set_temperatures(begin);
    for (int s = 0; s < steps; ++s) heat->step(dt);
    const double amplitude = std::pow(1 + rate * dt, -steps);
    v.add(check_zero("decay of a mode, " + text(steps) + " steps of " + miniapp::number_text(dt),
                     error_of(*heat, ModeSolution(amplitude)) / amplitude, v.tolerance(1e-11, 1e-4)));
  }
}

/// Steps that are far too short for the temperature to change: the heat that flows in is stored, and what has
/// changed is in proportion to the time.
void verify_short_steps(Verification& v) {
  const auto heat = v.heat("box:2x2x16:1,1,1", uniform({1, 2, 3}));
  heat->give("z_min", 5);
  const double dt = v.tolerance(1e-8, 1e-4);
  for (int s = 0; s < 4; ++s) heat->step(dt);
  // Of a body that is free to change, the temperature grows by Q/c in a unit of time.
  const auto t = heat->temperatures();
  const auto mesh = heat->mesh();
  double far = 0;
  for (std::size_t node = 0; node < t.size(); ++node)
    if (mesh.coordinates[node][2] == 1) far = t[node];
  v.add(check_relative("short steps: growth far from what is given", far, 4 * dt * 1.5,
                       v.tolerance(1e-5, 1e-3)));
  const HeatState state = heat->state(dt);
  v.add(check_zero("short steps: balance of heat",
                   state.imbalance() / (std::abs(state.stored) + state.volume), v.tolerance(1e-7, 1e-2)));
}

}  // namespace

const std::vector<VerificationCase>& verification_cases() {
  static const std::vector<VerificationCase> cases = {
      {"patch", verify_patch},        {"slab", verify_slab},
      {"sine", verify_sine},          {"distorted sine", verify_distorted_sine},
      {"sink", verify_sink},          {"conductivity", verify_conductivity},
      {"decay", verify_decay},        {"short steps", verify_short_steps},
      {"flux", verify_flux},          {"convection", verify_convection},
      {"cooling", verify_cooling},    {"jump", verify_jump},
      {"structure", verify_structure}};
  return cases;
}

}  // namespace strata::inline STRATA_ABI::thermal
