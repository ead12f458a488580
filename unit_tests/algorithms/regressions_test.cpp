// Corners that were wrong once.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "test_devices.hpp"

namespace {

using namespace strata;

struct CountOne {
  void operator()(auto, long& n) const { ++n; }
  void operator()(auto, long& n, bool) const { ++n; }
};

TEST(RangesAtTheEndsOf64Bits, AreReducedAndScannedWhole) {
  const Range last = range(INT64_MAX - 10, INT64_MAX), first = range(INT64_MIN, INT64_MIN + 10);
  long reduced_last = 0, reduced_first = 0, scanned = 0;

  parallel_reduce(on(Threads{}), last, CountOne{}, Sum(reduced_last));
  parallel_reduce(on(Serial{}), first, CountOne{}, Sum(reduced_first));
  parallel_scan(on(Threads{}), last, CountOne{}, Sum(scanned));

  EXPECT_EQ(reduced_last, 10);
  EXPECT_EQ(reduced_first, 10);
  EXPECT_EQ(scanned, 10);
}

TEST(RangesAtTheEndsOf64Bits, AreVisitedWhole) {
  constexpr index_t ends[][2] = {{INT64_MAX - 3, INT64_MAX},
                                 {INT64_MAX - 20, INT64_MAX},
                                 {INT64_MIN, INT64_MIN + 3},
                                 {INT64_MIN + 1, INT64_MIN + 20}};
  for (const auto& [begin, end] : ends) {
    std::vector<int> visits(static_cast<std::size_t>(end - begin));
    parallel_for(on(Serial{}), range(begin, end),
                 [&, first = begin](auto i) { ++visits[static_cast<std::size_t>(i - first)]; });
    EXPECT_EQ(visits, std::vector<int>(visits.size(), 1)) << begin;
  }
}

TEST(ATileLongerThanItsRange, IsCutToIt) {
  int hits[6] = {};

  parallel_for(on(Serial{}), mdrange({1, 0}, {5, 4}, {INT64_MAX, 1}), [&](auto i, auto) { ++hits[i]; });

  EXPECT_EQ(hits[0], 0);
  for (int i = 1; i < 5; ++i) EXPECT_EQ(hits[i], 4);
}

TEST(ARange, KeepsItsChunkWhenItBecomesDynamic) { EXPECT_EQ(range(8).chunk(7).dynamic().chunk_size, 7); }

TEST(AUsersChunk, IsNotRoundedUpToLanes) {
  std::mutex mutex;
  std::set<int> workers;

  parallel_for(on(Threads{}), range(16).chunk(1), [&](auto) {
    const std::lock_guard lock(mutex);
    workers.insert(strata::detail::current_host_worker());
  });

  EXPECT_EQ(workers.size(), static_cast<std::size_t>(std::min(16, Threads::concurrency())));
}

TEST(ADynamicReductionOfFewItems, UsesAllThreadsAndGivesTheSameBits) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  double shared = 0, alone = 0;
  const auto harmonic = [&](auto i, double& sum) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    sum += 1.0 / static_cast<double>(1 + i);
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  };

  parallel_reduce(on(Serial{}), range(100), harmonic, Sum(alone));
  const auto all = static_cast<std::size_t>(std::min(64, Threads::concurrency()));
  for (int repeat = 0; repeat < 20 && (repeat == 0 || threads.size() < all); ++repeat) {
    threads.clear();
    shared = 0;
    parallel_reduce(on(Threads{}), range(100).dynamic(), harmonic, Sum(shared));
    EXPECT_EQ(shared, alone);
  }

  if (threads.size() < all) GTEST_SKIP() << "other programs have the processors";
}

TEST(ScansOfElements, NeedViewsOfOneIndexRange) {
  const auto x = create<MDArray<int, Threads, rank<1>>>("x", 5),
             y = create<MDArray<int, Threads, rank<1>>>("y", 4);

  EXPECT_THROW(inclusive_scan(x, y), ShapeMismatch);
}

TEST(AResultViewTooShortForTheValue, IsRefusedAtLaunch) {
  struct Counts {
    using device_type = Serial;
    using value_type = int[];
    int value_count = 20;
    void operator()(int, int*) const {}
    void init(int*) const {}
    void join(int*, const int*) const {}
  };
  const auto result = create<MDArray<int, Serial, rank<1>>>("result", 2);

  EXPECT_THROW(parallel_reduce(10, Counts{}, result), ShapeMismatch);
}

TEST(AnEndOfTheRuntimeDuringLaunches, NeitherHangsNorCrashes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto end_amid_launches = [] {
    std::thread launcher([] {
      try {
        while (true) parallel_for(on(Threads{}), 100000, [](auto) {});
      } catch (const RuntimeEnded&) {
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    finalize();
    launcher.join();
    std::_Exit(0);
  };

  EXPECT_EXIT(end_amid_launches(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
