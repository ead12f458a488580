// SPDX-License-Identifier: Apache-2.0
#include <strata/miniapps/coherent_apps/checks.hpp>
#include <strata/miniapps/coherent_apps/run.hpp>

namespace strata::inline STRATA_ABI::coherent_apps {

using miniapp::RunReport;

namespace {

void add_traffic(const TransferCounters& traffic, RunReport& report) {
  const auto add_one = [&](const std::string& name, const TransferCount& moved, const char* of) {
    report.add_result(name, static_cast<double>(moved.bytes), "B");
    report.add_result(name + ", " + of, static_cast<double>(moved.count));
  };
  add_one("host to devices", traffic.host_to_device, "copies");
  add_one("devices to host", traffic.device_to_host, "copies");
  add_one("device to device", traffic.peer, "copies");
  add_one("within a device", traffic.same_device, "copies");
  add_one("device memory", traffic.allocated, "allocations");
}

void add_figures(const AppRequest& request, double seconds, RunReport& report) {
  const auto n = static_cast<double>(request.n), steps = static_cast<double>(request.steps);
  const auto add = [&](double work, const char* unit) {
    report.add_figure(request.app, work / seconds, unit);
  };
  if (request.app == "nbody") add(2 * steps * n * n, "interactions/s");
  if (request.app == "lu") add(2 * steps * (n * n - n * steps + steps * steps / 3), "flop/s");
  if (request.app == "sph") add(2 * steps * n * n, "pairs/s");
  if (request.app == "mandelbrot") add(steps * n * n, "points/s");
  // The arrays that the reductions read: x, y, x and y, x, y; x and y.
  if (request.app == "ppmcc") add(6 * steps * n * sizeof(double), "B/s");
  if (request.app == "mse") add(2 * steps * n * sizeof(double), "B/s");
}

}  // namespace

void run_program(const RunApp& run, const AppRequest& request, index_t trials, const RunApp& serial,
                 bool same_bits, RunReport& report) {
  report.type = app_kind(request.app).type;
  AppOutcome outcome = run(request);
  for (index_t trial = 1; trial < trials; ++trial)
    if (AppOutcome again = run(request); again.run_seconds < outcome.run_seconds) outcome = std::move(again);
  report.add_phase("set-up", outcome.setup_seconds);
  report.add_phase("run", outcome.run_seconds);
  report.add_result("launches", static_cast<double>(outcome.launches));
  add_traffic(outcome.traffic, report);
  add_figures(request, outcome.run_seconds, report);
  report.timed("checks", [&] {
    add_checks(request, outcome, run, report);
    if (serial) add_comparison(request, outcome, serial(request), same_bits, report);
  });
}

}  // namespace strata::inline STRATA_ABI::coherent_apps
