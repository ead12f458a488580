// One program at a time writes an output, and the second is told whom to wait for.
// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <filesystem>
#include <string>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <strata/core/error.hpp>
#include <strata/core/files/output_lock.hpp>

#include "core/child_process.hpp"

namespace {

using strata::FileError;
using strata::detail::files::OutputLock;

class OutputLocks : public child_testing::ChildProcess {
 protected:
  std::string refusal(const std::string& path) const {
    try {
      const OutputLock lock(path);
      return lock.is_held() ? "" : "not held";
    } catch (const FileError& error) {
      return error.what();
    }
  }
  bool is_empty() const { return std::filesystem::is_empty(folder); }
};

std::string host_name() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  return host;
}

TEST_F(OutputLocks, TheSecondIsRefusedWithTheProcessAndHostOfTheFirst) {
  std::string path = file("run.e");
  OutputLock first(path);
  ASSERT_TRUE(first.is_held());
  const std::string wanted = "cannot write " + path + ": process " + std::to_string(getpid()) + " on " +
                             host_name() + " writes it; wait for its end, or write to another file";

  EXPECT_EQ(refusal(path), wanted);
  EXPECT_EQ(refusal(file("other.e")), "");
  std::filesystem::create_symlink("run.e", file("link"));
  std::ofstream(file("run.e")) << "x";
  EXPECT_EQ(refusal(file("link")), wanted);

  first = OutputLock();
  EXPECT_EQ(refusal(path), "");
  std::filesystem::remove(file("link"));
  std::filesystem::remove(path);
  EXPECT_TRUE(is_empty());
}

TEST_F(OutputLocks, OfAKilledProgramLocksNothing) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t other = fork();
  if (other == 0) {
    const OutputLock lock(file("a"));
    if (::write(ready[1], "x", 1) == 1) pause();
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_NE(refusal(file("a")).find("process " + std::to_string(other) + " on "), std::string::npos);

  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);

  EXPECT_FALSE(is_empty());
  EXPECT_EQ(refusal(file("a")), "");
  EXPECT_TRUE(is_empty());
  close(ready[0]);
  close(ready[1]);
}

TEST_F(OutputLocks, FilesOfOthersAreNotTakenForLocks) {
  std::ofstream(file("own.lock")) << "dependencies";
  std::filesystem::create_symlink("own.lock", file("link.lock"));
  ASSERT_EQ(mkfifo(file("pipe.lock").c_str(), 0600), 0);
  for (const char* name : {"own", "link", "pipe"})
    EXPECT_NE(refusal(file(name))
                  .find(".lock, which would say that it is being written, is there and is something "
                        "else; move it away"),
              std::string::npos)
        << refusal(file(name));
  EXPECT_EQ(child_testing::text_of(file("own.lock")), "dependencies");
  std::ofstream(file("odd.lock")) << "strata: written by \033[31m\n";
  EXPECT_EQ(refusal(file("odd")), "");
}

TEST_F(OutputLocks, WithoutAFolderLockNothing) {
  EXPECT_EQ(refusal(file("none/a")), "not held");
  EXPECT_FALSE(OutputLock("").is_held());
  EXPECT_FALSE(OutputLock().is_held());
}

// Each adds one to a number in a file, which only the lock makes exact.
TEST_F(OutputLocks, ExcludeProgramsThatTakeThemAtTheSameTime) {
  constexpr int programs = 4, rounds = 40;
  std::ofstream(file("number")) << 0;
  for (int k = 0; k < programs; ++k) {
    if (fork() != 0) continue;
    for (int round = 0; round < rounds;) {
      try {
        const OutputLock lock(file("number"));
        if (!lock.is_held()) _exit(1);
        int number = 0;
        std::ifstream(file("number")) >> number;
        std::ofstream(file("number")) << number + 1;
        ++round;
      } catch (const FileError&) {  // another's turn
      }
    }
    _exit(0);
  }
  for (int k = 0, status = 0; k < programs; ++k) {
    wait(&status);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(child_testing::text_of(file("number")), std::to_string(programs * rounds));
  EXPECT_FALSE(std::filesystem::exists(file("number.lock")));
}

}  // namespace
