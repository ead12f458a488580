// A problem on one device: mesh, system, solution, results. Device sources include it and instantiate
// run_problem.
#pragma once

#include <algorithm>
#include <limits>

#include <strata/miniapps/common/progress.hpp>
#include <strata/miniapps/fem/load_mesh.hpp>
#include <strata/miniapps/fem/selector.hpp>
#include <strata/miniapps/thermal/app.hpp>
#include <strata/miniapps/thermal/arrays_for.hpp>
#include <strata/miniapps/thermal/heat_equation.hpp>
#include <strata/miniapps/thermal/output.hpp>

namespace strata::inline STRATA_ABI::thermal {

namespace detail {

/// The temperatures on the host, in double.
template <class Heat>
std::vector<double> temperatures_of(const Heat& heat) {
  const auto host = create_mirror_and_copy(heat.fields().temperature);
  std::vector<double> list(static_cast<std::size_t>(host.extent(0)));
  for (std::size_t n = 0; n < list.size(); ++n) list[n] = static_cast<double>(host(n));
  return list;
}

template <class Heat>
FieldExtremes temperature_range(const Heat& heat) {
  using Field = std::remove_cvref_t<decltype(heat.fields().temperature)>;
  FieldExtremes range{};
  parallel_reduce("range of temperature", on(heat.queue()), heat.mesh().node_count(),
                  FieldRange<Field>{heat.fields().temperature}, range);
  return range;
}

template <class Heat>
HeatIntegrals heat_integrals(const Heat& heat) {
  const auto arrays = heat.element_arrays();
  HeatIntegrals sums{};
  parallel_reduce("integrals", on(heat.queue()), heat.mesh().element_count(),
                  Integrals<std::remove_const_t<decltype(arrays)>>{arrays, heat.problem().sink}, sums);
  return sums;
}

// Assembles as often as is asked for and leaves the times of the fastest.
template <class Heat>
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

template <class Heat>
void run_steady(Heat& heat, const ThermalSettings& settings, SolveTimes& times) {
  if (heat.problem().is_nonlinear()) {
    heat.solve_steady();
    times = heat.times();
    return;
  }
  heat.require_unique();
  times = assemble_in_trials(heat, settings.trials);
  heat.eliminate();
  heat.solve();
  times.boundary = heat.times().boundary;
  times.solve = heat.times().solve;
}

template <class Heat>
void run_transient(Heat& heat, const ThermalSettings& settings, const TimeSteps& steps, Output& output) {
  miniapp::Progress progress(miniapp::progress_style(settings.common.quiet), "step", steps.count);
  output.write(0, temperatures_of(heat));
  for (index_t s = 1; s <= steps.count; ++s) {
    heat.step(steps.dt);
    const double time = static_cast<double>(s) * steps.dt;
    if (s % settings.output_every == 0 || s == steps.count) output.write(time, temperatures_of(heat));
    if (progress.due(s))
      progress.show(s, "t = " + miniapp::number_text(time) + ", residual " +
                           miniapp::number_text(heat.statistics().residual, 3) + ", " +
                           std::to_string(heat.statistics().cg_iterations) + " iterations");
  }
}

template <class Heat>
void report_results(Heat& heat, const std::vector<GivenTemperature>& given,
                    const std::vector<int>& conditions, const TimeSteps& steps, miniapp::RunReport& report) {
  const FieldExtremes range = temperature_range(heat);
  const HeatIntegrals sums = heat_integrals(heat);
  report.add_result("least temperature", range.least);
  report.add_result("mean temperature", sums.temperature / sums.volume);
  report.add_result("greatest temperature", range.greatest);
  heat.compute_balance(steps.dt);
  double in = 0, scale = 0;
  for (std::size_t k = 0; k < given.size(); ++k) {
    const double flow = heat.heat_flow(conditions[k]);
    report.add_result("heat in at " + given[k].text, flow);
    in += flow;
    scale = std::max(scale, std::abs(flow));
  }
  report.add_result("heat in by sources", sums.source);
  if (heat.problem().sink != 0) report.add_result("heat in by the sink", -sums.sink);
  if (steps.count == 0) report.add_result("balance", in + sums.source - sums.sink);
  report.add_result("volume", sums.volume);
  report.add_result("iterations", static_cast<double>(heat.statistics().cg_iterations));
  if (heat.statistics().newton_steps > 0 && heat.problem().is_nonlinear())
    report.add_result("Newton steps", static_cast<double>(heat.statistics().newton_steps));
  report.add_result("residual |b - A y| / |b|", heat.statistics().residual);
}

template <class Heat>
void report_figures(const Heat& heat, const SolveTimes& times, bool once, miniapp::RunReport& report) {
  const auto elements = static_cast<double>(heat.mesh().element_count());
  const auto nodes = static_cast<double>(heat.mesh().node_count());
  report.add_phase("element contributions", times.compute);
  report.add_phase("fill of the matrix", times.fill);
  report.add_phase("given temperatures", times.boundary);
  report.add_phase("conjugate gradients", times.solve);
  if (once) {
    if (times.compute > 0) {
      report.add_figure("compute", elements / times.compute, "elements/s");
      report.add_figure("fill", elements / times.fill, "elements/s");
    }
    report.add_figure("compute and fill", elements / (times.compute + times.fill), "elements/s");
  }
  const auto iterations = static_cast<double>(heat.statistics().cg_iterations);
  if (iterations > 0)
    report.add_figure("conjugate gradients", nodes * iterations / times.solve, "nodes*iterations/s");
}

}  // namespace detail

template <class Device, class T>
void run_problem(const Device& device, const ThermalSettings& settings, miniapp::RunReport& report) {
  using Arrays = ArraysFor<Device>;
  using Heat = HeatEquation<Arrays, T>;
  const TimeSteps steps = time_steps(settings);
  const std::vector<GivenTemperature> given = given_temperatures(settings);
  const SolveSettings solve = solve_settings_of(settings, sizeof(T) == 4);

  fem::Mesh<Arrays> mesh;
  report.timed("mesh", [&] {
    mesh = fem::load_mesh<Arrays>(settings.common.mesh, miniapp::refinements_of(settings.common), device);
    wait(device);
  });
  report.mesh = {mesh.source, mesh.node_count(), mesh.element_count(), settings.common.refine};
  for (const std::string& remark : mesh.remarks) report.notes.push_back(remark);
  if (settings.dirichlet.empty() && !given.empty())
    report.notes.push_back(
        "no --dirichlet was given: temperature 0 where z is least, 1 where it is greatest");

  const double start = miniapp::now_seconds();
  Heat heat(mesh, problem_of(settings, mesh.block_names, mesh.block_ids), solve);
  wait(device);
  report.add_phase("graph of the matrix", miniapp::now_seconds() - start);
  std::vector<int> conditions;
  for (const GivenTemperature& g : given)
    conditions.push_back(heat.give(fem::select_nodes(mesh, g.selector), g.value));
  heat.set_temperature(settings.initial);

  Output output(settings.common.output, mesh);
  SolveTimes times;
  if (steps.count > 0) {
    detail::run_transient(heat, settings, steps, output);
    times = heat.times();
    report.add_figure("transient",
                      static_cast<double>(steps.count) * static_cast<double>(mesh.element_count()) /
                          (times.compute + times.fill + times.boundary + times.solve),
                      "element-steps/s");
  } else {
    detail::run_steady(heat, settings, times);
    output.write(0, detail::temperatures_of(heat));
  }
  detail::report_results(heat, given, conditions, steps, report);
  detail::report_figures(heat, times, steps.count == 0 && !heat.problem().is_nonlinear(), report);
  report.timed("output", [&] { output.finish(); });
  for (const std::string& file : output.files()) report.files.push_back(file);
}

}  // namespace strata::inline STRATA_ABI::thermal
