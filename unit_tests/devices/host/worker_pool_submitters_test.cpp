// One worker pool, several threads that submit to it, and many small runs.
//
// A lost wake-up shows as a hang: these tests rely on the time limit of the test runner.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "core/random.hpp"
#include "worker_pools.hpp"

namespace {

using namespace strata_tests;
using namespace std::chrono_literals;

TEST(WorkerPool, SerialisesTheRegionsOfSeveralSubmitters) {
  WorkerPool pool({.workers = 2});
  std::atomic<int> inside{0};
  std::atomic<int> ready{0};
  const auto submit = [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    ++ready;
    while (ready < 3) std::this_thread::yield();
    for (int i = 0; i < 2000; ++i) {
      const auto owner = std::this_thread::get_id();
      std::atomic<int> mine{0};
      const auto n = static_cast<index_t>(1 + random() % 4);  // one-piece regions take turns as well
      pool.run({0, n}, erase([&](index_t begin, index_t end, int worker) {
                 if (worker == 0) {
                   EXPECT_EQ(std::this_thread::get_id(), owner);
                   EXPECT_EQ(inside.fetch_add(1), 0);
                   if (i % 4 == 0) std::this_thread::yield();  // lets another region in, if any may come in
                   inside.fetch_sub(1);
                 }
                 mine += static_cast<int>(end - begin);
               }));
      EXPECT_EQ(mine, n);
    }
  };

  std::vector<std::thread> submitters;
  for (const std::uint64_t seed : {1U, 2U, 3U}) submitters.emplace_back(submit, seed);
  for (std::thread& submitter : submitters) submitter.join();
}

TEST(WorkerPool, LetsASecondSubmitterInWhileTheFirstSubmitsInALoop) {
  WorkerPool pool({.workers = 2});
  std::atomic<bool> enough{false};
  std::thread busy([&] {
    while (!enough) sum_with(pool, 100, Schedule::Static);
  });

  for (int i = 0; i < 100; ++i) EXPECT_EQ(sum_with(pool, 100, Schedule::Static), sum_to(100));

  enough = true;  // never reached if the loop above is starved
  busy.join();
}

// `runs` small regions from each of `submitters` threads: random lengths and schedules, exceptions, nested
// regions, and pauses long enough for the team to fall asleep. Under AddressSanitizer a tenth of the runs.
void stress(const WorkerPool::Options& options, int submitters, int runs) {
  if (is_address_sanitized) runs /= 10;
  WorkerPool pool(options);
  const auto submit = [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < runs; ++i) {
      const auto n = static_cast<index_t>(random() % 12);
      const auto schedule = random() % 2 ? Schedule::Static : Schedule::Dynamic;
      const auto thrower = random() % 8 == 0 ? static_cast<index_t>(random() % 12) : -1;
      const bool nest = random() % 16 == 0;
      std::atomic<index_t> sum{0};
      bool thrown = false;
      try {
        pool.run({0, n, static_cast<index_t>(random() % 3), 1, schedule},
                 erase([&](index_t begin, index_t end, int) {
                   if (begin <= thrower && thrower < end) throw thrower;
                   index_t part = 0;
                   for (index_t k = begin; k < end; ++k) part += k;
                   if (nest)
                     pool.run({begin, end, 1}, erase([&](index_t b, index_t, int) { part += b - b; }));
                   sum += part;
                 }));
      } catch (const index_t caught) {
        thrown = true;
        ASSERT_EQ(caught, thrower);
      }
      ASSERT_EQ(thrown, thrower >= 0 && thrower < n);
      if (!thrown) {
        ASSERT_EQ(sum, sum_to(n));
      }
      if (random() % 512 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
    }
  };

  std::vector<std::thread> threads;
  for (int s = 1; s < submitters; ++s) threads.emplace_back(submit, 1000 + static_cast<std::uint64_t>(s));
  submit(1000);
  for (std::thread& thread : threads) thread.join();
}

TEST(WorkerPoolStress, HoldsForManySmallRunsFromOneThread) {
  stress({.workers = 2, .pin = true, .spin_us = 30}, 1, 60'000);
}

TEST(WorkerPoolStress, HoldsForManySmallRunsFromThreeThreads) {
  stress({.workers = 2, .spin_us = 30}, 3, 7'000);
}

TEST(WorkerPoolStress, HoldsForManySmallRunsSlow) {
  stress({.workers = 2, .pin = true, .spin_us = 30}, 1, 1'000'000);
  stress({.workers = 2, .spin_us = 30}, 3, 100'000);
}

TEST(WorkerPoolStress, HoldsForMoreWorkersThanProcessors) { stress({.workers = 5, .spin_us = 20}, 3, 4'000); }

TEST(WorkerPoolStress, HoldsWhereProcessorsAreShared) {
  stress({.workers = 3, .spin_us = 0, .shares_processors = true}, 1, 20'000);
  stress({.workers = 2, .pin = true, .spin_us = 30, .shares_processors = true}, 3, 20'000);
  stress({.workers = 5, .spin_us = 20, .shares_processors = true}, 3, 4'000);
}

TEST(WorkerPoolStress, HoldsWhereEveryWaitGoesToSleep) {
  stress({.workers = 3, .spin_us = 0}, 1, 20'000);
  stress({.workers = 2, .spin_us = 0}, 3, 7'000);
}

}  // namespace
