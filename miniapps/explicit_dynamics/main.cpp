// strata-dynamics: explicit dynamics of an elastic body of eight-node hexahedra.
//
// The second mini-application of the Kokkos Array paper (Edwards, Sunderland, Porter, Amsler, Mish,
// Scientific Programming 20, 2012, section 6): uniform-gradient elements, hypoelastic stress in axes that
// turn with the material, hourglass control, central differences. Sample runs:
//
//   strata-dynamics                                             a bar hits a wall
//   strata-dynamics -m box:64x8x8 -f 'x>=max' -v all=0.01,0,0 -s 2000 -o bar.pvd --output-every 100
//   strata-dynamics -m rod.msh -v 'head=0,0,-20' -f 'x<=min' -E 2.1e11 -n 0.3 -D 7850 -o rod.e
//   strata-dynamics --device all --verify
//   strata-dynamics --device cuda --sweep 1000:4000000 --steps 1000 --kernels three
//
// What it does is in run.cpp; what is compiled for every device, in simulation.hpp. This file chooses the
// device, and is compiled by nvcc where there is Cuda.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <type_traits>

#include <strata/devices/queue.hpp>
#include <strata/miniapps/common/devices.hpp>
#include <strata/miniapps/common/run_devices.hpp>
#include <strata/miniapps/explicit_dynamics/make_simulation.hpp>
#include <strata/miniapps/explicit_dynamics/run.hpp>

namespace strata::inline STRATA_ABI::dynamics {

namespace {

template <class Device>
constexpr bool is_gpu = !Device::memory_space::host_accessible && !std::is_same_v<Device, Emulated>;

// Calls work(device, settings for it, maker of simulations there); no name is the best device there is.
template <class Work>
void on_device(const std::string& name, const DynamicsSettings& settings, const Work& work) {
  miniapp::visit(name, [&](const auto& device) {
    const auto make = [&](const std::string& mesh, int refinements, const std::string& type,
                          const Parameters& parameters) {
      return make_simulation(device, mesh, refinements, type, parameters);
    };
    work(miniapp::device_text(device),
         with_kernels_for(settings, is_gpu<std::remove_cvref_t<decltype(device)>>), make);
    default_queue(device).wait();  // an error that nobody waited for ends the run, too
  });
}

int run(int argc, char** argv) {
  DynamicsSettings settings;
  miniapp::Options options("strata-dynamics", "Explicit dynamics of an elastic body of hexahedral elements.");
  declare(options, settings);
  if (!options.parse(argc, argv)) return 0;
  choose_sample(settings);
  const auto devices = miniapp::chosen_devices(settings.common.device);
  require_usable(settings, devices);
  const std::string parameters = options.to_json();
  const bool is_sweep = !settings.common.sweep.empty();
  if (!settings.common.quiet && !is_sweep) std::printf("%s\n", options.given().c_str());

  miniapp::Report all(options.program(), parameters);
  if (is_sweep) {
    const auto row = [&](const std::string& name, const std::string& box, miniapp::RunReport& report) {
      std::string text;
      on_device(name, settings,
                [&](const std::string&, const DynamicsSettings& here, const MakeSimulation& make) {
                  text = run_size(make, here, box, report);
                });
      return text;
    };
    return miniapp::run_sweep(settings.common, devices, sweep_header, row, all);
  }
  const auto one = [&](const std::string& name, miniapp::RunReport& report) {
    on_device(name, settings,
              [&](const std::string& device, const DynamicsSettings& here, const MakeSimulation& make) {
                report.device = device;
                if (here.common.verify) run_verification(make, here, report);
                else run_problem(make, here, devices.size() > 1 ? device : std::string(), report);
              });
  };
  return miniapp::run_devices(settings.common, devices, one, all);
}

}  // namespace

}  // namespace strata::inline STRATA_ABI::dynamics

int main(int argc, char** argv) {
  return strata::miniapp::exit_status_of("strata-dynamics", argc, argv, strata::dynamics::run);
}
