// A confined process hands back bytes and a status, and can do nothing else, for ever or on its own.
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <strata/miniapps/fem/files/confined_process.hpp>

namespace {

using namespace strata::fem::detail;

[[noreturn]] void work_for_ever() {
  for (volatile bool on = true; on;) continue;
  _exit(0);
}

TEST(ConfinedProcess, HandsBackBytesAndAStatus) {
  const std::string bytes(300000, 'b');

  const ConfinedResult result = run_confined({}, [&](const auto& write) {
    write("a");
    write(bytes);
    return 7;
  });

  EXPECT_EQ(result.output, "a" + bytes);
  EXPECT_EQ(result.status, 7);
  EXPECT_EQ(result.failure, "");
}

TEST(ConfinedProcess, ThatThrowsOrCrashesHasFailed) {
  EXPECT_EQ(run_confined({}, [](const auto&) -> int { throw std::runtime_error("no"); }).failure,
            "ended with an error");
  EXPECT_EQ(run_confined({}, [](const auto&) -> int { __builtin_trap(); }).failure,
            "ended by signal " + std::to_string(SIGILL));
}

TEST(ConfinedProcess, EndsAfterItsProcessorTime) {
  ConfinedLimits limits;
  limits.processor_seconds = 1;

  const ConfinedResult result = run_confined(limits, [](const auto&) -> int { work_for_ever(); });

  EXPECT_EQ(result.status, -1);
  EXPECT_EQ(result.failure, "ended by signal " + std::to_string(SIGXCPU));
}

TEST(ConfinedProcess, EndsAfterItsWallTime) {
  ConfinedLimits limits;
  limits.wall_seconds = 0.3;
  const auto begin = std::chrono::steady_clock::now();

  const ConfinedResult result = run_confined(limits, [](const auto&) -> int { work_for_ever(); });

  EXPECT_EQ(result.failure, "took longer than 1 s");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(ConfinedProcess, HandsBackNoMoreThanItMay) {
  ConfinedLimits limits;
  limits.output = 100000;

  const ConfinedResult result = run_confined(limits, [](const auto& write) {
    while (true) write(std::string(1000, 'x'));
    return 0;
  });

  EXPECT_EQ(result.failure, "gave more than 100000 bytes");
  EXPECT_LE(result.output.size(), 100000u);
}

TEST(ConfinedProcess, OpensNoFileAndStartsNoProcessAndReachesNobody) {
  if (!confinement_denies_files()) GTEST_SKIP() << "this kernel has no seccomp";

  const auto denied = [](auto call) {
    return run_confined({}, [call](const auto&) {
             errno = 0;
             return call() < 0 && errno == EPERM ? 0 : 1;
           }).status == 0;
  };

  EXPECT_TRUE(denied([] { return open("/etc/hostname", O_RDONLY | O_CLOEXEC); }));
  EXPECT_TRUE(denied([] { return creat("strata_confined", 0600); }));
  EXPECT_TRUE(denied([] { return unlink("strata_confined"); }));
  EXPECT_TRUE(denied([] { return socket(AF_UNIX, SOCK_STREAM, 0); }));
  EXPECT_TRUE(denied([] { return kill(getppid(), 0); }));
  EXPECT_TRUE(denied([] { return fork(); }));
}

TEST(ConfinedProcess, EndsWithTheOneThatWaitsForIt) {
  // This process inherits those whose parent has ended.
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  void* const memory = mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const confined = static_cast<volatile int*>(memory);
  const pid_t waiting = fork();
  if (waiting == 0) {
    run_confined({}, [&](const auto&) -> int {
      *confined = getpid();
      work_for_ever();
    });
    _exit(0);
  }
  while (*confined == 0) usleep(1000);

  kill(waiting, SIGKILL);

  int status = 0;
  EXPECT_EQ(waitpid(waiting, &status, 0), waiting);
  EXPECT_EQ(waitpid(*confined, &status, 0), *confined);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;  // not SIGXCPU
  munmap(memory, sizeof(int));
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace
