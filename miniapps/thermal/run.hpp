// What strata-thermal does on a device, once it can make heat problems there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/thermal/heat.hpp>
#include <strata/miniapps/thermal/settings.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// Solves the problem of the settings, writes its results to `output` unless that is empty, and fills the
/// report: as far as it came, where it throws.
void run_problem(const MakeHeat& make, const ThermalSettings& settings, const std::string& output,
                 miniapp::RunReport& report);

/// Runs the cases of verify.hpp.
void run_verification(const MakeHeat& make, const MakeHeat& serial, const ThermalSettings& settings,
                      miniapp::RunReport& report);

/// The rows of a sweep over sizes, as in figures 19 and 20 of the paper, and one of them.
inline constexpr const char* sweep_header =
    "device,type,elements,nodes,compute_us_per_element,fill_us_per_element,elements_per_second,cg_iterations,"
    "node_iterations_per_second";
std::string sweep_row(const miniapp::RunReport& report);

}  // namespace strata::inline STRATA_ABI::thermal
