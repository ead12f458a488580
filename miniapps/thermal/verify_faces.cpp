// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>

#include <strata/miniapps/thermal/verify.hpp>

namespace strata::inline STRATA_ABI::thermal {

using miniapp::check_between;
using miniapp::check_relative;
using miniapp::check_zero;

namespace {

/// T = at + slope z
struct SlopeSolution : Solution {
  double at, slope;
  SlopeSolution(double a, double s) : at(a), slope(s) {}
  double value(double, double, double z) const override { return at + slope * z; }
};
/// T = cos x cosh z: no source, no heat through x = 0, and at x = 1 what goes to 0 by convection with the
/// coefficient k tan 1.
struct FinSolution : Solution {
  double value(double x, double, double z) const override { return std::cos(x) * std::cosh(z); }
};
/// T = outside + amplitude cos(angle z)
struct CosineSolution : Solution {
  double outside, amplitude, angle;
  CosineSolution(double o, double a, double w) : outside(o), amplitude(a), angle(w) {}
  double value(double, double, double z) const override { return outside + amplitude * std::cos(angle * z); }
};

ProblemOfBlocks with_inflows(const Material& material) {
  return [material](const std::vector<std::string>& names, const std::vector<std::int64_t>& ids) {
    Problem problem = uniform(material)(names, ids);
    problem.has_inflows = true;
    return problem;
  };
}

double error_of(const Heat& heat, const Solution& exact) {
  return nodal_error(heat.mesh(), heat.temperatures(), exact);
}

double fin_error(const Verification& v, int n) {
  const double k = 1.5;
  const auto heat =
      v.heat("box:" + std::to_string(n) + "x2x" + std::to_string(n) + ":1,1,1", with_inflows({k, 1, 0}));
  const FinSolution exact;
  const auto values = nodal_values(heat->mesh(), exact);
  heat->give("z_min", values);
  heat->give("z_max", values);
  heat->add_inflow("x_max", {0, k * std::tan(1.0), 0});
  heat->solve_steady();
  return error_of(*heat, exact);
}

}  // namespace

// A slab that is heated at one end: linear, and exact on a distorted mesh.
void verify_flux(Verification& v) {
  const double k = 2.5, q = 5, area = 2, length = 3;
  const auto heat = v.heat("box:4x5x6:1,2,3:random=0.15", with_inflows({k, 1, 0}));
  heat->give("z_min", 1);
  heat->add_inflow("z_max", {q, 0, 0});
  heat->solve_steady();
  v.add(check_zero("flux: error at nodes", error_of(*heat, SlopeSolution(1, q / k)) / (1 + q * length / k),
                   v.tolerance(1e-12, 2e-5)));
  const HeatState state = heat->state(0);
  v.add(check_relative("flux: heat in at z = L", state.inflows.at(0), q * area, v.tolerance(1e-13, 1e-6)));
  v.add(check_relative("flux: heat in at z = 0", state.flows.at(0), -q * area, v.tolerance(1e-11, 1e-4)));
}

// A slab between two fluids: the three resistances add up. And a fin, which converges with the order of the
// method.
void verify_convection(Verification& v) {
  const double k = 2, below = 4, above = 0.5, cold = 10, hot = 90, area = 2, length = 3;
  const auto heat = v.heat("box:4x5x6:1,2,3:random=0.15", with_inflows({k, 1, 0}));
  heat->add_inflow("z_min", {0, below, cold});
  heat->add_inflow("z>=max", {0, above, hot});
  heat->solve_steady();
  const double q = (hot - cold) / (1 / below + length / k + 1 / above);
  v.add(check_zero("convection: error at nodes",
                   error_of(*heat, SlopeSolution(cold + q / below, q / k)) / hot, v.tolerance(1e-11, 1e-4)));
  const HeatState state = heat->state(0);
  v.add(check_relative("convection: heat in at z = 0", state.inflows.at(0), -q * area,
                       v.tolerance(1e-10, 1e-3)));
  v.add(check_relative("convection: heat in at z = L", state.inflows.at(1), q * area,
                       v.tolerance(1e-10, 1e-3)));

  double coarse = fin_error(v, 4);
  for (const int n : {8, 16}) {
    const double fine = fin_error(v, n);
    v.add(check_between("fin, n = " + std::to_string(n) + ": order", std::log2(coarse / fine), 1.9, 2.1));
    coarse = fine;
  }
}

// A slab that cools at one end. The profile cos(angle z) solves the discrete equations of all nodes but the
// last ones, and there, too, for one coefficient of convection: it decays by the factor of backward Euler.
void verify_cooling(Verification& v) {
  const int n = 12, steps = 10;
  const double k = 2, c = 3, h = 1.0 / n, angle = 0.08, outside = 20;
  const double rate = k / c * 6 / (h * h) * (1 - std::cos(angle)) / (2 + std::cos(angle));
  const double last = std::cos(n * angle), before = std::cos((n - 1) * angle);
  const double coefficient = (rate * c * h / 6 * (2 * last + before) - k / h * (last - before)) / last;
  const auto heat = v.heat("box:3x2x" + std::to_string(n) + ":1,1,1", with_inflows({k, c, 0}));
  heat->add_inflow("z_max", {0, coefficient, outside});
  const auto begin = nodal_values(heat->mesh(), CosineSolution(outside, 100, n * angle));
  for (const double dt : {0.05, 1e-7}) {
    heat->set_temperatures(begin);
    for (int s = 0; s < steps; ++s) heat->step(dt);
    const std::string name = "cooling, " + std::to_string(steps) + " steps of " + miniapp::number_text(dt);
    const double amplitude = 100 * std::pow(1 + rate * dt, -steps);
    v.add(check_zero(name, error_of(*heat, CosineSolution(outside, amplitude, n * angle)) / amplitude,
                     v.tolerance(1e-11, 1e-4)));
    const HeatState state = heat->state(dt);
    v.add(check_zero(name + ": balance of heat", state.imbalance() / std::abs(state.inflows.at(0)),
                     v.tolerance(1e-9, 1e-2)));
  }
}

// What flows in at a given temperature over all steps is what the body has gained since time 0, whether its
// nodes have the temperature then or jump to it.
void verify_jump(Verification& v) {
  const double c = 3, dt = 0.01, initial = 20, given = 100;
  const int n = 16, steps = 5;
  for (const GivenStart start : {GivenStart::Given, GivenStart::Jump}) {
    const bool jumps = start == GivenStart::Jump;
    SolveSettings solve = v.solve();
    solve.start = start;
    const auto heat = v.heat("box:2x2x" + std::to_string(n) + ":1,1,1", uniform({2, c, 0}), solve);
    heat->set_temperature(initial);
    heat->give("z_min", given);
    heat->start();
    const std::string name = jumps ? "jump" : "given at time 0";
    const double begin = heat->state(0).mean;
    v.add(check_relative(name + ": mean temperature at time 0", begin,
                         jumps ? initial : initial + (given - initial) / (2 * n), v.tolerance(1e-13, 1e-5)));
    double heat_in = 0;
    for (int s = 0; s < steps; ++s) {
      heat->step(dt);
      heat_in += dt * heat->state(dt).flows.at(0);
    }
    v.add(check_relative(name + ": heat that came in", heat_in, c * (heat->state(dt).mean - begin),
                         v.tolerance(1e-11, 1e-3)));
  }
}

}  // namespace strata::inline STRATA_ABI::thermal
