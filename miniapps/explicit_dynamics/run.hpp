// What strata-dynamics does on a device, once it can make simulations there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/explicit_dynamics/dynamics.hpp>
#include <strata/miniapps/explicit_dynamics/settings.hpp>

namespace strata::inline STRATA_ABI::dynamics {

/// Makes simulations on the device: mesh, refinements, type, parameters.
using MakeSimulation =
    std::function<std::unique_ptr<Dynamics>(const std::string&, int, const std::string&, const Parameters&)>;

/// Before anything is computed: UsageError where a setting makes no sense, what is to be written has no
/// place, or two files would be the same; several devices write files of their own.
void require_usable(const DynamicsSettings& settings, const std::vector<std::string>& devices = {""});

/// Solves the problem of the settings and writes its results. `suffix` goes into the names of files, where
/// several devices would write the same. What went before an error is in the report, and the results up to
/// it are in their files.
void run_problem(const MakeSimulation& make, const DynamicsSettings& settings, const std::string& suffix,
                 miniapp::RunReport& report);

/// Runs the cases of verify.hpp.
void run_verification(const MakeSimulation& make, const DynamicsSettings& settings,
                      miniapp::RunReport& report);

/// The rows of a sweep over sizes, as in figure 26 of the paper.
inline constexpr const char* sweep_header =
    "device,type,kernels,elements,nodes,steps,seconds,us_per_step,"
    "us_per_element_step,element_steps_per_second";
/// One of them: steps enough to measure.
std::string run_size(const MakeSimulation& make, const DynamicsSettings& settings, const std::string& box,
                     miniapp::RunReport& report);

}  // namespace strata::inline STRATA_ABI::dynamics
