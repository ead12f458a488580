// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <strata/miniapps/thermal/settings.hpp>

namespace {

using namespace strata;
using namespace strata::thermal;
using miniapp::UsageError;

TEST(ThermalSettings, GivenTemperaturesKeepTheirOrder) {
  ThermalSettings s;
  s.dirichlet = {"top=0", "z<=min+2=100", "x==3=-1e-3"};

  const auto given = given_temperatures(s);

  ASSERT_EQ(given.size(), 3u);
  EXPECT_EQ(given[0].selector, "top");
  EXPECT_EQ(given[1].selector, "z<=min+2");
  EXPECT_EQ(given[1].value, 100);
  EXPECT_EQ(given[2].selector, "x==3");
  EXPECT_EQ(given[2].value, -1e-3);
}

TEST(ThermalSettings, WithoutThemASteadyProblemIsThatOfASlab) {
  ThermalSettings s;

  EXPECT_EQ(given_temperatures(s).size(), 2u);
  s.transient = "0.1:3";
  EXPECT_EQ(given_temperatures(s).size(), 0u);
}

TEST(ThermalSettings, InflowsAreReadAndStandInForTheDefaultTemperatures) {
  ThermalSettings s;
  s.flux = {"z>=max=-2.5"};
  s.convection = {"y<=min+1=10,20"};

  const auto inflows = given_inflows(s);

  ASSERT_EQ(inflows.size(), 2u);
  EXPECT_EQ(inflows[0].selector, "z>=max");
  EXPECT_EQ(inflows[0].inflow.flux, -2.5);
  EXPECT_EQ(inflows[1].selector, "y<=min+1");
  EXPECT_EQ(inflows[1].inflow.coefficient, 10);
  EXPECT_EQ(inflows[1].inflow.outside, 20);
  EXPECT_TRUE(given_temperatures(s).empty());
  EXPECT_TRUE(problem_of(s, {"a"}, {1}).has_inflows);
  EXPECT_FALSE(problem_of({}, {"a"}, {1}).has_inflows);
}

TEST(ThermalSettings, BlocksGoByNameOrNumberAndLaterOnesWin) {
  ThermalSettings s;
  s.conductivity = {"2", "steel=45", "7=0.5"};
  s.source = {"steel=3"};

  const Problem p = problem_of(s, {"air", "steel", "wood"}, {1, 2, 7});

  EXPECT_EQ(p.materials[0].conductivity, 2);
  EXPECT_EQ(p.materials[1].conductivity, 45);
  EXPECT_EQ(p.materials[2].conductivity, 0.5);
  EXPECT_EQ(p.materials[0].source, 0);
  EXPECT_EQ(p.materials[1].source, 3);
}

TEST(ThermalSettings, WhatMakesNoSenseIsAnErrorThatNamesIt) {
  const auto refused = [](auto change) {
    ThermalSettings s;
    change(s);
    try {
      check(s);
      check(problem_of(s, {"a"}, {1}), {"a"}, false);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };

  EXPECT_NE(refused([](auto& s) { s.dirichlet = {"top"}; }).find("--dirichlet"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.flux = {"top"}; }).find("--flux needs SELECTOR=FLUX"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.flux = {"top=hot"}; }).find("--flux top=hot"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.convection = {"top=3"}; }).find("SELECTOR=COEFFICIENT,TEMPERATURE"),
            std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.convection = {"top=0,20"}; }).find("has to be positive"),
            std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.convection = {"top=3,warm"}; }).find("--convection top=3,warm"),
            std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.dirichlet = {"top=hot"}; }).find("hot"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.transient = "1"; }).find("--transient"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.transient = "-1:4"; }).find("positive"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.conductivity = {"b=1"}; }).find("no block \"b\""), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.conductivity = {"-1"}; }).find("positive"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.tolerance = 0; }).find("--tolerance"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.trials = 0; }).find("--trials"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.conductivity = {"a=0"}; }).find("block \"a\" is 0"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.capacity = {"0"}; }).find("--capacity"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.transient = "1e-320:4"; }).find("1 / DT"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.common.refine = 99; }).find("--refine"), std::string::npos);
  EXPECT_EQ(refused([](auto&) {}), "");
}

TEST(ThermalSettings, NumbersOfMaterialsAreReadBeforeTheMesh) {
  for (const char* text : {"x", "steel=", "steel=x", "=3", "="}) {
    ThermalSettings s;
    s.source = {"1", text};
    EXPECT_THROW(check(s), UsageError) << text;
  }
}

TEST(ThermalSettings, WaysToAssembleThatAModeDoesNotHaveAreRefused) {
  ThermalSettings s;
  s.assembly = "atomic";
  EXPECT_NO_THROW(check(s));

  s.transient = "0.1:3";
  EXPECT_THROW(check(s), UsageError);
  s.transient = "";
  s.beta = 1;
  EXPECT_THROW(check(s), UsageError);
  s.assembly = "gather";
  EXPECT_NO_THROW(check(s));
}

TEST(ThermalSettings, AMemoryLimitIsForWhatGoesInSlices) {
  const auto error_of = [](const ThermalSettings& settings) {
    try {
      check(settings);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  ThermalSettings s;
  s.common.memory_limit = "2GiB";
  EXPECT_EQ(error_of(s), "");
  s.preconditioner = "chebyshev";
  EXPECT_EQ(error_of(s), "");

  s.assembly = "fused";
  EXPECT_NE(error_of(s).find("--memory-limit: --assembly fused"), std::string::npos) << error_of(s);
  s.assembly = "gather";
  s.spmv = "vendor";
  EXPECT_NE(error_of(s).find("take --spmv strata"), std::string::npos) << error_of(s);
  s.spmv = "strata";
  s.common.memory_limit = "x";
  EXPECT_NE(error_of(s).find("--memory-limit"), std::string::npos) << error_of(s);
}

}  // namespace
