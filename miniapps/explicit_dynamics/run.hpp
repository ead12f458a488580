// What strata-dynamics does on a device, once it can make simulations there.
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

/// Solves the problem of the settings and writes its results. `suffix` goes into the names of files, where
/// several devices would write the same.
miniapp::RunReport run_problem(const MakeSimulation& make, const DynamicsSettings& settings,
                               const std::string& suffix);

/// Runs the cases of verify.hpp.
miniapp::RunReport run_verification(const MakeSimulation& make, const DynamicsSettings& settings);

/// The rows of a sweep over sizes, as in figure 26 of the paper.
inline constexpr const char* sweep_header =
    "device,type,kernels,elements,nodes,steps,seconds,us_per_step,"
    "us_per_element_step,element_steps_per_second";
/// One of them: steps enough to measure.
miniapp::RunReport run_size(const MakeSimulation& make, const DynamicsSettings& settings, index_t elements,
                            std::string& row);

}  // namespace strata::inline STRATA_ABI::dynamics
