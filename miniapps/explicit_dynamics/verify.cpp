// SPDX-License-Identifier: Apache-2.0
#include <strata/miniapps/explicit_dynamics/verify.hpp>

namespace strata::inline STRATA_ABI::dynamics {

Parameters Verification::parameters(double poisson) const {
  Parameters p;
  p.poisson = poisson;
  p.hourglass_stiffness = 0;
  p.fused = fused;
  return p;
}

std::vector<VerificationCase> verification_cases() {
  return {{"gradient identities", false, verify_gradient_identities},
          {"patch", false, verify_patch},
          {"objectivity", false, verify_objectivity},
          {"simple shear", false, verify_simple_shear},
          {"standing wave", false, verify_standing_wave},
          {"standing wave, 64 elements", true, verify_standing_wave_fine},
          {"wall impact", false, verify_wall_impact},
          {"wall impact, 200 elements", true, verify_wall_impact_fine},
          {"bar speeds", true, verify_bar_speeds},
          {"energy", false, verify_energy},
          {"stored energy", false, verify_stored_energy},
          {"stored energy, 64 elements", true, verify_stored_energy_fine},
          {"momentum", false, verify_momentum},
          {"reaction", false, verify_reaction},
          {"three kernels and one", false, verify_fused}};
}

}  // namespace strata::inline STRATA_ABI::dynamics
