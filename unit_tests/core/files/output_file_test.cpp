// Files that programs leave behind: what is in them when the file system took a part of a record only.
// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include <strata/core/files/output_file.hpp>

#include "core/child_process.hpp"
#include "core/files/file_size_limit.hpp"

namespace {

using child_testing::text_of;

class OutputFile : public child_testing::ChildProcess {
 protected:
  void SetUp() override {
    ChildProcess::SetUp();
    if (const char* const before = std::getenv("TMPDIR")) before_ = before;
    setenv("TMPDIR", folder.c_str(), 1);
  }
  void TearDown() override {
    if (before_.empty()) unsetenv("TMPDIR");
    else setenv("TMPDIR", before_.c_str(), 1);
    ChildProcess::TearDown();
  }
  // The file in the folder of temporary files.
  std::string fallback() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().filename().string().starts_with("strata-list-")) return entry.path().string();
    return "";
  }

 private:
  std::string before_;
};

TEST_F(OutputFile, HasOnlyWholeRecordsWhereThereWasNoRoomForAPartOfThem) {
  strata::detail::files::OutputFile out("list", file("asked"), "[\n");
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);  // of the warning, where it goes to a longer file
  {
    const file_testing::FileSizeLimit limit(64);
    out.write(std::string(100, 'a'));
  }
  std::signal(SIGXFSZ, handler);
  out.write("{}");

  EXPECT_FALSE(out.finish("\n]\n"));
  EXPECT_EQ(text_of(file("asked")), "[\n");
  EXPECT_EQ(text_of(fallback()), "[\n{}\n]\n");
}

}  // namespace
