// HeatEquation in float; on one device, as nothing but the type differs.
#include <gtest/gtest.h>

#include <strata/devices/threads/device.hpp>
#include <strata/miniapps/thermal/verify.hpp>

namespace {

using namespace strata;
using namespace strata::thermal;

TEST(ThermalFloat, FindsALinearFieldToItsPrecision) {
  SolveSettings settings;
  settings.tolerance = 1e-6;
  BoxHeat<Threads, float> heat(test_box("box:7x6x5:1,1,1:random=0.15", Threads{}), {{{2, 1, 0}}}, settings);
  give_surface(heat, LinearSolution{});

  heat.solve_steady();

  EXPECT_LT(nodal_error(heat, LinearSolution{}), 2e-5);
  EXPECT_LT(heat.statistics().residual, 2e-6);
}

TEST(ThermalFloat, DecaysAsInDouble) {
  SolveSettings settings;
  settings.tolerance = 1e-6;
  BoxHeat<Threads, float> heat(test_box("box:2x2x12:1,1,1", Threads{}), {{{1, 1, 0}}}, settings);
  heat.give(fem::select_nodes(heat.mesh(), "z_min"), 0);
  heat.give(fem::select_nodes(heat.mesh(), "z_max"), 0);
  heat.set_temperatures(ModeSolution{1});

  for (int s = 0; s < 5; ++s) heat.step(0.02);

  EXPECT_LT(nodal_error(heat, ModeSolution{std::pow(1 + 9.926 * 0.02, -5)}), 1e-3);
}

}  // namespace
