// Reserved memory on Emulated: capacity, failures, quarantine and wrong accesses, to the byte; costs and
// timed events by its virtual clock.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <random>

#include <strata/devices/emulated/access.hpp>
#include <strata/devices/emulated/memory.hpp>

#include "devices/emulated/fixture.hpp"

namespace {

using namespace emulated_testing;
using strata::detail::AllocationRef;
using strata::detail::CopyCost;
using strata::detail::emulated_resolve;
using strata::detail::EmulatedMemory;
using strata::detail::EmulatedWorkerScope;
using strata::detail::ReservedMemory;
using HostArray = MDArray<int, Serial, rank<1>>;
using Reserved = strata::detail::Ref<ReservedMemory>;

constexpr std::size_t kibi = 1024;
constexpr auto mebibyte = static_cast<std::size_t>(mebi);

// The capacity is 4 MiB.
class EmulatedReserved : public EmulatedTest {
 protected:
  static Reserved reserve(std::size_t bytes, int instance = 0, const char* label = "parts") {
    return Emulated(instance).backend().reserve({bytes, label, sizeof(int), nullptr});
  }
  static Array part(const Reserved& memory, std::size_t begin, std::size_t end) {
    return Array(reinterpret_cast<int*>(static_cast<char*>(memory->data()) + begin),
                 static_cast<index_t>((end - begin) / sizeof(int)));
  }
  static std::size_t used(int instance = 0) { return static_cast<std::size_t>(emulated::used(instance)); }
};

TEST_F(EmulatedReserved, MayBeLargerThanTheCapacityWhichBoundsWhatHasMemory) {
  const Reserved memory = reserve(64 * mebibyte);
  ASSERT_TRUE(memory);

  EXPECT_TRUE(memory->commit(30 * mebibyte, 33 * mebibyte));
  EXPECT_FALSE(memory->commit(33 * mebibyte, 34 * mebibyte + 1)) << "256 bytes too many";
  EXPECT_TRUE(memory->commit(33 * mebibyte, 34 * mebibyte));
  EXPECT_FALSE(memory->commit(0, 1));

  EXPECT_EQ(memory->committed(), 4 * mebibyte);
  EXPECT_EQ(used(), 4 * mebibyte);
  EXPECT_THROW((void)create<Array>("x", 1), OutOfMemory);
}

TEST_F(EmulatedReserved, CommitRoundsToGranulesAndCountsOnlyWhatIsNew) {
  const Reserved memory = reserve(mebibyte);
  EXPECT_EQ(memory->granule(), 256U);

  EXPECT_TRUE(memory->commit(300, 301));
  EXPECT_EQ(used(), 256U);
  EXPECT_TRUE(memory->commit(255, 513));
  EXPECT_EQ(used(), 768U);
  EXPECT_TRUE(memory->commit(0, 1024));
  EXPECT_EQ(used(), 1024U);
  EXPECT_TRUE(memory->commit(2048, 2049));
  EXPECT_TRUE(memory->commit(512, 4096));

  EXPECT_EQ(used(), 4096U);
  EXPECT_EQ(memory->committed(), 4096U);
  EXPECT_EQ(allocation_totals(EmulatedSpace::kind).bytes, 4096U);
}

TEST_F(EmulatedReserved, CommitThatFailsLeavesEverythingAsItWas) {
  const Reserved memory = reserve(16 * mebibyte);
  ASSERT_TRUE(memory->commit(0, mebibyte));
  ASSERT_TRUE(memory->commit(3 * mebibyte, 4 * mebibyte));
  const Array x = part(memory, 3 * mebibyte, 4 * mebibyte);
  parallel_for(x.extent(0), with(SetAll{3}, x));

  EXPECT_FALSE(memory->commit(0, 8 * mebibyte));

  EXPECT_EQ(memory->committed(), 2 * mebibyte);
  EXPECT_EQ(used(), 2 * mebibyte);
  EXPECT_EQ(elements(x), std::vector<int>(mebibyte / sizeof(int), 3));
  EXPECT_TRUE(memory->commit(mebibyte, 3 * mebibyte)) << "the hole is still one";
  EXPECT_EQ(used(), 4 * mebibyte);
}

TEST_F(EmulatedReserved, BlocksAndReservedMemoryShareTheCapacity) {
  const auto block = create<Array>("block", 3 * mebi / 4);
  const Reserved memory = reserve(4 * mebibyte, 0, "the reserved one");
  EXPECT_FALSE(memory->commit(0, mebibyte + 1));
  EXPECT_TRUE(memory->commit(0, mebibyte));

  const std::string message =
      message_of<OutOfMemory>([] { (void)create<Array>("too much", mebi / 8, uninitialized); });

  for (const char* text : {"4194304 of 4194304 bytes are in use, the largest free block has 0",
                           "\"block\" 3145728 bytes, \"the reserved one\" 1048576 bytes"})
    EXPECT_NE(message.find(text), std::string::npos) << message;
}

TEST_F(EmulatedReserved, LoweredCapacityHoldsForNewMemoryOnly) {
  const Reserved memory = reserve(4 * mebibyte);
  ASSERT_TRUE(memory->commit(0, 2 * mebibyte));

  emulated::set_capacity(0, mebi);

  EXPECT_TRUE(memory->commit(0, 2 * mebibyte));
  EXPECT_FALSE(memory->commit(0, 2 * mebibyte + 1));
  emulated::set_capacity(0, 3 * mebi);
  EXPECT_TRUE(memory->commit(0, 3 * mebibyte));
}

TEST_F(EmulatedReserved, AddressesAreUsedAgainWithoutWhatWasThere) {
  const void* first = nullptr;
  {
    const Reserved memory = reserve(4 * mebibyte);
    first = memory->data();
    ASSERT_TRUE(memory->commit(0, 4 * mebibyte));
    const Array x = part(memory, 0, 4 * mebibyte);
    parallel_for(x.extent(0), with(SetAll{7}, x));
    wait(Emulated{});
  }
  EXPECT_EQ(used(), 0U);

  const Reserved again = reserve(2 * mebibyte), behind = reserve(mebibyte);

  EXPECT_EQ(again->data(), first);
  EXPECT_EQ(again->committed(), 0U);
  EXPECT_GE(static_cast<const char*>(behind->data()), static_cast<const char*>(first) + 2 * mebibyte);
  ASSERT_TRUE(again->commit(mebibyte, mebibyte + 4 * kibi));
  EXPECT_EQ(elements(part(again, mebibyte, mebibyte + 4 * kibi)), std::vector<int>(kibi, 0));
}

TEST_F(EmulatedReserved, AHoleThatIsTooSmallIsLeftForSmallerArrays) {
  Reserved first = reserve(mebibyte);
  const void* const address = first->data();
  const Reserved second = reserve(mebibyte);
  first = {};

  const Reserved large = reserve(2 * mebibyte), small = reserve(mebibyte / 2);

  EXPECT_GE(static_cast<const char*>(large->data()), static_cast<const char*>(second->data()) + mebibyte);
  EXPECT_EQ(small->data(), address);
}

TEST_F(EmulatedReserved, MemoryStaysUntilTheWorkOfAllQueuesIsDone) {
  const Queue<Emulated> first(Emulated{0}), second(Emulated{1});
  const auto result = create<HostArray>("result", mebi / 4);
  const void* address = nullptr;
  Gate gate_first, gate_second;
  gate_first.hold(first);
  gate_second.hold(second);
  {
    const Reserved memory = reserve(8 * mebibyte);
    address = memory->data();
    ASSERT_TRUE(memory->commit(mebibyte, 2 * mebibyte));
    const Array x = part(memory, mebibyte, 2 * mebibyte);
    parallel_for(on(first), x.extent(0), with(SetAll{5}, x));
    deep_copy(first, result, x);
  }

  EXPECT_EQ(used(), mebibyte) << "what is in quarantine counts";
  EXPECT_EQ(allocation_totals(EmulatedSpace::kind).count, 0U);
  const Reserved other = reserve(8 * mebibyte);
  EXPECT_NE(other->data(), address);
  gate_first.open();
  first.wait();
  EXPECT_EQ(used(), mebibyte) << "a copy on the other queue could use it";
  gate_second.open();
  wait(Emulated{1});

  EXPECT_EQ(used(), 0U);
  EXPECT_EQ(result(0), 5);
  EXPECT_EQ(result(mebi / 4 - 1), 5);
  EXPECT_EQ(reserve(8 * mebibyte)->data(), address);
}

TEST_F(EmulatedReserved, CommitWaitsForFreedMemoryRatherThanFail) {
  const Queue<Emulated> queue;
  const Reserved memory = reserve(4 * mebibyte);
  Gate gate;
  gate.hold(queue);
  {
    const auto block = create<Array>("block", mebi / 2, uninitialized);
    const Reserved reserved = reserve(4 * mebibyte);
    ASSERT_TRUE(reserved->commit(0, mebibyte));
    parallel_for(on(queue), 64, with(SetAll{1}, block));
  }
  std::thread opener([&] {
    gate.wait_until_reached();
    gate.open();
  });

  EXPECT_TRUE(memory->commit(0, 3 * mebibyte));
  EXPECT_TRUE(memory->commit(0, 4 * mebibyte));

  EXPECT_EQ(emulated::now(), 65 * 0x1p-10) << "the host waited in virtual time, too";
  EXPECT_LE(emulated::peak(0), 4 * mebi);
  opener.join();
}

TEST_F(EmulatedReserved, InjectedFailuresCountCommitsThatNeedMemory) {
  const Reserved memory = reserve(4 * mebibyte);
  ASSERT_TRUE(memory->commit(0, mebibyte));
  emulated::fail(emulated::Fault::Allocation, 2);

  EXPECT_TRUE(memory->commit(0, mebibyte)) << "needs none";
  EXPECT_TRUE(reserve(mebibyte)) << "no memory either";
  EXPECT_TRUE(memory->commit(mebibyte, 2 * mebibyte)) << "the first";
  EXPECT_FALSE(memory->commit(mebibyte, 3 * mebibyte)) << "the second";
  EXPECT_EQ(memory->committed(), 2 * mebibyte);
  EXPECT_TRUE(memory->commit(mebibyte, 3 * mebibyte)) << "once only";
}

TEST_F(EmulatedReserved, AllocationsAndCommitsCountTogetherForInjectedFailures) {
  const Reserved memory = reserve(4 * mebibyte);
  emulated::fail(emulated::Fault::Allocation, 2);

  EXPECT_TRUE(memory->commit(0, mebibyte));

  EXPECT_THROW((void)create<Array>("x", 1), OutOfMemory);
}

TEST_F(EmulatedReserved, WithoutAddressesItIsNull) {
  EXPECT_FALSE(reserve(SIZE_MAX));
  EXPECT_FALSE(reserve(std::size_t{1} << 46));
  EXPECT_TRUE(reserve(0));
}

TEST_F(EmulatedReserved, ConfigurationIsInUseByReservedMemoryWithoutAByte) {
  const Reserved memory = reserve(4 * mebibyte);

  EXPECT_THROW(emulated::configure(round_config()), Error);
}

TEST_F(EmulatedReserved, SeveralThreadsMayCommitOneArrayAtOnce) {
  const Reserved memory = reserve(4 * mebibyte);
  std::vector<std::thread> threads;

  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t k = 0; k < 200; ++k) {
        const std::size_t begin = (k * 4 + std::size_t(t)) * 4 * kibi;
        EXPECT_TRUE(memory->commit(begin, begin + 6 * kibi));
        const Array x = part(memory, begin, begin + 4 * kibi);
        parallel_for(on(Emulated{}), x.extent(0), with(SetAll{int(k)}, x));
      }
    });
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(memory->committed(), 200 * 16 * kibi + 2 * kibi);
  EXPECT_EQ(allocation_totals(EmulatedSpace::kind).bytes, memory->committed());
}

// ---- wrong accesses

using EmulatedReservedDeathTest = EmulatedReserved;

TEST_F(EmulatedReservedDeathTest, AKernelBesideWhatHasMemoryIsTold) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Reserved memory = reserve(4 * mebibyte);
  ASSERT_TRUE(memory->commit(0, mebibyte));
  const auto touch = [&](std::size_t begin) {
    const Array x = part(memory, begin, begin + 4);
    parallel_for(on(Emulated{}), 1, with(SetAll{1}, x));
    wait(Emulated{});
  };

  touch(mebibyte - 4);
  EXPECT_DEATH(
      touch(mebibyte),
      "strata: access to a part without memory: a kernel on Emulated\\{0\\} accessed element 262144 "
      "\\(byte offset 1048576\\) of \"parts\" on Emulated\\{0\\}, where this part of the array is not "
      "held; declare all that the kernel or copy touches\n");
}

TEST_F(EmulatedReservedDeathTest, ACopyBesideWhatHasMemoryIsTold) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Reserved memory = reserve(4 * mebibyte, 1);
  ASSERT_TRUE(memory->commit(0, mebibyte));
  const auto host = create<HostArray>("host", 4096);
  const auto copy = [&] {
    const Array x(AllocationRef::of(memory->allocation()), part(memory, mebibyte, mebibyte + 4 * 4096).data(),
                  Array::mapping_type(host.extents()));
    deep_copy(Queue<Emulated>(Emulated{1}), host, x);
    wait(Emulated{1});
  };

  EXPECT_DEATH(copy(), "a part without memory: a copy accessed element .* of \"parts\" on Emulated\\{1\\}");
}

TEST_F(EmulatedReservedDeathTest, OthersAreToldAsForEveryArray) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Reserved memory = reserve(4 * mebibyte);
  ASSERT_TRUE(memory->commit(0, mebibyte));
  const Array x = part(memory, 0, 4096);
  const auto read = [&] { return *const_cast<volatile int*>(x.data() + 3); };
  const auto elsewhere = [&] {
    parallel_for(on(Emulated{1}), 1, [y = x.data()](index_t) { *emulated_resolve(y) = 1; });
    wait(Emulated{1});
  };

  EXPECT_DEATH(read(), "wrong memory space: a host thread accessed element 3 .* of \"parts\" on");
  EXPECT_DEATH(elsewhere(),
               "wrong memory space: a kernel on Emulated\\{1\\} accessed element 0 .* of "
               "\"parts\" on Emulated\\{0\\}");
  memory = {};
  EXPECT_EQ(used(), 0U);
  EXPECT_DEATH(read(), "use after free: a host thread accessed element 3 .* of \"parts\", freed from");
  const auto late = [&] {
    parallel_for(on(Emulated{0}), 1, with(SetAll{1}, x));
    wait(Emulated{0});
  };
  EXPECT_DEATH(late(), "use after free: a kernel on Emulated\\{0\\} accessed element 0 .* of \"parts\"");
}

TEST(EmulatedMemoryReserve, RandomCommitsCoverTheirBytesAndAddUp) {
  const unsigned seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr std::size_t bytes = 512 * kibi, unit = EmulatedMemory::alignment;
  EmulatedMemory memory(384 * kibi, 2);
  const EmulatedWorkerScope scope(memory, 1);

  for (int round = 0; round < 30; ++round) {
    auto* const data = static_cast<unsigned char*>(memory.reserve(1, bytes));
    std::vector<bool> held(bytes / unit, false);
    std::size_t total = 0;
    for (int step = 0; step < 60; ++step) {
      const std::size_t begin = random() % bytes, end = std::min(bytes, begin + random() % (64 * kibi));
      const std::size_t first = begin / unit, last = (end + unit - 1) / unit;
      std::size_t fresh = 0;
      for (std::size_t k = first; k < last; ++k) fresh += held[k] ? 0 : unit;
      ASSERT_EQ(memory.missing(1, data, begin, end), fresh);

      const bool done = memory.commit(1, data, begin, end);

      ASSERT_EQ(done, total + fresh <= 384 * kibi || fresh == 0);
      if (done) {
        total += fresh;
        for (std::size_t k = first; k < last; ++k) {
          if (!held[k]) *emulated_resolve(data + k * unit) = static_cast<unsigned char>(k);
          held[k] = true;
        }
      }
      ASSERT_EQ(memory.committed(1, data), total);
      ASSERT_EQ(memory.used(1), total);
    }
    for (std::size_t k = 0; k < held.size(); ++k)
      if (held[k]) {
        ASSERT_EQ(*emulated_resolve(data + k * unit), static_cast<unsigned char>(k));
      }
    memory.deallocate(1, data);
    ASSERT_EQ(memory.used(1), 0U);
    ASSERT_EQ(memory.allocations(1), 0U);
  }
  EXPECT_EQ(memory.used(0), 0U);
}

TEST(EmulatedMemoryReserve, PagesGoBackToTheMachine) {
  EmulatedMemory memory(64 * mebibyte, 2);
  void* const data = memory.reserve(1, 256 * mebibyte);
  ASSERT_TRUE(memory.commit(1, data, 100 * mebibyte, 132 * mebibyte));
  EXPECT_EQ(memory.resident(), 0U);
  memory.poison(static_cast<char*>(data) + 100 * mebibyte, 32 * mebibyte, 0x5a);
  EXPECT_GE(memory.resident(), 32 * mebibyte);

  memory.deallocate(1, data);

  EXPECT_EQ(memory.resident(), 0U);
  EXPECT_THROW(memory.deallocate(1, data), Error);
}

// ---- costs and times

class EmulatedCosts : public EmulatedTest {
 protected:
  static strata::detail::DeviceInstance& device(int instance) { return Emulated(instance).backend(); }
};

TEST_F(EmulatedCosts, AreThoseOfTheConfiguration) {
  emulated::Config config = round_config();
  config.copy_latency = 0x1p-4;
  emulated::configure(config);

  const CopyCost up = device(0).copy_cost(Serial{}.backend()), down = device(0).copy_cost_to_host();
  const CopyCost peer = device(0).copy_cost(device(1)), within = device(2).copy_cost(device(2));

  EXPECT_EQ(up.bytes_per_second, 0x1p20);
  EXPECT_EQ(down.bytes_per_second, 0x1p19);
  EXPECT_EQ(peer.bytes_per_second, 0x1p21);
  EXPECT_EQ(within.bytes_per_second, 0x1p22);
  for (const CopyCost cost : {up, down, peer, within}) EXPECT_EQ(cost.seconds, 0x1p-4);
}

TEST_F(EmulatedCosts, ALinkSharedByBothDirectionsBoundsEachAndWithoutPeersThereIsNoDirectWay) {
  emulated::Config config = round_config();
  config.host_link_total = 0x1p19;
  config.peer_bandwidth = 0;
  emulated::configure(config);

  EXPECT_EQ(device(0).copy_cost(Serial{}.backend()).bytes_per_second, 0x1p19);
  EXPECT_EQ(device(0).copy_cost(device(1)).bytes_per_second, 0);
  EXPECT_GT(device(0).copy_cost(device(0)).bytes_per_second, 0);
}

TEST_F(EmulatedCosts, AreWhatACopyTakes) {
  emulated::Config config = round_config();
  config.copy_latency = 0x1p-4;
  emulated::configure(config);
  const Queue<Emulated> queue;
  const auto x = create<Array>("x", mebi / 4, uninitialized);
  const auto y = create<Array>("y", mebi / 4, uninitialized, on(Emulated{1}));

  const auto begin = queue.state().record_timed();
  deep_copy(queue, x, y);
  const auto end = queue.state().record_timed();
  queue.wait();

  const CopyCost cost = device(0).copy_cost(device(1));
  EXPECT_EQ(end->seconds_since(*begin), cost.seconds + double(mebi) / cost.bytes_per_second);
}

TEST_F(EmulatedCosts, EventsOfBeforeAResetOfTheClockHaveNoDistance) {
  const Queue<Emulated> queue;
  emulated::advance(3);
  const auto before = queue.state().record_timed();
  emulated::reset_time();
  const auto after = queue.state().record_timed();

  EXPECT_EQ(after->seconds_since(*before), -1);
  EXPECT_EQ(after->seconds_since(*after), 0);
}

}  // namespace
