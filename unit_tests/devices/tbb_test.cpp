// Tbb: runs in the task arena of its caller, whose limits it honours.
// SPDX-License-Identifier: Apache-2.0
#include <strata/version.hpp>

#if STRATA_HAS_TBB

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <strata/devices/host/control_group.hpp>
#include <strata/devices/tbb/threads.hpp>

#include "devices/host/cgroups.hpp"
#include "test_devices.hpp"

namespace {

using namespace strata;

// What an arena of `limit` threads has of them here, where the process may have a CPU quota.
int allowed(int limit) {
  const int quota = detail::quota_processors();
  return quota > 0 ? std::min(limit, quota) : limit;
}

struct Observed {
  std::set<std::thread::id> threads;
  int at_once = 0;  // the most items under way at one time
};

// Runs `items` short items and looks who does them.
Observed observe(index_t items, bool dynamic = false) {
  std::mutex mutex;
  Observed seen;
  std::atomic<int> under_way{0};
  const auto kernel = [&](index_t) {
    const int now = under_way.fetch_add(1) + 1;
    {
      const std::lock_guard lock(mutex);
      seen.threads.insert(std::this_thread::get_id());
      seen.at_once = now > seen.at_once ? now : seen.at_once;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    under_way.fetch_sub(1);
  };
  if (dynamic) parallel_for(on(Tbb{}), range(0, items).dynamic(), kernel);
  else parallel_for(on(Tbb{}), items, kernel);
  return seen;
}

TEST(Tbb, ArenaOfOneRunsOnTheCallerAlone) {
  tbb::task_arena arena(1);

  arena.execute([] {
    const Observed seen = observe(100);

    EXPECT_EQ(Tbb::concurrency(), 1);
    EXPECT_EQ(seen.threads, std::set{std::this_thread::get_id()});
    EXPECT_EQ(seen.at_once, 1);
  });
}

TEST(Tbb, ArenaLimitsTheThreadsAtWork) {
  const tbb::global_control more_workers(tbb::global_control::max_allowed_parallelism, 6);
  for (const int limit : {2, 3}) {
    for (const bool dynamic : {false, true}) {
      tbb::task_arena arena(limit);

      const Observed seen = arena.execute([&] {
        EXPECT_EQ(Tbb::concurrency(), allowed(limit));
        return observe(400, dynamic);
      });

      EXPECT_LE(seen.at_once, allowed(limit));
      EXPECT_GE(seen.at_once, allowed(2)) << "an arena of more than one never used a second thread";
    }
  }
}

TEST(Tbb, EveryItemIsDoneOnceWhateverTheRange) {
  for (const index_t n : {0, 1, 2, 7, 1000, 100003}) {
    std::vector<std::atomic<int>> counts(static_cast<std::size_t>(n));

    parallel_for(on(Tbb{}), n, [&](index_t i) { counts[static_cast<std::size_t>(i)].fetch_add(1); });

    for (const auto& count : counts) ASSERT_EQ(count.load(), 1) << "n = " << n;
  }
}

TEST(Tbb, LaunchesNestWithinTheLimit) {
  const tbb::global_control more_workers(tbb::global_control::max_allowed_parallelism, 6);
  tbb::task_arena arena(2);
  std::atomic<int> items{0}, under_way{0}, most{0};

  arena.execute([&] {
    parallel_for(on(Tbb{}), 8, [&](index_t) {
      parallel_for(on(Tbb{}), 50, [&](index_t) {
        const int now = under_way.fetch_add(1) + 1;
        for (int seen = most.load(); now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        items.fetch_add(1);
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        under_way.fetch_sub(1);
      });
    });
  });

  EXPECT_EQ(items.load(), 400);
  EXPECT_LE(most.load(), allowed(2));
}

TEST(Tbb, AnyHostThreadMaySubmit) {
  std::atomic<long> sum{0};
  std::vector<std::thread> submitters;

  for (int t = 0; t < 4; ++t)
    submitters.emplace_back([&] {
      for (int k = 0; k < 30; ++k) parallel_for(on(Tbb{}), 100, [&](index_t i) { sum.fetch_add(i); });
    });
  for (std::thread& each : submitters) each.join();

  EXPECT_EQ(sum.load(), 4L * 30 * 4950);
}

TEST(Tbb, ReductionHasTheSameBitsInEveryArena) {
  const auto kernel = [](index_t i, double& value) { value += 1.0 / static_cast<double>(i + 1); };
  double serial = 0;
  parallel_reduce(on(Serial{}), 100000, kernel, Sum(serial));

  for (const int limit : {1, 2, 4}) {
    double value = 0;
    tbb::task_arena(limit).execute([&] { parallel_reduce(on(Tbb{}), 100000, kernel, Sum(value)); });
    EXPECT_EQ(value, serial) << "arena of " << limit;
  }
}

TEST(Tbb, ExceptionIsThrownByTheLaunchAndTheArenaGoesOn) {
  for (int k = 0; k < 20; ++k) {
    EXPECT_THROW(parallel_for(on(Tbb{}), 1000,
                              [](index_t i) {
                                if (i == 321) throw std::out_of_range("item 321");
                              }),
                 std::out_of_range);
    std::atomic<int> items{0};
    parallel_for(on(Tbb{}), 1000, [&](index_t) { items.fetch_add(1); });
    ASSERT_EQ(items.load(), 1000);
  }
}

// Pieces of one item each, done by the threads that a quota leaves: who does them, how many at once, and the
// greatest number of a worker.
struct Pieces {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> under_way{0};
  int at_once = 0, greatest_worker = 0, done = 0;

  void run(const detail::TbbThreads& by, index_t items) {
    const auto piece = [this](index_t begin, index_t end, int worker) {
      const int now = under_way.fetch_add(1) + 1;
      {
        const std::lock_guard lock(mutex);
        threads.insert(std::this_thread::get_id());
        at_once = std::max(at_once, now);
        greatest_worker = std::max(greatest_worker, worker);
        done += static_cast<int>(end - begin);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      under_way.fetch_sub(1);
    };
    by.run({.begin = 0, .end = items, .chunk = 1, .schedule = detail::Schedule::Dynamic},
           {[](const void* context, index_t begin, index_t end, int worker) {
              (*static_cast<decltype(&piece)>(context))(begin, end, worker);
            },
            &piece});
  }
};

TEST(Tbb, ACpuQuotaLimitsTheThreadsOfAllLaunchesTogether) {
  const device_testing::Cgroups tree;
  tree.write("job/cpu.max", "250000 100000");
  const detail::TbbThreads threads(detail::quota_processors("0::/job\n", tree.root()));
  const tbb::global_control more_workers(tbb::global_control::max_allowed_parallelism, 6);
  Pieces pieces;
  std::vector<std::thread> callers;

  for (int t = 0; t < 3; ++t)
    callers.emplace_back([&] {
      tbb::task_arena wide(6);
      wide.execute([&] {
        EXPECT_EQ(threads.concurrency(), 2);
        pieces.run(threads, 300);
      });
    });
  for (std::thread& caller : callers) caller.join();

  EXPECT_EQ(pieces.done, 900);
  EXPECT_EQ(pieces.at_once, 2) << "fewer: the quota was not used; more: it was exceeded";
  EXPECT_LE(pieces.greatest_worker, 1);
}

TEST(Tbb, ACpuQuotaBeyondTheArenaOfTheCallerLeavesThatAlone) {
  const device_testing::Cgroups tree;
  tree.write("job/cpu.max", "800000 100000");
  const detail::TbbThreads threads(detail::quota_processors("0::/job\n", tree.root()));
  const detail::TbbThreads without(detail::quota_processors("0::/elsewhere\n", tree.root()));
  tbb::task_arena(1).execute([&] {
    for (const auto* by : {&threads, &without}) {
      Pieces pieces;
      pieces.run(*by, 20);
      EXPECT_EQ(by->concurrency(), 1);
      EXPECT_EQ(pieces.threads, std::set{std::this_thread::get_id()});
      EXPECT_EQ(pieces.done, 20);
    }
  });
  tbb::task_arena(3).execute([&] {
    EXPECT_EQ(threads.concurrency(), 3);
    EXPECT_EQ(without.concurrency(), 3);
  });
}

TEST(Tbb, WrongInstanceIsAnError) {
  EXPECT_EQ(Tbb::count(), 1);
  EXPECT_THROW(Tbb(1), NoSuchDevice);
}

}  // namespace

#endif  // STRATA_HAS_TBB
