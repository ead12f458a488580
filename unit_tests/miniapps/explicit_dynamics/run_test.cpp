// What strata-dynamics does around its steps: how many it asks for at once, when it looks at them, and what
// is left and reported of a run that fails.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <filesystem>
#include <string>

#include <strata/miniapps/fem/mesh_error.hpp>

#include "run_fixture.hpp"

namespace {

using namespace dynamics_testing;

TEST_F(DynamicsRun, ResultsUpToAFailureAreKeptAndReported) {
  settings_.output_every = 10;
  for (const char* name : {"bar.pvd", "bar.e", "bar.vtu", "bar.csv"}) {
    clear();
    settings_.common.output = path(name);
    settings_.steps = 100;
    RunReport report;
    EXPECT_THROW(run_problem([&](const std::string&, int, const std::string&,
                                 const Parameters&) { return std::make_unique<CountingDynamics>(25); },
                             settings_, "", report),
                 SimulationError);

    ASSERT_FALSE(report.files.empty()) << name;
    EXPECT_EQ(report.files[0], path(name));
    for (const auto& [file, text] : files()) EXPECT_EQ(file.find("part"), std::string::npos) << file;
    EXPECT_EQ(report.results.at(0).name, "steps");
    EXPECT_EQ(report.results.at(0).value, 25);
  }
}

TEST_F(DynamicsRun, WhatTheUserGaveIsToldFromWhatFailedLater) {
  const auto is_usage_error = [&](const MakeSimulation& make) {
    RunReport report;
    miniapp::run_guarded(report, [&] { run_problem(make, settings_, "", report); });
    EXPECT_FALSE(report.error.empty());
    return report.is_usage_error;
  };
  const auto counting = [](index_t fails_at) {
    return [fails_at](const std::string&, int, const std::string&, const Parameters&) {
      return std::make_unique<CountingDynamics>(fails_at);
    };
  };
  class WithoutSets final : public CountingDynamics {
   public:
    void fix(const std::string&, std::uint8_t) override { throw fem::MeshError("no such set"); }
  };
  settings_.steps = 20;

  EXPECT_FALSE(is_usage_error(counting(5)));  // is inside out
  EXPECT_TRUE(is_usage_error([](const std::string&, int, const std::string&, const Parameters&)
                                 -> std::unique_ptr<Dynamics> { throw fem::MeshFileError("no such file"); }));
  EXPECT_FALSE(
      is_usage_error([](const std::string&, int, const std::string&,
                        const Parameters&) -> std::unique_ptr<Dynamics> { throw OutOfMemory("too large"); }));
  settings_.fix = {"side"};
  EXPECT_TRUE(is_usage_error([](const std::string&, int, const std::string&, const Parameters&) {
    return std::make_unique<WithoutSets>();
  }));
  settings_.fix.clear();
  settings_.restart = path("none");
  EXPECT_TRUE(is_usage_error(counting(-1)));
}

TEST_F(DynamicsRun, ResultsThatCannotBeWrittenToTheEndFailTheRun) {
  // States of a series go to a folder that is taken away after the first.
  class Vandal final : public CountingDynamics {
   public:
    explicit Vandal(std::filesystem::path folder) : folder_(std::move(folder)) {}
    void advance(index_t steps) override {
      CountingDynamics::advance(steps);
      if (clock().step >= 20) std::filesystem::remove_all(folder_);
    }

   private:
    std::filesystem::path folder_;
  };
  std::filesystem::create_directory(folder_ / "results");
  settings_.common.output = path("results/bar.pvd");
  settings_.steps = 20;
  RunReport report;

  miniapp::run_guarded(report, [&] {
    run_problem([&](const std::string&, int, const std::string&,
                    const Parameters&) { return std::make_unique<Vandal>(folder_ / "results"); },
                settings_, "", report);
  });

  EXPECT_NE(report.error.find("cannot write"), std::string::npos) << report.error;
  EXPECT_FALSE(report.is_usage_error);
  EXPECT_FALSE(report.passed());
}

TEST_F(DynamicsRun, LooksAreFetchedWhileTheNextStepsAreEnqueued) {
  class Watched final : public CountingDynamics {
   public:
    explicit Watched(int& ahead) : result_(ahead) {}
    ~Watched() override {
      EXPECT_EQ(most_looks_, 2u);
      EXPECT_TRUE(looks_.empty());
      result_ = ahead_;
    }

   private:
    int& result_;
  };
  settings_.common.quiet = false;
  settings_.steps = 1000;
  settings_.output_every = 500;
  RunReport report;
  int ahead = 0;

  run_problem([&](const std::string&, int, const std::string&,
                  const Parameters&) { return std::make_unique<Watched>(ahead); },
              settings_, "", report);

  EXPECT_EQ(report.results.at(0).value, 1000);
  EXPECT_GE(ahead, 2);
}

// Those of fields in slices, whose steps are done when advance() returns.
TEST_F(DynamicsRun, StepsGoUpToMultiplesOfTheNumberThatGoesWellTogether) {
  class Together final : public CountingDynamics {
   public:
    Together(std::vector<index_t>& seen, index_t fails_at) : CountingDynamics(fails_at), seen_(seen) {}
    index_t steps_at_once() override { return 8; }
    void advance(index_t steps) override {
      CountingDynamics::advance(steps);
      seen_.push_back(clock().step);
    }
    void look() override { ADD_FAILURE() << "the sums of a look take a pass of their own"; }

   private:
    std::vector<index_t>& seen_;
  };
  std::vector<index_t> seen;
  index_t fails_at = -1;
  const auto run_all = [&] {
    RunReport report;
    run_problem([&](const std::string&, int, const std::string&,
                    const Parameters&) { return std::make_unique<Together>(seen, fails_at); },
                settings_, "", report);
  };
  settings_.steps = 30;
  settings_.output_every = 11;
  run_all();
  EXPECT_EQ(seen, (std::vector<index_t>{8, 11, 16, 22, 24, 30}));
  seen.clear();
  fails_at = 13;
  EXPECT_THROW(run_all(), SimulationError);
  EXPECT_EQ(seen, (std::vector<index_t>{8, 11, 13}));
}

TEST_F(DynamicsRun, AFailureEndsTheStepsLongBeforeTheNextOutput) {
  class Watched final : public CountingDynamics {
   public:
    explicit Watched(index_t& asked) : CountingDynamics(25), result_(asked) {}
    ~Watched() override {
      EXPECT_TRUE(looks_.empty());
      result_ = asked_;
    }

   private:
    index_t& result_;
  };
  settings_.steps = 1000000000;
  for (const bool quiet : {false, true}) {
    settings_.common.quiet = quiet;
    RunReport report;
    index_t asked = 0;

    EXPECT_THROW(run_problem([&](const std::string&, int, const std::string&,
                                 const Parameters&) { return std::make_unique<Watched>(asked); },
                             settings_, "", report),
                 SimulationError);

    EXPECT_GT(asked, 25);
    EXPECT_LT(asked, 1000) << "quiet: " << quiet;
  }
}

TEST_F(DynamicsRun, EnergiesThatAreNoNumbersAreReportedUnlessAnElementIsInverted) {
  const auto names = [&](index_t fails_at, const Energies& end) {
    settings_.steps = 10;
    RunReport report;
    try {
      run_problem(
          [&](const std::string&, int, const std::string&, const Parameters&) {
            auto s = std::make_unique<CountingDynamics>(fails_at);
            s->end_ = end;
            return s;
          },
          settings_, "", report);
    } catch (const SimulationError&) {
    }
    std::string list;
    for (const auto& result : report.results) list += result.name + ";";
    return list;
  };
  const double nan = std::nan("");
  const std::string both = "kinetic energy;elastic energy;hourglass energy;internal work;";

  EXPECT_NE(names(-1, {1, 0, nan, nan, {}, {}}).find(both), std::string::npos);
  EXPECT_NE(names(5, {1, 0, 2, 3, {}, {}}).find(both), std::string::npos);
  EXPECT_NE(names(5, {1, 0, 2, nan, {}, {}}).find("kinetic energy;elastic energy;internal work;"),
            std::string::npos);
  EXPECT_NE(names(5, {1, 0, nan, nan, {}, {}}).find("kinetic energy;internal work;"), std::string::npos);
}

TEST_F(DynamicsRun, EnergyOrMomentumThatIsNotKeptFailsTheRun) {
  settings_.steps = 10;
  const auto passes = [&](const Energies& end) {
    RunReport report;
    run_problem(
        [&](const std::string&, int, const std::string&, const Parameters&) {
          auto s = std::make_unique<CountingDynamics>();
          s->end_ = end;
          return s;
        },
        settings_, "", report);
    return report.passed();
  };
  EXPECT_TRUE(passes({1, 0, 0, 0, {}, {}}));
  EXPECT_TRUE(passes({0.25, 0.75, 0, 0, {3, 0, 0}, {3, 0, 0}}));
  EXPECT_FALSE(passes({0.25, 0.75 + 1e-9, 0, 0, {}, {}}));
  EXPECT_FALSE(passes({1, 0, 0, 0, {0, 1e-6, 0}, {}}));
  EXPECT_FALSE(passes({1, 0, 0, 0, {}, {0, 0, 1e-6}}));
  EXPECT_FALSE(passes({std::nan(""), 0, 0, 0, {}, {}}));
  EXPECT_FALSE(passes({1, 0, 0, 0, {0, 0, std::nan("")}, {}}));
}

}  // namespace
