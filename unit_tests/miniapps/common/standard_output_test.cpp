// Standard output that is kept for a report.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include <strata/core/error.hpp>
#include <strata/miniapps/common/options.hpp>
#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/common/standard_output.hpp>

namespace {

using namespace strata;

TEST(StandardOutput, GetsTheReportAloneAndStandardErrorTheRest) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  std::string json;
  miniapp::Options options("strata-app", "purpose");
  options.add("-j,--json", &json, "FILE", "the report");
  const char* const words[] = {"strata-app", "--json", "-"};

  options.parse(3, words);
  std::printf("progress\n");
  miniapp::Report report("strata-app", options.to_json());
  report.add({});
  const int status = report.finish(json);
  miniapp::give_back_standard_output();
  std::printf("after\n");
  std::fflush(stdout);

  const std::string out = testing::internal::GetCapturedStdout(),
                    err = testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, 0);
  EXPECT_EQ(out, report.to_json() + "after\n");
  EXPECT_TRUE(err.starts_with("progress\n")) << err;
  EXPECT_EQ(err.find("{\n"), std::string::npos) << err;
}

TEST(StandardOutput, OnlyWhatWasKeptCanBeWritten) { EXPECT_THROW(miniapp::write_kept_output("{}"), Error); }

}  // namespace
