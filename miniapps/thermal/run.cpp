// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include <strata/miniapps/common/progress.hpp>
#include <strata/miniapps/fem/files/result_writer.hpp>
#include <strata/miniapps/thermal/data_bounds.hpp>
#include <strata/miniapps/thermal/run.hpp>
#include <strata/miniapps/thermal/verify.hpp>

namespace strata::inline STRATA_ABI::thermal {

namespace {

using miniapp::number_text;
using miniapp::RunReport;

// Where states go; without a name, nowhere.
class Output {
 public:
  Output(const std::string& path, const Heat& heat) {
    if (!path.empty()) writer_ = std::make_unique<fem::ResultWriter>(path, heat.mesh());
  }
  void write(double time, const Heat& heat) {
    if (writer_) writer_->write(time, {{"temperature", 1, false, heat.temperatures()}});
  }
  std::vector<std::string> finish() { return writer_ ? writer_->finish() : std::vector<std::string>(); }
  std::vector<std::string> files() { return writer_ ? writer_->files() : std::vector<std::string>(); }

 private:
  std::unique_ptr<fem::ResultWriter> writer_;
};

// What a run has computed, besides the fields.
struct Solved {
  SolveTimes times;
  bool keeps_to_given = false;  // the matrix admits no temperatures beyond the given ones
};

// Assembles as often as is asked for and leaves the times of the fastest.
SolveTimes assemble_in_trials(Heat& heat, index_t trials) {
  SolveTimes best;
  for (index_t t = 0; t < trials; ++t) {
    heat.reset_times();
    heat.assemble();
    const SolveTimes now = heat.times();
    if (t == 0 || now.compute + now.fill < best.compute + best.fill) best = now;
  }
  heat.reset_times();
  return best;
}

Solved run_steady(Heat& heat, const ThermalSettings& settings) {
  Solved solved;
  if (heat.problem().is_nonlinear()) {
    heat.solve_steady();
    solved.times = heat.times();
    return solved;
  }
  heat.require_unique();
  solved.times = assemble_in_trials(heat, settings.trials);
  solved.keeps_to_given = heat.greatest_coupling() <= (settings.common.type == "float" ? 1e-5 : 1e-12);
  heat.eliminate();
  heat.solve();
  solved.times.boundary = heat.times().boundary;
  solved.times.solve = heat.times().solve;
  return solved;
}

// The iterations of all solves of a steady state, each beginning with 1.
class SteadyProgress {
 public:
  explicit SteadyProgress(bool quiet) : line_(miniapp::progress_style(quiet), "iteration", 0) {}

  void at(index_t iterations, double residual) {
    if (iterations < last_) before_ += last_;
    last_ = iterations;
    if (line_.due(before_ + last_)) line_.show(before_ + last_, "residual " + number_text(residual, 2));
  }
  void finish() { line_.finish(); }

 private:
  miniapp::Progress line_;
  index_t before_ = 0, last_ = 0;
};

Solved run_transient(Heat& heat, const ThermalSettings& settings, const TimeSteps& steps, Output& output,
                     BoundsWatch& watch) {
  heat.start();
  output.write(0, heat);
  miniapp::Progress progress(miniapp::progress_style(settings.common.quiet), "step", steps.count);
  for (index_t s = 1; s <= steps.count; ++s) {
    heat.step(steps.dt);
    if (watch.has_bounds()) watch.look(s, heat.range());
    const double time = static_cast<double>(s) * steps.dt;
    if (s % settings.output_every == 0 || s == steps.count) output.write(time, heat);
    if (progress.due(s))
      progress.show(s, "time " + number_text(time, 4) + ", dt " + number_text(steps.dt, 4) + ", " +
                           std::to_string(heat.statistics().cg_iterations) + " iterations, residual " +
                           number_text(heat.statistics().residual, 2));
  }
  return {heat.times(), false};
}

// What went through the device.
void add_streaming(const Heat& heat, RunReport& report) {
  if (!heat.setup().is_streamed) return;
  const StreamTotals totals = heat.streamed();
  report.add_result("to the device in slices", static_cast<double>(totals.bytes_to_device), "B");
  report.add_result("from the device in slices", static_cast<double>(totals.bytes_to_host), "B");
  report.add_result("passes over elements or matrix", static_cast<double>(totals.passes));
  report.add_result("seconds of these", totals.seconds, "s");
  if (totals.predicted_seconds > 0) report.add_result("as predicted", totals.predicted_seconds, "s");
  if (totals.seconds > 0)
    report.add_figure(
        "slices", static_cast<double>(totals.bytes_to_device + totals.bytes_to_host) / totals.seconds, "B/s");
}

// The system is solved, heat balances, and temperatures are where they have to be: each to what the
// tolerances and the rounding of the type make of it.
void add_checks(const Heat& heat, const HeatState& state, const LinearResidual& residual, bool keeps_to_given,
                const DataBounds& bounds, const SolveSettings& solve, RunReport& report) {
  const bool is_float = heat.setup().type == "float";
  const double epsilon =
      is_float ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
  const bool is_nonlinear = heat.problem().is_nonlinear();
  // What may be left of the equations.
  double unsolved = std::max(solve.tolerance * residual.right_hand_side, residual.floor);
  if (is_nonlinear) {
    const SolveStatistics& taken = heat.statistics();
    // Near a steady state the first residual of a step is itself rounding: the greatest of all steps counts.
    const double scale = residual.greatest > 0 ? residual.greatest : 1;
    unsolved =
        std::max(solve.newton_tolerance * taken.newton_begin, residual.floor) + epsilon * state.rounding;
    report.checks.push_back(miniapp::check_zero("Newton's residual over the greatest first one",
                                                taken.newton_residual / scale, unsolved / scale));
  } else {
    const double scale = residual.right_hand_side > 0 ? residual.right_hand_side : 1;
    report.checks.push_back(
        miniapp::check_zero("true residual |b - A y| / |b|", residual.residual / scale,
                            2 * unsolved / scale + 8 * epsilon * residual.magnitude / scale));
  }
  report.checks.push_back(miniapp::check_zero(
      "heat in by boundaries and sources, less what is stored", state.imbalance(),
      4 * std::sqrt(static_cast<double>(heat.setup().nodes)) * unsolved + epsilon * state.rounding));
  report.checks.push_back(miniapp::check_true("temperatures are finite",
                                              std::isfinite(state.least) && std::isfinite(state.greatest)));
  if (!keeps_to_given) return;
  const double slack = 1e4 * solve.tolerance * bounds.scale;
  if (bounds.low)
    report.checks.push_back(miniapp::check_zero("temperatures below all given ones",
                                                std::max(*bounds.low - state.least, 0.0), slack));
  if (bounds.high)
    report.checks.push_back(miniapp::check_zero("temperatures above all given ones",
                                                std::max(state.greatest - *bounds.high, 0.0), slack));
}

void add_results(const Heat& heat, const HeatState& state, const LinearResidual& residual,
                 const std::vector<GivenTemperature>& given, const std::vector<GivenInflow>& inflows,
                 const TimeSteps& steps, RunReport& report) {
  report.add_result("least temperature", state.least);
  report.add_result("mean temperature", state.mean);
  report.add_result("greatest temperature", state.greatest);
  for (std::size_t k = 0; k < given.size(); ++k)
    report.add_result("heat in at " + given[k].text, state.flows[k]);
  for (std::size_t k = 0; k < inflows.size(); ++k)
    report.add_result("heat in by " + inflows[k].text, state.inflows[k]);
  report.add_result("heat in by sources", state.source);
  if (heat.problem().sink != 0) report.add_result("heat in by the sink", -state.sink);
  if (steps.count > 0) report.add_result("heat stored, in a unit of time", state.stored);
  report.add_result("balance", state.imbalance());
  report.add_result("volume", state.volume);
  report.add_result("iterations", static_cast<double>(heat.statistics().cg_iterations));
  if (heat.problem().is_nonlinear())
    report.add_result("Newton steps", static_cast<double>(heat.statistics().newton_steps));
  if (heat.statistics().frozen_steps > 0)
    report.add_result("of them at a frozen conductivity",
                      static_cast<double>(heat.statistics().frozen_steps));
  if (!heat.problem().is_nonlinear()) report.add_result("residual |b - A y| / |b|", residual.relative());
}

void add_figures(const Heat& heat, const SolveTimes& times, const TimeSteps& steps, RunReport& report) {
  const auto elements = static_cast<double>(heat.setup().elements),
             nodes = static_cast<double>(heat.setup().nodes);
  report.add_phase("element contributions", times.compute);
  report.add_phase("fill of the matrix", times.fill);
  report.add_phase("given temperatures", times.boundary);
  if (times.solve > 0 || steps.count == 0) report.add_phase("conjugate gradients", times.solve);
  if (times.steps > 0) report.add_phase("time steps", times.steps);
  if (steps.count == 0 && !heat.problem().is_nonlinear()) {
    if (times.compute > 0) {
      report.add_figure("compute", elements / times.compute, "elements/s");
      report.add_figure("fill", elements / times.fill, "elements/s");
    }
    report.add_figure("compute and fill", elements / (times.compute + times.fill), "elements/s");
  }
  if (steps.count > 0)
    report.add_figure("transient",
                      static_cast<double>(steps.count) * elements /
                          (times.compute + times.fill + times.boundary + times.solve + times.steps),
                      "element-steps/s");
  const auto iterations = static_cast<double>(heat.statistics().cg_iterations);
  if (iterations > 0)
    report.add_figure("conjugate gradients", nodes * iterations / (times.solve + times.steps),
                      "nodes*iterations/s");
}

}  // namespace

void run_problem(const MakeHeat& make, const ThermalSettings& settings, const std::string& path,
                 RunReport& report) {
  report.is_starting = true;
  const TimeSteps steps = time_steps(settings);
  const std::vector<GivenTemperature> given = given_temperatures(settings);
  const std::vector<GivenInflow> inflows = given_inflows(settings);
  HeatRequest request{settings.common.mesh, miniapp::refinements_of(settings.common), settings.common.type};
  request.solve = solve_settings_of(settings, settings.common.type == "float");
  request.memory_limit = miniapp::memory_limit_of(settings.common);
  request.devices = static_cast<int>(settings.devices);
  request.memory = memory_of(settings);
  request.problem = [&](const std::vector<std::string>& names, const std::vector<std::int64_t>& ids) {
    return problem_of(settings, names, ids);
  };
  report.mesh.source = settings.common.mesh;
  SteadyProgress progress(settings.common.quiet);
  if (steps.count == 0)
    request.solve.watch = [&progress](index_t iterations, double residual) {
      progress.at(iterations, residual);
    };

  const auto heat = make(request);
  const HeatSetup& setup = heat->setup();
  report.add_phase("mesh", setup.mesh_seconds);
  report.add_phase("graph of the matrix", setup.graph_seconds);
  report.mesh = {setup.mesh, setup.nodes, setup.elements, settings.common.refine};
  report.notes = setup.remarks;
  if (settings.dirichlet.empty() && !given.empty())
    report.notes.push_back(
        "no --dirichlet, --flux or --convection was given: temperature 0 where z is least, 1 where it is "
        "greatest");

  heat->set_temperature(settings.initial);
  for (const GivenTemperature& g : given) heat->give(g.selector, g.value);
  for (const GivenInflow& g : inflows) heat->add_inflow(g.selector, g.inflow);
  const DataBounds bounds = bounds_of(heat->problem(), given, inflows,
                                      steps.count > 0 ? std::optional(settings.initial) : std::nullopt);
  BoundsWatch watch(bounds, setup.type == "float" ? 1e-3 : 1e-6);
  Output output(path, *heat);
  report.is_starting = false;
  Solved solved;
  try {
    solved =
        steps.count > 0 ? run_transient(*heat, settings, steps, output, watch) : run_steady(*heat, settings);
    progress.finish();
    if (steps.count == 0) output.write(0, *heat);
  } catch (...) {  // as far as it came
    add_figures(*heat, heat->times(), steps, report);
    report.figures.clear();
    report.files = output.files();
    throw;
  }

  report.timed("checks", [&] {
    const LinearResidual residual = heat->residual();
    const HeatState state = heat->state(steps.dt);
    add_results(*heat, state, residual, given, inflows, steps, report);
    add_checks(*heat, state, residual, solved.keeps_to_given, bounds, request.solve, report);
  });
  if (const std::string warning = watch.warning(); !warning.empty()) report.notes.push_back(warning);
  add_figures(*heat, solved.times, steps, report);
  add_streaming(*heat, report);
  report.timed("output", [&] { report.files = output.finish(); });
}

void run_verification(const MakeHeat& make, const MakeHeat& serial, const ThermalSettings& settings,
                      RunReport& report) {
  const bool is_float = settings.common.type == "float";
  // In slices or parts, but for the tests of what needs all of the matrix.
  const MakeHeat placed = [&](HeatRequest request) {
    if (placing_lack(request.solve).empty()) {
      request.memory_limit = miniapp::memory_limit_of(settings.common);
      request.devices = static_cast<int>(settings.devices);
      request.memory = memory_of(settings);
    }
    return make(request);
  };
  Verification v(placed, serial, is_float, solve_settings_of(settings, is_float));
  report.mesh.source = "those of the tests";
  for (const VerificationCase& one : verification_cases()) {
    report.timed(one.name, [&] { one.run(v); });
    report.checks = v.checks();
  }
}

std::string sweep_row(const RunReport& report) {
  const auto elements = static_cast<double>(report.mesh.elements);
  const double compute = report.seconds_of("element contributions"),
               fill = report.seconds_of("fill of the matrix");
  double iterations = 0, rate = 0;
  for (const miniapp::Figure& result : report.results)
    if (result.name == "iterations") iterations = result.value;
  for (const miniapp::Figure& figure : report.figures)
    if (figure.name == "conjugate gradients") rate = figure.value;
  std::string row = report.device + "," + report.type + "," + std::to_string(report.mesh.elements) + "," +
                    std::to_string(report.mesh.nodes);
  for (const double value :
       {1e6 * compute / elements, 1e6 * fill / elements, elements / (compute + fill), iterations, rate})
    row += "," + number_text(value);
  return row;
}

}  // namespace strata::inline STRATA_ABI::thermal
