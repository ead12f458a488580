// strata-coherent: the applications of the paper on smart containers, on coherent arrays; README.md has them.
//
//   strata-coherent nbody                                      bodies that pull each other
//   strata-coherent nbody --n 131072 --device cuda --gpus 2
//   strata-coherent lu --device emulated --gpus 2 --memory implicit --verify
//   strata-coherent sph --n 900 --steps 800 --device all --json sph.json
//
// What the programs are is in a header for each; what is compiled for every device, in run_app.cpp. This file
// chooses the devices, and is compiled by nvcc where there is Cuda.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <string_view>

#include <strata/devices/emulated/control.hpp>
#include <strata/miniapps/coherent_apps/run.hpp>
#include <strata/miniapps/coherent_apps/run_app.hpp>
#include <strata/miniapps/coherent_apps/settings.hpp>
#include <strata/miniapps/common/devices.hpp>
#include <strata/miniapps/common/run_devices.hpp>

namespace strata::inline STRATA_ABI::coherent_apps {

namespace {

// The devices that share a program.
struct Place {
  std::string text;       // "2 x Emulated"
  bool same_bits = true;  // as Serial
  RunApp run;
};

// `count` instances, the first of which is `first`; UsageError where there are fewer.
template <class Device>
std::vector<Device> instances_from(const Device& first, index_t count) {
  if (const index_t there = Device::count() - first.index(); count > there)
    throw miniapp::UsageError("--gpus " + std::to_string(count) + ": from " + miniapp::device_text(first) +
                              " on there " + (there == 1 ? "is" : "are") + " only " + std::to_string(there) +
                              " of the kind " + device_name(first));
  std::vector<Device> devices{first};
  for (index_t k = 1; k < count; ++k) devices.push_back(Device(first.index() + static_cast<int>(k)));
  return devices;
}

// The device of a name, and those after it. With `as_there_are`, of some kinds fewer than `gpus`.
// NoSuchDevice, UsageError.
Place place_of(const std::string& name, index_t gpus, bool as_there_are) {
  Place place;
  miniapp::visit(name, [&](const auto& first) {
    using Device = std::remove_cvref_t<decltype(first)>;
    const index_t count = as_there_are ? std::min<index_t>(gpus, Device::count()) : gpus;
    const std::vector<Device> devices = instances_from(first, count);
    place.text =
        count == 1 ? miniapp::device_text(first) : std::to_string(count) + " x " + device_name(first);
    // Files for hosts are compiled without contraction (CMakeLists.txt).
    place.same_bits = std::string_view(Device::name) != "Cuda";
    place.run = [devices](const AppRequest& request) { return run_app(devices, request); };
  });
  return place;
}

// Each kind once: what shares the work of one is not named again.
std::vector<std::string> kinds_of_devices() {
  std::vector<std::string> names;
  for (const std::string& name : device_names<KernelDevices>())
    if (const std::size_t colon = name.find(':'); colon == std::string::npos || name.substr(colon) == ":0")
      names.push_back(name);
  return names;
}

// As many emulated devices as are asked for, where they can be made.
void emulate(index_t gpus) {
  constexpr index_t most = 16;
  emulated::Config config = emulated::config();
  if (gpus <= config.count || gpus > most) return;
  config.count = static_cast<int>(gpus);
  emulated::configure(config);
}

int run(int argc, char** argv) {
  CoherentSettings settings;
  miniapp::Options options("strata-coherent",
                           "The applications of the paper on smart containers, on coherent arrays.");
  declare(options, settings);
  if (!options.parse(argc, argv)) return 0;
  const AppRequest request = request_of(settings);
  emulate(settings.gpus);
  const std::string parameters = options.to_json();
  if (!settings.common.quiet) std::printf("%s\n", options.given().c_str());

  miniapp::Report report(options.program(), parameters);
  const bool on_all = settings.common.device == "all";
  const auto devices = on_all ? kinds_of_devices() : miniapp::chosen_devices(settings.common.device);
  const auto run_one = [&](const std::string& name, miniapp::RunReport& one) {
    // Serial before: the last one is AnyHost's default.
    const RunApp serial = settings.common.verify ? place_of("serial", 1, false).run : RunApp();
    const Place place = place_of(name, settings.gpus, on_all);
    one.device = place.text;
    run_program(place.run, request, settings.trials, serial, place.same_bits, one);
  };
  return miniapp::run_devices(settings.common, devices, run_one, report);
}

}  // namespace

}  // namespace strata::inline STRATA_ABI::coherent_apps

int main(int argc, char** argv) {
  return strata::miniapp::exit_status_of("strata-coherent", argc, argv, strata::coherent_apps::run);
}
