// What strata-dynamics does around its steps, with a simulation that only counts them: series of results over
// restarts, what is left of a run that fails, settings that are refused before anything is done.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include <strata/core/files/output_lock.hpp>
#include <strata/miniapps/common/run_devices.hpp>
#include <strata/miniapps/explicit_dynamics/checkpoint.hpp>
#include <strata/miniapps/explicit_dynamics/run.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

namespace {

using namespace strata;
using namespace strata::dynamics;
using miniapp::RunReport;

/// One element; every step takes 1/4 and moves all nodes by 1. `fails_at` is the step that fails.
class CountingDynamics : public Dynamics {
 public:
  explicit CountingDynamics(index_t fails_at = -1, double size = 1) : fails_at_(fails_at), size_(size) {}

  std::string device() const override { return "Counting"; }
  std::string type() const override { return type_; }
  index_t node_count() const override { return 8; }
  index_t element_count() const override { return 1; }
  const Parameters& parameters() const override { return parameters_; }

  void fix(const std::string&, std::uint8_t) override {}
  void set_velocity(const std::string&, double, double, double) override {}
  void set(Field, const std::vector<double>&) override {}
  std::vector<double> get(Field field) override {
    switch (field) {
      case Field::Cauchy:
        return std::vector<double>(6, 0.0);
      case Field::Mass:
        return std::vector<double>(8, 1.0);
      default:
        return std::vector<double>(24, static_cast<double>(clock_.step));
    }
  }
  std::vector<double> coordinates() override { return {}; }
  fem::HostMesh mesh() override {
    fem::HostMesh mesh;
    mesh.coordinates = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                        {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, size_}};
    mesh.elements = {{0, 1, 2, 3, 4, 5, 6, 7}};
    mesh.element_blocks = {0};
    mesh.blocks = {{1, "block"}};
    return mesh;
  }
  void advance(index_t steps) override {
    asked_ += steps;
    for (; steps > 0 && clock_.failure == Failure::None; --steps) {
      if (clock_.step == fails_at_) {
        clock_.failure = Failure::Volume;
      } else {
        clock_.time += 0.25;
        ++clock_.step;
      }
    }
  }
  void wait() override {
    if (clock_.failure != Failure::None) throw SimulationError("element 1 is inside out");
  }
  index_t bytes() const override { return 0; }
  const StreamReport& report() const override { return report_; }
  void impose(const std::vector<double>&, const std::vector<double>&, double) override {}
  Clock clock() override { return clock_; }
  Energies energies() override { return clock_.step == 0 ? Energies{1, 0, 0, 0, {}, {}} : end_; }
  void look() override {
    looks_.push_back({clock_, energies()});
    most_looks_ = std::max(most_looks_, looks_.size());
  }
  Look seen() override {
    const Look first = looks_.at(0);
    looks_.erase(looks_.begin());
    ahead_ += clock_.step > first.clock.step ? 1 : 0;
    return first;
  }
  double stable_dt() override { return 0.25; }
  std::vector<char> state() override {
    std::vector<char> bytes(sizeof clock_);
    std::memcpy(bytes.data(), &clock_, sizeof clock_);
    return bytes;
  }
  void restore(const std::vector<char>& bytes) override { std::memcpy(&clock_, bytes.data(), sizeof clock_); }

  Energies end_{1, 0, 0, 0, {}, {}};
  std::string type_ = "double";
  std::vector<Look> looks_;
  std::size_t most_looks_ = 0;
  index_t asked_ = 0;  // steps that were enqueued
  int ahead_ = 0;      // looks that were fetched while more was enqueued behind them

 private:
  Clock clock_;
  Parameters parameters_;
  index_t fails_at_;
  double size_;
  StreamReport report_;
};

class DynamicsRun : public ::testing::Test {
 protected:
  DynamicsRun() {
    std::string name = (std::filesystem::temp_directory_path() / "strata_run_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
    settings_.common.quiet = true;
    settings_.common.mesh = "box:1x1x1";
    settings_.checkpoint_file = path("checkpoint");
  }
  ~DynamicsRun() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string content(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  // All files with their contents, but for the checkpoint.
  std::vector<std::pair<std::string, std::string>> files() const {
    std::vector<std::pair<std::string, std::string>> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (name != "checkpoint") all.emplace_back(name, content(name));
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  void clear() {
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) std::filesystem::remove(entry);
  }

  RunReport run(index_t steps, index_t fails_at = -1, double size = 1) {
    settings_.steps = steps;
    RunReport report;
    run_problem([&](const std::string&, int, const std::string&,
                    const Parameters&) { return std::make_unique<CountingDynamics>(fails_at, size); },
                settings_, "", report);
    return report;
  }
  template <class Error>
  std::string message(const std::function<void()>& work) {
    try {
      work();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  std::filesystem::path folder_;
  DynamicsSettings settings_;
};

TEST_F(DynamicsRun, RestartGoesOnWithTheSeriesAsIfTheRunHadNotStopped) {
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

TEST_F(DynamicsRun, RestartDropsTheLastStateOfARunThatEndedBetweenOutputs) {
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

TEST_F(DynamicsRun, CheckpointOfAnotherMeshIsRefusedAndTheSameMeshMayHaveMoved) {
  settings_.checkpoint = 10;
  run(10);
  settings_.restart = path("checkpoint");
  settings_.common.mesh = "elsewhere.msh";

  EXPECT_EQ(run(20).results.at(0).value, 20);
  const std::string text = message<CheckpointError>([&] { run(40, -1, 1.0000001); });
  EXPECT_NE(text.find("mesh with the checksum"), std::string::npos) << text;
}

TEST_F(DynamicsRun, CheckpointOfAnotherTypeIsRefusedAndTheResultsStay) {
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

TEST_F(DynamicsRun, RestartBesideTheResultsOfAnotherMeshIsRefusedBeforeAStep) {
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

TEST_F(DynamicsRun, PartialCheckpointsOfKilledRunsAreRemoved) {
  const std::string left = path("checkpoint.abcdefgh.partial"), other = path("checkpoints.1.partial");
  for (const std::string& name : {left, other}) std::ofstream(name) << "cut short";
  settings_.checkpoint = 10;

  run(10);

  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(other));
}

TEST_F(DynamicsRun, TheSecondRunWithACheckpointIsRefusedWithTheProcessOfTheFirst) {
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

TEST_F(DynamicsRun, ASweepTakesNoOptionsOfARunAndHasNoMesh) {
  const auto error_of = [](std::vector<const char*> arguments) {
    DynamicsSettings settings;
    miniapp::Options options("program", "Does things.");
    declare(options, settings);
    arguments.insert(arguments.begin(), {"program", "--sweep", "1:2"});
    try {
      options.parse(static_cast<int>(arguments.size()), arguments.data());
    } catch (const miniapp::UsageError& error) {
      return std::string(error.what());
    }
    choose_sample(settings);
    return settings.common.mesh + "," + settings.velocity.at(0);
  };

  EXPECT_EQ(error_of({}), ",all=0.01,0,0");
  EXPECT_EQ(error_of({"--steps", "10", "-v", "all=1,0,0"}), ",all=1,0,0");
  for (const auto& [option, value] : {std::pair{"--restart", "a"},
                                      {"--checkpoint", "5"},
                                      {"--checkpoint-file", "a"},
                                      {"--output-every", "5"},
                                      {"--refine", "1"},
                                      {"--output", "a.vtu"}})
    EXPECT_EQ(
        error_of({option, value}).find(std::string(option) + " " + value + " has no effect beside --sweep"),
        0u)
        << option;
}

TEST_F(DynamicsRun, RestartAfterTheLastStepIsRefused) {
  settings_.checkpoint = 10;
  run(30);
  settings_.restart = path("checkpoint");

  const std::string text = message<CheckpointError>([&] { run(20); });

  EXPECT_NE(text.find("is of step 30, after the last one, --steps 20"), std::string::npos) << text;
}

TEST_F(DynamicsRun, CheckpointsThatAreNoneAreRefusedBeforeTheMeshIsMade) {
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

TEST_F(DynamicsRun, PlacesThatCannotBeWrittenAreRefusedBeforeAnythingIsDone) {
  const auto refused = [&](const std::string& words) {
    const std::string text = message<Error>([&] { require_usable(settings_); });
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  require_usable(settings_);
  settings_.common.output = path("none/bar.vtu");
  refused("--output " + path("none/bar.vtu") + ": there is no folder " + path("none"));
  settings_.common.output = path("bar.xyz");
  refused("the format of '.xyz' is not known");
  settings_.common.output.clear();
  settings_.checkpoint = 10;
  settings_.checkpoint_file = path("none/checkpoint");
  refused("--checkpoint-file " + path("none/checkpoint") + ": there is no folder");
  EXPECT_TRUE(files().empty());
}

TEST_F(DynamicsRun, FilesThatWouldReplaceEachOtherAreRefused) {
  const auto refused = [&](const std::string& output, const std::string& json, const std::string& checkpoint,
                           const std::string& words) {
    settings_.common.output = output;
    settings_.common.json = json;
    settings_.checkpoint_file = checkpoint;
    const std::string text = message<miniapp::UsageError>([&] { require_usable(settings_); });
    EXPECT_NE(text.find(words), std::string::npos) << text;
    EXPECT_EQ(text.empty(), words.empty()) << text;
  };
  std::filesystem::create_directory(folder_ / "other");
  std::filesystem::create_directory_symlink(folder_, folder_ / "link");
  settings_.checkpoint = 10;
  refused(path("x.csv"), path("x.json"), path("x"), "");
  refused(path("x.csv"), "", path("other/x.csv"), "");
  refused("x.csv", "", "./x.csv", "--output x.csv and --checkpoint-file ./x.csv are the same file");
  refused("", "x", "x", "--json x and --checkpoint-file x are the same file");
  refused("./x.csv", "x.csv", "y", "--output ./x.csv and --json x.csv are the same file");
  refused(path("x.csv"), "", path("other/../x.csv"), "are the same file");
  refused(path("link/x.csv"), "", path("x.csv"), "are the same file");
  settings_.checkpoint = 0;  // writes none
  refused(path("x.csv"), "", path("x.csv"), "");
  settings_.common.mesh = path("x.e");
  refused(path("x.e"), "", "y", "--mesh " + path("x.e") + " and --output");
  settings_.restart = path("begin");
  refused(path("x.csv"), path("begin"), "y", "--restart " + path("begin") + " and --json");
  settings_.checkpoint = 10;
  refused(path("x.csv"), "", path("begin"), "");  // each checkpoint takes the place of the one before
}

TEST_F(DynamicsRun, FilesOfOneDeviceThatWouldReplaceAnotherAreRefused) {
  const auto refused = [&](const std::string& json, const std::vector<std::string>& devices) {
    settings_.common.json = json;
    return message<miniapp::UsageError>([&] { require_usable(settings_, devices); });
  };
  settings_.common.output = "bar.vtu";
  settings_.checkpoint = 10;
  settings_.checkpoint_file = "state";

  EXPECT_EQ(refused("bar.Serial.vtu", {"Serial"}), "");
  EXPECT_NE(refused("bar.Serial.vtu", {"Serial", "Threads"}).find("bar.Serial.vtu, on Serial"),
            std::string::npos);
  EXPECT_NE(refused("state.Threads", {"Serial", "Threads"}).find("--checkpoint-file state are the same file"),
            std::string::npos);
  EXPECT_EQ(refused("state.Tbb", {"Serial", "Threads"}), "");
}

TEST_F(DynamicsRun, DirectionsOfHeldNodesAreTheLettersXyz) {
  const auto directions = [](const std::string& text) {
    DynamicsSettings s;
    s.fix = {text};
    return static_cast<int>(held_nodes(s).at(0).directions);
  };
  EXPECT_EQ(directions("all"), 7);
  EXPECT_EQ(directions("all=x"), 1);
  EXPECT_EQ(directions("all=zx"), 5);
  for (const char* text : {"all=0", "all=X", "all=x,y", "all=w", "all={", "all=\xff"})
    EXPECT_THROW(directions(text), miniapp::UsageError) << text;
}

TEST_F(DynamicsRun, SettingsWithoutSenseAreRefusedWithTheirOption) {
  const auto refused = [](auto change, const std::string& words) {
    DynamicsSettings s;
    change(s);
    try {
      require_usable(s);
      ADD_FAILURE() << "accepted: " << words;
    } catch (const miniapp::UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  refused([](DynamicsSettings& s) { s.poisson = 0.5; }, "Poisson's ratio is 0.5 (--poisson)");
  refused([](DynamicsSettings& s) { s.density = -7850; }, "the density is -7850 (--density)");
  refused([](DynamicsSettings& s) { s.young = 0; }, "--young");
  refused([](DynamicsSettings& s) { s.dt = "nan"; }, "--dt");
  refused([](DynamicsSettings& s) { s.dt = "0"; }, "--dt 0: the time step has to be positive");
  refused([](DynamicsSettings& s) { s.steps = -1; }, "--steps -1");
  refused([](DynamicsSettings& s) { s.velocity = {"all=nan,0,0"}; }, "--velocity");
  refused([](DynamicsSettings& s) { s.velocity = {"all=1,0"}; }, "SELECTOR=VX,VY,VZ");
  refused([](DynamicsSettings& s) { s.fix = {"all=w"}; }, "some of xyz");
  refused([](DynamicsSettings& s) { s.hourglass = "stiffness:2"; }, "--hourglass stiffness");
  refused([](DynamicsSettings& s) { s.bulk_viscosity = "0.06"; }, "--bulk-viscosity");
}

TEST(DynamicsSettingsOf, ADeviceHasItsKernelsWhereNoneAreChosen) {
  DynamicsSettings settings;
  EXPECT_TRUE(parameters_of(with_kernels_for(settings, true)).fused);
  EXPECT_FALSE(parameters_of(with_kernels_for(settings, false)).fused);
  for (const char* const chosen : {"three", "fused"}) {
    settings.kernels = chosen;
    for (const bool is_gpu : {false, true}) EXPECT_EQ(with_kernels_for(settings, is_gpu).kernels, chosen);
  }
}

}  // namespace
