// HeatEquation beyond the tests of the method: errors, settings, and what stays the same.
#include <strata/miniapps/thermal/verify.hpp>

#include "test_devices.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using namespace strata::thermal;

template <class D>
class ThermalHeatEquation : public ::testing::Test {
 protected:
  // A distorted box, hot below, cold at a corner, with a source.
  static BoxHeat<D> problem(const Problem& p, const SolveSettings& settings) {
    BoxHeat<D> heat(test_box("box:7x6x5:1,2,1:random=0.15", D{}), p, settings);
    heat.give(fem::select_nodes(heat.mesh(), "z_min"), 3);
    heat.give(fem::select_nodes(heat.mesh(), "x>=max & y<=min+0.5"), -1);
    return heat;
  }
  template <class Heat>
  static std::vector<double> temperatures(const Heat& heat) {
    const auto host = on_host(heat.fields().temperature);
    std::vector<double> list;
    for (index_t n = 0; n < host.extent(0); ++n) list.push_back(host(n));
    return list;
  }
  static double difference(const std::vector<double>& a, const std::vector<double>& b) {
    EXPECT_EQ(a.size(), b.size());
    double most = 0;
    for (std::size_t k = 0; k < a.size(); ++k) most = std::max(most, std::abs(a[k] - b[k]));
    return most;
  }

 public:
  static std::vector<double> steady(const Problem& p, const SolveSettings& settings) {
    auto heat = problem(p, settings);
    heat.solve_steady();
    return temperatures(heat);
  }
};
TYPED_TEST_SUITE(ThermalHeatEquation, TestDevices, DeviceName);

TYPED_TEST(ThermalHeatEquation, EveryDeviceFindsTheTemperaturesOfSerial) {
  const Problem p{{{2, 1, 5}}};

  const auto here = this->steady(p, exact_settings());
  const auto serial = ThermalHeatEquation<Serial>::steady(p, exact_settings());

  EXPECT_LT(this->difference(here, serial), 3e-10);
}

TYPED_TEST(ThermalHeatEquation, PreconditionersAndWaysToAssembleAgree) {
  const Problem p{{{2, 1, 5}}};
  const auto expected = this->steady(p, exact_settings());
  SolveSettings none = exact_settings(), chebyshev = exact_settings();
  none.preconditioner = linear::Preconditioner::None;
  none.assembly = Assembly::Atomic;
  chebyshev.preconditioner = linear::Preconditioner::Chebyshev;
  chebyshev.assembly = Assembly::Fused;

  EXPECT_LT(this->difference(this->steady(p, none), expected), 1e-10);
  EXPECT_LT(this->difference(this->steady(p, chebyshev), expected), 1e-10);
}

TYPED_TEST(ThermalHeatEquation, InTimeTheTemperaturesBecomeTheSteadyOnes) {
  Problem p{{{2, 1, 5}}};
  p.beta = 0.1;
  const auto steady = this->steady(p, SolveSettings{});
  auto heat = this->problem(p, SolveSettings{});

  for (int s = 0; s < 12; ++s) heat.step(10.0);

  EXPECT_LT(this->difference(this->temperatures(heat), steady), 1e-8);
}

TYPED_TEST(ThermalHeatEquation, HeatThatFlowsInIsWhatSourcesTakeUp) {
  auto heat = this->problem({{{2, 1, 5}}}, exact_settings());

  heat.solve_steady();
  heat.compute_balance(0);

  EXPECT_NEAR(heat.heat_flow(0) + heat.heat_flow(1), -5 * 2.0, 1e-9);  // the volume is 2
}

TYPED_TEST(ThermalHeatEquation, WithoutAGivenTemperatureTheSteadyStateIsRefused) {
  BoxHeat<TypeParam> heat(test_box("box:2x2x2", TypeParam{}), {{{1, 1, 1}}}, SolveSettings{});

  EXPECT_THROW(heat.solve_steady(), SolverError);
}

TYPED_TEST(ThermalHeatEquation, TooFewIterationsAreAnErrorThatSaysSo) {
  SolveSettings settings = exact_settings();
  settings.max_iterations = 3;

  try {
    this->steady({{{2, 1, 5}}}, settings);
    FAIL() << "it converged in three iterations";
  } catch (const SolverError& error) {
    EXPECT_NE(std::string(error.what()).find("--max-iterations"), std::string::npos) << error.what();
  }
}

TYPED_TEST(ThermalHeatEquation, AConductivityThatFallsBelowZeroIsAnError) {
  Problem where_given{{{2, 1, 0}}}, on_the_way{{{2, 1, 1000}}};
  where_given.beta = 1;  // and -1 is given somewhere
  on_the_way.beta = -0.25;

  EXPECT_THROW(this->steady(where_given, SolveSettings{}), SolverError);
  EXPECT_THROW(this->steady(on_the_way, SolveSettings{}), SolverError);
}

TYPED_TEST(ThermalHeatEquation, EverythingGivenIsTheSolution) {
  BoxHeat<TypeParam> heat(test_box("box:3x3x3:1,1,1", TypeParam{}), {{{1, 1, 1}}}, SolveSettings{});
  heat.give_values(fem::select_nodes(heat.mesh(), "all"), LinearSolution{});

  heat.solve_steady();

  EXPECT_EQ(nodal_error(heat, LinearSolution{}), 0);
}

}  // namespace
