// Heat problems in float; on one device, as nothing but the type differs.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include <strata/devices/threads/device.hpp>
#include <strata/miniapps/thermal/error_norms.hpp>
#include <strata/miniapps/thermal/make_heat.hpp>

namespace {

using namespace strata;
using namespace strata::thermal;

struct LinearField : Solution {
  double value(double x, double y, double z) const override { return 1 + x + 2 * y + 3 * z; }
};
struct Mode : Solution {
  double amplitude = 1;
  double value(double, double, double z) const override { return amplitude * std::sin(std::numbers::pi * z); }
};

HeatRequest float_request(const std::string& box, const ProblemOfBlocks& problem) {
  HeatRequest request;
  request.mesh = box;
  request.type = "float";
  request.problem = problem;
  request.solve.tolerance = 1e-6;
  return request;
}

TEST(ThermalFloat, FindsALinearFieldToItsPrecision) {
  const auto heat =
      make_heat(AnyHost(Threads{}), float_request("box:7x6x5:1,1,1:random=0.15", uniform({2, 1, 0})));
  const LinearField linear;
  const auto values = nodal_values(heat->mesh(), linear);
  for (const char* side : {"x_min", "x_max", "y_min", "y_max", "z_min", "z_max"}) heat->give(side, values);

  heat->solve_steady();

  EXPECT_LT(nodal_error(heat->mesh(), heat->temperatures(), linear), 2e-5);
  EXPECT_LT(heat->residual().relative(), 2e-6);
}

TEST(ThermalFloat, DecaysAsInDouble) {
  const auto heat = make_heat(AnyHost(Threads{}), float_request("box:2x2x12:1,1,1", uniform({1, 1, 0})));
  heat->give("z_min", 0);
  heat->give("z_max", 0);
  Mode mode;
  heat->set_temperatures(nodal_values(heat->mesh(), mode));

  for (int s = 0; s < 5; ++s) heat->step(0.02);

  mode.amplitude = std::pow(1 + 9.926 * 0.02, -5);
  EXPECT_LT(nodal_error(heat->mesh(), heat->temperatures(), mode), 1e-3);
}

TEST(ThermalFloat, NumbersBeyondTheTypeAreErrorsThatNameThem) {
  const auto error_of = [](const Material& material, double given) {
    try {
      make_heat(AnyHost(Threads{}), float_request("box:2x2x2", uniform(material)))->give("z_min", given);
    } catch (const SolverError& error) {
      return std::string(error.what());
    }
    return std::string();
  };

  EXPECT_NE(error_of({1e-60, 1, 0}, 1).find("--conductivity"), std::string::npos);
  EXPECT_NE(error_of({1, 1e60, 0}, 1).find("--capacity"), std::string::npos);
  EXPECT_NE(error_of({1, 1, 1e60}, 1).find("--source"), std::string::npos);
  EXPECT_NE(error_of({1, 1, 1}, 1e60).find("z_min"), std::string::npos);
  EXPECT_EQ(error_of({1, 1, 1}, 1), "");
}

}  // namespace
