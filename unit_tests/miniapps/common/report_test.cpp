// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <strata/core/error.hpp>
#include <strata/miniapps/common/progress.hpp>
#include <strata/miniapps/common/report.hpp>

namespace {

using namespace strata;
using namespace strata::miniapp;

RunReport a_run() {
  RunReport run;
  run.device = "Serial";
  run.type = "double";
  run.mesh = {"box:1x1x1", 8, 1, 0};
  run.add_phase("solve", 1);
  run.add_phase("solve", 0.5);
  run.add_figure("assembly", 1e9, "elements/s");
  return run;
}

TEST(Checks, AcceptWhatIsWithinTheTolerance) {
  EXPECT_TRUE(check_near("a", 1.05, 1, 0.06).passed);
  EXPECT_FALSE(check_near("a", 1.05, 1, 0.04).passed);
  EXPECT_TRUE(check_relative("a", 105, 100, 0.06).passed);
  EXPECT_FALSE(check_relative("a", -107, -100, 0.06).passed);
  EXPECT_TRUE(check_between("a", 2, 1.9, 2.1).passed);
  EXPECT_FALSE(check_between("a", 2.2, 1.9, 2.1).passed);
  EXPECT_FALSE(check_zero("a", std::nan(""), 1).passed);
}

TEST(Report, SecondsOfAPhaseAddUp) {
  const auto run = a_run();

  EXPECT_EQ(run.phases.size(), 1u);
  EXPECT_EQ(run.seconds_of("solve"), 1.5);
}

TEST(Report, SaysHowTheChecksWent) {
  Report report("program", "{}");
  RunReport good = a_run(), bad = a_run();
  good.checks.push_back(check_near("patch", 0, 0, 1e-12));
  bad.checks.push_back(check_near("slab", 1, 0, 1e-12));

  report.add(good);
  const std::string passed = report.text();
  report.add(bad);
  const std::string failed = report.text();

  EXPECT_NE(passed.find("VERIFY: PASSED (1 checks)"), std::string::npos);
  EXPECT_NE(passed.find("FOM: assembly = 1e+09 elements/s (Serial, double)"), std::string::npos);
  EXPECT_NE(failed.find("VERIFY: FAILED (1 of 2 checks)"), std::string::npos);
}

// Standard output and standard error go to this file together, as they do to a terminal, until it is read.
class OneFile {
 public:
  OneFile() : path_(::testing::TempDir() + "report_test_both.txt"), output_(dup(1)), errors_(dup(2)) {
    std::fflush(nullptr);
    const int file = open(path_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);
    dup2(file, 1);
    dup2(file, 2);
    close(file);
  }
  std::string text() {
    std::fflush(nullptr);
    dup2(output_, 1);
    dup2(errors_, 2);
    close(output_);
    close(errors_);
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    std::remove(path_.c_str());
    return text.str();
  }

 private:
  std::string path_;
  int output_, errors_;
};

TEST(Report, AnErrorIsSaidOnceWhereOutputAndErrorsGoToTheSamePlace) {
  Report report("program", "{}");
  RunReport run = a_run();
  run.error = "it broke: mend it";
  report.add(run);
  EXPECT_NE(report.text().find("FAILED: it broke: mend it"), std::string::npos);

  OneFile both;
  report.finish("");
  const std::string said = both.text();

  EXPECT_NE(said.find("FAILED: the error is below"), std::string::npos) << said;
  const std::size_t at = said.find("it broke: mend it");
  ASSERT_NE(at, std::string::npos) << said;
  EXPECT_EQ(said.find("it broke: mend it", at + 1), std::string::npos) << said;
}

TEST(Report, ARunThatCouldNotStartHasNoTableOfSeconds) {
  Report report("program", "{}");
  RunReport run = a_run();
  run.error = "no such set";
  run.is_usage_error = true;
  report.add(run);

  EXPECT_EQ(report.text().find("seconds"), std::string::npos) << report.text();
}

TEST(Report, TheFileIsWholeOrNotThere) {
  const std::string path = ::testing::TempDir() + "report_test.json", own = path + ".part";
  std::ofstream(own) << "the user's";
  Report report("program", "{\"mesh\": \"m\"}");
  report.add(a_run());

  write_whole_file(path, report.to_json());

  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_NE(text.str().find("\"schema\": 1"), std::string::npos);
  EXPECT_NE(text.str().find("\"elements\": 1"), std::string::npos);
  std::string kept;
  std::getline(std::ifstream(own), kept);
  EXPECT_EQ(kept, "the user's");
  std::remove(own.c_str());
  std::remove(path.c_str());
  EXPECT_THROW(write_whole_file("/nonexistent/report.json", "x"), Error);
}

TEST(Progress, IsSilentWhenQuietAndALineElsewhere) {
  ::testing::internal::CaptureStdout();
  Progress(ProgressStyle::Quiet, "step", 10).show(5, "t = 1");
  const std::string quiet = ::testing::internal::GetCapturedStdout();
  ::testing::internal::CaptureStdout();
  Progress(ProgressStyle::Lines, "step", 10).show(5, "t = 1");
  const std::string line = ::testing::internal::GetCapturedStdout();

  EXPECT_EQ(quiet, "");
  EXPECT_EQ(line.rfind("step 5/10, t = 1, ", 0), 0u);
  EXPECT_NE(line.find(" left\n"), std::string::npos);
}

}  // namespace
