// What a run reports, and that its checks fail where they should.
#include <cstdio>
#include <fstream>
#include <tuple>

#include <gtest/gtest.h>

#include <strata/devices/threads/device.hpp>
#include <strata/miniapps/thermal/make_heat.hpp>
#include <strata/miniapps/thermal/run.hpp>

namespace {

using namespace strata;
using namespace strata::thermal;
using miniapp::RunReport;

std::unique_ptr<Heat> on_threads(const HeatRequest& request) {
  return make_heat(AnyHost(Threads{}), request);
}

ThermalSettings small(const std::string& box = "box:4x4x8") {
  ThermalSettings s;
  s.common.mesh = box;
  s.common.quiet = true;
  return s;
}

RunReport report_of(const ThermalSettings& settings, const std::string& output = "") {
  RunReport report;
  run_problem(on_threads, settings, output, report);
  return report;
}

const miniapp::Check* check_named(const RunReport& report, const std::string& part) {
  for (const miniapp::Check& check : report.checks)
    if (check.name.find(part) != std::string::npos) return &check;
  return nullptr;
}

TEST(ThermalRun, EveryKindOfProblemIsCheckedAndPasses) {
  ThermalSettings steady = small(), in_time = small("box:4x4x8:1,1,1:random=0.15"), nonlinear = in_time,
                  both = in_time, everything = small();
  in_time.transient = "1e-6:5";
  in_time.dirichlet = {"z_min=100"};
  nonlinear.beta = 0.3;
  both.beta = both.sink = 0.1;
  both.transient = "0.1:5";
  both.dirichlet = {"z_min=2"};
  everything.dirichlet = {"all=1000"};

  for (const auto& settings : {steady, in_time, nonlinear, both, everything}) {
    for (const char* type : {"double", "float"}) {
      ThermalSettings typed = settings;
      typed.common.type = type;
      const RunReport report = report_of(typed);

      EXPECT_NE(check_named(report, typed.beta == 0 ? "true residual" : "Newton's residual"), nullptr);
      EXPECT_NE(check_named(report, "heat in"), nullptr);
      for (const auto& check : report.checks)
        EXPECT_TRUE(check.passed) << check.name << " " << check.value << " " << check.tolerance << " "
                                  << type;
    }
  }
}

// The right-hand side shrinks until squares of it underflow: a state that has come to rest is solved.
TEST(ThermalRun, BodiesThatCoolDownToNothingStaySolved) {
  ThermalSettings cooling = small("box:4x4x4:1,1,1");
  cooling.initial = 20;
  cooling.dirichlet = {"z<=min=0"};
  for (const auto& [type, beta, steps] :
       {std::tuple{"float", 0.0, "10:40"}, std::tuple{"float", 0.0, "0.1:250"},
        std::tuple{"double", 0.0, "1:400"}, std::tuple{"double", 0.0, "1e9:30"},
        std::tuple{"float", 0.01, "10:40"}, std::tuple{"double", 0.01, "10:200"}}) {
    cooling.common.type = type;
    cooling.beta = beta;
    cooling.transient = steps;

    const RunReport report = report_of(cooling);

    for (const auto& check : report.checks)
      EXPECT_TRUE(check.passed) << check.name << " " << check.value << " " << check.tolerance << " " << type
                                << " " << steps;
  }
}

// The first residual of a step near rest is rounding: a tolerance in proportion to it would admit anything.
TEST(ThermalRun, NearRestNewtonsResidualIsStillCheckedToItsTolerance) {
  ThermalSettings settings = small("box:1x1x20:1,1,1");
  settings.beta = 1;
  settings.initial = 50;
  settings.dirichlet = {"z_min=1000"};
  settings.transient = "1:5";

  const RunReport report = report_of(settings);

  const miniapp::Check* check = check_named(report, "Newton's residual");
  ASSERT_NE(check, nullptr);
  EXPECT_TRUE(check->passed);
  EXPECT_LT(check->tolerance, 1e-10);
}

TEST(ThermalRun, TemperaturesAreHeldToTheGivenOnesWhereTheyMustBe) {
  ThermalSettings heated = small(), flat = small("box:4x4x4:16,16,1");
  heated.source = {"1"};

  EXPECT_NE(check_named(report_of(small()), "above all given"), nullptr);
  EXPECT_NE(check_named(report_of(heated), "below all given"), nullptr);
  EXPECT_EQ(check_named(report_of(heated), "above all given"), nullptr);
  EXPECT_EQ(check_named(report_of(flat), "all given"), nullptr);
}

// A heat problem whose solutions are off by a little.
class Spoiled final : public Heat {
 public:
  explicit Spoiled(std::unique_ptr<Heat> heat) : heat_(std::move(heat)) {}
  const HeatSetup& setup() const override { return heat_->setup(); }
  const Problem& problem() const override { return heat_->problem(); }
  fem::HostMesh mesh() const override { return heat_->mesh(); }
  int give(const std::string& selector, double value) override { return heat_->give(selector, value); }
  int give(const std::string& selector, const std::vector<double>& values) override {
    return heat_->give(selector, values);
  }
  void set_temperature(double value) override { heat_->set_temperature(value); }
  void set_temperatures(const std::vector<double>& values) override { heat_->set_temperatures(values); }
  std::vector<double> temperatures() const override { return heat_->temperatures(); }
  void require_unique() const override { heat_->require_unique(); }
  void solve_steady() override { heat_->solve_steady(); }
  void step(double dt) override { heat_->step(dt); }
  void assemble() override { heat_->assemble(); }
  void add_load(const std::vector<double>& load) override { heat_->add_load(load); }
  double greatest_coupling() const override { return heat_->greatest_coupling(); }
  void eliminate() override { heat_->eliminate(); }
  void solve() override {
    heat_->solve();
    auto t = heat_->temperatures();
    t.at(5 * 5 + 12) = 1.001;  // beside a given one, so that the heat that flows there changes
    heat_->set_temperatures(t);
  }
  HeatSystem system() const override { return heat_->system(); }
  LinearResidual residual() const override {
    auto residual = heat_->residual();
    residual.residual += 1e-9 * residual.right_hand_side;
    return residual;
  }
  HeatState state(double dt) override { return heat_->state(dt); }
  const SolveStatistics& statistics() const override { return heat_->statistics(); }
  const SolveTimes& times() const override { return heat_->times(); }
  void reset_times() override { heat_->reset_times(); }

 private:
  std::unique_ptr<Heat> heat_;
};

TEST(ThermalRun, AWrongSolutionFailsEveryCheck) {
  RunReport report;

  run_problem([](const HeatRequest& request) { return std::make_unique<Spoiled>(on_threads(request)); },
              small(), "", report);

  for (const char* name : {"true residual", "heat in", "above all given"}) {
    ASSERT_NE(check_named(report, name), nullptr) << name;
    EXPECT_FALSE(check_named(report, name)->passed) << name;
  }
}

TEST(ThermalRun, AFailingRunReportsItsMeshAndLeavesNoFile) {
  const std::string output = ::testing::TempDir() + "thermal_run_test.csv";
  ThermalSettings settings = small();
  settings.max_iterations = 2;
  RunReport report;

  EXPECT_THROW(run_problem(on_threads, settings, output, report), SolverError);

  EXPECT_EQ(report.mesh.elements, 128);
  EXPECT_FALSE(std::ifstream(output).good());
}

TEST(ThermalRun, AMissingSetIsAnErrorThatListsThoseThatThereAre) {
  ThermalSettings settings = small();
  settings.dirichlet = {"top=1"};

  try {
    report_of(settings);
    FAIL() << "a box has a set called top";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("top"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("z_max"), std::string::npos) << error.what();
  }
}

}  // namespace
