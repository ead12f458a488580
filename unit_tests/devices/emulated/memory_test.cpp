// The memory of `Emulated`: accounting and reuse, and what workers reach.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <strata/core/error.hpp>
#include <strata/devices/emulated/allocation_list.hpp>
#include <strata/devices/emulated/memory.hpp>

#include "core/random.hpp"
#include "devices/emulated/addresses.hpp"

namespace {

using namespace strata;
using namespace strata::detail;
using namespace emulated_testing;

TEST(EmulatedRegion, OffsetOfAnotherInstanceNeverLeadsToMemory) {
  constexpr std::size_t span = 1 << 16;
  for (int count = 1; count <= 9; ++count) {
    const EmulatedRegion region{std::uintptr_t{1} << 40, span, count};
    for (int worker = 0; worker < count; ++worker) {
      for (int owner = 0; owner < count; ++owner) {
        for (const std::size_t byte : {std::size_t{0}, span / 2, span - 1}) {
          const std::uintptr_t view = region.view_base(owner) + byte;
          const std::uintptr_t reached = view + std::uintptr_t(region.offset(worker));

          EXPECT_EQ(region.viewed_by(view), owner);
          EXPECT_EQ(region.viewed_by(reached), -1);
          EXPECT_EQ(region.worked_by(reached), owner == worker ? owner : -1);
          EXPECT_TRUE(region.contains(reached));
        }
      }
    }
    EXPECT_FALSE(region.contains(region.base + region.size()));
    EXPECT_FALSE(region.contains(region.base - 1));
    EXPECT_EQ(region.viewed_by(region.base - 1), -1);
  }
}

TEST(EmulatedMemory, WorkersSeeTheirInstanceAndOnlyThat) {
  EmulatedMemory memory(mebi, 3);
  std::vector<int*> arrays;
  for (int i = 0; i < 3; ++i) arrays.push_back(static_cast<int*>(memory.allocate(i, 4 * sizeof(int))));

  for (int i = 0; i < 3; ++i) {
    std::thread([&, i] {
      const EmulatedWorkerScope scope(memory, i);
      for (int k = 0; k < 4; ++k) *emulated_resolve(arrays[i] + k) = 10 * i + k;
    }).join();
  }

  for (int i = 0; i < 3; ++i) {
    const EmulatedWorkerScope scope(memory, i);
    for (int k = 0; k < 4; ++k) EXPECT_EQ(read(arrays[i] + k), 10 * i + k);
  }
  for (int i = 0; i < 3; ++i) memory.deallocate(i, arrays[i]);
}

TEST(EmulatedMemory, AddressesAreAlignedAndNameTheirInstance) {
  EmulatedMemory memory(mebi, 2);
  void* first = memory.allocate(1, 1);
  void* second = memory.allocate(1, 257);

  EXPECT_EQ(number(first) % EmulatedMemory::alignment, 0u);
  EXPECT_EQ(number(second) % EmulatedMemory::alignment, 0u);
  EXPECT_EQ(memory.instance_of(first), 1);
  EXPECT_EQ(memory.instance_of(static_cast<char*>(second) + memory.offset(1)), 1);
  EXPECT_EQ(memory.instance_of(static_cast<char*>(second) + memory.offset(0)), -1);
  EXPECT_EQ(memory.instance_of(&memory), -1);

  memory.deallocate(1, first);
  memory.deallocate(1, second);
}

TEST(EmulatedMemory, AccountsWholeUnitsAndRemembersThePeak) {
  EmulatedMemory memory(mebi, 2);
  void* small = memory.allocate(0, 1);
  void* large = memory.allocate(0, 1000);

  EXPECT_EQ(memory.used(0), 256u + 1024u);
  EXPECT_EQ(memory.allocations(0), 2u);
  EXPECT_EQ(memory.used(1), 0u);

  memory.deallocate(0, large);
  memory.deallocate(0, small);
  EXPECT_EQ(memory.used(0), 0u);
  EXPECT_EQ(memory.peak(0), 1280u);
  EXPECT_EQ(memory.allocations(0), 0u);
}

// With the signal's default, which ends the program.
TEST(EmulatedMemory, UnderALimitOfFileSizesFitsItOrNamesIt) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto limit_files = [&](rlim_t bytes) {
    const rlimit limit{bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  std::string refusal;

  limit_files(3 * mebi);
  {
    EmulatedMemory memory(mebi, 2);
    EXPECT_EQ(memory.repeat_granule(), 0u);
    void* const array = memory.allocate(1, mebi);
    EXPECT_NE(array, nullptr);
    memory.deallocate(1, array);
  }
  limit_files(mebi);
  try {
    const EmulatedMemory memory(mebi, 2);
  } catch (const OutOfMemory& error) {
    refusal = error.what();
  }
  limit_files(before.rlim_cur);

  EXPECT_NE(refusal.find("STRATA_EMULATED_CAPACITY), or raise the limit of file sizes (ulimit -f)"),
            std::string::npos)
      << refusal;
}

TEST(EmulatedMemory, AllocationOfNoBytesHasAnAddressOfItsOwn) {
  EmulatedMemory memory(mebi, 1);
  void* first = memory.allocate(0, 0);
  void* second = memory.allocate(0, 0);

  EXPECT_NE(first, nullptr);
  EXPECT_NE(first, second);

  memory.deallocate(0, first);
  memory.deallocate(0, second);
  memory.deallocate(0, nullptr);
}

TEST(EmulatedMemory, WholeCapacityFitsAndNotAByteMore) {
  EmulatedMemory memory(mebi, 1);

  EXPECT_EQ(memory.allocate(0, mebi + 1), nullptr);
  EXPECT_EQ(memory.allocate(0, SIZE_MAX), nullptr);
  void* all = memory.allocate(0, mebi);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(memory.allocate(0, 1), nullptr);
  EXPECT_EQ(memory.largest_free(0), 0u);

  memory.deallocate(0, all);
  EXPECT_EQ(memory.largest_free(0), mebi);
}

TEST(EmulatedMemory, LoweredCapacityHoldsForNewAllocationsOnly) {
  EmulatedMemory memory(mebi, 1);
  void* kept = memory.allocate(0, mebi / 2);

  memory.set_capacity(0, mebi / 4);
  EXPECT_EQ(memory.capacity(0), mebi / 4);
  EXPECT_EQ(memory.allocate(0, 1), nullptr);
  EXPECT_EQ(memory.used(0), mebi / 2);

  memory.deallocate(0, kept);
  EXPECT_EQ(memory.allocate(0, mebi / 2), nullptr);
  void* fits = memory.allocate(0, mebi / 4);
  EXPECT_NE(fits, nullptr);
  memory.deallocate(0, fits);
  EXPECT_THROW(memory.set_capacity(0, 2 * mebi), SettingError);
}

TEST(EmulatedMemory, FreedNeighboursMergeInAnyOrder) {
  const std::vector<std::vector<int>> orders = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const auto& order : orders) {
    EmulatedMemory memory(3 * 512 * 1024, 1);
    void* blocks[3];
    for (auto& block : blocks) block = memory.allocate(0, 512 * 1024);

    for (const int which : order) memory.deallocate(0, blocks[which]);

    EXPECT_EQ(memory.largest_free(0), 3u * 512 * 1024);
  }
}

TEST(EmulatedMemory, SmallestHoleThatFitsIsUsed) {
  EmulatedMemory memory(mebi, 1);
  void* wide = memory.allocate(0, 4096);
  void* wall = memory.allocate(0, 256);
  void* narrow = memory.allocate(0, 1024);
  void* end = memory.allocate(0, 256);
  memory.deallocate(0, wide);
  memory.deallocate(0, narrow);

  EXPECT_EQ(memory.allocate(0, 1000), narrow);
  EXPECT_EQ(memory.allocate(0, 1000), wide);

  for (void* block : {wide, wall, narrow, end}) memory.deallocate(0, block);
}

TEST(EmulatedMemory, PagesOfABigFreedBlockGoBackToTheMachine) {
  EmulatedMemory memory(64 * mebi, 2);
  void* block = memory.allocate(1, 32 * mebi);
  EXPECT_EQ(memory.resident(), 0u);

  memory.poison(block, 32 * mebi, 0x5a);
  EXPECT_GE(memory.resident(), 32 * mebi);
  memory.deallocate(1, block);

  EXPECT_LE(memory.resident(), mebi);
}

TEST(EmulatedMemory, MemoryOfAFreedBigBlockServesSmallOnesAgain) {
  EmulatedMemory memory(4 * mebi, 1);
  char* odd = static_cast<char*>(memory.allocate(0, 300));
  memory.deallocate(0, memory.allocate(0, 2 * mebi));
  std::vector<char*> blocks;
  const EmulatedWorkerScope scope(memory, 0);

  for (int k = 0; k < 1000; ++k) {
    blocks.push_back(static_cast<char*>(memory.allocate(0, 1000)));
    std::memset(emulated_resolve(blocks.back()), k % 100, 1000);
  }

  for (int k = 0; k < 1000; ++k) EXPECT_EQ(read(blocks[k] + 999), k % 100);
  for (char* block : blocks) memory.deallocate(0, block);
  memory.deallocate(0, odd);
}

TEST(EmulatedMemory, PoisonFillsExactlyTheBytes) {
  EmulatedMemory memory(mebi, 2);
  auto* bytes = static_cast<unsigned char*>(memory.allocate(1, 64));
  memory.poison(bytes, 64, 0x11);

  memory.poison(bytes + 8, 16, 0xee);

  const EmulatedWorkerScope scope(memory, 1);
  for (int k = 0; k < 64; ++k) EXPECT_EQ(read(bytes + k), k >= 8 && k < 24 ? 0xee : 0x11);
  int host = 0;
  EXPECT_THROW(memory.poison(&host, 4, 0), WrongDevice);
  memory.deallocate(1, bytes);
}

TEST(EmulatedMemory, WrongArgumentsAreErrorsThatSayTheNumbers) {
  EXPECT_THROW(EmulatedMemory(0, 1), SettingError);
  EXPECT_THROW(EmulatedMemory(mebi, 0), SettingError);
  EXPECT_THROW(EmulatedMemory(mebi, 65), SettingError);
  EXPECT_THROW(EmulatedMemory(std::size_t{1} << 40, 64), OutOfMemory);
  EmulatedMemory memory(mebi, 2);
  void* block = memory.allocate(0, 256);

  EXPECT_THROW((void)memory.allocate(2, 1), NoSuchDevice);
  EXPECT_THROW((void)memory.used(-1), NoSuchDevice);
  EXPECT_THROW(memory.deallocate(1, block), Error);
  EXPECT_THROW(memory.deallocate(0, static_cast<char*>(block) + 256), Error);
  memory.deallocate(0, block);
  EXPECT_THROW(memory.deallocate(0, block), Error);
}

TEST(EmulatedMemory, RandomAllocationsNeverOverlapAndAddUp) {
  const unsigned seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  EmulatedMemory memory(16 * mebi, 1);
  std::map<std::uintptr_t, std::size_t> live;
  std::size_t used = 0;

  for (int step = 0; step < strata_tests::trials(4000); ++step) {
    if (live.empty() || random() % 5 < 3) {
      const std::size_t bytes = random() % 8 == 0 ? 1 + random() % mebi : 1 + random() % 5000;
      void* block = memory.allocate(0, bytes);
      if (block == nullptr) continue;
      const std::size_t rounded = (bytes + 255) / 256 * 256;
      const auto next = live.lower_bound(number(block));
      ASSERT_TRUE(next == live.end() || number(block) + rounded <= next->first);
      ASSERT_TRUE(next == live.begin() || std::prev(next)->first + std::prev(next)->second <= number(block));
      memory.poison(block, 1, 1);
      memory.poison(static_cast<char*>(block) + bytes - 1, 1, 2);
      live.emplace(number(block), rounded);
      used += rounded;
    } else {
      const auto victim = std::next(live.begin(), std::ptrdiff_t(random() % live.size()));
      memory.deallocate(0, reinterpret_cast<void*>(victim->first));
      used -= victim->second;
      live.erase(victim);
    }
    ASSERT_EQ(memory.used(0), used);
  }

  for (const auto& [address, bytes] : live) memory.deallocate(0, reinterpret_cast<void*>(address));
  EXPECT_EQ(memory.largest_free(0), 16 * mebi);
}

TEST(EmulatedMemory, ThreadsMayAllocateAndFreeAtOnce) {
  EmulatedMemory memory(64 * mebi, 2);
  std::vector<std::thread> threads;

  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&memory, t] {
      for (int k = 0; k < 300; ++k) {
        const std::size_t bytes = k % 10 == 0 ? 300 * 1024 : 100 + 10 * std::size_t(k);
        auto* block = static_cast<char*>(memory.allocate(t % 2, bytes));
        register_allocation(block, bytes, "shared");
        const EmulatedWorkerScope scope(memory, t % 2);
        std::memset(emulated_resolve(block), t, bytes);
        ASSERT_EQ(read(block + bytes - 1), t);
        memory.deallocate(t % 2, block);
      }
    });
  }
  for (auto& thread : threads) thread.join();

  EXPECT_EQ(memory.used(0) + memory.used(1), 0u);
}

TEST(AllocationList, LiveEntryWinsOverFreedOnesAndTheLastFreedOverOlder) {
  alignas(256) static char bytes[1024];
  bool live = true;
  EXPECT_EQ(find_allocation(number(bytes), live), nullptr);

  register_allocation(bytes, 512, "first");
  unregister_allocation(bytes);
  register_allocation(bytes, 256, "second");
  EXPECT_STREQ(find_allocation(number(bytes + 255), live)->label, "second");
  EXPECT_TRUE(live);
  EXPECT_STREQ(find_allocation(number(bytes + 256), live)->label, "first");
  EXPECT_FALSE(live);

  unregister_allocation(bytes);
  EXPECT_STREQ(find_allocation(number(bytes), live)->label, "second");
  EXPECT_FALSE(live);
  forget_allocations(number(bytes), 1024);
  EXPECT_EQ(find_allocation(number(bytes), live), nullptr);
}

TEST(AllocationList, MemoryThatEndsIsForgotten) {
  std::uintptr_t gone = 0;
  bool live = false;
  {
    EmulatedMemory memory(mebi, 1);
    void* block = memory.allocate(0, 8);
    gone = number(block);
    register_allocation(block, 8, "gone");
    memory.deallocate(0, block);
    EXPECT_NE(find_allocation(gone, live), nullptr);
  }

  EXPECT_EQ(find_allocation(gone, live), nullptr);
}

TEST(AllocationList, GrowsPastAChunkAndCutsLongLabels) {
  static char bytes[2000];
  bool live = false;

  for (int k = 0; k < 2000; ++k) register_allocation(bytes + k, 1, ("array " + std::to_string(k)).c_str());

  EXPECT_STREQ(find_allocation(number(bytes + 1999), live)->label, "array 1999");
  EXPECT_TRUE(live);
  register_allocation(bytes, 1, std::string(100, 'x').c_str());
  EXPECT_EQ(find_allocation(number(bytes), live)->label, std::string(63, 'x'));
  forget_allocations(number(bytes), 2000);
}

}  // namespace
