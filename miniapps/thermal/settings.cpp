// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include <strata/miniapps/common/memory.hpp>
#include <strata/miniapps/fem/selector.hpp>
#include <strata/miniapps/thermal/boomeramg.hpp>
#include <strata/miniapps/thermal/settings.hpp>

namespace strata::inline STRATA_ABI::thermal {

using miniapp::UsageError;

void declare(miniapp::Options& options, ThermalSettings& s) {
  miniapp::declare(options, s.common);
  options.add("-k,--conductivity", &s.conductivity, "K|BLOCK=K",
              "conductivity, of all blocks or of one; else 1");
  options.add("--capacity", &s.capacity, "C|BLOCK=C", "heat capacity of a unit of volume; else 1");
  options.add("--source", &s.source, "Q|BLOCK=Q", "heat made in a unit of volume and time; else 0");
  options.add(
      "-b,--dirichlet", &s.dirichlet, "SEL=T",
      "temperature of the nodes of a set, of all, or of x<=min+2 and the like, at all times; later ones win");
  options.add("--flux", &s.flux, "SEL=Q",
              "heat that comes in through a unit of area of the faces of a set or of x<=min and the like");
  options.add("--convection", &s.convection, "SEL=H,T",
              "heat H (T - temperature) that comes in through a unit of area of faces; all inflows add up");
  options.add("--dirichlet-start", &s.dirichlet_start, "WHEN",
              "temperatures of --dirichlet hold at time 0, or jump there in the first step",
              {"given", "jump"});
  options.add("--beta", &s.beta, "B", "conductivity K (1 + B T)");
  options.add("--sink", &s.sink, "S",
              "coefficient S of the sink S T^2: heat lost in a unit of volume and time");
  options.add("--initial", &s.initial, "T",
              "temperature at time 0 where none is given by --dirichlet; steady: the first guess");
  options.add("--transient", &s.transient, "DT:STEPS", "steps in time; without it the steady state");
  options.add("-p,--preconditioner", &s.preconditioner, "NAME",
              "of the conjugate gradients; boomeramg is hypre's, on hosts",
              {"none", "jacobi", "chebyshev", "boomeramg"});
  options.add("--chebyshev-degree", &s.chebyshev_degree, "N", "of the Chebyshev polynomial");
  options.add("-e,--tolerance", &s.tolerance, "EPS",
              "residual over right-hand side, in time of each step; at least 1e-6 in float");
  options.add("--max-iterations", &s.max_iterations, "N", "of the conjugate gradients");
  options.add("--newton-tolerance", &s.newton_tolerance, "EPS",
              "residual over the first one, of Newton's method");
  options.add("--assembly", &s.assembly, "NAME", "atomic and fused are for linear steady problems",
              {"gather", "atomic", "fused"});
  options.add("--spmv", &s.spmv, "NAME", "products with the matrix; vendor is cuSPARSE on a GPU",
              {"strata", "vendor"});
  options.add("--devices", &s.devices, "N",
              "devices of a kind that share elements and matrix; of a host parts");
  options.exclude("devices", {"memory-limit"}, "several devices hold the matrix, which goes through one");
  miniapp::declare_memory(options, s.memory);
  options.add("--trials", &s.trials, "N", "assemblies, the fastest of which is reported");
  options.add("--output-every", &s.output_every, "N", "time steps between two states in the output");
}

std::optional<MemoryMode> memory_of(const ThermalSettings& settings) {
  const miniapp::MemoryChoice choice = miniapp::memory_choice(settings.memory);
  if (settings.devices > 1)
    miniapp::refuse_explicit(choice, "--devices", "parts read values of each other between the loops");
  if (miniapp::memory_limit_of(settings.common) > 0)
    miniapp::refuse_explicit(choice, "--memory-limit", "slices of the matrix go to the device and back");
  return choice;
}

namespace {

// "K" or "BLOCK=K": the block, empty for all of them, and the value. UsageError.
std::pair<std::string, double> material_value(const std::string& text, const std::string& option) {
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos) return {"", miniapp::to_number(text, option)};
  if (at == 0) throw UsageError(option + " needs a number, or BLOCK=NUMBER, not \"" + text + "\"");
  return {text.substr(0, at), miniapp::to_number(text.substr(at + 1), option + " " + text)};
}

}  // namespace

void check(const ThermalSettings& settings) {
  for (const auto& [texts, option] : {std::pair{&settings.conductivity, "--conductivity"},
                                      {&settings.capacity, "--capacity"},
                                      {&settings.source, "--source"}})
    for (const std::string& text : *texts) material_value(text, option);
  const TimeSteps steps = time_steps(settings);
  given_temperatures(settings);
  given_inflows(settings);
  miniapp::refinements_of(settings.common);
  if (const std::string lack = boomeramg_lack();
      solve_settings_of(settings, false).use_boomeramg && !lack.empty())
    throw UsageError("--preconditioner boomeramg: " + lack);
  miniapp::require_between("--devices", settings.devices, 1, 1024, "devices");
  const bool has_mode = memory_of(settings).has_value();
  if (miniapp::memory_limit_of(settings.common) > 0 || settings.devices > 1 || has_mode)
    if (const std::string lack = placing_lack(solve_settings_of(settings, false)); !lack.empty())
      throw UsageError((settings.devices > 1 ? "--devices: "
                        : has_mode           ? "--memory, for coherent arrays: "
                                             : "--memory-limit: ") +
                       lack);
  const bool is_linear = settings.beta == 0 && settings.sink == 0;
  if (settings.common.verify || settings.assembly == "gather") return;
  if (steps.count > 0 || !is_linear)
    throw UsageError("--assembly " + settings.assembly + " is for linear steady problems, and this one has " +
                     (steps.count > 0 ? "--transient" : "--beta or --sink") + ": take --assembly gather");
}

std::vector<GivenTemperature> given_temperatures(const ThermalSettings& settings) {
  std::vector<GivenTemperature> list;
  for (const std::string& text : settings.dirichlet) {
    const auto [selector, value] = fem::split_setting(text);
    if (selector.empty() || value.empty())
      throw UsageError("--dirichlet needs SELECTOR=TEMPERATURE, such as top=0 or 'z<=min+2=100', not \"" +
                       text + "\"");
    list.push_back({selector, miniapp::to_number(value, "--dirichlet " + text), text});
  }
  if (list.empty() && settings.flux.empty() && settings.convection.empty() && settings.transient.empty())
    list = {{"z<=min", 0, "z<=min=0"}, {"z>=max", 1, "z>=max=1"}};
  return list;
}

std::vector<GivenInflow> given_inflows(const ThermalSettings& settings) {
  std::vector<GivenInflow> list;
  for (const std::string& text : settings.flux) {
    const auto [selector, value] = fem::split_setting(text);
    if (selector.empty() || value.empty())
      throw UsageError("--flux needs SELECTOR=FLUX, such as top=5 or 'z>=max=5', not \"" + text + "\"");
    list.push_back({selector, {miniapp::to_number(value, "--flux " + text), 0, 0}, "flux at " + text});
  }
  for (const std::string& text : settings.convection) {
    const auto [selector, value] = fem::split_setting(text);
    const auto numbers = miniapp::split(value, ',');
    if (selector.empty() || numbers.size() != 2)
      throw UsageError(
          "--convection needs SELECTOR=COEFFICIENT,TEMPERATURE, such as top=10,20 or 'z>=max=10,20', not \"" +
          text + "\"");
    const std::string what = "--convection " + text;
    const double coefficient = miniapp::to_number(numbers[0], what);
    if (!(coefficient > 0)) throw UsageError(what + ": the coefficient has to be positive");
    list.push_back(
        {selector, {0, coefficient, miniapp::to_number(numbers[1], what)}, "convection at " + text});
  }
  return list;
}

TimeSteps time_steps(const ThermalSettings& settings) {
  if (settings.transient.empty()) return {};
  const auto parts = miniapp::split(settings.transient, ':');
  if (parts.size() != 2)
    throw UsageError("--transient needs a time step and a number of steps, such as 0.1:100, not \"" +
                     settings.transient + "\"");
  const TimeSteps steps{miniapp::to_number(parts[0], "--transient"),
                        miniapp::to_integer(parts[1], "--transient")};
  if (!(steps.dt > 0) || steps.count < 1)
    throw UsageError("--transient " + settings.transient +
                     ": time step and number of steps have to be positive");
  if (!std::isfinite(1 / steps.dt))
    throw UsageError("--transient " + settings.transient + ": 1 / DT is no number; take other units of time");
  return steps;
}

namespace {

// Sets a member of all materials, or of one.
void set_materials(std::vector<Material>& materials, double Material::*member,
                   const std::vector<std::string>& texts, const std::string& option,
                   const std::vector<std::string>& names, const std::vector<std::int64_t>& ids) {
  for (const std::string& text : texts) {
    const auto [block, value] = material_value(text, option);
    if (block.empty()) {
      for (Material& material : materials) material.*member = value;
      continue;
    }
    auto found = static_cast<std::size_t>(std::find(names.begin(), names.end(), block) - names.begin());
    for (std::size_t b = 0; found == names.size() && b < ids.size(); ++b)
      if (std::to_string(ids[b]) == block) found = b;
    if (found >= materials.size()) {
      std::string list;
      for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
      throw UsageError(option + " " + text + ": the mesh has no block \"" + block + "\"; it has " + list);
    }
    materials[found].*member = value;
  }
}

}  // namespace

Problem problem_of(const ThermalSettings& settings, const std::vector<std::string>& block_names,
                   const std::vector<std::int64_t>& block_ids) {
  Problem problem;
  problem.materials.resize(block_names.size());
  const auto set = [&](double Material::*member, const std::vector<std::string>& texts, const char* option) {
    set_materials(problem.materials, member, texts, option, block_names, block_ids);
  };
  set(&Material::conductivity, settings.conductivity, "--conductivity");
  set(&Material::capacity, settings.capacity, "--capacity");
  set(&Material::source, settings.source, "--source");
  problem.beta = settings.beta;
  problem.sink = settings.sink;
  problem.has_inflows = !settings.flux.empty() || !settings.convection.empty();
  return problem;
}

SolveSettings solve_settings_of(const ThermalSettings& settings, bool is_float) {
  for (const double tolerance : {settings.tolerance, settings.newton_tolerance})
    if (!(tolerance > 0 && tolerance < 1))
      throw UsageError("--tolerance and --newton-tolerance have to be positive and less than 1");
  if (settings.max_iterations < 1 || settings.trials < 1 || settings.output_every < 1)
    throw UsageError("--max-iterations, --trials and --output-every are at least 1");
  if (settings.chebyshev_degree < 0 || settings.chebyshev_degree > 100)
    throw UsageError("--chebyshev-degree is 0 to 100");
  SolveSettings solve;
  if (settings.assembly == "atomic") solve.assembly = Assembly::Atomic;
  if (settings.assembly == "fused") solve.assembly = Assembly::Fused;
  if (settings.preconditioner == "none") solve.preconditioner = linear::Preconditioner::None;
  if (settings.preconditioner == "chebyshev") solve.preconditioner = linear::Preconditioner::Chebyshev;
  solve.use_boomeramg = settings.preconditioner == "boomeramg";
  if (settings.spmv == "vendor") solve.backend = linear::Backend::Vendor;
  if (settings.dirichlet_start == "jump") solve.start = GivenStart::Jump;
  solve.chebyshev_degree = static_cast<int>(settings.chebyshev_degree);
  solve.max_iterations = settings.max_iterations;
  solve.tolerance = is_float ? std::max(settings.tolerance, 1e-6) : settings.tolerance;
  solve.newton_tolerance = is_float ? std::max(settings.newton_tolerance, 1e-5) : settings.newton_tolerance;
  return solve;
}

}  // namespace strata::inline STRATA_ABI::thermal
