// What has to hold of the results of each application.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/miniapps/coherent_apps/app.hpp>
#include <strata/miniapps/common/report.hpp>

namespace strata::inline STRATA_ABI::coherent_apps {

/// Adds results and checks of what the application is about: conserved quantities, residuals, exact
/// solutions. `run` may be asked for another, shorter run.
void add_checks(const AppRequest& request, const AppOutcome& outcome, const RunApp& run,
                miniapp::RunReport& report);

/// Adds the check that the values are those of another device: bit for bit where `same_bits`, else within
/// what the rounding of the type makes of it.
void add_comparison(const AppRequest& request, const AppOutcome& outcome, const AppOutcome& other,
                    bool same_bits, miniapp::RunReport& report);

/// The gas of Sod's tube, where waves have not come to its ends: a function of position over time.
struct SodState {
  double density, velocity, pressure;
};
/// Riemann's problem of densities 1 and 0.125 and pressures 1 and 0.1, gamma = 1.4.
SodState sod_state(double position_over_time);

}  // namespace strata::inline STRATA_ABI::coherent_apps
