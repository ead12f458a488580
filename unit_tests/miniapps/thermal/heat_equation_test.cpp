// Heat problems beyond the tests of the method: errors, settings, what stays the same, and what steps start
// from.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <strata/miniapps/thermal/error_norms.hpp>
#include <strata/miniapps/thermal/make_heat.hpp>

#include "test_devices.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using namespace strata::thermal;

struct LinearField : Solution {
  double value(double x, double y, double z) const override { return 1 + x + 2 * y + 3 * z; }
};

HeatRequest request_of(const std::string& box, const ProblemOfBlocks& problem, double tolerance = 1e-14) {
  HeatRequest request;
  request.mesh = box;
  request.problem = problem;
  request.solve.tolerance = tolerance;
  return request;
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (std::size_t k = 0; k < a.size(); ++k) most = std::max(most, std::abs(a[k] - b[k]));
  return most;
}

template <class Work>
std::string error_of(const Work& work) {
  try {
    work();
  } catch (const SolverError& error) {
    return error.what();
  }
  return "";
}

template <class D>
class ThermalHeatEquation : public ::testing::Test {
 public:
  static std::unique_ptr<Heat> make(const HeatRequest& request, const D& device = D{}) {
    return make_heat(device, request);
  }
  // A distorted box, hot below, cold at a corner.
  static std::unique_ptr<Heat> problem(const ProblemOfBlocks& p, const SolveSettings& settings,
                                       const D& device = D{}) {
    HeatRequest request = request_of("box:7x6x5:1,2,1:random=0.15", p);
    request.solve = settings;
    auto heat = make(request, device);
    heat->give("z_min", 3);
    heat->give("x>=max & y<=min+0.5", -1);
    return heat;
  }
  static std::vector<double> steady(const ProblemOfBlocks& p, const SolveSettings& settings,
                                    const D& device = D{}) {
    const auto heat = problem(p, settings, device);
    heat->solve_steady();
    return heat->temperatures();
  }
  static SolveSettings exact() {
    SolveSettings settings;
    settings.tolerance = 1e-14;
    return settings;
  }
};
TYPED_TEST_SUITE(ThermalHeatEquation, TestDevices, DeviceName);

TYPED_TEST(ThermalHeatEquation, EveryDeviceFindsTheTemperaturesOfSerial) {
  const auto p = uniform({2, 1, 5});

  const auto here = this->steady(p, this->exact());
  const auto serial = ThermalHeatEquation<AnyHost>::steady(p, this->exact(), Serial{});

  EXPECT_LT(difference(here, serial), 3e-10);
}

TYPED_TEST(ThermalHeatEquation, PreconditionersAndWaysToAssembleAgree) {
  const auto p = uniform({2, 1, 5});
  const auto expected = this->steady(p, this->exact());
  SolveSettings none = this->exact(), chebyshev = this->exact();
  none.preconditioner = linear::Preconditioner::None;
  none.assembly = Assembly::Atomic;
  chebyshev.preconditioner = linear::Preconditioner::Chebyshev;
  chebyshev.assembly = Assembly::Fused;

  EXPECT_LT(difference(this->steady(p, none), expected), 1e-10);
  EXPECT_LT(difference(this->steady(p, chebyshev), expected), 1e-10);
}

TYPED_TEST(ThermalHeatEquation, InTimeTheTemperaturesBecomeTheSteadyOnes) {
  for (const double beta : {0.0, 0.1}) {
    const auto p = uniform({2, 1, 5}, beta);
    const auto steady = this->steady(p, SolveSettings{});
    const auto heat = this->problem(p, SolveSettings{});

    for (int s = 0; s < 12; ++s) heat->step(10.0);

    EXPECT_LT(difference(heat->temperatures(), steady), 1e-8) << beta;
  }
}

TYPED_TEST(ThermalHeatEquation, HeatThatFlowsInIsWhatSourcesTakeUp) {
  const auto heat = this->problem(uniform({2, 1, 5}), this->exact());

  heat->solve_steady();
  const HeatState state = heat->state(0);

  EXPECT_NEAR(state.flows.at(0) + state.flows.at(1), -5 * 2.0, 1e-9);  // the volume is 2
  EXPECT_NEAR(state.imbalance(), 0, 1e-9);
}

TYPED_TEST(ThermalHeatEquation, InAStepHeatThatFlowsInIsStored) {
  for (const double beta : {0.0, 0.2}) {
    const auto heat = this->problem(uniform({2, 3, 5}, beta), this->exact());

    for (int s = 0; s < 3; ++s) heat->step(0.01);
    const HeatState state = heat->state(0.01);

    EXPECT_GT(std::abs(state.stored), 1);
    EXPECT_NEAR(state.imbalance(), 0, 1e-8) << beta;
  }
}

TYPED_TEST(ThermalHeatEquation, GivenTemperaturesHoldAtTheBeginOfAStep) {
  const auto heat = this->make(request_of("box:1x1x8", uniform({1, 1, 0})));
  heat->give("z_min", 100);

  heat->step(1e-9);

  // Nothing but what a billionth of the time has let in: no mass that jumps pulls its neighbours.
  const HeatState state = heat->state(1e-9);
  EXPECT_EQ(state.greatest, 100);
  EXPECT_GT(state.least, -1e-6);
}

TYPED_TEST(ThermalHeatEquation, ShortStepsAreAsExactAsLongOnes) {
  const auto heat = this->make(request_of("box:1x1x16:1,1,1", uniform({1, 2, 3}), 1e-12));
  heat->give("z_min", 5);
  const double dt = 1e-9;

  for (int s = 0; s < 5; ++s) heat->step(dt);

  const auto t = heat->temperatures();
  const auto mesh = heat->mesh();
  for (std::size_t n = 0; n < t.size(); ++n) {
    if (mesh.coordinates[n][2] == 1) {
      EXPECT_NEAR(t[n] / (5 * dt * 1.5), 1, 1e-5);
    }
  }
}

// As the step becomes shorter, flows tend to those of the rates at its begin; the difference of two
// temperatures that differ in their last digits only would say anything.
TYPED_TEST(ThermalHeatEquation, FlowsOfShortStepsAreAsExactAsThoseOfLongOnes) {
  for (const double beta : {0.0, 0.2}) {
    const auto state_after = [&](double dt) {
      const auto heat = this->problem(uniform({2, 3, 5}, beta), this->exact());
      heat->set_temperature(1);
      for (int s = 0; s < 2; ++s) heat->step(dt);
      return heat->state(dt);
    };

    const HeatState longer = state_after(1e-11), shorter = state_after(1e-13);

    const double flow = longer.flows.at(0);
    EXPECT_GT(flow, 1) << beta;
    for (std::size_t k = 0; k < 2; ++k)
      EXPECT_NEAR(longer.flows.at(k), shorter.flows.at(k), 1e-8 * flow) << beta;
    EXPECT_NEAR(longer.stored, shorter.stored, 1e-8 * flow) << beta;
    EXPECT_NEAR(shorter.imbalance(), 0, 1e-9 * flow) << beta;
  }
}

TYPED_TEST(ThermalHeatEquation, AConductivityThatGrowsTenfoldTakesFewSteps) {
  const auto heat = this->make(request_of("box:4x4x16:1,1,1:random=0.15", uniform({1, 1, 0}, 0.09)));
  heat->give("z_min", 0);
  heat->give("z_max", 100);

  heat->solve_steady();

  EXPECT_LE(heat->statistics().newton_steps, 12);
  EXPECT_LE(heat->statistics().newton_residual, 1e-10 * heat->statistics().newton_begin);
}

// A hot end whose front is steeper than an element, in steps that are short for it: the matrix of the
// equation and that of its discretisation differ by more than Newton's method bears. Temperatures of an
// independent program.
TYPED_TEST(ThermalHeatEquation, SteepFrontsOfAGrowingConductivityAreSolvedInShortSteps) {
  struct Case {
    double initial, beta;
    std::vector<double> expected;  // at 1/20, 2/20 ...
  };
  const Case cases[] = {
      {50, 0.05, {792.445338, 562.983118, 336.686403, 153.584062, 62.9464618, 49.8215364, 50.0046166}},
      {0, 1, {952.854167, 903.703528, 852.69862, 800.023955, 745.894043, 690.551, 634.263659}}};
  for (const auto& [initial, beta, expected] : cases) {
    const auto heat = this->make(request_of("box:1x1x20:1,1,1", uniform({1, 1, 0}, beta)));
    heat->set_temperature(initial);
    heat->give("z_min", 1000);

    for (int s = 0; s < 3; ++s) heat->step(1e-4);

    EXPECT_GT(heat->statistics().frozen_steps, 0) << beta;
    const auto t = heat->temperatures();
    const auto mesh = heat->mesh();
    for (std::size_t n = 0; n < t.size(); ++n) {
      const auto layer = static_cast<std::size_t>(std::lround(20 * mesh.coordinates[n][2]));
      if (layer > 0 && layer <= expected.size()) {
        EXPECT_NEAR(t[n], expected[layer - 1], 1e-5) << beta << " at " << layer;
      }
    }
    const HeatState state = heat->state(1e-4);
    EXPECT_NEAR(state.imbalance() / state.stored, 0, 1e-9) << beta;
  }
}

// Steps so short that temperatures undershoot to where nothing conducts: there is no solution.
TYPED_TEST(ThermalHeatEquation, AFrontWithoutASolutionIsAnErrorThatNamesTimeStepsAndElements) {
  const auto heat = this->make(request_of("box:1x1x20:1,1,1", uniform({1, 1, 0}, 0.2)));
  heat->give("z_min", 1000);

  const std::string error = error_of([&] { heat->step(1e-6); });

  EXPECT_NE(error.find("conductivity"), std::string::npos) << error;
  EXPECT_NE(error.find("longer steps (--transient)"), std::string::npos) << error;
  EXPECT_NE(error.find("--refine"), std::string::npos) << error;
}

TYPED_TEST(ThermalHeatEquation, TheTrueResidualIsThatOfTheTolerance) {
  const auto heat = this->problem(uniform({2, 1, 5}), SolveSettings{});

  heat->solve_steady();
  const LinearResidual residual = heat->residual();

  EXPECT_LT(residual.relative(), 2e-12);
  EXPECT_GT(residual.magnitude, residual.right_hand_side);
  EXPECT_GT(heat->statistics().residual, 0);
  EXPECT_LE(heat->statistics().residual, 1e-12);
}

TYPED_TEST(ThermalHeatEquation, CubesAdmitNoTemperaturesBeyondTheGivenOnes) {
  const auto cubes = this->make(request_of("box:4x4x4", uniform({1, 1, 0}))),
             plates = this->make(request_of("box:4x4x4:8,8,1", uniform({1, 1, 0})));
  for (const auto* heat : {&cubes, &plates}) {
    (*heat)->give("z_min", 1);
    (*heat)->assemble();
  }

  EXPECT_LE(cubes->greatest_coupling(), 1e-14);
  EXPECT_GT(plates->greatest_coupling(), 1e-2);
}

TYPED_TEST(ThermalHeatEquation, WithoutAGivenTemperatureTheSteadyStateIsRefused) {
  const auto heat = this->make(request_of("box:2x2x2", uniform({1, 1, 1})));

  EXPECT_NE(error_of([&] { heat->solve_steady(); }).find("--dirichlet"), std::string::npos);
}

TYPED_TEST(ThermalHeatEquation, TooFewIterationsAreAnErrorThatSaysSo) {
  SolveSettings settings = this->exact();
  settings.max_iterations = 3;

  const std::string error = error_of([&] { this->steady(uniform({2, 1, 5}), settings); });

  EXPECT_NE(error.find("--max-iterations"), std::string::npos) << error;
}

TYPED_TEST(ThermalHeatEquation, TooFewNewtonStepsAreAnErrorThatSaysSo) {
  SolveSettings settings = this->exact();
  settings.max_newton_steps = 1;

  const std::string error = error_of([&] { this->steady(uniform({2, 1, 5}, 0.1), settings); });

  EXPECT_NE(error.find("Newton's method does not converge"), std::string::npos) << error;
  EXPECT_NE(error.find("--initial"), std::string::npos) << error;
}

TYPED_TEST(ThermalHeatEquation, AConductivityThatFallsBelowZeroIsAnError) {
  const auto where_given = uniform({2, 1, 0}, 1),  // and -1 is given somewhere
      on_the_way = uniform({2, 1, 1000}, -0.25);

  EXPECT_NE(error_of([&] { this->steady(where_given, SolveSettings{}); }).find("--beta"), std::string::npos);
  EXPECT_NE(error_of([&] { this->steady(on_the_way, SolveSettings{}); }).find("--beta"), std::string::npos);
}

TYPED_TEST(ThermalHeatEquation, EverythingGivenIsTheSolution) {
  const auto heat = this->make(request_of("box:3x3x3:1,1,1", uniform({1, 1, 1})));
  const LinearField linear;
  heat->give("all", nodal_values(heat->mesh(), linear));

  heat->solve_steady();

  EXPECT_EQ(nodal_error(heat->mesh(), heat->temperatures(), linear), 0);
}

// Inflows that cannot be, and one that stays what it is where a temperature is given.
TYPED_TEST(ThermalHeatEquation, InflowsThatCannotBeAreErrorsThatSaySo) {
  const auto closed = this->make(request_of("box:2x2x2", uniform({})));
  const auto open = this->make(request_of("box:2x2x2", [](const auto& names, const auto& ids) {
    Problem problem = uniform({})(names, ids);
    problem.has_inflows = true;
    return problem;
  }));

  EXPECT_NE(error_of([&] { closed->add_inflow("z_max", {1, 0, 0}); }).find("has_inflows"), std::string::npos);
  EXPECT_NE(error_of([&] {
              open->add_inflow("z_max", {0, -1, 0});
            }).find("0 or positive"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              open->add_inflow("z_max", {0, 1, INFINITY});
            }).find("no number"),
            std::string::npos);
  EXPECT_THROW(open->add_inflow("top", {1, 0, 0}), Error);
  EXPECT_NE(error_of([&] { open->solve_steady(); }).find("--convection"), std::string::npos);
}

TYPED_TEST(ThermalHeatEquation, InflowsAddUpAndGivenTemperaturesStay) {
  const auto p = [](const auto& names, const auto& ids) {
    Problem problem = uniform({2, 1, 0})(names, ids);
    problem.has_inflows = true;
    return problem;
  };
  const auto once = this->make(request_of("box:3x2x4:1,1,2", p)),
             twice = this->make(request_of("box:3x2x4:1,1,2", p));
  once->give("z_min", 1);
  twice->give("z_min", 1);

  EXPECT_EQ(once->add_inflow("z_max", {6, 0, 0}), 0);
  twice->add_inflow("z_max", {2, 0, 0});
  EXPECT_EQ(twice->add_inflow("z_max", {4, 0, 0}), 1);
  twice->add_inflow("z_min", {0, 3, 5});  // onto nodes that are given
  once->solve_steady();
  twice->solve_steady();

  EXPECT_LT(difference(once->temperatures(), twice->temperatures()), 1e-12);
  const HeatState state = twice->state(0);
  EXPECT_NEAR(state.inflows.at(2), 3 * (5 - 1), 1e-12);
  EXPECT_NEAR(state.flows.at(0), -6 - 12, 1e-10);
  EXPECT_NEAR(state.imbalance(), 0, 1e-10);
}

}  // namespace
