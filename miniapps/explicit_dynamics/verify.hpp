// The verification of strata-dynamics: problems with known answers, run on any device. --verify runs all of
// them, the tests of the project too. Each case names the sources of its answers; see README.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/explicit_dynamics/dynamics.hpp>

namespace strata::inline STRATA_ABI::dynamics {

/// Makes a simulation of a mesh ("box:...", see fem/box_spec.hpp) on the device to verify.
using MakeDynamics = std::function<std::unique_ptr<Dynamics>(const std::string& mesh, const Parameters&)>;

/// What a case gets.
struct Verification {
  MakeDynamics make;
  bool is_float = false;
  bool fused = false;  // which kernels
  std::vector<miniapp::Check> checks;

  /// A tolerance for double fields, widened for float ones to at least `of_float`.
  double tolerance(double of_double, double of_float) const { return is_float ? of_float : of_double; }
  /// Parameters that most cases begin with: hourglass control off, no viscosity.
  Parameters parameters(double poisson = 0) const;
  void add(miniapp::Check check) { checks.push_back(std::move(check)); }
};

/// A problem. Slow ones take seconds on a host.
struct VerificationCase {
  const char* name;
  bool is_slow;
  void (*run)(Verification&);
};

/// All of them.
std::vector<VerificationCase> verification_cases();

// verify_elements.cpp
void verify_gradient_identities(Verification& v);
void verify_patch(Verification& v);
void verify_objectivity(Verification& v);
void verify_simple_shear(Verification& v);
// verify_waves.cpp
void verify_standing_wave(Verification& v);
void verify_standing_wave_fine(Verification& v);
void verify_wall_impact(Verification& v);
void verify_wall_impact_fine(Verification& v);
void verify_bar_speeds(Verification& v);
// verify_conservation.cpp
void verify_energy(Verification& v);
void verify_stored_energy(Verification& v);
void verify_stored_energy_fine(Verification& v);
void verify_momentum(Verification& v);
void verify_reaction(Verification& v);
void verify_fused(Verification& v);

}  // namespace strata::inline STRATA_ABI::dynamics
