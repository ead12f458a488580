// What runs of a worker pool are expected to cost, how many workers they are worth, and who runs them then.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <strata/core/error.hpp>
#include <strata/devices/host/affinity.hpp>
#include <strata/devices/host/launch_costs.hpp>

#include "worker_pools.hpp"

namespace {

using namespace strata_tests;
using namespace std::chrono_literals;
using strata::detail::LaunchCost;
using strata::detail::LaunchCosts;
using strata::detail::workers_of_rounds;
using strata::detail::workers_worth;

// ---- what a run costs ----------------------------------------------------------------------------------

TEST(LaunchCost, IsUnknownThenInProportionToTheItems) {
  LaunchCost cost;
  EXPECT_EQ(cost.of(10), LaunchCost::unknown);

  cost.learn(100, 2000);

  EXPECT_DOUBLE_EQ(cost.of(100), 2000);
  EXPECT_DOUBLE_EQ(cost.of(7), 140);
}

TEST(LaunchCost, OneDisturbedRunCountsForLittleAndIsForgotten) {
  LaunchCost cost;
  cost.learn(100, 1000);

  cost.learn(100, 10'000'000);  // a time slice of another program
  EXPECT_DOUBLE_EQ(cost.of(100), 4000);
  for (int run = 0; run < 12; ++run) cost.learn(100, 1000);

  EXPECT_NEAR(cost.of(100), 1000, 100);
}

TEST(LaunchCost, RunsOfDifferentCostCountAsTheDearOnes) {
  LaunchCost cost;
  for (int run = 0; run < 30; ++run) {
    cost.learn(100, 100);
    cost.learn(100, 100'000);
  }
  EXPECT_GT(cost.of(100), 50'000);
  for (int run = 0; run < 100; ++run) cost.learn(100, 0);  // less than the clock shows
  EXPECT_GT(cost.of(100), 0);
}

TEST(LaunchCost, SeveralThreadsThatDoNotPayAreTriedLessAndLessOften) {
  LaunchCost cost;
  std::vector<int> alone;  // runs between tries

  for (int tries = 0; tries < 10; ++tries) {
    cost.try_several(20'000, 10'000);
    int runs = 0;
    while (cost.avoids_several()) ++runs;
    alone.push_back(runs);
  }
  EXPECT_EQ(alone, (std::vector<int>{0, 3, 7, 15, 31, 63, 127, 255, 255, 255}));

  for (int tries = 0; tries < 7; ++tries) cost.try_several(3000, 10'000);
  EXPECT_FALSE(cost.avoids_several());  // they pay
}

TEST(LaunchCosts, AreOfAKernelAndASizeToAFactorOfFour) {
  LaunchCosts costs;
  costs.of(1000, 64).learn(64, 640);
  costs.of(2000, 64).learn(64, 64);

  EXPECT_DOUBLE_EQ(costs.of(1000, 100).of(100), 1000);
  EXPECT_DOUBLE_EQ(costs.of(2000, 100).of(100), 100);
  EXPECT_EQ(costs.of(1000, 64 * 16).of(1), LaunchCost::unknown);
  EXPECT_EQ(costs.of(1000, 1).of(1), LaunchCost::unknown);
  EXPECT_EQ(costs.of(1000, index_t{1} << 62).of(1), LaunchCost::unknown);
}

TEST(LaunchCosts, AKernelIsNeverTakenForAnother) {
  LaunchCosts costs;
  constexpr std::uintptr_t kernels = 5000;  // more than the table has places

  for (std::uintptr_t k = 1; k <= kernels; ++k)
    costs.of(16 * k, 100).learn(100, 100.0 * static_cast<double>(k));

  int known = 0;
  for (std::uintptr_t k = kernels; k > 0; --k) {
    const double cost = costs.of(16 * k, 100).of(100);
    if (cost == LaunchCost::unknown) continue;
    ++known;
    ASSERT_DOUBLE_EQ(cost, 100.0 * static_cast<double>(k));
  }
  EXPECT_GT(known, 100);
}

TEST(LaunchCosts, KernelsThatRunOftenStay) {
  LaunchCosts costs;
  constexpr std::uintptr_t often = 100;
  int unknown = 0;
  for (std::uintptr_t round = 0; round < 50; ++round) {
    for (std::uintptr_t k = 0; k < often; ++k) {
      LaunchCost& cost = costs.of(64 * k, 10);
      if (round > 10) unknown += cost.of(10) == LaunchCost::unknown;
      cost.learn(10, 10);
    }
    for (std::uintptr_t k = 0; k < 20; ++k) costs.of(64 * (1000 + 20 * round + k), 10);  // once
  }
  EXPECT_LT(unknown, 39 * 100 / 20);
}

// ---- how many workers ----------------------------------------------------------------------------------

TEST(WorkersWorth, EachHasItsShareAndAsManyRoundsAsTheOthers) {
  EXPECT_EQ(workers_worth(LaunchCost::unknown, 2000, 16), 16);
  EXPECT_EQ(workers_worth(32'000, 2000, 16), 16);
  EXPECT_EQ(workers_worth(31'999, 2000, 16), 8);
  EXPECT_EQ(workers_worth(4000, 2000, 16), 2);
  EXPECT_EQ(workers_worth(3999, 2000, 16), 1);
  EXPECT_EQ(workers_worth(13'000, 2000, 12), 6);
  EXPECT_EQ(workers_worth(7000, 2000, 12), 3);
  EXPECT_EQ(workers_worth(0, 2000, 1), 1);
}

TEST(WorkersWorth, AnyNumberOfWorkers) {
  for (int parts = 1; parts <= 300; ++parts)
    for (double cost = 100; cost < 1e6; cost *= 1.7) {
      const int workers = workers_worth(cost, 2000, parts);
      ASSERT_GE(workers, 1);
      ASSERT_LE(workers, parts);
      ASSERT_TRUE(workers == 1 || cost >= 2000.0 * workers) << parts << " parts of " << cost << " ns";
      const int rounds = (parts + workers - 1) / workers;
      ASSERT_EQ(workers_of_rounds(parts, rounds), workers) << "fewer would need no more rounds";
    }
}

// ---- who runs them -------------------------------------------------------------------------------------

TEST(ShortRuns, PiecesAndTheirWorkersAreTheSameHoweverManyRun) {
  for (const int workers : {2, 3, 5, 16}) {
    WorkerPool whole({.workers = workers, .spin_us = 5});
    for (const int share_ns : {1, 2000, 1'000'000'000}) {
      WorkerPool pool({.workers = workers, .spin_us = 5, .share_ns = share_ns});
      for (const ChunkRange& range :
           {ChunkRange{0, 2}, ChunkRange{-5, 40}, ChunkRange{0, 100, 7}, ChunkRange{3, 1000, 0, 8}}) {
        const std::vector<Piece> expected = pieces_of(whole, range);
        for (int repeat = 0; repeat < 30; ++repeat) ASSERT_EQ(pieces_of(pool, range), expected);
      }
      for (int repeat = 0; repeat < 30; ++repeat)
        ASSERT_EQ(sum_with(pool, 500, Schedule::Dynamic), sum_to(500));
    }
  }
}

TEST(ShortRuns, TheCallerIsEveryWorker) {
  for (const Schedule schedule : {Schedule::Static, Schedule::Dynamic}) {
    WorkerPool pool({.workers = 16, .share_ns = 100'000});
    int alone = 0;
    for (int repeat = 0; repeat < 1000; ++repeat) {
      std::atomic<int> pieces{0}, mine{0};
      pool.run({0, 16, 1, 1, schedule},
               erase([&, caller = std::this_thread::get_id()](index_t begin, index_t, int worker) {
                 mine += std::this_thread::get_id() == caller;
                 EXPECT_EQ(WorkerPool::current_worker(), worker);
                 EXPECT_TRUE(schedule == Schedule::Dynamic || worker == begin);
                 ++pieces;
               }));
      ASSERT_EQ(pieces, 16);
      alone += mine == 16;
    }
    EXPECT_GT(alone, 900);  // not the first, nor what follows one that another program held up
  }
}

TEST(ShortRuns, LongOnesGoToAllWorkersThatHaveAProcessor) {
  if (strata::detail::usable_processors() < 2) GTEST_SKIP() << "there is one processor";
  WorkerPool pool({.workers = 2, .share_ns = 2000});
  int shared = 0;
  for (int repeat = 0; repeat < 10; ++repeat) {
    std::atomic<int> of_others{0};
    pool.run({0, 2}, erase([&, caller = std::this_thread::get_id()](index_t, index_t, int) {
               std::this_thread::sleep_for(10ms);
               of_others += std::this_thread::get_id() != caller;
             }));
    shared += of_others == 1;
  }
  EXPECT_GT(shared, 5);
}

TEST(ShortRuns, OneThatTurnsOutToBeLongIsHandedOut) {
  for (const Schedule schedule : {Schedule::Static, Schedule::Dynamic}) {
    WorkerPool pool({.workers = 4, .share_ns = 1'000'000});
    std::atomic<bool> is_long{false};
    std::atomic<int> pieces{0}, of_others{0};
    const auto run = [&] {
      pool.run({0, 8, 1, 1, schedule}, erase([&, caller = std::this_thread::get_id()](index_t, index_t, int) {
                 if (is_long) std::this_thread::sleep_for(20ms);
                 of_others += std::this_thread::get_id() != caller;
                 ++pieces;
               }));
    };
    for (int repeat = 0; repeat < 100; ++repeat) run();
    of_others = pieces = 0;
    is_long = true;

    run();

    EXPECT_EQ(pieces, 8);
    EXPECT_GT(of_others, 0);
  }
}

TEST(ShortRuns, AnExceptionEndsARunThatWasBegunAlone) {
  for (const Schedule schedule : {Schedule::Static, Schedule::Dynamic})
    for (const bool is_long : {false, true}) {
      WorkerPool pool({.workers = 3, .share_ns = 1'000'000});
      std::atomic<int> thrower{-1}, begun{0};
      const auto run = [&] {
        pool.run({0, 6, 1, 1, schedule}, erase([&](index_t begin, index_t, int) {
                   ++begun;
                   if (is_long && thrower >= 0) std::this_thread::sleep_for(1ms);
                   if (begin == thrower) throw std::runtime_error("item " + std::to_string(begin));
                 }));
      };
      for (int repeat = 0; repeat < 50; ++repeat) run();
      for (int item = 0; item < 6; ++item) {
        thrower = item;
        begun = 0;
        try {
          run();
          FAIL() << "nothing was thrown";
        } catch (const std::runtime_error& error) {
          EXPECT_EQ(error.what(), "item " + std::to_string(item));
        }
        EXPECT_LE(begun, 6);
        EXPECT_FALSE(pool.in_region());
      }
      EXPECT_EQ(sum_with(pool, 100, schedule), sum_to(100));
    }
}

TEST(ShortRuns, KernelsOfOneFunctionAreToldApart) {
  WorkerPool pool({.workers = 2, .share_ns = 1'000'000});
  std::atomic<int> mine{0};
  const auto item = [&, caller = std::this_thread::get_id()](index_t, index_t, int) {
    mine += std::this_thread::get_id() == caller;
  };
  ChunkFunction known = erase(item);
  known.kernel = 1;
  for (int repeat = 0; repeat < 100; ++repeat) pool.run({0, 2}, known);
  mine = 0;
  for (int repeat = 0; repeat < 20; ++repeat) pool.run({0, 2}, known);
  const int of_known = mine;

  mine = 0;
  for (std::uintptr_t kernel = 2; kernel < 22; ++kernel) {
    ChunkFunction next = known;
    next.kernel = kernel;
    pool.run({0, 2}, next);
  }

  EXPECT_GT(of_known, 30);
  EXPECT_EQ(mine, 20);  // of each one piece, as on all workers
}

TEST(ShortRuns, SubmittersAndSizesMayAlternate) {
  WorkerPool pool({.workers = 4, .spin_us = 10, .share_ns = 500});
  std::vector<std::thread> submitters;
  std::atomic<index_t> sum{0};
  constexpr int runs = 400;

  for (int s = 0; s < 3; ++s)
    submitters.emplace_back([&, s] {
      for (int r = 0; r < runs; ++r) {
        const index_t n = (r + s) % 5 == 0 ? 3000 : 20;
        pool.run({0, n}, erase([&](index_t begin, index_t end, int) {
                   index_t part = 0;
                   for (index_t i = begin; i < end; ++i) part += i;
                   sum += part;
                 }));
      }
    });
  for (std::thread& each : submitters) each.join();

  EXPECT_EQ(sum, 3 * (runs / 5 * sum_to(3000) + (runs - runs / 5) * sum_to(20)));
}

TEST(ShortRuns, OptionsThatMakeNoSenseAreErrors) {
  EXPECT_THROW(WorkerPool({.workers = 2, .share_ns = -1}), strata::Error);
  EXPECT_THROW(WorkerPool({.workers = 1'000'000}), strata::Error);
}

}  // namespace
