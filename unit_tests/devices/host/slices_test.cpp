// Slices of parts: workers that are done take them from slower ones.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>

#include <strata/core/error.hpp>
#include <strata/devices/host/worker_copies.hpp>
#include <strata/devices/serial/device.hpp>

#include "worker_pools.hpp"

namespace {

using namespace strata_tests;
using namespace std::chrono_literals;
using strata::detail::AllocationRef;

WorkerPool::Options in_slices(int workers) {
  return {.workers = workers, .spin_us = 20, .share_ns = 1000, .slice_ns = 10'000};
}

void work_for(std::chrono::nanoseconds time) {
  for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;) {
  }
}

// 64 items that take 0.1 ms each, on the pool's own threads 4 times as long. The answer says which worker
// ran each.
class UnequalRun {
 public:
  explicit UnequalRun(WorkerPool& pool) : pool_(pool) {}

  std::vector<int> operator()(const ChunkRange& range) const {
    std::vector<int> workers(64, -1);
    pool_.run(range,
              erase([&workers, caller = std::this_thread::get_id()](index_t begin, index_t end, int worker) {
                for (index_t i = begin; i < end; ++i) {
                  if (std::this_thread::get_id() == caller) work_for(100us);
                  else std::this_thread::sleep_for(400us);
                  EXPECT_EQ(workers[static_cast<std::size_t>(i)], -1);
                  workers[static_cast<std::size_t>(i)] = worker;
                }
              }));
    return workers;
  }

 private:
  WorkerPool& pool_;
};
// Of the items of worker 1's part.
std::ptrdiff_t taken_from_worker_1(const std::vector<int>& workers) {
  const auto part = static_cast<std::ptrdiff_t>(workers.size()) / 2;
  return part - std::count(workers.begin() + part, workers.end(), 1);
}

// In several runs, as another program may have the caller's processor.
std::ptrdiff_t most_taken(const UnequalRun& run) {
  std::ptrdiff_t most = 0;
  for (int repeat = 0; repeat < 20 && most <= 10; ++repeat)
    most = std::max(most, taken_from_worker_1(run({0, 64})));
  return most;
}

TEST(Slices, AreTakenFromASlowerWorkerOnceTheCostIsKnown) {
  WorkerPool pool(in_slices(2));
  const UnequalRun run(pool);

  EXPECT_EQ(taken_from_worker_1(run({0, 64})), 0);  // where memory is touched first
  EXPECT_GT(most_taken(run), 10);
}

// What a worker has touched first stays near to those who use it.
TEST(Slices, AreLeftToWorkersToWhomTheSameMemoryIsNear) {
  for (const bool same : {true, false}) {
    WorkerPool::Options options = in_slices(2);
    options.nodes = {7, same ? 7 : 8};
    WorkerPool pool(options);
    const UnequalRun run(pool);
    static_cast<void>(run({0, 64}));
    if (same) EXPECT_GT(most_taken(run), 10);
    else EXPECT_EQ(taken_from_worker_1(run({0, 64})), 0);
  }
}

TEST(Slices, OfPiecesThatAreToBeOneCallAreNone) {
  WorkerPool pool(in_slices(2));
  const UnequalRun run(pool);
  const ChunkRange whole{0, 64, 0, 1, Schedule::Static, true};

  for (int repeat = 0; repeat < 3; ++repeat) EXPECT_EQ(taken_from_worker_1(run(whole)), 0);
}

TEST(Slices, NeedOptionsThatMakeSense) {
  EXPECT_THROW(WorkerPool({.workers = 2, .share_ns = 1000, .slice_ns = -1}), strata::Error);
  EXPECT_THROW(WorkerPool({.workers = 2, .share_ns = 1000, .slice_ns = 1, .nodes = {0}}), strata::Error);
}

TEST(Slices, OfRangesThatTheProgramCutsAreNone) {
  WorkerPool pool(in_slices(2));
  const UnequalRun run(pool);

  for (int repeat = 0; repeat < 3; ++repeat) EXPECT_EQ(taken_from_worker_1(run({0, 64, 32})), 0);
}

TEST(Slices, AreLeftToTheirWorkersWhileTheseHaveCopies) {
  {
    WorkerPool pool(in_slices(2));
    const UnequalRun run(pool);
    static_cast<void>(run({0, 64}));
    const AllocationRef copies(strata::Serial().backend().allocate(
        {.bytes = 64, .label = "copies", .element_bytes = 8, .layout = nullptr}));
    strata::detail::mark_worker_copies(copies);
    const AllocationRef another = copies;
    EXPECT_TRUE(strata::detail::has_worker_copies());
    for (int repeat = 0; repeat < 3; ++repeat) EXPECT_EQ(taken_from_worker_1(run({0, 64})), 0);
  }

  EXPECT_FALSE(strata::detail::has_worker_copies());
  WorkerPool pool(in_slices(2));
  const UnequalRun run(pool);
  static_cast<void>(run({0, 64}));
  EXPECT_GT(most_taken(run), 10);
}

// Of workers that begin late the slices are gone, and the caller answers for those that have not begun.
TEST(Slices, AllAreRunWhereWorkersSleepBetweenRuns) {
  for (const bool shares : {false, true}) {
    WorkerPool::Options options = in_slices(4);
    options.spin_us = 0;
    options.shares_processors = shares;
    WorkerPool pool(options);
    const UnequalRun run(pool);
    for (int repeat = 0; repeat < 20; ++repeat) {
      const std::vector<int> workers = run({0, 64});
      EXPECT_EQ(std::count(workers.begin(), workers.end(), -1), 0);
    }
  }
}

TEST(Slices, OfRunsFromSeveralThreadsAndWithinOthers) {
  WorkerPool pool(in_slices(3));
  std::atomic<index_t> sum{0};
  const auto run_items = [&](index_t begin, index_t end, int) {
    for (index_t i = begin; i < end; ++i) {
      work_for(3us);
      pool.run({0, 2}, erase([&](index_t from, index_t to, int) { sum += (to - from) * i; }));
    }
  };
  const auto body = erase(run_items);
  std::vector<std::thread> submitters;
  for (int s = 0; s < 3; ++s)
    submitters.emplace_back([&] {
      for (int repeat = 0; repeat < 10; ++repeat) pool.run({0, 100}, body);
    });
  for (std::thread& each : submitters) each.join();

  EXPECT_EQ(sum, 3 * 10 * 2 * sum_to(100));
}

// Ranges that begin anywhere, cut by the program or not, for workers with memory near to them or not and with
// copies or not: each index once, cuts where they may be, and who keeps what nobody may take keeps it.
TEST(Slices, OfAnyRangeHaveEachIndexOnceAndStayWhereTheyMust) {
  std::mt19937_64 random(20261128);
  const auto up_to = [&](index_t most) { return std::uniform_int_distribution<index_t>(0, most)(random); };
  constexpr index_t least = std::numeric_limits<index_t>::min(), most = std::numeric_limits<index_t>::max();
  int most_calls = 0, sliced_rounds = 0;
  for (int round = 0; round < 150; ++round) {
    WorkerPool::Options options = in_slices(2 + static_cast<int>(up_to(1)));
    if (up_to(1) == 0)
      for (int w = 0; w < options.workers; ++w) options.nodes.push_back(static_cast<int>(7 + up_to(1)));
    WorkerPool pool(options);
    const index_t items = 1 + up_to(300), align = index_t{1} << up_to(5);
    const index_t begins[] = {0, up_to(1000), -up_to(1000), least, least + up_to(100), most - items};
    const index_t begin = begins[up_to(5)], end = begin + items;
    const ChunkRange range{begin,
                           end,
                           up_to(3) == 0 ? 1 + up_to(items) : 0,
                           align,
                           up_to(5) == 0 ? Schedule::Dynamic : Schedule::Static,
                           up_to(5) == 0};
    const bool has_copies = up_to(5) == 0;
    AllocationRef copies;
    if (has_copies) {
      copies = AllocationRef(strata::Serial().backend().allocate(
          {.bytes = 64, .label = "copies", .element_bytes = 8, .layout = nullptr}));
      strata::detail::mark_worker_copies(copies);
    }
    const bool is_cut_by_program = range.chunk > 0 || range.schedule == Schedule::Dynamic;
    SCOPED_TRACE(std::to_string(round) + ": " + std::to_string(begin) + " .. " + std::to_string(end) +
                 ", align " + std::to_string(align) + ", chunk " + std::to_string(range.chunk) +
                 (has_copies ? ", copies" : "") + (range.whole_pieces ? ", whole" : "") +
                 (options.nodes.empty() ? "" : ", nodes"));
    const int slow = static_cast<int>(up_to(1));
    std::vector<std::atomic<int>> visits(static_cast<std::size_t>(items)), worker_of(visits.size());
    std::atomic<int> wrong{0}, calls{0};
    const auto visit_items = [&](index_t from, index_t to, int worker) {
      ++calls;
      wrong += from >= to || worker != WorkerPool::current_worker();
      if (items >= align * pool.size() * 2 && !is_cut_by_program) wrong += from != begin && from % align != 0;
      for (index_t i = from; i < to; ++i) {
        ++visits[static_cast<std::size_t>(i - begin)];
        worker_of[static_cast<std::size_t>(i - begin)] = worker;
      }
      work_for((worker == slow ? 3us : 1us) * (to - from));
    };
    const auto visit = erase(visit_items);

    std::vector<int> home;
    constexpr int repeats = 4;
    for (int repeat = 0; repeat < repeats; ++repeat) {
      pool.run(range, visit);
      const std::vector<int> workers(worker_of.begin(), worker_of.end());
      if (repeat == 0) home = workers;
      else sliced_rounds += range.schedule == Schedule::Static && workers != home;
      // What the caller began alone, in the name of worker 0.
      const auto alone = static_cast<std::size_t>(
          std::find_if(workers.begin(), workers.end(), [](int w) { return w != 0; }) - workers.begin());
      for (std::size_t i = 0; range.schedule == Schedule::Static && i < home.size(); ++i) {
        const auto own = static_cast<std::size_t>(home[i]), by = static_cast<std::size_t>(workers[i]);
        if (range.chunk > 0 || range.whole_pieces || has_copies) wrong += by != own;
        else if (!options.nodes.empty() && i >= alone) wrong += options.nodes[by] != options.nodes[own];
      }
    }
    most_calls = std::max(most_calls, calls / pool.size());
    EXPECT_EQ(wrong, 0);
    for (const std::atomic<int>& count : visits) EXPECT_EQ(count, repeats);
  }
  EXPECT_GT(most_calls, 3 * 8);  // of three runs in slices
  EXPECT_GT(sliced_rounds, 5);
}

TEST(ShortRunsInSlices, TheCallerRunsSeveralPartsAtOnceWhereWorkersHaveNoCopies) {
  WorkerPool::Options options = in_slices(16);
  options.share_ns = 1'000'000;
  WorkerPool pool(options);
  const auto run = [&] {
    std::atomic<int> calls{0}, items{0};
    pool.run({-3, 30}, erase([&](index_t begin, index_t end, int) {
               ++calls;
               items += static_cast<int>(end - begin);
             }));
    EXPECT_EQ(items, 33);
    return calls.load();
  };
  const auto least_calls = [&] {  // not of runs that another program held up
    int least = run();
    for (int repeat = 0; repeat < 100; ++repeat) least = std::min(least, run());
    return least;
  };

  EXPECT_EQ(least_calls(), 5);  // 1, 1, 2, 4 and 8 parts
  const AllocationRef copies(strata::Serial().backend().allocate(
      {.bytes = 64, .label = "copies", .element_bytes = 8, .layout = nullptr}));
  strata::detail::mark_worker_copies(copies);
  EXPECT_EQ(least_calls(), 16);
}

TEST(Slices, ThatThrowEndTheRun) {
  WorkerPool pool(in_slices(2));
  std::optional<index_t> throws_at;
  std::atomic<int> visited{0};
  const auto run_items = [&](index_t begin, index_t end, int) {
    for (index_t i = begin; i < end; ++i) {
      work_for(20us);
      if (throws_at == i) throw std::runtime_error("slice");
      ++visited;
    }
  };
  const auto body = erase(run_items);
  for (int repeat = 0; repeat < 3; ++repeat) pool.run({0, 64}, body);

  for (const index_t at : {0, 31, 32, 63}) {
    throws_at = at;
    EXPECT_THROW(pool.run({0, 64}, body), std::runtime_error);
    throws_at.reset();
    visited = 0;
    pool.run({0, 64}, body);
    EXPECT_EQ(visited, 64);
  }
}

}  // namespace
