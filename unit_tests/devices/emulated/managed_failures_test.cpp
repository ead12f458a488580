// Managed memory of Emulated under load, at the end of its life, and where it is used wrongly.
// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include "devices/emulated/managed.hpp"

namespace {

using namespace emulated_testing;

class EmulatedManagedFailures : public ManagedTest {};

// Each thread counts up elements of its own, all of which share pages with those of the others.
TEST_F(EmulatedManagedFailures, NoAccessIsLostWhereHostAndInstancesFaultAtOnce) {
  constexpr index_t words = 2 * per_page;
  constexpr int rounds = 12, times = 500;
  const SharedArray x(words);
  const Queue<Emulated> first(Emulated{0}), second(Emulated{1});
  struct CountUp {
    int* x;
    index_t begin;
    void operator()(index_t i) const {
      for (int k = 0; k < times; ++k) {
        if (k % 16 == 0) std::this_thread::yield();  // so that others take the pages
        for (int* const own : {x + begin + i, x + begin + i + per_page}) element(own) = element(own) + 1;
      }
    }
  };

  for (int round = 0; round < rounds; ++round) {
    parallel_for(on(first), 8, CountUp{x.in(Emulated{0}), 0});
    parallel_for(on(second), 8, CountUp{x.in(Emulated{1}), 8});
  }
  std::vector<std::thread> host;
  for (const index_t begin : {16, 17})
    host.emplace_back([&x, begin] {
      for (int k = 0; k < rounds * times; ++k) {
        if (k % 16 == 0) std::this_thread::yield();
        for (const index_t own : {begin, begin + per_page}) x[own] = x[own] + 1;
      }
    });
  for (std::thread& each : host) each.join();
  first.wait();
  second.wait();

  for (index_t i = 0; i < 18; ++i) {
    ASSERT_EQ(x[i], rounds * times) << i;
    ASSERT_EQ(x[i + per_page], rounds * times) << i;
  }
  const detail::PageMoves moves = x.moves();
  EXPECT_GE(moves.faults, 4u);
  EXPECT_EQ(moves.to_devices + moves.to_host, moves.faults * std::uint64_t(page))
      << "each fault moved one page";
}

TEST_F(EmulatedManagedFailures, ReadersThatShareAndWritersSeeEachOthersValues) {
  const SharedArray x = pages(1);
  const Queue<Emulated> first(Emulated{0}), second(Emulated{1});
  struct WaitFor {
    const int* x;
    int value;
    void operator()(index_t) const {
      while (element(x) != value) std::this_thread::yield();
    }
  };
  prefetch(first, x.range(0, 1, true, false, true));

  for (int value = 1; value <= 20; ++value) {
    parallel_for(on(first), 2, WaitFor{x.in(Emulated{0}), value});
    parallel_for(on(second), 1, WaitFor{x.in(Emulated{1}), value});
    std::this_thread::yield();
    x[0] = value;
    first.wait();
    second.wait();
  }

  EXPECT_EQ(x[0], 20);
}

TEST_F(EmulatedManagedFailures, ArraysMayDieWhileTheirWorkIsQueued) {
  for (const detail::SharedMemory kind : {detail::SharedMemory::Managed, detail::SharedMemory::Pinned}) {
    const Queue<Emulated> queue;
    std::atomic<int> sum{0};
    Gate gate;
    gate.hold(queue);
    {
      const SharedArray x(per_page, kind);
      x[0] = 0;
      x[1] = 8;
      if (kind == detail::SharedMemory::Managed) prefetch(queue, x.range(0, 2, true, true));
      parallel_for(on(queue), 1, AddEvery{x.in(Emulated{}) + 1, 1});
      parallel_for(on(queue), 2, SumEvery{x.in(Emulated{}), 1, &sum});
    }
    const SharedArray other(per_page, kind);
    other[1] = 100;

    gate.open();
    queue.wait();

    EXPECT_EQ(sum, 9);
    EXPECT_EQ(other[1], 100);
  }
}

TEST_F(EmulatedManagedFailures, MoreThanAnyInstanceHasFreeIsRefusedWithTheReason) {
  const auto own = create<Array>("own", mebi / 2, uninitialized);
  EXPECT_NO_THROW(pages(mebi / per_page)) << "the other instances have 4 MiB free";
  const std::string text = message_of<OutOfMemory>([] { pages(mebi / per_page + 1); });
  strata_tests::expect_parts(
      text, {"EmulatedManaged", "no instance has more than 4 MiB free", "emulated_capacity"});
  for (int i = 0; i < 3; ++i) emulated::set_capacity(i, 3 * mebi);

  EXPECT_THROW(pages(3 * mebi / page + 1), OutOfMemory);
  EXPECT_NO_THROW(pages(3 * mebi / page));

  for (int i = 0; i < 3; ++i) emulated::set_capacity(i, 4 * mebi);
}

TEST_F(EmulatedManagedFailures, AllocationsFailWhenTold) {
  for (const detail::SharedMemory kind : {detail::SharedMemory::Managed, detail::SharedMemory::Pinned}) {
    emulated::fail(emulated::Fault::Allocation, 1);
    strata_tests::expect_parts(message_of<OutOfMemory>([&] { SharedArray(1, kind); }), {"failure injected"});
    EXPECT_NO_THROW(SharedArray(1, kind));
  }
}

TEST_F(EmulatedManagedFailures, PrefetchesOfOtherMemoryAreRefused) {
  const SharedArray x = pages(2), pinned(10, detail::SharedMemory::Pinned);
  const Queue<Emulated> queue;

  strata_tests::expect_parts(
      message_of<OutOfBounds>([&] { prefetch(queue, pinned.range(0, 1, true, true)); }), {"managed memory"});
  EXPECT_THROW(prefetch(queue, x.range(1, 2 * per_page, true, true)), OutOfBounds);
  EXPECT_EQ(prefetch(queue, pinned.range(0, 0, true, true)), 0u) << "of no bytes";
  Graph<Emulated> graph;
  EXPECT_THROW(graph = record(queue, [&] { prefetch(queue, x.range(0, 1, true, true)); }), Error);
}

TEST_F(EmulatedManagedFailures, ConfigurationsAreCheckedAndWaitForArrays) {
  emulated::Config config = emulated::config();
  for (const index_t wrong : {index_t{0}, index_t{1000}, page + 1, index_t{2} << 30}) {
    config.managed_page = wrong;
    strata_tests::expect_parts(message_of<SettingError>([&] { emulated::configure(config); }),
                               {"managed_page"});
  }
  config = emulated::config();
  config.fault_latency = -1;
  strata_tests::expect_parts(message_of<SettingError>([&] { emulated::configure(config); }),
                             {"fault_latency"});
  config = emulated::config();
  {
    const SharedArray x = pages(1);
    strata_tests::expect_parts(message_of<Error>([&] { emulated::configure(config); }),
                               {"managed memory", "\"x\""});
  }
  EXPECT_NO_THROW(emulated::configure(config));
}

TEST_F(EmulatedManagedFailures, AChildOfForkHasNone) {
  const SharedArray x = pages(1);
  EXPECT_DEATH(x[0] = 1, "managed memory of Emulated: access in a child of fork");
  EXPECT_EQ(x[0], 0);

  const pid_t child = fork();
  if (child == 0) {
    int refused = 0;
    try {
      const SharedArray y = pages(1);
    } catch (const Error&) {
      refused = 1;
    }
    _exit(refused);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << "it allocates none either";
}

TEST_F(EmulatedManagedFailures, AnAccessPastTheLastPageEndsTheProgramWithAMessage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const SharedArray x = pages(1);
  EXPECT_DEATH(x[per_page + 10] = 1, "managed memory of Emulated: access outside every array");
}

}  // namespace
