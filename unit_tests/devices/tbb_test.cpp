// Tbb: runs in the task arena of its caller, whose limits it honours.
#include <strata/version.hpp>

#if STRATA_HAS_TBB

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <strata/strata.hpp>

namespace {

using namespace strata;

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
        EXPECT_EQ(Tbb::concurrency(), limit);
        return observe(400, dynamic);
      });

      EXPECT_LE(seen.at_once, limit);
      EXPECT_GE(seen.at_once, 2) << "an arena of more than one never used a second thread";
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
  EXPECT_LE(most.load(), 2);
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

TEST(Tbb, WrongInstanceIsAnError) {
  EXPECT_EQ(Tbb::count(), 1);
  EXPECT_THROW(Tbb(1), NoSuchDevice);
}

}  // namespace

#endif  // STRATA_HAS_TBB
