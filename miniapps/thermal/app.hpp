// What main.cpp calls for a device; each device instantiates it in files of its own (run_device.hpp).
#pragma once

#include <string>

#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/thermal/settings.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// Solves the problem of the settings on a device with numbers of T; fills the report and writes the output.
template <class Device, class T>
void run_problem(const Device& device, const ThermalSettings& settings, miniapp::RunReport& report);

/// Runs the tests of verify.hpp.
template <class Device>
void run_tests(const Device& device, miniapp::RunReport& report);

/// The header of the lines of a sweep, and one of its lines.
inline constexpr const char* sweep_header =
    "device,type,elements,nodes,compute_us_per_element,fill_us_per_element,elements_per_second,cg_iterations,"
    "node_iterations_per_second";
std::string sweep_line(const miniapp::RunReport& report);

}  // namespace strata::inline STRATA_ABI::thermal
