// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <strata/miniapps/common/memory.hpp>
#include <strata/miniapps/explicit_dynamics/dynamics.hpp>
#include <strata/miniapps/explicit_dynamics/settings.hpp>
#include <strata/miniapps/explicit_dynamics/simulation_errors.hpp>
#include <strata/miniapps/fem/selector.hpp>

namespace strata::inline STRATA_ABI::dynamics {

using miniapp::split;
using miniapp::to_number;
using miniapp::UsageError;

namespace {

constexpr char between_parts[] = "parts read values of each other between the loops of a step";
constexpr char slices[] = "slices of the fields go to the device and back";

}  // namespace

void declare(miniapp::Options& options, DynamicsSettings& s) {
  miniapp::declare(options, s.common);
  options.add("-E,--young", &s.young, "E", "Young's modulus");
  options.add("-n,--poisson", &s.poisson, "NU", "Poisson's ratio");
  options.add("-D,--density", &s.density, "RHO", "mass of a unit of volume");
  options.add("-v,--velocity", &s.velocity, "SEL=VX,VY,VZ",
              "initial velocity of the nodes of a set, of all, or of x<=min+2 and the like; later ones win");
  options.add("-f,--fix", &s.fix, "SEL[=xyz]", "nodes that are held, in all or in some directions");
  options.add("--dt", &s.dt, "DT|stable", "time step");
  options.add("--safety", &s.safety, "S", "factor of the stable time step");
  options.add("--dt-every", &s.dt_every, "K",
              "steps for which a stable time step is kept, unless it becomes too long");
  options.add("-s,--steps", &s.steps, "N", "time steps");
  options.add("--hourglass", &s.hourglass, "none|stiffness:K|viscous:E", "what resists hourglass modes");
  options.add("--bulk-viscosity", &s.bulk_viscosity, "B1,B2", "linear and quadratic, such as 0.06,1.2");
  options.add("--update", &s.update, "ORDER", "of the rotation in time", {"first", "second"});
  options.add("--kernels", &s.kernels, "NAME",
              "the paper's three over the elements, or all in one; by default one on GPUs, three on hosts",
              {"default", "three", "fused"});
  options.add("--devices", &s.devices, "N", "devices of a kind that share the body; of a host parts");
  options.exclude("devices", {"memory-limit"}, "several devices hold the fields, which go through one");
  miniapp::declare_memory(options, s.memory);
  options.add("--output-every", &s.output_every, "N",
              "steps between two states in the output; 0: the last one only");
  options.add("--checkpoint", &s.checkpoint, "N", "steps between two checkpoints; 0: none");
  options.add("--checkpoint-file", &s.checkpoint_file, "FILE", "the checkpoint, replaced each time");
  options.add("--restart", &s.restart, "FILE",
              "goes on from a checkpoint, and with the results at --output, up to --steps steps in all");
  options.exclude("sweep", {"refine"}, "a sweep makes the boxes that it runs");
  options.exclude("sweep", {"output-every", "checkpoint", "checkpoint-file", "restart"},
                  "a sweep begins with each size anew, and writes neither results nor checkpoints");
}

void choose_sample(DynamicsSettings& s) {
  if (!s.common.mesh.empty()) return;
  if (s.common.sweep.empty()) s.common.mesh = "box:64x8x8";  // a sweep makes its own
  if (!s.velocity.empty() || !s.fix.empty()) return;
  s.velocity = {"all=0.01,0,0"};
  s.fix = {"x>=max"};
}

DynamicsSettings with_kernels_for(const DynamicsSettings& settings, bool is_gpu) {
  DynamicsSettings chosen = settings;
  if (chosen.kernels == "default") chosen.kernels = is_gpu ? "fused" : "three";
  return chosen;
}

Parameters parameters_of(const DynamicsSettings& s) {
  Parameters p;
  p.young = s.young;
  p.poisson = s.poisson;
  p.density = s.density;
  if (s.dt != "stable") {
    p.dt = to_number(s.dt, "--dt, unless it is \"stable\",");
    if (!(p.dt > 0)) throw UsageError("--dt " + s.dt + ": the time step has to be positive, or \"stable\"");
  }
  p.safety = s.safety;
  p.dt_every = s.dt_every;
  p.update = s.update == "first" ? Update::First : Update::Second;
  p.fused = s.kernels == "fused";
  p.memory_limit = miniapp::memory_limit_of(s.common);
  miniapp::require_between("--devices", s.devices, 1, 1024, "devices");
  p.devices = static_cast<int>(s.devices);
  p.memory = miniapp::memory_choice(s.memory);
  if (p.devices > 1) miniapp::refuse_explicit(p.memory, "--devices", between_parts);
  if (p.memory_limit > 0) miniapp::refuse_explicit(p.memory, "--memory-limit", slices);

  p.hourglass_stiffness = p.hourglass_viscosity = 0;
  if (s.hourglass != "none") {
    const auto parts = split(s.hourglass, ':');
    const bool stiff = !parts.empty() && parts[0] == "stiffness",
               viscous = !parts.empty() && parts[0] == "viscous";
    if (parts.size() != 2 || (!stiff && !viscous))
      throw UsageError("--hourglass needs none, stiffness:K or viscous:E, such as stiffness:0.05, not \"" +
                       s.hourglass + "\"");
    (stiff ? p.hourglass_stiffness : p.hourglass_viscosity) = to_number(parts[1], "--hourglass " + parts[0]);
  }
  const auto b = split(s.bulk_viscosity, ',');
  if (b.size() != 2)
    throw UsageError("--bulk-viscosity needs two numbers, such as 0.06,1.2, not \"" + s.bulk_viscosity +
                     "\"");
  p.bulk_linear = to_number(b[0], "--bulk-viscosity");
  p.bulk_quadratic = to_number(b[1], "--bulk-viscosity");
  for (const auto& [option, value] :
       {std::pair{"--steps", s.steps}, {"--output-every", s.output_every}, {"--checkpoint", s.checkpoint}})
    if (value < 0)
      throw UsageError(std::string(option) + " " + std::to_string(value) +
                       ": a number of steps is 0 or more");
  try {
    check(p);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  return p;
}

std::vector<GivenVelocity> given_velocities(const DynamicsSettings& settings) {
  std::vector<GivenVelocity> list;
  for (const std::string& text : settings.velocity) {
    const auto [selector, value] = fem::split_setting(text);
    const auto parts = split(value, ',');
    if (selector.empty() || parts.size() != 3)
      throw UsageError("--velocity needs SELECTOR=VX,VY,VZ, such as all=1,0,0 or 'x<=min=0,0,-2', not \"" +
                       text + "\"");
    GivenVelocity given{selector, {}};
    for (std::size_t d = 0; d < 3; ++d) given.v[d] = to_number(parts[d], "--velocity " + text);
    list.push_back(given);
  }
  return list;
}

std::vector<HeldNodes> held_nodes(const DynamicsSettings& settings) {
  std::vector<HeldNodes> list;
  for (const std::string& text : settings.fix) {
    const auto [selector, value] = fem::split_setting(text);
    HeldNodes held{selector, value.empty() ? all_directions : std::uint8_t{0}};
    bool is_wrong = selector.empty();
    for (const char c : value) {
      if (c >= 'x' && c <= 'z') held.directions = static_cast<std::uint8_t>(held.directions | 1 << (c - 'x'));
      else is_wrong = true;
    }
    if (is_wrong)
      throw UsageError(
          "--fix needs SELECTOR, or SELECTOR=DIRECTIONS with some of xyz, such as bottom=z, not \"" + text +
          "\"");
    list.push_back(held);
  }
  return list;
}

}  // namespace strata::inline STRATA_ABI::dynamics
