// strata-factorize: factors, products and triangular systems of dense matrices that are larger than a device;
// README.md has the operations and the inputs.
//
//   strata-factorize cholesky                                              a generated matrix of order 1024
//   strata-factorize cholesky --order 115200 --type float --device cuda --memory-limit 2000MiB --verify
//   strata-factorize lu --input matrix.mtx --verify --json lu.json
//   strata-factorize cholesky --input thermal --mesh box:20x20x20 --device emulated --devices 2 --picture
//   order.svg
//
// What it does is in run.cpp; what is compiled for devices, in operations.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <strata/miniapps/common/run_devices.hpp>
#include <strata/miniapps/factorize/operations.hpp>
#include <strata/miniapps/factorize/run.hpp>
#include <strata/miniapps/factorize/settings.hpp>

namespace strata::inline STRATA_ABI::factorize {

namespace {

// Before anything is read or run.
void require_files(const FactorizeSettings& s, const FactorizeRequest& request,
                   const std::vector<std::string>& devices) {
  const std::string svg = ".svg";
  if (!s.picture.empty() && !s.picture.ends_with(svg))
    throw miniapp::UsageError("--picture " + s.picture +
                              ": pictures are drawn as SVG: give a name that ends in " + svg);
  const std::vector<miniapp::NamedFile> written{{"--graph", s.graph, true},
                                                {"--task-order", s.task_order, true},
                                                {"--picture", s.picture, true},
                                                {"--json", s.common.json}};
  for (const miniapp::NamedFile& file : written) miniapp::require_writable(file.option, file.path);
  const bool is_file = request.input != "spd" && request.input != "random" && request.input != "thermal";
  miniapp::require_different_files(written, {{"--input", is_file ? request.input : ""}}, devices);
}

int run(int argc, char** argv) {
  FactorizeSettings settings;
  miniapp::Options options(
      "strata-factorize",
      "Factors, products and triangular systems of dense matrices that are larger than a device.");
  declare(options, settings);
  if (!options.parse(argc, argv)) return 0;
  const FactorizeRequest request = request_of(settings);
  const std::vector<std::string> devices = devices_of(settings.common.device);
  require_files(settings, request, devices);
  // Of all runs, so that the last one does not end in what the first one could have said.
  for (const std::string& device : devices)
    require_no_matrices(request_on(device, request, devices.size() > 1));
  const std::string parameters = options.to_json();
  if (!settings.common.quiet) std::printf("%s\n", options.given().c_str());

  const std::unique_ptr<MatrixInput> input = make_input(request);
  miniapp::Report report(options.program(), parameters);
  const auto run_one = [&](const std::string& name, miniapp::RunReport& one) {
    run_request(name, request, *input, devices.size() > 1, one);
  };
  miniapp::CommonSettings common = settings.common;
  common.mesh = "";  // none is read by all runs
  return miniapp::run_devices(common, devices, run_one, report);
}

}  // namespace

}  // namespace strata::inline STRATA_ABI::factorize

int main(int argc, char** argv) {
  return strata::miniapp::exit_status_of("strata-factorize", argc, argv, strata::factorize::run);
}
