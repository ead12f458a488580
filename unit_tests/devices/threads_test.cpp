// Threads: the pool behind it, as programs see it. The settings are read by the first launch, so what depends
// on them runs in processes of their own.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "test_devices.hpp"

namespace {

using namespace strata;
using std::chrono::milliseconds;

// The threads that `count` items meet on, one item each: none returns before all have arrived. Hangs, up to a
// time limit, if there are fewer threads than items.
std::set<std::thread::id> threads_of_a_meeting(int count) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  std::atomic<int> arrived{0};
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  parallel_for(on(Threads{}), count, [&](index_t) {
    {
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    }
    arrived.fetch_add(1);
    while (arrived.load() < count && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  });
  return seen;
}

TEST(Threads, AllWorkersTakePartWithOneItemEach) {
  const int workers = Threads::concurrency();
  std::this_thread::sleep_for(milliseconds(250));  // other programs are counted anew

  const auto seen = threads_of_a_meeting(workers);

  EXPECT_EQ(static_cast<int>(seen.size()), workers);
  EXPECT_TRUE(seen.contains(std::this_thread::get_id())) << "the caller takes part";
}

TEST(Threads, EveryItemIsDoneOnceWhateverTheRange) {
  for (const index_t n : {0, 1, 2, 3, 7, 1000, 100003}) {
    std::vector<std::atomic<int>> counts(static_cast<std::size_t>(n));

    parallel_for(on(Threads{}), n, [&](index_t i) { counts[static_cast<std::size_t>(i)].fetch_add(1); });
    parallel_for(on(Threads{}), range(0, n).dynamic(),
                 [&](index_t i) { counts[static_cast<std::size_t>(i)].fetch_add(1); });

    for (const auto& count : counts) ASSERT_EQ(count.load(), 2) << "n = " << n;
  }
}

TEST(Threads, AnyHostThreadMaySubmit) {
  std::atomic<long> sum{0};
  std::vector<std::thread> submitters;

  for (int t = 0; t < 6; ++t)
    submitters.emplace_back([&] {
      for (int k = 0; k < 30; ++k) parallel_for(on(Threads{}), 100, [&](index_t i) { sum.fetch_add(i); });
    });
  for (std::thread& each : submitters) each.join();

  EXPECT_EQ(sum.load(), 6L * 30 * 4950);
}

TEST(Threads, NestedLaunchRunsInlineOnItsWorker) {
  std::atomic<int> elsewhere{0}, items{0};
  std::atomic<int> widest{0};

  parallel_for(on(Threads{}), 16, [&](index_t) {
    const auto worker = std::this_thread::get_id();
    if (Threads::concurrency() > 1) widest = Threads::concurrency();
    parallel_for(on(Threads{}), 100, [&](index_t) {
      items.fetch_add(1);
      if (std::this_thread::get_id() != worker) elsewhere.fetch_add(1);
    });
  });

  EXPECT_EQ(items.load(), 1600);
  EXPECT_EQ(elsewhere.load(), 0);
  EXPECT_EQ(widest.load(), 0) << "a nested launch may use one thread";
}

TEST(Threads, NestedReductionGivesTheBitsOfAnOuterOne) {
  constexpr index_t n = 10000;
  const auto kernel = [](index_t i, double& value) { value += 1.0 / static_cast<double>(i + 1); };
  double outer = 0;
  parallel_reduce(on(Threads{}), n, kernel, Sum(outer));
  std::vector<double> inner(4);

  parallel_for(on(Threads{}), 4, [&](index_t i) {
    parallel_reduce(on(Threads{}), n, kernel, Sum(inner[static_cast<std::size_t>(i)]));
  });

  for (const double each : inner) EXPECT_EQ(each, outer);
}

// The first goes to all workers, later ones to as many as they are worth.
TEST(Threads, SmallReductionsHaveTheBitsOfSerialHoweverManyTakePart) {
  for (const index_t n : {2, 513, 1000, 4097, 10000, 100003}) {
    const auto kernel = [](index_t i, double& value) { value += 1.0 / static_cast<double>(i + 1); };
    double expected = 0;
    parallel_reduce(on(Serial{}), n, kernel, Sum(expected));

    for (int repeat = 0; repeat < 50; ++repeat) {
      double sum = 0;
      parallel_reduce(on(Threads{}), n, kernel, Sum(sum));
      ASSERT_EQ(sum, expected) << n << " items, launch " << repeat;
    }
  }
}

TEST(Threads, FirstExceptionIsThrownByTheLaunchAndThePoolGoesOn) {
  for (int k = 0; k < 20; ++k) {
    EXPECT_THROW(parallel_for(on(Threads{}), 1000,
                              [&](index_t i) {
                                if (i % 100 == k) throw std::out_of_range("one of ten");
                              }),
                 std::out_of_range);
    std::atomic<int> items{0};
    parallel_for(on(Threads{}), 1000, [&](index_t) { items.fetch_add(1); });
    ASSERT_EQ(items.load(), 1000);
  }
}

TEST(Threads, ExceptionInANestedLaunchReachesTheCaller) {
  EXPECT_THROW(parallel_for(on(Threads{}), 8,
                            [](index_t) {
                              parallel_for(on(Threads{}), 8, [](index_t i) {
                                if (i == 3) throw std::domain_error("inner");
                              });
                            }),
               std::domain_error);
}

TEST(Threads, WrongInstanceIsAnError) {
  EXPECT_EQ(Threads::count(), 1);
  EXPECT_THROW(Threads(1), NoSuchDevice);
}

#if defined(__linux__)
TEST(Threads, IdlePoolUsesNoProcessorTime) {
  const auto processor_ms = [] {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
  };
  parallel_for(on(Threads{}), 1000, [](index_t) {});
  std::this_thread::sleep_for(milliseconds(50));

  const double before = processor_ms();
  std::this_thread::sleep_for(milliseconds(300));

  EXPECT_LT(processor_ms() - before, 30) << "milliseconds of processor time in 300 idle ones";
}
#endif

// ---- in processes of their own

// Exits with 0 if `good`, else 1.
[[noreturn]] void leave(bool good) { std::exit(good ? 0 : 1); }

TEST(ThreadsDeathTest, SettingSaysHowManyThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");

  for (const int wanted : {1, 3, 5})
    EXPECT_EXIT(
        {
          set_setting("threads", std::to_string(wanted));
          leave(Threads::concurrency() == wanted &&
                static_cast<int>(threads_of_a_meeting(wanted).size()) == wanted);
        },
        ::testing::ExitedWithCode(0), "")
        << wanted;
}

TEST(ThreadsDeathTest, LaunchAfterTheEndIsAnErrorAndConcurrencyIsNot) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");

  EXPECT_EXIT(
      {
        parallel_for(on(Threads{}), 10, [](index_t) {});
        finalize();
        bool refused = false;
        try {
          parallel_for(on(Threads{}), 10, [](index_t) {});
        } catch (const RuntimeEnded&) {
          refused = true;
        }
        leave(refused && Threads::concurrency() >= 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(ThreadsDeathTest, FirstLaunchAfterTheEndStartsNoPool) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");

  EXPECT_EXIT(
      {
        finalize();
        bool refused = false;
        try {
          static_cast<void>(Threads::concurrency());
        } catch (const RuntimeEnded&) {
          refused = true;
        }
        leave(refused);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(ThreadsDeathTest, ExitInsideAKernelDoesNotHang) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");

  EXPECT_EXIT(parallel_for(on(Threads{}), 100,
                           [](index_t i) {
                             static std::atomic<bool> first{true};
                             if (i > 50 && first.exchange(false)) std::exit(7);
                           }),
              ::testing::ExitedWithCode(7), "");
}

TEST(ThreadsDeathTest, ChildOfForkComputesAloneAndEnds) {
  GTEST_FLAG_SET(death_test_style, "fast");  // forks here, with the pool's threads missing
  parallel_for(on(Threads{}), 1000, [](index_t) {});

  EXPECT_EXIT(
      {
        std::atomic<int> items{0};
        parallel_for(on(Threads{}), 1000, [&](index_t) { items.fetch_add(1); });
        leave(items.load() == 1000);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
