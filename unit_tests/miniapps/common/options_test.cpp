// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <fstream>

#include <gtest/gtest.h>

#include <strata/miniapps/common/options.hpp>
#include <strata/miniapps/common/settings.hpp>

namespace {

using namespace strata;
using namespace strata::miniapp;

struct Values {
  std::string mesh = "box:2x2x2";
  double conductivity = 0.1;
  index_t steps = 7;
  bool quiet = false;
  std::vector<std::string> fixed;
  std::string kind = "none";
};

Options table_of(Values& v) {
  Options options("program", "Does things.");
  options.add("-m,--mesh", &v.mesh, "FILE", "the mesh");
  options.add("-k,--conductivity", &v.conductivity, "K", "conductivity");
  options.add("--steps", &v.steps, "N", "steps");
  options.add_flag("-q,--quiet", v.quiet, "no progress");
  options.add("--fix", &v.fixed, "SEL=VALUE", "fixed values");
  options.add("--kind", &v.kind, "NAME", "which", {"none", "some"});
  return options;
}

bool parse(Values& v, const std::vector<const char*>& arguments) {
  std::vector<const char*> all{"program"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return table_of(v).parse(static_cast<int>(all.size()), all.data());
}

std::string error_of(const std::vector<const char*>& arguments) {
  Values v;
  try {
    parse(v, arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text) : path_(::testing::TempDir() + "options_test.json") {
    std::ofstream(path_) << text;
  }
  ~ConfigFile() { std::remove(path_.c_str()); }
  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

TEST(Options, LongAndShortNamesSetTheVariables) {
  Values v;

  const bool runs = parse(v, {"-m", "part.msh", "--conductivity=-2.5", "--steps", "-3", "-q"});

  EXPECT_TRUE(runs);
  EXPECT_EQ(v.mesh, "part.msh");
  EXPECT_EQ(v.conductivity, -2.5);
  EXPECT_EQ(v.steps, -3);
  EXPECT_TRUE(v.quiet);
}

TEST(Options, WhatIsNotGivenKeepsItsDefault) {
  Values v;

  parse(v, {});

  EXPECT_EQ(v.mesh, "box:2x2x2");
  EXPECT_EQ(v.steps, 7);
  EXPECT_FALSE(v.quiet);
}

TEST(Options, ListsCollectInOrderAndOthersTakeTheLast) {
  Values v;

  parse(v, {"--fix", "top=0", "-k", "1", "--fix", "z<=min+2=100", "-k", "2"});

  EXPECT_EQ(v.fixed, (std::vector<std::string>{"top=0", "z<=min+2=100"}));
  EXPECT_EQ(v.conductivity, 2);
}

TEST(Options, ErrorsNameTheOption) {
  EXPECT_NE(error_of({"--colour", "red"}).find("--colour"), std::string::npos);
  EXPECT_NE(error_of({"--steps", "many"}).find("--steps needs a whole number, not \"many\""),
            std::string::npos);
  EXPECT_NE(error_of({"--conductivity", "1.5x"}).find("--conductivity needs a number"), std::string::npos);
  EXPECT_NE(error_of({"--conductivity", "nan"}).find("--conductivity needs a number"), std::string::npos);
  EXPECT_NE(error_of({"--kind", "all"}).find("one of none, some"), std::string::npos);
  EXPECT_NE(error_of({"--mesh"}).find("--mesh"), std::string::npos);
}

TEST(Options, TheEchoIsAFileThatGivesTheSameParameters) {
  Values written;
  Options options = table_of(written);
  written.conductivity = 0.1 + 0.2;
  written.mesh = "a \"quoted\" name";
  written.fixed = {"x=1", "y=2"};
  written.quiet = true;
  const ConfigFile file(options.to_json());
  Values read;

  parse(read, {"--config", file.path()});

  EXPECT_EQ(read.conductivity, written.conductivity);
  EXPECT_EQ(read.mesh, written.mesh);
  EXPECT_EQ(read.fixed, written.fixed);
  EXPECT_TRUE(read.quiet);
}

TEST(Options, AReportIsAFileOfItsParameters) {
  const ConfigFile file(R"({"schema": 1, "parameters": {"steps": 11}, "runs": []})");
  Values v;

  parse(v, {"--config", file.path()});

  EXPECT_EQ(v.steps, 11);
}

TEST(Options, RefinementsThatNoMeshCouldBearAreRefused) {
  CommonSettings settings;
  settings.refine = 3;
  EXPECT_EQ(refinements_of(settings), 3);
  for (const index_t times : {index_t{-1}, index_t{10}, index_t{1} << 32}) {
    settings.refine = times;
    EXPECT_THROW(refinements_of(settings), UsageError);
  }
}

TEST(Options, TheCommandLineWinsOverTheFile) {
  const ConfigFile file(R"({"comment": "of mine", "steps": 11, "conductivity": 4, "fix": "a=1"})");
  Values v;

  parse(v, {"--steps", "12", "--fix", "b=2", "--config", file.path()});

  EXPECT_EQ(v.steps, 12);
  EXPECT_EQ(v.conductivity, 4);
  EXPECT_EQ(v.fixed, (std::vector<std::string>{"a=1", "b=2"}));
}

TEST(Options, FilesThatMakeNoSenseAreErrors) {
  const auto error_with = [](const std::string& text) {
    const ConfigFile file(text);
    return error_of({"--config", file.path()});
  };

  EXPECT_NE(error_with("{\"step\": 3}").find("no option \"step\""), std::string::npos);
  EXPECT_NE(error_with("{\"steps\": [1, 2]}").find("takes one value"), std::string::npos);
  EXPECT_NE(error_with("{\"steps\": {}}").find("\"steps\""), std::string::npos);
  EXPECT_NE(error_with("[1]").find("parameters are an object"), std::string::npos);
  EXPECT_NE(error_with("{").find("no JSON"), std::string::npos);
  EXPECT_NE(error_of({"--config", "/nonexistent.json"}).find("/nonexistent.json"), std::string::npos);
}

TEST(Options, HelpShowsEveryOptionWithItsDefault) {
  Values v;
  ::testing::internal::CaptureStdout();

  const bool runs = parse(v, {"--help"});

  const std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_FALSE(runs);
  for (const char* part :
       {"Does things.", "--mesh", "[box:2x2x2]", "-k,--conductivity", "[0.1]", "none, some"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

TEST(Options, HelpSaysWhatTheExitStatusMeans) {
  Values v;
  ::testing::internal::CaptureStdout();

  parse(v, {"-h"});

  EXPECT_NE(::testing::internal::GetCapturedStdout().find("Exit status: 0 when all went well; 1 when"),
            std::string::npos);
}

TEST(Options, WhatHasNoEffectBesideAnotherOptionIsRefused) {
  const auto error_of_sweep = [](std::vector<const char*> arguments) {
    CommonSettings settings;
    settings.mesh = "box:8x9x18";
    Options options("program", "Does things.");
    declare(options, settings);
    arguments.insert(arguments.begin(), "program");
    try {
      options.parse(static_cast<int>(arguments.size()), arguments.data());
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const ConfigFile echo(R"({"mesh": "box:8x9x18", "sweep": "1:2"})");

  EXPECT_EQ(error_of_sweep({"--sweep", "1:2"}), "");
  EXPECT_EQ(error_of_sweep({"--mesh", "part.msh", "--output", "x.vtu", "--verify"}), "");
  EXPECT_EQ(
      error_of_sweep({"--sweep", "1:2", "-m", "part.msh"}),
      "--mesh part.msh has no effect beside --sweep: a sweep makes the boxes that it runs; leave one of "
      "the two out");
  EXPECT_NE(error_of_sweep({"--sweep", "1:2", "-m", "box:8x9x18"}), "");
  EXPECT_NE(error_of_sweep({"-o", "x.vtu", "--sweep", "1:2"}).find("--output x.vtu has no effect"),
            std::string::npos);
  EXPECT_NE(error_of_sweep({"--sweep", "1:2", "--verify"}).find("--verify has no effect"), std::string::npos);
  EXPECT_EQ(error_of_sweep({"--config", echo.path()}), "");
}

TEST(Options, AFileAndTheCommandLineAreRefusedTogether) {
  CommonSettings settings;
  Options options("program", "Does things.");
  declare(options, settings);
  const ConfigFile file(R"({"output": "x.vtu"})");
  const std::vector<const char*> arguments{"program", "--sweep", "1:2", "--config", file.path()};

  EXPECT_THROW(options.parse(static_cast<int>(arguments.size()), arguments.data()), UsageError);
}

TEST(Sweep, DoublesUpToTheEnd) {
  EXPECT_EQ(sweep_sizes("1000:8000"), (std::vector<index_t>{1000, 2000, 4000, 8000}));
  EXPECT_EQ(sweep_sizes("10:39"), (std::vector<index_t>{10, 20}));
  EXPECT_THROW(sweep_sizes("10"), UsageError);
  EXPECT_THROW(sweep_sizes("10:5"), UsageError);
}

TEST(CommonSettings, EveryDeviceHasAFileOfItsOwn) {
  EXPECT_EQ(path_with("out/part.vtu", "Cuda:1"), "out/part.Cuda-1.vtu");
  EXPECT_EQ(path_with("part", "Serial"), "part.Serial");
  EXPECT_EQ(path_with("", "Serial"), "");
}

TEST(Sweep, BoxesHaveAboutTheElementsAskedFor) {
  EXPECT_EQ(box_of_about(1), "box:1x2x4");
  EXPECT_EQ(box_of_about(1000000), "box:79x80x160");
}

TEST(Options, GivenIsTheCommandLineOfWhatIsNotAsByDefault) {
  std::string mesh = "box:4x4x4", output;
  double conductivity = 1;
  bool quiet = false, pin = true;
  std::vector<std::string> fixed;
  miniapp::Options options("strata-app", "purpose");
  options.add("-m,--mesh", &mesh, "FILE", "the mesh");
  options.add("--output", &output, "FILE", "results");
  options.add("-k,--conductivity", &conductivity, "K", "the material");
  options.add("--fix", &fixed, "SEL", "what is held");
  options.add_flag("--quiet", quiet, "no progress");
  options.add_flag("--pin", pin, "threads stay");
  EXPECT_EQ(options.given(), "strata-app");

  const char* const words[] = {"strata-app", "-k",      "0.2",         "--fix",    "z>=max=20", "--fix",
                               "base",       "--quiet", "--pin=false", "--output", "it's.vtu"};
  options.parse(static_cast<int>(std::size(words)), words);

  EXPECT_EQ(options.given(),
            "strata-app --output 'it'\\''s.vtu' --conductivity 0.2 --fix 'z>=max=20' --fix base --quiet "
            "--pin=false");
}

}  // namespace
