// The worker pool: who runs which part of a range, what a region knows of itself, and where exceptions go.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "worker_pools.hpp"

namespace {

using namespace strata_tests;
using namespace std::chrono_literals;

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

}  // namespace
