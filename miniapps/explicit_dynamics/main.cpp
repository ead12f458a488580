// strata-dynamics: explicit dynamics of an elastic body of eight-node hexahedra.
//
// The second mini-application of the Kokkos Array paper (Edwards, Sunderland, Porter, Amsler, Mish,
// Scientific Programming 20, 2012, section 6): uniform-gradient elements, hypoelastic stress in axes that
// turn with the material, hourglass control, central differences. Sample runs:
//
//   strata-dynamics                                             a bar hits a wall
//   strata-dynamics -m box:64x8x8 -f 'x>=max' -v all=0.01,0,0 --steps 2000 --output bar.vtu --output-every
//   100 strata-dynamics -m rod.msh -v 'head=0,0,-20' -f 'x<=min' --young 2.1e11 --poisson 0.3 --density 7850
//   strata-dynamics --device all --verify
//   strata-dynamics --device cuda --sweep 1000:4000000 --steps 1000 --kernels fused
//
// What it does is in run.cpp; what is compiled for every device, in simulation.hpp. This file chooses the
// device, and is compiled by nvcc where there is Cuda.
#include <cstdio>
#include <exception>

#include <strata/core/runtime.hpp>
#include <strata/miniapps/common/devices.hpp>
#include <strata/miniapps/explicit_dynamics/make_simulation.hpp>
#include <strata/miniapps/explicit_dynamics/run.hpp>

namespace strata::inline STRATA_ABI::dynamics {

namespace {

// What run_... of run.hpp needs, on one device.
struct OnDevice {
  const DynamicsSettings& settings;
  miniapp::Report& report;
  bool is_one_of_several;

  template <class D>
  void operator()(const D& device) const {
    const MakeSimulation make = [&](const std::string& mesh, int refinements, const std::string& type,
                                    const Parameters& parameters) {
      return make_simulation(device, mesh, refinements, type, parameters);
    };
    if (settings.common.verify) return report.add(run_verification(make, settings));
    if (settings.common.sweep.empty()) {
      std::string suffix;
      if (is_one_of_several) suffix = miniapp::device_text(device);
      return report.add(run_problem(make, settings, suffix));
    }
    for (const index_t size : miniapp::sweep_sizes(settings.common.sweep)) {
      std::string row;
      report.add(run_size(make, settings, size, row));
      std::printf("%s\n", row.c_str());
      std::fflush(stdout);
    }
  }
};

int run(int argc, char** argv) {
  DynamicsSettings settings;
  miniapp::Options options("strata-dynamics", "Explicit dynamics of an elastic body of hexahedral elements.");
  declare(options, settings);
  if (!options.parse(argc, argv)) return 0;
  choose_sample(settings);
  static_cast<void>(parameters_of(settings));  // says what is wrong before anything is done
  const std::string parameters = options.to_json();
  if (!settings.common.quiet && settings.common.sweep.empty()) std::printf("%s\n", parameters.c_str());

  miniapp::Report report("strata-dynamics", parameters);
  const auto devices = miniapp::chosen_devices(settings.common.device);
  if (!settings.common.sweep.empty()) std::printf("%s\n", sweep_header);
  const OnDevice on_device{settings, report, devices.size() > 1};
  for (const std::string& name : devices) {
    const auto visit = [&](const auto& device) { on_device(device); };
    if (name.empty()) visit_device(visit);
    else visit_device(name, visit);
  }
  if (!settings.common.sweep.empty()) {
    if (!settings.common.json.empty()) miniapp::write_whole_file(settings.common.json, report.to_json());
    return 0;
  }
  return report.finish(settings.common.json);
}

}  // namespace

}  // namespace strata::inline STRATA_ABI::dynamics

int main(int argc, char** argv) {
  try {
    const strata::Runtime runtime(argc, argv);  // takes the --strata-... options
    return strata::dynamics::run(argc, argv);
  } catch (const strata::miniapp::UsageError& error) {
    std::fprintf(stderr, "strata-dynamics: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "strata-dynamics: %s\n", error.what());
    return 1;
  }
}
