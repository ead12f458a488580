// What a run reports, and that its checks fail where they should.
// SPDX-License-Identifier: Apache-2.0
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

const double* result_named(const RunReport& report, const std::string& name) {
  for (const miniapp::Figure& result : report.results)
    if (result.name == name) return &result.value;
  return nullptr;
}

TEST(ThermalRun, InflowsAreReportedCheckedAndBounded) {
  ThermalSettings settings = small("box:4x4x8:1,1,2");
  settings.convection = {"z_min=2,10", "z_max=4,80"};
  const RunReport report = report_of(settings);

  EXPECT_TRUE(report.passed());
  const double flow = 70 / (1.0 / 2 + 2 + 1.0 / 4);
  const double* const in = result_named(report, "heat in by convection at z_max=4,80");
  ASSERT_NE(in, nullptr);
  EXPECT_NEAR(*in, flow, 1e-8);
  EXPECT_NE(check_named(report, "below all given"), nullptr);
  EXPECT_NE(check_named(report, "above all given"), nullptr);

  settings.flux = {"y_min=1"};
  const RunReport heated = report_of(settings);
  EXPECT_TRUE(heated.passed());
  EXPECT_NE(check_named(heated, "below all given"), nullptr);
  EXPECT_EQ(check_named(heated, "above all given"), nullptr);

  settings.convection.clear();
  EXPECT_THROW(report_of(settings), SolverError);  // nothing fixes the temperature
}

TEST(ThermalRun, AStepThatIsTooShortForTheElementsIsWarnedOf) {
  const auto warning_of = [](const char* transient, const char* source, const char* type) {
    ThermalSettings settings = small("box:2x2x8:1,1,1");
    settings.dirichlet = {"z_min=100"};
    settings.initial = 20;
    settings.transient = transient;
    settings.source = {source};
    settings.common.type = type;
    std::string text;
    for (const std::string& note : report_of(settings).notes)
      if (note.find("warning:") == 0) text += note;
    return text;
  };

  for (const char* type : {"double", "float"}) {
    const std::string warning = warning_of("5e-4:3", "0", type);
    EXPECT_NE(warning.find("fall to"), std::string::npos);
    EXPECT_NE(warning.find("the least of the initial, given and outside ones is 20"), std::string::npos);
    EXPECT_NE(warning.find("longer steps"), std::string::npos);
    EXPECT_EQ(warning.find("rise to"), std::string::npos);
    EXPECT_EQ(warning_of("0.1:3", "0", type), "");
  }
  EXPECT_EQ(warning_of("5e-4:3", "-1", "double"), "");  // something cools
}

TEST(ThermalRun, TheGivenTemperatureOfTheStartIsInTheFirstState) {
  const std::string output = ::testing::TempDir() + "thermal_start.pvd";
  for (const char* start : {"given", "jump"}) {
    ThermalSettings settings = small("box:1x1x2");
    settings.dirichlet = {"z_min=100"};
    settings.initial = 20;
    settings.transient = "0.5:2";
    settings.dirichlet_start = start;

    const RunReport report = report_of(settings, output);

    EXPECT_TRUE(report.passed());
    ASSERT_EQ(report.files.size(), 4u);  // times 0, 0.5 and 1
    std::ifstream list(output);
    const std::string text{std::istreambuf_iterator<char>(list), {}};
    EXPECT_NE(text.find("timestep=\"0\""), std::string::npos) << text;
    const double* const stored = result_named(report, "heat stored, in a unit of time");
    ASSERT_NE(stored, nullptr);
    for (const std::string& file : report.files) std::remove(file.c_str());
  }
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
  int add_inflow(const std::string& selector, const Inflow& inflow) override {
    return heat_->add_inflow(selector, inflow);
  }
  void set_temperature(double value) override { heat_->set_temperature(value); }
  void set_temperatures(const std::vector<double>& values) override { heat_->set_temperatures(values); }
  std::vector<double> temperatures() const override { return heat_->temperatures(); }
  TemperatureRange range() const override { return heat_->range(); }
  void require_unique() const override { heat_->require_unique(); }
  void solve_steady() override { heat_->solve_steady(); }
  void start() override { heat_->start(); }
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
