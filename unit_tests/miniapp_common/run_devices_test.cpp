#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include <strata/core/error.hpp>
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
  refused("same.csv", "same.csv");
  EXPECT_FALSE(has_run);
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
