// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include <strata/core/error.hpp>
#include <strata/miniapps/common/devices.hpp>
#include <strata/miniapps/common/run_devices.hpp>

namespace {

using namespace strata;
using namespace strata::miniapp;

class RunDevices : public ::testing::Test {
 protected:
  ~RunDevices() override { std::remove(json_.c_str()); }
  std::string json_text() const {
    std::ostringstream text;
    text << std::ifstream(json_).rdbuf();
    return text.str();
  }
  // Runs and returns the status; what is printed goes to printed_ and errors_.
  int status_of(const std::vector<std::string>& devices, const RunOnDevice& run) {
    CommonSettings settings;
    settings.json = json_;
    Report report("program", "{}");
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int status = run_devices(settings, devices, run, report);
    printed_ = ::testing::internal::GetCapturedStdout();
    errors_ = ::testing::internal::GetCapturedStderr();
    return status;
  }

  std::string json_ = ::testing::TempDir() + "run_devices_test.json", printed_, errors_;
};

void fails_on_b(const std::string& device, RunReport& report) {
  report.add_phase("mesh", 1);
  if (device == "b") throw Error("b is broken: mend it");
  report.checks.push_back(check_zero("patch", 0, 1));
}

TEST_F(RunDevices, WhatFailsOnOneIsToldAndTheOthersRun) {
  const int status = status_of({"a", "b", "c"}, fails_on_b);

  EXPECT_EQ(status, 1);
  EXPECT_EQ(errors_, "program: b is broken: mend it\n");
  EXPECT_NE(printed_.find("VERIFY: FAILED (1 of 3 runs ended with an error)"), std::string::npos) << printed_;
  for (const char* part : {"\"a\"", "\"c\"", "\"error\": \"b is broken: mend it\"", "\"passed\": false"})
    EXPECT_NE(json_text().find(part), std::string::npos) << part;
}

TEST_F(RunDevices, WhereNothingFailsTheStatusIsZero) {
  EXPECT_EQ(status_of({"a", "c"}, fails_on_b), 0);
  EXPECT_EQ(errors_, "");
  EXPECT_EQ(json_text().find("\"error\""), std::string::npos);
}

TEST_F(RunDevices, WrongUseIsAnotherStatus) {
  const auto refuses = [](const std::string&, RunReport&) { throw UsageError("no block \"x\""); };

  EXPECT_EQ(status_of({"a"}, refuses), 2);
}

TEST_F(RunDevices, FilesThatCannotBeWrittenAreRefusedBeforeAnythingRuns) {
  CommonSettings settings;
  Report report("program", "{}");
  bool has_run = false;
  const auto run = [&](const std::string&, RunReport&) { has_run = true; };
  const auto refused = [&](const std::string& output, const std::string& json) {
    settings.output = output;
    settings.json = json;
    EXPECT_THROW(run_devices(settings, {"a"}, run, report), UsageError) << output << json;
  };

  refused("/nonexistent/part.vtu", "");
  refused("", "/nonexistent/report.json");
  refused("/dev/null", "");
  refused("", "/dev/null");
  refused("", ::testing::TempDir());
  refused("a\nb.vtu", "");
  refused("", "\x1b[31m.json");
  refused("same.csv", "same.csv");
  refused("./same.csv", "same.csv");
  refused("same.csv", std::filesystem::absolute("same.csv").string());
  refused(::testing::TempDir() + "none/../same.csv", ::testing::TempDir() + "same.csv");
  EXPECT_FALSE(has_run);
}

TEST_F(RunDevices, TheSecondThatWritesAReportIsRefusedWithTheProcessOfTheFirst) {
  std::string refusal;
  const auto second = [&](const std::string&, RunReport&) {
    CommonSettings settings;
    settings.json = json_;
    Report report("second", "{}");
    try {
      run_devices(
          settings, {"a"}, [](const std::string&, RunReport&) {}, report);
    } catch (const UsageError& error) {
      refusal = error.what();
    }
  };

  EXPECT_EQ(status_of({"a"}, second), 0);

  EXPECT_EQ(
      refusal.rfind("--json: cannot write " + json_ + ": process " + std::to_string(getpid()) + " on ", 0),
      0u)
      << refusal;
  EXPECT_NE(json_text().find("\"program\""), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(json_ + ".lock"));
}

TEST_F(RunDevices, FilesThatWouldReplaceEachOtherOrTheMeshAreRefusedBeforeAnythingRuns) {
  CommonSettings settings;
  Report report("program", "{}");
  bool has_run = false;
  const auto refusal = [&](const std::string& output, const std::string& json,
                           const std::vector<std::string>& devices) {
    settings.output = output;
    settings.json = json;
    try {
      run_devices(
          settings, devices, [&](const std::string&, RunReport&) { has_run = true; }, report);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };

  EXPECT_EQ(
      refusal("a.csv", "./a.Serial.csv", {"Threads", "Serial"}),
      "--output a.csv and --json ./a.Serial.csv are the same file, ./a.Serial.csv, on Serial: name two");
  EXPECT_NE(refusal("a.csv", "a.Emulated-1.csv", {"Emulated:0", "Emulated:1"}), "");
  settings.mesh = "part.e";
  EXPECT_EQ(refusal("./part.e", "", {"Serial"}),
            "--mesh part.e and --output ./part.e are the same file: name two");
  EXPECT_NE(refusal("", "part.e", {"Serial", "Threads"}), "");
  settings.mesh = "part.Serial.e";
  EXPECT_NE(refusal("part.e", "", {"Serial", "Threads"}), "");
  EXPECT_FALSE(has_run);

  settings.mesh = "part.e";
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(refusal("part.e", "", {"Serial", "Threads"}), "");  // part.Serial.e and part.Threads.e
  EXPECT_EQ(refusal("a.csv", json_, {"Serial", "Threads"}), "");
  EXPECT_EQ(refusal("a.csv", ::testing::TempDir() + "a.Serial.csv", {"Serial"}), "");
  ::testing::internal::GetCapturedStdout();
  std::remove((::testing::TempDir() + "a.Serial.csv").c_str());
  EXPECT_TRUE(has_run);
}

TEST_F(RunDevices, WhatWasNeverRunIsNotVerified) {
  const auto run = [](const std::string& device, RunReport& report) {
    report.is_starting = device != "failing";
    report.mesh.source = "part.msh";
    if (device != "good") throw Error("there is no such thing");
    report.checks.push_back(check_zero("patch", 0, 1));
  };

  EXPECT_EQ(status_of({"a"}, run), 2);
  EXPECT_EQ(printed_, "a, double: part.msh\n  FAILED: there is no such thing\n");
  status_of({"a", "b"}, run);
  EXPECT_EQ(printed_.find("VERIFY"), std::string::npos) << printed_;
  status_of({"failing"}, run);
  EXPECT_NE(printed_.find("VERIFY: FAILED (1 of 1 runs"), std::string::npos) << printed_;
  status_of({"good", "a"}, run);
  EXPECT_NE(printed_.find("VERIFY: FAILED (1 of 2 runs"), std::string::npos) << printed_;
}

TEST_F(RunDevices, WhatTheUserGaveIsToldFromWhatFailedLater) {
  const auto status_with = [&](bool is_starting, auto error) {
    return status_of({"a"}, [&](const std::string&, RunReport& report) {
      report.is_starting = is_starting;
      throw error;
    });
  };

  EXPECT_EQ(status_with(true, Error("the mesh has no set \"x\"")), 2);
  EXPECT_EQ(status_with(false, Error("an element is inside out")), 1);
  EXPECT_EQ(status_with(false, NoSuchDevice("no")), 2);
  EXPECT_EQ(status_with(true, OutOfMemory("a large mesh")), 1);
  EXPECT_EQ(status_with(true, KernelError("launch")), 1);
  EXPECT_EQ(status_with(true, CopyError("link")), 1);
  EXPECT_EQ(status_with(true, std::bad_alloc()), 1);
  EXPECT_EQ(status_with(true, std::runtime_error("of something else")), 1);
}

TEST_F(RunDevices, AFailureWeighsMoreThanARunThatCouldNotStart) {
  const auto run = [](const std::string& device, RunReport& report) {
    report.is_starting = device == "a";
    if (device != "c") throw Error(device);
  };

  EXPECT_EQ(status_of({"a", "c"}, run), 2);
  EXPECT_EQ(status_of({"a", "b"}, run), 1);
  EXPECT_EQ(status_of({"b", "a"}, run), 1);
}

TEST(ExitStatus, IsTheOneOfTheRunOrOfWhatItThrows) {
  const auto throws = [](auto error) { return exit_status_of("program", [&]() -> int { throw error; }); };
  ::testing::internal::CaptureStderr();

  EXPECT_EQ(exit_status_of("program", [] { return 0; }), 0);
  EXPECT_EQ(exit_status_of("program", [] { return 2; }), 2);
  EXPECT_EQ(throws(UsageError("no option")), 2);
  EXPECT_EQ(throws(SettingError("no setting")), 2);
  EXPECT_EQ(throws(Error("no file")), 1);
  EXPECT_EQ(throws(std::bad_alloc()), 1);

  EXPECT_NE(::testing::internal::GetCapturedStderr().find("program: no file\n"), std::string::npos);
}

TEST(ExitStatus, IsOneWhereStandardOutputDidNotTakeEverything) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full here";
  const auto prints = [] {
    if (std::freopen("/dev/full", "w", stdout) == nullptr) std::exit(3);
    std::exit(exit_status_of("program", [] {
      std::printf("a row\n");
      return 0;
    }));
  };

  EXPECT_EXIT(prints(), ::testing::ExitedWithCode(1), "program: not everything could be written");
}

TEST(ChosenDevices, AreThoseListedEachOnce) {
  const auto refused = [](const std::string& text) {
    try {
      chosen_devices(text);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };

  EXPECT_EQ(chosen_devices("serial,THREADS:0,none"), (std::vector<std::string>{"Serial", "Threads", "none"}));
  EXPECT_EQ(chosen_devices("serial"), std::vector<std::string>{"serial"});
  EXPECT_EQ(refused("serial,serial"),
            "--device serial,serial: serial and serial are the same device: name each once");
  EXPECT_NE(refused("threads,serial,Serial").find("serial and Serial are"), std::string::npos);
  EXPECT_NE(refused("serial:0,serial").find("serial:0 and serial are"), std::string::npos);
  EXPECT_NE(refused("none,none").find("none and none are"), std::string::npos);
}

TEST_F(RunDevices, ASweepGoesThroughTheSizesOfEachDevice) {
  CommonSettings settings;
  settings.sweep = "100:900";
  settings.json = json_;
  Report report("program", "{}");
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();

  const int status = run_sweep(
      settings, {"a", "b"}, "device,box",
      [](const std::string& device, const std::string& box, RunReport&) {
        if (device == "a" && box != box_of_about(100)) throw Error("a is small");
        return device + "," + box;
      },
      report);

  const std::string printed = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "program: a is small\n");
  EXPECT_EQ(status, 1);
  std::string expected = "device,box\na," + box_of_about(100) + "\n";
  for (const index_t size : {100, 200, 400, 800}) expected += "b," + box_of_about(size) + "\n";
  EXPECT_EQ(printed, expected);
}

}  // namespace
