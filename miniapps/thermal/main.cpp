// strata-thermal: heat conduction on meshes of hexahedra; README.md has the problem and the method.
//
//   strata-thermal                                                      the box of the paper
//   strata-thermal -m part.msh -k 200 -b 'base=80' -b 'z>=max=20' -o part.vtu
//   strata-thermal -m part.msh --initial 20 -b base=80 --transient 0.5:100 -o part.pvd
//   strata-thermal --device all --verify                                the tests of the method
//   strata-thermal --device cuda --sweep 1000:4000000                   a line for each size
//
// What it does is in run.cpp; what is compiled for every device, in make_heat.hpp. This file chooses the
// device, and is compiled by nvcc where there is Cuda.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <strata/miniapps/common/devices.hpp>
#include <strata/miniapps/common/run_devices.hpp>
#include <strata/miniapps/fem/files/result_writer.hpp>
#include <strata/miniapps/thermal/make_heat.hpp>
#include <strata/miniapps/thermal/run.hpp>

namespace strata::inline STRATA_ABI::thermal {

namespace {

// What makes heat problems on the device of a name; NoSuchDevice.
MakeHeat maker(const std::string& name, std::string& device_text) {
  MakeHeat make;
  miniapp::visit(name, [&](const auto& device) {
    device_text = miniapp::device_text(device);
    make = [device](const HeatRequest& request) { return make_heat(device, request); };
  });
  return make;
}

// UsageError for an ending that is no format.
void require_known_format(const std::string& output) {
  if (output.empty()) return;
  miniapp::require_writable("--output", output);
  try {
    fem::require_writable(output);
  } catch (const Error& error) {
    throw miniapp::UsageError(std::string("--output: ") + error.what());
  }
}

int run(int argc, char** argv) {
  ThermalSettings settings;
  miniapp::Options options("strata-thermal", "Heat conduction on meshes of hexahedra, on any device.");
  declare(options, settings);
  if (!options.parse(argc, argv)) return 0;
  // What is wrong is said before anything is done.
  check(settings);
  require_known_format(settings.common.output);
  const std::string parameters = options.to_json();
  const bool is_sweep = !settings.common.sweep.empty();
  if (!settings.common.quiet && !is_sweep) std::printf("%s\n", options.given().c_str());

  miniapp::Report report(options.program(), parameters);
  const auto devices = miniapp::chosen_devices(settings.common.device);
  const auto run_size = [&](const std::string& name, const std::string& box, miniapp::RunReport& one) {
    ThermalSettings of_size = settings;
    of_size.common.mesh = box;
    run_problem(maker(name, one.device), of_size, "", one);
    return sweep_row(one);
  };
  if (is_sweep) return miniapp::run_sweep(settings.common, devices, sweep_header, run_size, report);
  const auto run_one = [&](const std::string& name, miniapp::RunReport& one) {
    std::string ignored;
    const MakeHeat serial = maker("serial", ignored);  // before: the last one is AnyHost's default
    const MakeHeat make = maker(name, one.device);
    if (settings.common.verify) return run_verification(make, serial, settings, one);
    const std::string& path = settings.common.output;
    run_problem(make, settings, devices.size() > 1 ? miniapp::path_with(path, one.device) : path, one);
  };
  return miniapp::run_devices(settings.common, devices, run_one, report);
}

}  // namespace

}  // namespace strata::inline STRATA_ABI::thermal

int main(int argc, char** argv) {
  return strata::miniapp::exit_status_of("strata-thermal", argc, argv, strata::thermal::run);
}
