// The worker pool, the rule by which it cuts ranges, and the processors it binds its threads to.
//
// A lost wake-up shows as a hang: the stress tests rely on the time limit of the test runner.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <strata/core/error.hpp>
#include <strata/devices/affinity.hpp>
#include <strata/devices/worker_pool.hpp>

#if defined(__linux__)
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace {

using strata::index_t;
using strata::detail::ChunkFunction;
using strata::detail::ChunkPlan;
using strata::detail::ChunkRange;
using strata::detail::Schedule;
using strata::detail::WorkerPool;
using namespace std::chrono_literals;

template <class F>
ChunkFunction erase(const F& f) {
  return {[](const void* context, index_t begin, index_t end, int worker) {
            (*static_cast<const F*>(context))(begin, end, worker);
          },
          &f};
}

struct Piece {
  index_t begin;
  index_t end;
  int worker;
  auto operator<=>(const Piece&) const = default;
};

// What a run called, in the order of the indices.
std::vector<Piece> pieces_of(WorkerPool& pool, const ChunkRange& range) {
  std::mutex mutex;
  std::vector<Piece> pieces;
  pool.run(range, erase([&](index_t begin, index_t end, int worker) {
             const std::lock_guard lock(mutex);
             pieces.push_back({begin, end, worker});
           }));
  std::sort(pieces.begin(), pieces.end());
  return pieces;
}

// Adds up 0 .. n-1 with the pool: wrong if a piece is lost or run twice.
index_t sum_with(WorkerPool& pool, index_t n, Schedule schedule) {
  std::atomic<index_t> sum{0};
  pool.run({0, n, 3, 1, schedule}, erase([&](index_t begin, index_t end, int) {
             for (index_t i = begin; i < end; ++i) sum.fetch_add(i, std::memory_order_relaxed);
           }));
  return sum.load();
}

index_t sum_to(index_t n) { return n * (n - 1) / 2; }

bool is_aligned(index_t cut, index_t align) { return (cut & (align - 1)) == 0; }

// ---- cutting -------------------------------------------------------------------------------------------

TEST(ChunkPlan, OfAnEmptyOrReversedRangeHasNoPieces) {
  EXPECT_EQ(ChunkPlan({5, 5}, 3).count(), 0U);
  EXPECT_EQ(ChunkPlan({5, -5}, 3).count(), 0U);
}

TEST(ChunkPlan, OfAStaticRangeHasOnePiecePerWorkerOfNearlyEqualSizes) {
  const ChunkPlan plan({-5, 6}, 4);

  ASSERT_EQ(plan.count(), 4U);
  EXPECT_EQ(plan.begin(0), -5);
  EXPECT_EQ(plan.end(0), -2);
  EXPECT_EQ(plan.end(1), 1);
  EXPECT_EQ(plan.end(2), 4);
  EXPECT_EQ(plan.end(3), 6);
}

TEST(ChunkPlan, CutsAtGlobalMultiplesOfTheAlignmentWhereTheRangeIsLongEnough) {
  const ChunkPlan plan({-5, 30, 0, 8}, 2);

  ASSERT_EQ(plan.count(), 2U);
  EXPECT_EQ(plan.end(0), 16);  // blocks from -8, 0, 8 | 16, 24
}

TEST(ChunkPlan, GivesEveryWorkerAnItemWhereTheRangeIsShorterThanABlockEach) {
  const ChunkPlan plan({0, 4, 0, 64}, 4);

  ASSERT_EQ(plan.count(), 4U);
  for (ChunkPlan::Count k = 0; k < 4; ++k) EXPECT_EQ(plan.end(k) - plan.begin(k), 1);
}

TEST(ChunkPlan, RoundsTheChunkUpToTheAlignment) {
  const ChunkPlan plan({3, 40, 5, 4}, 2);

  ASSERT_EQ(plan.count(), 5U);
  EXPECT_EQ(plan.end(0), 8);
  EXPECT_EQ(plan.end(1), 16);
  EXPECT_EQ(plan.end(4), 40);
}

TEST(ChunkPlan, OfADynamicRangeWithoutAChunkHasAboutEightPiecesPerWorker) {
  const ChunkPlan plan({0, 100'000, 0, 16, Schedule::Dynamic}, 4);

  EXPECT_GE(plan.count(), 8U * 4);
  EXPECT_LE(plan.count(), 9U * 4);
}

TEST(ChunkPlan, CoversEveryRangeOnceInOrderAndIsAlignedForRandomBoundsOf64Bits) {
  constexpr std::uint64_t seed = 20240611;
  RecordProperty("seed", std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto near = [&](index_t centre) { return centre + static_cast<index_t>(random() % 2001) - 1000; };
  constexpr index_t big = index_t{1} << 62;
  const index_t centres[] = {-big, -(index_t{1} << 33), 0, index_t{1} << 31, big};

  for (int trial = 0; trial < 20'000; ++trial) {
    const index_t a = near(centres[random() % 5]);
    const index_t b = random() % 2 ? near(a) : near(centres[random() % 5]);
    const auto items =
        static_cast<std::uint64_t>(std::max(a, b)) - static_cast<std::uint64_t>(std::min(a, b));
    const int workers = 1 + static_cast<int>(random() % 130);
    const index_t align = index_t{1} << (random() % 10);
    // Chunks that leave at most a few hundred pieces to look at.
    const auto chunk = random() % 2 ? static_cast<index_t>(items / (1 + random() % 200)) : 0;
    const Schedule schedule = random() % 2 ? Schedule::Static : Schedule::Dynamic;
    SCOPED_TRACE(testing::Message() << "trial " << trial << ": [" << std::min(a, b) << ", " << std::max(a, b)
                                    << ") chunk " << chunk << " align " << align << " workers " << workers);

    const ChunkPlan plan({std::min(a, b), std::max(a, b), chunk, align, schedule}, workers);

    if (items == 0) {
      ASSERT_EQ(plan.count(), 0U);
      continue;
    }
    const bool long_enough = items / static_cast<std::uint64_t>(align) >= static_cast<std::uint64_t>(workers);
    index_t at = std::min(a, b);
    for (ChunkPlan::Count k = 0; k < plan.count(); ++k) {
      ASSERT_EQ(plan.begin(k), at);
      ASSERT_GT(plan.end(k), at);
      at = plan.end(k);
      if (long_enough && k + 1 < plan.count()) {
        ASSERT_TRUE(is_aligned(at, align));
      }
    }
    ASSERT_EQ(at, std::max(a, b));
  }
}

TEST(ChunkPlan, CoversTheWholeIndexType) {
  constexpr index_t lowest = std::numeric_limits<index_t>::min();
  constexpr index_t highest = std::numeric_limits<index_t>::max();

  const ChunkPlan plan({lowest, highest, 0, 64}, 2);

  ASSERT_EQ(plan.count(), 2U);
  EXPECT_EQ(plan.begin(0), lowest);
  EXPECT_EQ(plan.end(0), 0);
  EXPECT_EQ(plan.end(1), highest);
}

// ---- one run -------------------------------------------------------------------------------------------

TEST(WorkerPool, RunsEveryIndexOnceForManyLengthsTeamsAndSchedules) {
  for (const int workers : {1, 2, 3, 7}) {
    WorkerPool pool({.workers = workers});
    ASSERT_EQ(pool.size(), workers);
    for (const index_t n : {0, 1, 2, 3, 5, 8, 64, 97, 1000})
      for (const index_t chunk : {0, 1, 7})
        for (const Schedule schedule : {Schedule::Static, Schedule::Dynamic}) {
          std::vector<std::atomic<int>> visits(static_cast<std::size_t>(n));

          pool.run({-3, n - 3, chunk, 4, schedule}, erase([&](index_t begin, index_t end, int worker) {
                     EXPECT_TRUE(worker >= 0 && worker < workers);
                     for (index_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i + 3)];
                   }));

          for (const std::atomic<int>& visit : visits) ASSERT_EQ(visit.load(), 1);
        }
  }
}

TEST(WorkerPool, HasEveryWorkerTakePartInARangeOfOneItemPerWorker) {
  WorkerPool pool({.workers = 4});

  const std::vector<Piece> pieces = pieces_of(pool, {0, 4});

  EXPECT_EQ(pieces, (std::vector<Piece>{{0, 1, 0}, {1, 2, 1}, {2, 3, 2}, {3, 4, 3}}));
}

TEST(WorkerPool, GivesEqualStaticRangesToTheSameThreadsEachTime) {
  WorkerPool pool({.workers = 3, .pin = true});
  std::vector<std::thread::id> first(100);
  const auto record = [&](std::vector<std::thread::id>& owners) {
    pool.run({0, 100}, erase([&](index_t begin, index_t end, int) {
               for (index_t i = begin; i < end; ++i)
                 owners[static_cast<std::size_t>(i)] = std::this_thread::get_id();
             }));
  };
  record(first);

  for (int repeat = 0; repeat < 100; ++repeat) {
    std::vector<std::thread::id> again(100);
    record(again);
    ASSERT_EQ(again, first);
  }
  EXPECT_EQ(std::set<std::thread::id>(first.begin(), first.end()).size(), 3U);
}

TEST(WorkerPool, GivesStaticChunksRoundRobin) {
  WorkerPool pool({.workers = 2});

  const std::vector<Piece> pieces = pieces_of(pool, {0, 10, 3});

  EXPECT_EQ(pieces, (std::vector<Piece>{{0, 3, 0}, {3, 6, 1}, {6, 9, 0}, {9, 10, 1}}));
}

TEST(WorkerPool, LetsOtherWorkersFinishADynamicRangeWhileOneIsHeldUp) {
  WorkerPool pool({.workers = 2});
  std::atomic<int> others{0};
  constexpr index_t pieces = 50;

  pool.run({0, pieces, 1, 1, Schedule::Dynamic}, erase([&](index_t begin, index_t, int) {
             if (begin > 0) ++others;
             else
               while (others < pieces - 1) std::this_thread::yield();  // hangs if the pieces were dealt out
           }));

  EXPECT_EQ(others, pieces - 1);
}

TEST(WorkerPool, RunsRangesAtBothEndsOfTheIndexType) {
  WorkerPool pool({.workers = 2});
  constexpr index_t big = index_t{1} << 62;

  const std::vector<Piece> halves = pieces_of(pool, {-big, big});
  const std::vector<Piece> far = pieces_of(pool, {big - 1, big + 1});

  EXPECT_EQ(halves, (std::vector<Piece>{{-big, 0, 0}, {0, big, 1}}));
  EXPECT_EQ(far, (std::vector<Piece>{{big - 1, big, 0}, {big, big + 1, 1}}));
}

TEST(WorkerPool, RunsARangeOfOnePieceInlineOnTheCaller) {
  WorkerPool pool({.workers = 3});
  std::thread::id ran_on;

  for (const ChunkRange& range :
       {ChunkRange{7, 8}, ChunkRange{0, 5, 5}, ChunkRange{0, 5, 9, 1, Schedule::Dynamic}}) {
    ran_on = {};
    pool.run(range, erase([&](index_t begin, index_t end, int worker) {
               EXPECT_EQ(begin, range.begin);
               EXPECT_EQ(end, range.end);
               EXPECT_EQ(worker, 0);
               EXPECT_TRUE(pool.in_region());
               ran_on = std::this_thread::get_id();
             }));
    EXPECT_EQ(ran_on, std::this_thread::get_id());
  }
}

TEST(WorkerPool, MakesTheWritesOfEveryPieceVisibleToTheCallerAndTheNextRun) {
  WorkerPool pool({.workers = 4});
  std::vector<int> plain(64, 0);

  for (int round = 0; round < 1000; ++round)
    pool.run({0, 64}, erase([&](index_t begin, index_t end, int worker) {
               // Reads what another worker wrote in the round before, then writes elsewhere.
               const int turned = (worker + round) % 4;
               if (end - begin == 16)
                 for (int i = 16 * turned; i < 16 * (turned + 1); ++i) ++plain[static_cast<std::size_t>(i)];
             }));

  for (const int value : plain) EXPECT_EQ(value, 1000);
}

// ---- where am I ----------------------------------------------------------------------------------------

TEST(WorkerPool, NamesTheWorkerInsideARegionAndNoneOutside) {
  WorkerPool pool({.workers = 3});
  WorkerPool other({.workers = 2});

  EXPECT_EQ(WorkerPool::current_worker(), -1);
  EXPECT_FALSE(pool.in_region());
  pool.run({0, 3}, erase([&](index_t, index_t, int worker) {
             EXPECT_EQ(WorkerPool::current_worker(), worker);
             EXPECT_TRUE(pool.in_region());
             EXPECT_FALSE(other.in_region());
           }));
  EXPECT_EQ(WorkerPool::current_worker(), -1);
  EXPECT_FALSE(pool.in_region());
}

TEST(WorkerPool, RunsNestedRangesInlineOnTheCallingWorker) {
  WorkerPool pool({.workers = 3});
  std::atomic<index_t> items{0};

  pool.run({0, 3}, erase([&](index_t, index_t, int outer) {
             const auto thread = std::this_thread::get_id();
             pool.run({0, 100, 7, 1, Schedule::Dynamic}, erase([&](index_t begin, index_t end, int inner) {
                        EXPECT_EQ(inner, outer);
                        EXPECT_EQ(WorkerPool::current_worker(), outer);
                        EXPECT_EQ(std::this_thread::get_id(), thread);
                        items += end - begin;
                      }));
             EXPECT_EQ(WorkerPool::current_worker(), outer);
           }));

  EXPECT_EQ(items, 300);
}

TEST(WorkerPool, FindsItsOwnRegionThroughTheRegionOfAnotherPool) {
  WorkerPool outer({.workers = 2});
  WorkerPool inner({.workers = 1});
  std::atomic<int> nested{0};

  outer.run({0, 2}, erase([&](index_t, index_t, int worker) {
              inner.run({0, 1}, erase([&](index_t, index_t, int) {
                          EXPECT_EQ(WorkerPool::current_worker(), 0);
                          outer.run({0, 1}, erase([&](index_t, index_t, int again) {
                                      EXPECT_EQ(again, worker);
                                      ++nested;
                                    }));
                        }));
              EXPECT_EQ(WorkerPool::current_worker(), worker);
            }));

  EXPECT_EQ(nested, 2);
}

// ---- exceptions ----------------------------------------------------------------------------------------

TEST(WorkerPool, ThrowsTheExceptionOfAnyWorkerOnTheCallerAndStaysUsable) {
  WorkerPool pool({.workers = 3});

  for (int thrower = 0; thrower < 3; ++thrower) {
    try {
      pool.run({0, 3}, erase([&](index_t, index_t, int worker) {
                 if (worker == thrower) throw std::runtime_error("worker " + std::to_string(worker));
               }));
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), "worker " + std::to_string(thrower));
    }
    EXPECT_FALSE(pool.in_region());
    EXPECT_EQ(sum_with(pool, 100, Schedule::Static), sum_to(100));
  }
}

TEST(WorkerPool, ThrowsOneExceptionWhereEveryWorkerThrows) {
  WorkerPool pool({.workers = 4});

  EXPECT_THROW(pool.run({0, 4}, erase([](index_t, index_t, int worker) { throw worker; })), int);

  EXPECT_EQ(sum_with(pool, 100, Schedule::Dynamic), sum_to(100));
}

TEST(WorkerPool, DropsThePiecesThatHadNotBegunWhenOneThrew) {
  for (const Schedule schedule : {Schedule::Static, Schedule::Dynamic}) {
    WorkerPool pool({.workers = 2});
    std::atomic<index_t> begun{0};
    constexpr index_t pieces = 1'000'000;

    EXPECT_THROW(pool.run({0, pieces, 1, 1, schedule}, erase([&](index_t, index_t, int) {
                            if (++begun == 1) throw std::runtime_error("first");
                            std::this_thread::sleep_for(1us);
                          })),
                 std::runtime_error);

    EXPECT_LT(begun, pieces / 2);
  }
}

TEST(WorkerPool, PassesExceptionsThroughInlineAndNestedRuns) {
  WorkerPool pool({.workers = 2});
  const auto fail = [](index_t, index_t, int) { throw std::runtime_error("inline"); };

  EXPECT_THROW(pool.run({0, 1}, erase(fail)), std::runtime_error);
  EXPECT_THROW(pool.run({0, 2}, erase([&](index_t, index_t, int) {
                          pool.run({0, 10, 2}, erase(fail));
                        })),
               std::runtime_error);

  EXPECT_EQ(WorkerPool::current_worker(), -1);
  EXPECT_EQ(sum_with(pool, 100, Schedule::Static), sum_to(100));
}

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

// ---- several submitters --------------------------------------------------------------------------------

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
// regions, and pauses long enough for the team to fall asleep.
void stress(const WorkerPool::Options& options, int submitters, int runs) {
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
  stress({.workers = 2, .pin = true, .spin_us = 30}, 1, 100'000);
}

TEST(WorkerPoolStress, HoldsForManySmallRunsFromThreeThreads) {
  stress({.workers = 2, .spin_us = 30}, 3, 34'000);
}

TEST(WorkerPoolStress, HoldsForMoreWorkersThanProcessors) { stress({.workers = 5, .spin_us = 20}, 3, 4'000); }

TEST(WorkerPoolStress, HoldsWhereEveryWaitGoesToSleep) {
  stress({.workers = 3, .spin_us = 0}, 1, 20'000);
  stress({.workers = 2, .spin_us = 0}, 3, 7'000);
}

// ---- affinity ------------------------------------------------------------------------------------------

TEST(Affinity, HasAsManyWorkersByDefaultAsUsableProcessors) {
  const WorkerPool pool({});

  EXPECT_EQ(pool.size(), strata::detail::usable_processors());
  EXPECT_GE(pool.size(), 1);
  EXPECT_LE(static_cast<std::size_t>(pool.size()), strata::detail::inherited_processors().size());
}

#if defined(__linux__)

TEST(Affinity, PinsEachWorkerToOneInheritedProcessorAndNeverTheCaller) {
  const std::vector<int>& inherited = strata::detail::inherited_processors();
  const std::vector<int> caller_before = strata::detail::processors_of_this_thread();
  WorkerPool pool({.workers = static_cast<int>(inherited.size()), .pin = true});
  std::vector<std::vector<int>> masks(inherited.size());

  pool.run({0, pool.size()}, erase([&](index_t, index_t, int worker) {
             masks[static_cast<std::size_t>(worker)] = strata::detail::processors_of_this_thread();
           }));

  EXPECT_EQ(masks[0], caller_before);
  std::set<int> taken;
  for (std::size_t w = 1; w < masks.size(); ++w) {
    ASSERT_EQ(masks[w].size(), 1U) << "worker " << w;
    EXPECT_TRUE(std::binary_search(inherited.begin(), inherited.end(), masks[w][0]));
    EXPECT_TRUE(taken.insert(masks[w][0]).second) << "two workers on processor " << masks[w][0];
  }
}

TEST(Affinity, LetsUnpinnedWorkersUseAllInheritedProcessorsThoughTheirMakerIsBound) {
  const std::vector<int>& inherited = strata::detail::inherited_processors();
  std::vector<int> mask;

  std::thread([&] {
    ASSERT_TRUE(strata::detail::bind_this_thread({inherited.back()}));
    WorkerPool pool({.workers = 2});
    pool.run({0, 2}, erase([&](index_t, index_t, int worker) {
               if (worker == 1) mask = strata::detail::processors_of_this_thread();
             }));
    EXPECT_EQ(strata::detail::processors_of_this_thread(), std::vector<int>{inherited.back()});
  }).join();

  EXPECT_EQ(mask, inherited);
}

TEST(Affinity, RefusesToBindToNothingOrToAProcessorThatDoesNotExist) {
  const std::vector<int> before = strata::detail::processors_of_this_thread();

  EXPECT_FALSE(strata::detail::bind_this_thread({}));
  EXPECT_FALSE(strata::detail::bind_this_thread({100'000}));

  EXPECT_EQ(strata::detail::processors_of_this_thread(), before);
}

#endif

// A folder that looks like /sys/fs/cgroup, removed at the end.
class Cgroups {
 public:
  Cgroups() {
    std::string name = (std::filesystem::temp_directory_path() / "strata_cgroup_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder: " + name);
    root_ = name;
  }
  ~Cgroups() { std::filesystem::remove_all(root_); }
  Cgroups(const Cgroups&) = delete;
  Cgroups& operator=(const Cgroups&) = delete;

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

TEST(Affinity, TakesTheTightestQuotaOfAGroupAndItsAncestors) {
  const Cgroups tree;
  tree.write("job/cpu.max", "250000 100000");
  tree.write("job/step/cpu.max", "max 100000");

  EXPECT_EQ(strata::detail::quota_processors("0::/job/step\n", tree.root()), 2);
  EXPECT_EQ(strata::detail::quota_processors("0::/job\n", tree.root()), 2);
  EXPECT_EQ(strata::detail::quota_processors("0::/elsewhere\n", tree.root()), 0);
}

TEST(Affinity, TakesTheQuotaAtTheMountWhereThePathIsThatOfTheHost) {
  const Cgroups tree;
  tree.write("cpu.max", "50000 100000");

  EXPECT_EQ(strata::detail::quota_processors("0::/kubepods/pod1/c2\n", tree.root()), 1);
}

TEST(Affinity, ReadsQuotasOfTheFirstVersion) {
  const Cgroups tree;
  tree.write("cpu/a/cpu.cfs_quota_us", "300000");
  tree.write("cpu/a/cpu.cfs_period_us", "100000");
  tree.write("cpu/b/cpu.cfs_quota_us", "-1");
  tree.write("cpu/b/cpu.cfs_period_us", "100000");

  EXPECT_EQ(strata::detail::quota_processors("4:memory:/a\n1:cpu,cpuacct:/a\n0::/\n", tree.root()), 3);
  EXPECT_EQ(strata::detail::quota_processors("1:cpu:/b\n", tree.root()), 0);
  EXPECT_EQ(strata::detail::quota_processors("3:cpuset:/a\n", tree.root()), 0);
  EXPECT_EQ(strata::detail::quota_processors("nonsense", tree.root()), 0);
}

}  // namespace
