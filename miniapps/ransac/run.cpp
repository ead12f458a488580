// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/devices/serial/device.hpp>
#include <strata/miniapps/ransac/run.hpp>

namespace strata::inline STRATA_ABI::ransac {

namespace {

double as_number(auto count) { return static_cast<double>(count); }

void add_results(const FitRequest& request, const FitOutcome& outcome, miniapp::RunReport& report) {
  const Problem& problem = *request.problem;
  const auto add = [&](const char* name, auto count, const char* unit = "") {
    report.add_result(name, as_number(count), unit);
  };
  add("vectors", problem.vectors.size());
  add("iterations", problem.iterations());
  add("candidates", outcome.candidates.size());
  add("best iteration", outcome.best.iteration);
  add("outliers", outcome.best.outliers);
  if (outcome.best.iteration >= 0) {
    const auto i = static_cast<std::size_t>(2 * outcome.best.iteration);
    const auto vector = [&](std::size_t k) {
      return problem.vectors[static_cast<std::size_t>(problem.samples[k])];
    };
    const FlowModel flow = fit_flow(vector(i), vector(i + 1));
    add("centre x", flow.centre_x);
    add("centre y", flow.centre_y);
    add("dilation", flow.dilation);
    add("rotation", flow.rotation);
  }
  add("iterations of the host", outcome.host.iterations);
  add("iterations of the device", outcome.device.iterations);
  add("claims of the host", outcome.host.claims);
  add("claims of the device", outcome.device.claims);
  add("copied to the device, set-up", outcome.setup_copies.to_device, "B");
  add("copied to the host, set-up", outcome.setup_copies.to_host, "B");
  add("copied to the device, a fit", outcome.copies.to_device, "B");
  add("copied to the host, a fit", outcome.copies.to_host, "B");
  add("page faults, last fit", outcome.faults);
}

}  // namespace

std::vector<Mix> mixes_of(const FitRequest& request, bool is_host, index_t threads) {
  FitRequest one = request;
  one.repetitions = 1;
  one.warm_up = 0;
  std::vector<Mix> mixes;
  const auto add = [&](const char* name, Sharing sharing, double alpha, index_t of_host) {
    one.sharing = sharing;
    one.alpha = alpha;
    one.threads = of_host;
    mixes.push_back({name, one});
  };
  if (is_host) {
    add("static", Sharing::Static, 0, threads);
    add("dynamic", Sharing::Dynamic, 0, threads);
    return mixes;
  }
  add("static, device", Sharing::Static, 0, 0);
  add("static, both", Sharing::Static, 0.5, threads);
  add("static, host", Sharing::Static, 1, threads);
  add("dynamic, device", Sharing::Dynamic, 0, 0);
  add("dynamic, both", Sharing::Dynamic, 0, threads);
  return mixes;
}

void run_fit(const FitOnIt& fit, const FitRequest& request, const FitOnIt& serial,
             const std::vector<Mix>& mixes, miniapp::RunReport& report) {
  report.type = "float";
  const FitOutcome outcome = fit(request);
  std::vector<double> sorted = outcome.seconds;
  std::sort(sorted.begin(), sorted.end());
  report.add_phase("set-up", outcome.setup_seconds);
  report.add_phase("fit", sorted[sorted.size() / 2]);
  report.add_result("fastest fit", sorted.front(), "s");
  add_results(request, outcome, report);
  const double tried = as_number(request.problem->iterations()) * as_number(request.problem->vectors.size());
  report.add_figure("ransac", tried / sorted[sorted.size() / 2], "vectors/s");
  if (!serial) return;
  report.timed("checks", [&] {
    FitRequest plain = request;
    plain.sharing = Sharing::Static;
    plain.host = Serial{};
    plain.threads = 1;
    plain.repetitions = 1;
    plain.warm_up = 0;
    const FitOutcome expected = serial(plain);
    const auto check = [&](const std::string& name, const FitOutcome& found) {
      const std::string where = difference(found, expected);
      report.checks.push_back(miniapp::check_true(name + ": candidates as on Serial", where.empty()));
      if (!where.empty()) report.notes.push_back(name + ": " + where);
    };
    check("this fit", outcome);
    for (const Mix& mix : mixes) check(mix.name, fit(mix.request));
  });
}

}  // namespace strata::inline STRATA_ABI::ransac
