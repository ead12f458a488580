// The preconditioner of hypre: where there is none, and on devices that it does not reach, errors say so.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <filesystem>

#include <strata/miniapps/thermal/boomeramg.hpp>
#include <strata/miniapps/thermal/make_heat.hpp>
#include <strata/miniapps/thermal/settings.hpp>

#include "test_devices.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using namespace strata::thermal;

const char* const no_hypre = "this build has no hypre (libhypre-dev)";

struct Solved {
  std::vector<double> temperatures;
  index_t iterations;
};

template <class D>
class ThermalBoomerAmg : public ::testing::Test {
 public:
  static HeatRequest request(bool use_boomeramg, double beta = 0) {
    const auto here = std::filesystem::path(__FILE__).parent_path();
    HeatRequest request;
    request.mesh = (here / "../../../miniapps/meshes/heat_sink.vtk").string();
    request.problem = uniform({0.2, 1, 0}, beta);
    request.solve.use_boomeramg = use_boomeramg;
    return request;
  }
  static std::unique_ptr<Heat> heat_sink(const HeatRequest& request) {
    auto heat = make_heat(D{}, request);
    heat->set_temperature(20);
    heat->give("base", 80);
    heat->give("z>=max", 20);
    return heat;
  }
  static Solved steady(const HeatRequest& request) {
    const auto heat = heat_sink(request);
    heat->solve_steady();
    return {heat->temperatures(), heat->statistics().cg_iterations};
  }
  static Solved in_time(const HeatRequest& request) {
    const auto heat = heat_sink(request);
    for (const double dt : {1e-3, 1e3, 1e3}) heat->step(dt);
    return {heat->temperatures(), heat->statistics().cg_iterations};
  }
  // The reason to skip a test of solutions, or null.
  static const char* skips() {
    if (!boomeramg_lack().empty()) return no_hypre;
    return D::memory_space::host_accessible ? nullptr : "hypre works in host memory";
  }
};
TYPED_TEST_SUITE(ThermalBoomerAmg, TestDevices, DeviceName);

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (std::size_t k = 0; k < a.size(); ++k) most = std::max(most, std::abs(a[k] - b[k]));
  return most;
}

TYPED_TEST(ThermalBoomerAmg, AHeatSinkTakesFarFewerIterationsToTheSameTemperatures) {
  if (const char* reason = this->skips()) GTEST_SKIP() << reason;

  const Solved jacobi = this->steady(this->request(false)), amg = this->steady(this->request(true));

  EXPECT_LT(difference(amg.temperatures, jacobi.temperatures), 80 * 1e-10);
  EXPECT_LT(amg.iterations, jacobi.iterations / 5) << jacobi.iterations;
}

// The matrix changes: with the time step, and with every step of Newton's method.
TYPED_TEST(ThermalBoomerAmg, EveryMatrixIsPreparedAnew) {
  if (const char* reason = this->skips()) GTEST_SKIP() << reason;

  for (const double beta : {0.0, 0.1}) {
    const Solved jacobi = this->in_time(this->request(false, beta)),
                 amg = this->in_time(this->request(true, beta));

    EXPECT_LT(difference(amg.temperatures, jacobi.temperatures), 1e-6) << beta;
    EXPECT_LT(amg.iterations, jacobi.iterations / 2) << beta;
  }
}

TYPED_TEST(ThermalBoomerAmg, WhereItCannotWorkAnErrorSaysWhatToDo) {
  const bool is_built = boomeramg_lack().empty(), is_host = TypeParam::memory_space::host_accessible;
  std::string error;

  try {
    make_heat(TypeParam{}, this->request(true));
  } catch (const SettingError& refused) {
    error = refused.what();
  }

  if (is_built && is_host) EXPECT_EQ(error, "");
  else
    EXPECT_NE(error.find(is_built ? "serial, threads or tbb" : "libhypre-dev"), std::string::npos) << error;
}

TEST(ThermalSettings, BoomerAmgIsRefusedWithoutHypreBeforeAnythingIsDone) {
  ThermalSettings settings;
  settings.preconditioner = "boomeramg";

  EXPECT_TRUE(solve_settings_of(settings, false).use_boomeramg);
  if (boomeramg_lack().empty()) EXPECT_NO_THROW(check(settings));
  else EXPECT_THROW(check(settings), miniapp::UsageError);
}

}  // namespace
