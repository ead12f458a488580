// strata-thermal: heat conduction on meshes of hexahedra; README.md has the problem and the method.
//
//   strata-thermal                                                      the box of the paper
//   strata-thermal -m part.msh -k 200 -b 'base=80' -b 'z>=max=20' -o part.vtu
//   strata-thermal -m part.msh --initial 20 -b base=80 --transient 0.5:100 -o part.pvd
//   strata-thermal --device all --verify                                the tests of the method
//   strata-thermal --device cuda --sweep 1000:4000000                   a line for each size
#include <cstdio>
#include <exception>

#include <strata/core/runtime.hpp>
#include <strata/miniapps/common/devices.hpp>
#include <strata/miniapps/thermal/app.hpp>

namespace {

using namespace strata;
using miniapp::RunReport;
using thermal::ThermalSettings;

// One problem, or the tests, on one device.
RunReport run_on(const std::string& name, const ThermalSettings& settings) {
  RunReport report;
  report.type = settings.common.verify ? "double" : settings.common.type;
  visit_device(name, [&](auto device) {
    report.device = miniapp::device_text(device);
    using D = decltype(device);
    if (settings.common.verify) thermal::run_tests<D>(device, report);
    else if (settings.common.type == "float") thermal::run_problem<D, float>(device, settings, report);
    else thermal::run_problem<D, double>(device, settings, report);
  });
  return report;
}

void sweep(ThermalSettings settings, const std::vector<std::string>& devices, miniapp::Report& all) {
  std::puts(thermal::sweep_header);
  for (const index_t size : miniapp::sweep_sizes(settings.common.sweep)) {
    settings.common.mesh = miniapp::box_of_about(size);
    for (const std::string& device : devices) {
      RunReport report = run_on(device, settings);
      std::puts(thermal::sweep_line(report).c_str());
      std::fflush(stdout);
      all.add(std::move(report));
    }
  }
}

int run(int argc, char** argv) {
  const Runtime runtime(argc, argv);
  ThermalSettings settings;
  miniapp::Options options("strata-thermal", "Heat conduction on meshes of hexahedra, on any device.");
  declare(options, settings);
  if (!options.parse(argc, argv)) return 0;
  const std::string parameters = options.to_json();
  if (!settings.common.quiet && settings.common.sweep.empty()) std::printf("%s\n", parameters.c_str());
  miniapp::Report all(options.program(), parameters);
  const auto devices = miniapp::chosen_devices(settings.common.device);
  if (!settings.common.sweep.empty()) {
    sweep(settings, devices, all);
    if (!settings.common.json.empty()) miniapp::write_whole_file(settings.common.json, all.to_json());
    return 0;
  }
  const std::string output = settings.common.output;
  for (const std::string& device : devices) {
    // One file each.
    if (devices.size() > 1) settings.common.output = miniapp::path_with(output, device);
    all.add(run_on(device, settings));
  }
  return all.finish(settings.common.json);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const miniapp::UsageError& error) {
    std::fprintf(stderr, "strata-thermal: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "strata-thermal: %s\n", error.what());
    return 1;
  }
}
