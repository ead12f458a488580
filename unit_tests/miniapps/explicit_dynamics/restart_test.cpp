// Restarts of strata-dynamics: series of results that go on, and checkpoints that are refused before
// anything is done.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <string>

#include <strata/core/files/output_lock.hpp>
#include <strata/miniapps/explicit_dynamics/checkpoint.hpp>

#include "run_fixture.hpp"

namespace {

using namespace dynamics_testing;

class DynamicsRestart : public DynamicsRun {};

TEST_F(DynamicsRestart, RestartGoesOnWithTheSeriesAsIfTheRunHadNotStopped) {
  for (const char* name : {"bar.pvd", "bar.e"}) {
    settings_.common.output = path(name);
    settings_.output_every = 20;
    settings_.checkpoint = 30;
    settings_.restart.clear();
    clear();
    run(90);
    const auto whole = files();
    ASSERT_FALSE(whole.empty());

    clear();
    EXPECT_THROW(run(90, 70), SimulationError);  // checkpoint 60; results of 0, 20, 40, 60 are there
    settings_.restart = path("checkpoint");
    run(90);

    EXPECT_TRUE(files() == whole) << name;
  }
}

TEST_F(DynamicsRestart, RestartDropsTheLastStateOfARunThatEndedBetweenOutputs) {
  settings_.common.output = path("bar.pvd");
  settings_.output_every = 20;
  settings_.checkpoint = 30;
  run(30);
  EXPECT_NE(content("bar.pvd").find("timestep=\"7.5\""), std::string::npos);

  settings_.restart = path("checkpoint");
  run(40);

  EXPECT_EQ(content("bar.pvd").find("timestep=\"7.5\""), std::string::npos);
  EXPECT_NE(content("bar.pvd").find("timestep=\"5\""), std::string::npos);
  EXPECT_NE(content("bar.pvd").find("timestep=\"10\" part=\"0\" file=\"bar_0002.vtu\""), std::string::npos);
}

TEST_F(DynamicsRestart, CheckpointOfAnotherMeshIsRefusedAndTheSameMeshMayHaveMoved) {
  settings_.checkpoint = 10;
  run(10);
  settings_.restart = path("checkpoint");
  settings_.common.mesh = "elsewhere.msh";

  EXPECT_EQ(run(20).results.at(0).value, 20);
  const std::string text = message<CheckpointError>([&] { run(40, -1, 1.0000001); });
  EXPECT_NE(text.find("mesh with the checksum"), std::string::npos) << text;
}

TEST_F(DynamicsRestart, CheckpointOfAnotherTypeIsRefusedAndTheResultsStay) {
  for (const char* name : {"bar.pvd", "bar.e"}) {
    clear();
    settings_.restart.clear();
    settings_.common.output = path(name);
    settings_.output_every = settings_.checkpoint = 10;
    run(20);
    const auto whole = files();
    settings_.restart = path("checkpoint");
    settings_.steps = 40;

    const std::string text = message<CheckpointError>([&] {
      RunReport report;
      run_problem(
          [](const std::string&, int, const std::string&, const Parameters&) {
            auto s = std::make_unique<CountingDynamics>();
            s->type_ = "float";
            return s;
          },
          settings_, "", report);
    });

    EXPECT_NE(text.find("it is of \"type double\", this run has \"type float\""), std::string::npos) << text;
    EXPECT_TRUE(files() == whole) << name;
  }
}

TEST_F(DynamicsRestart, RestartBesideTheResultsOfAnotherMeshIsRefusedBeforeAStep) {
  settings_.checkpoint = 10;
  settings_.output_every = 10;
  for (const char* name : {"bar.pvd", "bar.e"}) {
    settings_.restart.clear();
    settings_.common.output = path(name);
    run(20, -1, 2);
    settings_.common.output.clear();
    run(20);
    const auto whole = files();
    settings_.common.output = path(name);
    settings_.restart = path("checkpoint");
    settings_.steps = 40;
    RunReport report;

    miniapp::run_guarded(report, [&] {
      run_problem([](const std::string&, int, const std::string&,
                     const Parameters&) { return std::make_unique<CountingDynamics>(); },
                  settings_, "", report);
    });

    EXPECT_TRUE(report.is_usage_error) << name;
    EXPECT_NE(report.error.find("it is no result of the same mesh"), std::string::npos) << report.error;
    EXPECT_EQ(report.seconds_of("steps"), 0) << name;
    EXPECT_TRUE(files() == whole) << name;
  }
}

TEST_F(DynamicsRestart, PartialCheckpointsOfKilledRunsAreRemoved) {
  const std::string left = path("checkpoint.abcdefgh.partial"), other = path("checkpoints.1.partial");
  for (const std::string& name : {left, other}) std::ofstream(name) << "cut short";
  settings_.checkpoint = 10;

  run(10);

  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(other));
}

TEST_F(DynamicsRestart, TheSecondRunWithACheckpointIsRefusedWithTheProcessOfTheFirst) {
  settings_.checkpoint = 10;
  run(10);
  const std::string before = content("checkpoint");
  RunReport report;
  {
    const strata::detail::files::OutputLock first(path("checkpoint"));
    miniapp::run_guarded(report, [&] { run(20); });
  }

  EXPECT_NE(report.error.find(path("checkpoint") + ": process " + std::to_string(getpid()) + " on "),
            std::string::npos)
      << report.error;
  EXPECT_EQ(content("checkpoint"), before);
  run(20);
  EXPECT_FALSE(std::filesystem::exists(path("checkpoint.lock")));
}

TEST_F(DynamicsRestart, RestartAfterTheLastStepIsRefused) {
  settings_.checkpoint = 10;
  run(30);
  settings_.restart = path("checkpoint");

  const std::string text = message<CheckpointError>([&] { run(20); });

  EXPECT_NE(text.find("is of step 30, after the last one, --steps 20"), std::string::npos) << text;
}

TEST_F(DynamicsRestart, CheckpointsThatAreNoneAreRefusedBeforeTheMeshIsMade) {
  const auto refused = [&](const std::string& words) {
    const std::string text = message<CheckpointError>([&] {
      RunReport report;
      run_problem(
          [](const std::string&, int, const std::string&, const Parameters&) -> std::unique_ptr<Dynamics> {
            throw std::logic_error("a mesh was asked for");
          },
          settings_, "", report);
    });
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  settings_.restart = path("none");
  refused("cannot be read: No such file");
  settings_.restart = folder_.string();
  refused("is a folder");
  settings_.restart = path("text");
  std::ofstream(path("text")) << "solid cube, and so on, for more than forty bytes\n";
  refused("is no checkpoint");
  settings_.restart.clear();
  settings_.checkpoint = 10;
  run(10);
  settings_.restart = path("checkpoint");
  std::filesystem::resize_file(settings_.restart, std::filesystem::file_size(settings_.restart) - 1);
  refused("is cut short");
}

}  // namespace
