// The checks of the applications hold of what they compute, and of nothing else.
// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <strata/devices/serial/device.hpp>
#include <strata/miniapps/coherent_apps/checks.hpp>
#include <strata/miniapps/coherent_apps/run.hpp>
#include <strata/miniapps/coherent_apps/run_app.hpp>
#include <strata/miniapps/common/options.hpp>

namespace {

using namespace strata;
using namespace strata::coherent_apps;
using Values = std::vector<double>;

AppOutcome on_serial(const AppRequest& request) { return run_app(std::vector<AnyHost>{Serial{}}, request); }

bool passes(const AppRequest& request, const AppOutcome& outcome) {
  miniapp::RunReport report;
  add_checks(request, outcome, on_serial, report);
  EXPECT_FALSE(report.checks.empty());
  return report.passed();
}
// The right values pass, and those that `change` makes of them fail.
void expect_found(const AppRequest& request, const std::function<void(Values&)>& change) {
  AppOutcome outcome = on_serial(request);
  EXPECT_TRUE(passes(request, outcome));
  change(outcome.values);
  EXPECT_FALSE(passes(request, outcome)) << request.app;
}

TEST(CoherentAppsChecks, FindWrongBodies) {
  const AppRequest request{"nbody", 200, 6};
  // A body that missed the last step: the velocity of before.
  expect_found(request, [](Values& values) { values[11 * 7 + 3] += 1e-6; });
  // All of them pulled half as much.
  expect_found(request, [](Values& values) {
    for (std::size_t at = 0; at < values.size(); at += 11) values[at + 10] *= 0.5;
  });
  expect_found(request, [](Values& values) { values[0] += 1e-6; });
}
TEST(CoherentAppsChecks, FindWrongFactors) {
  const AppRequest request{"lu", 20, 20};
  expect_found(request, [](Values& values) { values[20 * 3 + 5] *= 1.001; });
  expect_found(request, [](Values& values) { values[20 * 5 + 3] *= 1.01; });
  expect_found(request, [](Values& values) { values.back() = 19; });
}
TEST(CoherentAppsChecks, FindWrongParticles) {
  const AppRequest request{"sph", 300, 150};
  expect_found(request, [](Values& values) {
    for (std::size_t at = 0; at < values.size(); at += 5) values[at + 1] *= 1.1;
  });
  expect_found(request, [](Values& values) {
    for (std::size_t at = 0; at < values.size(); at += 5) values[at + 4] *= 0.99;
  });
  // Where they began.
  const AppOutcome begin = on_serial({"sph", 300, 1});
  expect_found(request, [&](Values& values) {
    for (std::size_t at = 0; at < values.size(); at += 5) {
      values[at] = begin.values[at];
      values[at + 2] = begin.values[at + 2];
    }
  });
}
TEST(CoherentAppsChecks, FindWrongNumbersOfImages) {
  expect_found({"mandelbrot", 128, 1}, [](Values& values) {
    for (std::size_t k = 0; k < values.size(); k += 16) values[k] += 1;
  });
  expect_found({"ppmcc", 1000, 1}, [](Values& values) { values[0] += 1e-6; });
  expect_found({"mse", 1000, 1}, [](Values& values) { values[0] *= 1.0001; });
}
TEST(CoherentAppsChecks, FindWhatDiffersFromSerial) {
  const AppRequest request{"lu", 5, 5};
  const AppOutcome expected{{1, 2, 3, 4}, 0, 0, 0, {}};
  const auto passes_with = [&](const Values& values, bool same_bits) {
    miniapp::RunReport report;
    add_comparison(request, {values, 0, 0, 0, {}}, expected, same_bits, report);
    return report.passed();
  };

  EXPECT_TRUE(passes_with({1, 2, 3, 4}, true));
  EXPECT_FALSE(passes_with({1, 2, 3, 4 + 1e-15}, true));
  EXPECT_TRUE(passes_with({1, 2, 3, 4 + 1e-9}, false));
  EXPECT_FALSE(passes_with({1, 2, 3, 4.001}, false));
  for (const bool same_bits : {true, false}) {
    EXPECT_FALSE(passes_with({1, 2, std::numeric_limits<double>::quiet_NaN(), 4}, same_bits));
    EXPECT_FALSE(passes_with({1, 2, 3}, same_bits));
    EXPECT_FALSE(passes_with({1, 2, 3, 4, 5}, same_bits));
  }
}

TEST(CoherentAppsRun, ReportsTimesTrafficAndChecks) {
  const AppRequest request{"lu", 8, 8};
  miniapp::RunReport report;
  int runs = 0;
  const RunApp counted = [&](const AppRequest& asked) {
    AppOutcome outcome = on_serial(asked);
    outcome.run_seconds = ++runs == 2 ? 1 : 5;  // the second is the fastest
    outcome.traffic.peer = {4711, 12};
    return outcome;
  };

  run_program(counted, request, 3, on_serial, true, report);

  EXPECT_EQ(runs, 3);
  EXPECT_TRUE(report.passed());
  EXPECT_EQ(report.type, "float");
  EXPECT_EQ(report.seconds_of("run"), 1);
  ASSERT_EQ(report.figures.size(), 1u);
  EXPECT_NEAR(report.figures[0].value, 2.0 / 3 * 8 * 8 * 8, 1e-9);  // flop in a second
  const auto result = [&](const std::string& name) {
    for (const auto& figure : report.results)
      if (figure.name == name) return figure.value;
    ADD_FAILURE() << "no result " << name;
    return 0.0;
  };
  EXPECT_EQ(result("launches"), 16);
  EXPECT_EQ(result("device to device"), 4711);
  EXPECT_EQ(result("device to device, copies"), 12);
}
TEST(CoherentAppsRun, UnknownApplicationsAreRefused) {
  EXPECT_THROW(on_serial({"nothing", 8, 8}), miniapp::UsageError);
}

}  // namespace
