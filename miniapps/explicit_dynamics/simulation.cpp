// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <strata/miniapps/explicit_dynamics/dynamics.hpp>
#include <strata/miniapps/explicit_dynamics/simulation_errors.hpp>

namespace strata::inline STRATA_ABI::dynamics {

namespace {

std::string text(double x) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", x);
  return buffer;
}

void require(bool holds, const char* name, const char* option, double value, const char* range) {
  if (!holds)
    throw Error("dynamics: " + std::string(name) + " is " + text(value) + " (" + option + "); it has to be " +
                range);
}

}  // namespace

void check(const Parameters& p) {
  require(p.young > 0 && p.young < 1e300, "Young's modulus", "--young", p.young, "positive");
  require(p.poisson > -1 && p.poisson < 0.5, "Poisson's ratio", "--poisson", p.poisson,
          "greater than -1 and less than 1/2, where waves would be infinitely fast; what hardly changes its "
          "volume has about 0.49");
  require(p.density > 0 && p.density < 1e300, "the density", "--density", p.density, "positive");
  require(p.dt >= 0 && p.dt < 1e300, "the time step", "--dt", p.dt, "positive, or \"stable\"");
  require(p.safety > 0 && p.safety <= 1, "the safety factor of the stable time step", "--safety", p.safety,
          "greater than 0 and at most 1");
  require(p.dt_every >= 1, "the number of steps for which a time step is kept", "--dt-every",
          static_cast<double>(p.dt_every), "1 or more");
  require(p.hourglass_stiffness >= 0 && p.hourglass_stiffness <= 1, "the hourglass stiffness",
          "--hourglass stiffness", p.hourglass_stiffness,
          "between 0 and 1: with more the time step would not be stable");
  require(p.hourglass_viscosity >= 0 && p.hourglass_viscosity <= 1, "the hourglass viscosity",
          "--hourglass viscous", p.hourglass_viscosity, "between 0 and 1");
  require(p.bulk_linear >= 0 && p.bulk_linear <= 10, "the linear bulk viscosity", "--bulk-viscosity",
          p.bulk_linear, "between 0 and 10");
  require(p.bulk_quadratic >= 0 && p.bulk_quadratic <= 100, "the quadratic bulk viscosity",
          "--bulk-viscosity", p.bulk_quadratic, "between 0 and 100");
}

void fail_simulation(const FailedAt& at) {
  const Clock& c = at.clock;
  const std::string when =
      " in step " + std::to_string(c.step + 1) + " (time " + text(c.time) + ") on " + at.device;
  const std::string more =
      at.count > 1 ? " (and " + std::to_string(at.count - 1) + " more elements)" : std::string();
  if (c.failure == Failure::Volume)
    throw SimulationError(
        "dynamics: element " + std::to_string(at.element_id) + " is inside out" + more + when +
        ": its volume is not positive. Impact too hard for the mesh, or a time step above the "
        "stable one (the least so far: " +
        text(c.minimum_dt) + "); a smaller --dt or --safety, or bulk viscosity may help");
  throw SimulationError(
      "dynamics: the time step collapsed" + when + ": element " + std::to_string(at.element_id) + more +
      " allows " + text(at.stable_dt) + ", the first step " + text(c.first_dt) +
      ". The element is crushed almost flat; bulk viscosity or hourglass stiffness may keep it up");
}

void fail_size(const char* what, std::size_t found, std::size_t wanted) {
  throw Error("dynamics: " + std::string(what) + ": " + std::to_string(found) +
              " were given, this simulation has " + std::to_string(wanted));
}

void fail_field(const char* what) {
  throw Error("dynamics: " + std::string(what) + ": the field cannot be " +
              (std::string(what) == "set" ? "set: it follows from others" : "read"));
}

void fail_forces() {
  throw Error(
      "dynamics: the forces of elements are not kept: with a memory limit they leave the device only where "
      "each step decides its length, --dt-every 1; ask for them there, or after an imposed motion");
}

}  // namespace strata::inline STRATA_ABI::dynamics
