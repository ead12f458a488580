// Start, sleep and end of a worker pool, in forked children, too.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <strata/core/error.hpp>

#include "worker_pools.hpp"

#if defined(__linux__)
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace {

using namespace strata_tests;
using namespace std::chrono_literals;

// ---- start and end -------------------------------------------------------------------------------------

TEST(WorkerPool, CallsTheStartHookOnceOnEveryThreadOfItsOwnBeforeTheConstructorReturns) {
  std::mutex mutex;
  std::vector<int> hooked;
  std::set<std::thread::id> threads;

  const WorkerPool pool({.workers = 4, .on_start = [&](int worker) {
                           const std::lock_guard lock(mutex);
                           EXPECT_EQ(WorkerPool::current_worker(), -1);
                           hooked.push_back(worker);
                           threads.insert(std::this_thread::get_id());
                         }});

  std::sort(hooked.begin(), hooked.end());
  EXPECT_EQ(hooked, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(threads.size(), 3U);
  EXPECT_EQ(threads.count(std::this_thread::get_id()), 0U);
}

TEST(WorkerPool, ThrowsFromTheConstructorWhatTheStartHookThrows) {
  const auto hook = [](int worker) {
    if (worker == 2) throw std::runtime_error("hook");
  };

  EXPECT_THROW(WorkerPool({.workers = 4, .on_start = hook}), std::runtime_error);
}

TEST(WorkerPool, RefusesNegativeNumbersByName) {
  try {
    WorkerPool pool({.workers = -2});
    FAIL() << "nothing was thrown";
  } catch (const strata::Error& error) {
    EXPECT_NE(std::string(error.what()).find("-2 workers"), std::string::npos) << error.what();
  }
  EXPECT_THROW(WorkerPool({.workers = 1, .spin_us = -1}), strata::Error);
}

TEST(WorkerPool, CanBeDestroyedAtOnceAwakeOrAsleep) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    WorkerPool pool({.workers = 3, .spin_us = repeat % 3 * 20});
    if (repeat % 4 == 0) continue;
    sum_with(pool, 10, Schedule::Static);
    if (repeat % 4 == 1) std::this_thread::sleep_for(200us);
  }
}

#if defined(__linux__)

// Runs `body` in a forked child, whose exit status 0 means true; a child that hangs is killed.
template <class F>
bool holds_in_a_forked_child(F body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(body() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(WorkerPool, RunsInlineAndEndsWithoutWaitingInAForkedChild) {
  auto pool = std::make_unique<WorkerPool>(WorkerPool::Options{.workers = 3});
  sum_with(*pool, 100, Schedule::Static);

  EXPECT_TRUE(holds_in_a_forked_child([&] {
    const bool right = sum_with(*pool, 1000, Schedule::Dynamic) == sum_to(1000);
    pool.reset();
    return right;
  }));

  EXPECT_EQ(sum_with(*pool, 1000, Schedule::Static), sum_to(1000));
}

TEST(WorkerPool, OfAForkedChildStartsThreadsOfItsOwn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not follow threads started after a fork";
#endif
  WorkerPool parent({.workers = 2});

  EXPECT_TRUE(holds_in_a_forked_child([] {
    WorkerPool pool({.workers = 2});
    return pieces_of(pool, {0, 2}) == std::vector<Piece>{{0, 1, 0}, {1, 2, 1}};
  }));
}

// ---- sleep ---------------------------------------------------------------------------------------------

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](timeval t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(WorkerPool, UsesNoProcessorTimeWhileIdle) {
  WorkerPool pool({.workers = 4});
  for (int warm = 0; warm < 100; ++warm) sum_with(pool, 100, Schedule::Static);

  const double before = processor_seconds();
  std::this_thread::sleep_for(300ms);
  const double used = processor_seconds() - before;

  EXPECT_LT(used, 0.010) << "a thread that spins on would use 0.300 s";
}

TEST(WorkerPool, SleepsWhileALongPieceOfAnotherWorkerRuns) {
  WorkerPool pool({.workers = 3});

  const double before = processor_seconds();
  pool.run({0, 3}, erase([](index_t, index_t, int worker) {
             if (worker == 1) std::this_thread::sleep_for(300ms);
           }));
  const double used = processor_seconds() - before;

  EXPECT_LT(used, 0.010);
}

#endif

}  // namespace
