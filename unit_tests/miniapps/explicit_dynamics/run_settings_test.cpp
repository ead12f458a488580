// Settings of strata-dynamics: those that are refused before anything is done, and what is chosen where
// they say nothing.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>
#include <vector>

#include "run_fixture.hpp"

namespace {

using namespace dynamics_testing;

class DynamicsRunSettings : public DynamicsRun {};

TEST_F(DynamicsRunSettings, ASweepTakesNoOptionsOfARunAndHasNoMesh) {
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

TEST_F(DynamicsRunSettings, PlacesThatCannotBeWrittenAreRefusedBeforeAnythingIsDone) {
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

TEST_F(DynamicsRunSettings, FilesThatWouldReplaceEachOtherAreRefused) {
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

TEST_F(DynamicsRunSettings, FilesOfOneDeviceThatWouldReplaceAnotherAreRefused) {
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

TEST_F(DynamicsRunSettings, DirectionsOfHeldNodesAreTheLettersXyz) {
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

TEST_F(DynamicsRunSettings, SettingsWithoutSenseAreRefusedWithTheirOption) {
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
