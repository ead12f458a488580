// What strata-coherent does on some devices, once it can run programs there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/miniapps/coherent_apps/app.hpp>
#include <strata/miniapps/common/report.hpp>

namespace strata::inline STRATA_ABI::coherent_apps {

/// Runs the program as often as `trials` says, and fills the report with the fastest run: times, bytes moved,
/// results and checks. With `serial`, the values are compared with those of that: bit for bit where
/// `same_bits`.
void run_program(const RunApp& run, const AppRequest& request, index_t trials, const RunApp& serial,
                 bool same_bits, miniapp::RunReport& report);

}  // namespace strata::inline STRATA_ABI::coherent_apps
