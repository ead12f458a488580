// Running the program that the tests of tools, trace and counters watch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace child_testing {

struct Finished {
  int status;          // of exit; minus the signal that ended it
  std::string output;  // both streams
};

// Runs watched_program, or a copy of it, with `arguments` in an environment that has `variables` besides
// ("A=b", in quotes where a shell needs them) and nothing else of Strata or Kokkos.
inline Finished run_watched(const std::string& arguments, const std::string& variables = "",
                            const std::string& program = STRATA_WATCHED_PROGRAM) {
  const std::string command = "env $(env | grep -oE '^(STRATA|KOKKOS)_[A-Z_]*' | sed 's/^/-u /') " +
                              variables + " '" + program + "' " + arguments + " 2>&1";
  Finished result{-1, ""};
  std::FILE* const pipe = popen(("exec " + command).c_str(), "r");
  if (pipe == nullptr) return result;
  char buffer[4096];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, pipe))
    result.output.append(buffer, count);
  const int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return result;
}

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Every test has a folder of its own.
class ChildProcess : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "strata-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string file(const std::string& name) const { return (folder / name).string(); }

  std::filesystem::path folder;
};

}  // namespace child_testing
