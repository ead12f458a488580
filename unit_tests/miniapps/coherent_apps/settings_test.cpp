// The options of strata-coherent.
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>

#include <strata/miniapps/coherent_apps/settings.hpp>

namespace {

using namespace strata;
using namespace strata::coherent_apps;
using miniapp::UsageError;

CoherentSettings parsed(const std::vector<const char*>& given) {
  CoherentSettings settings;
  miniapp::Options options("strata-coherent", "");
  declare(options, settings);
  std::vector<const char*> line{"strata-coherent"};
  line.insert(line.end(), given.begin(), given.end());
  EXPECT_TRUE(options.parse(static_cast<int>(line.size()), line.data()));
  return settings;
}
std::string error_of(const std::vector<const char*>& given) {
  try {
    request_of(parsed(given));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

TEST(CoherentSettings, TheApplicationStandsFirstOrIsAnOption) {
  EXPECT_EQ(request_of(parsed({"sph", "--steps", "7"})).app, "sph");
  EXPECT_EQ(request_of(parsed({"--steps", "7", "--app", "sph"})).app, "sph");
  EXPECT_NE(error_of({}).find("nbody, lu, sph, mandelbrot, ppmcc, mse"), std::string::npos);
  EXPECT_THROW(parsed({"fluid"}), UsageError);
}
TEST(CoherentSettings, WhatIsNotGivenIsTheApplications) {
  for (const AppKind& kind : app_kinds()) {
    const AppRequest request = request_of(parsed({kind.name}));
    EXPECT_EQ(request.n, kind.n);
    EXPECT_EQ(request.steps, std::string(kind.name) == "lu" ? kind.n : kind.steps);
    EXPECT_FALSE(request.memory.has_value());
  }
  EXPECT_EQ(request_of(parsed({"lu", "-n", "30"})).steps, 30);
  EXPECT_EQ(request_of(parsed({"lu", "-n", "30", "-s", "3"})).steps, 3);
  EXPECT_EQ(time_step_of(request_of(parsed({"nbody", "--dt", "0.5"}))), 0.5);
  EXPECT_GT(time_step_of(request_of(parsed({"sph"}))), 0);
}
TEST(CoherentSettings, MemoryModesGoByName) {
  EXPECT_EQ(request_of(parsed({"mse", "--memory", "smart"})).memory, MemoryMode::Smart);
  EXPECT_EQ(request_of(parsed({"mse", "--memory", "implicit"})).memory, MemoryMode::Implicit);
  EXPECT_NE(error_of({"mse", "--memory", "exact"}).find("managed"), std::string::npos);
  EXPECT_NE(error_of({"mse", "--memory", "explicit"}).find("copies only where the program asks"),
            std::string::npos);
}
TEST(CoherentSettings, WhatNoApplicationCanDoIsRefused) {
  EXPECT_NE(error_of({"nbody", "-n", "2"}).find("64"), std::string::npos);
  EXPECT_NE(error_of({"lu", "-n", "5000"}).find("4095"), std::string::npos);
  EXPECT_NE(error_of({"lu", "-n", "4", "-s", "5"}).find("no more steps"), std::string::npos);
  EXPECT_NE(error_of({"sph", "-n", "-1"}).find("--n -1"), std::string::npos);
  EXPECT_NE(error_of({"mse", "-s", "-1"}).find("--steps -1"), std::string::npos);
  EXPECT_NE(error_of({"mse", "--dt", "1"}).find("--dt"), std::string::npos);
  EXPECT_NE(error_of({"sph", "--dt", "-1"}).find("--dt"), std::string::npos);
  EXPECT_NE(error_of({"sph", "--gpus", "0"}).find("--gpus 0"), std::string::npos);
  EXPECT_NE(error_of({"sph", "--trials", "0"}).find("--trials 0"), std::string::npos);
}

}  // namespace
