// strata-ransac: fits the flow that most of many vectors follow, by random samples, on a device, a host, or
// both at the same iterations; README.md has more.
//
//   strata-ransac                                                    the best device alone
//   strata-ransac --device cuda --host threads --threads 4           both claim iterations
//   strata-ransac --device cuda --host threads --mode static --alpha 0.01
//   strata-ransac --input vectors.csv --device emulated --host threads --verify
//
// The steps of a fit are in static_fit.hpp and dynamic_fit.hpp. This file chooses the devices, and is
// compiled by nvcc where there is Cuda.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <strata/devices/serial/device.hpp>
#include <strata/miniapps/common/devices.hpp>
#include <strata/miniapps/common/run_devices.hpp>
#include <strata/miniapps/ransac/fit_on.hpp>
#include <strata/miniapps/ransac/run.hpp>
#include <strata/miniapps/ransac/settings.hpp>

namespace strata::inline STRATA_ABI::ransac {

namespace {

// The device of a name.
struct Place {
  std::string text;
  FitOnIt fit;
  bool is_host = false;
  AnyHost host = Serial{};  // where it is one
};

// NoSuchDevice.
Place place_of(const std::string& name) {
  Place place;
  miniapp::visit(name, [&](const auto& device) {
    place.text = miniapp::device_text(device);
    place.fit = [device](const FitRequest& request) { return fit_on(device, request); };
    if constexpr (std::convertible_to<std::remove_cvref_t<decltype(device)>, AnyHost>) {
      place.is_host = true;
      place.host = device;
    }
  });
  return place;
}

int run(int argc, char** argv) {
  RansacSettings settings;
  miniapp::Options options("strata-ransac", "Fits a flow to vectors, by host and device together.");
  declare(options, settings);
  if (!options.parse(argc, argv)) return 0;
  FitRequest request = request_of(settings);
  const Problem problem = problem_of(settings);
  request.problem = &problem;
  const std::string parameters = options.to_json();
  if (!settings.common.quiet) std::printf("%s\n", parameters.c_str());

  const bool has_host = settings.host != "none";
  const AnyHost beside = has_host ? place_of(settings.host).host : AnyHost(Serial{});
  miniapp::Report report(options.program(), parameters);
  const auto run_one = [&](const std::string& name, miniapp::RunReport& one) {
    const Place place = place_of(name);
    one.device = place.text + (has_host && !place.is_host ? " and " + std::string(beside.device_name()) : "");
    FitRequest mine = request;
    mine.host = place.is_host ? place.host : beside;
    const index_t threads = settings.threads > 0 ? settings.threads : mine.host.concurrency();
    mine.threads = place.is_host || has_host ? threads : 0;
    const FitOnIt serial = settings.common.verify ? place_of("serial").fit : FitOnIt();
    const auto mixes = settings.common.verify ? mixes_of(mine, place.is_host, threads) : std::vector<Mix>();
    run_fit(place.fit, mine, serial, mixes, one);
  };
  return miniapp::run_devices(settings.common, miniapp::chosen_devices(settings.common.device), run_one,
                              report);
}

}  // namespace

}  // namespace strata::inline STRATA_ABI::ransac

int main(int argc, char** argv) {
  return strata::miniapp::exit_status_of("strata-ransac", argc, argv, strata::ransac::run);
}
