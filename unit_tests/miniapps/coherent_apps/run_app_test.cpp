// Every application on every device, on one instance and on all of them: what Serial computes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include <strata/miniapps/coherent_apps/checks.hpp>
#include <strata/miniapps/coherent_apps/run_app.hpp>

#include "test_devices.hpp"

namespace {

using namespace strata;
using namespace strata::coherent_apps;

template <class D>
class CoherentApps : public ::testing::Test {};
TYPED_TEST_SUITE(CoherentApps, strata_tests::TestDevices, strata_tests::DeviceName);

template <class D>
void expect_as_on_serial(const AppRequest& request) {
  const AppOutcome expected = run_app(std::vector<AnyHost>{Serial{}}, request);
  for (int count = 1; count <= std::min(D::count(), 4); ++count) {
    std::vector<D> devices;
    for (int k = 0; k < count; ++k) devices.push_back(D(k));

    const AppOutcome found = run_app(devices, request);

    miniapp::RunReport report;
    add_comparison(request, found, expected, strata_tests::runs_on_host_threads<D>, report);
    add_checks(
        request, found, [&](const AppRequest& other) { return run_app(devices, other); }, report);
    for (const auto& check : report.checks)
      EXPECT_TRUE(check.passed) << request.app << " on " << count << ": " << check.name << " " << check.value
                                << ", expected " << check.expected << " within " << check.tolerance;
  }
}

TYPED_TEST(CoherentApps, ComputeWhatSerialDoes) {
  expect_as_on_serial<TypeParam>({"nbody", 501, 5});
  expect_as_on_serial<TypeParam>({"lu", 33, 33});
  expect_as_on_serial<TypeParam>({"sph", 301, 40});
  expect_as_on_serial<TypeParam>({"mandelbrot", 75, 3});
  expect_as_on_serial<TypeParam>({"ppmcc", 30001, 2});
  expect_as_on_serial<TypeParam>({"mse", 30001, 1});
}
TYPED_TEST(CoherentApps, ComputeWhatSerialDoesWithFewItems) {
  expect_as_on_serial<TypeParam>({"lu", 1, 1});
  expect_as_on_serial<TypeParam>({"mandelbrot", 1, 1});
  expect_as_on_serial<TypeParam>({"mse", 1, 1});
}
TYPED_TEST(CoherentApps, ComputeTheSameInEveryMemoryMode) {
  for (const MemoryMode mode :
       {MemoryMode::Pinned, MemoryMode::Managed, MemoryMode::Mapped, MemoryMode::Implicit}) {
    SCOPED_TRACE(to_string(mode));
    expect_as_on_serial<TypeParam>({"nbody", 64, 3, 0, mode});
    expect_as_on_serial<TypeParam>({"lu", 9, 9, 0, mode});
    expect_as_on_serial<TypeParam>({"sph", 200, 20, 0, mode});
    expect_as_on_serial<TypeParam>({"mandelbrot", 20, 2, 0, mode});
    expect_as_on_serial<TypeParam>({"ppmcc", 300, 2, 0, mode});
    expect_as_on_serial<TypeParam>({"mse", 300, 2, 0, mode});
  }
}

}  // namespace
