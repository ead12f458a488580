// The heap behind the memory of GPUs, over slabs of addresses that nobody touches.
// SPDX-License-Identifier: Apache-2.0
#if __has_include(<strata/devices/cuda/memory/slab_heap.hpp>)
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <strata/devices/cuda/memory/slab_heap.hpp>

#include "core/random.hpp"

namespace {

using strata::detail::SlabHeap;

constexpr std::size_t mebi = std::size_t{1} << 20;

// Hands out addresses in rising order, as many bytes as there are.
struct Slabs {
  std::size_t left = 1024 * mebi;
  std::size_t given = 0;
  std::uintptr_t next = std::uintptr_t{1} << 40;

  SlabHeap::Source source() {
    return {[](void* raw, std::size_t bytes) -> void* {
              auto& s = *static_cast<Slabs*>(raw);
              if (bytes > s.left) return nullptr;
              s.left -= bytes;
              ++s.given;
              const std::uintptr_t slab = s.next;
              s.next += bytes + 4096 * mebi;  // slabs do not touch
              return reinterpret_cast<void*>(slab);
            },
            [](void* raw, void*, std::size_t bytes) { static_cast<Slabs*>(raw)->left += bytes; }, this};
  }
};

TEST(SlabHeap, CutsManyBlocksFromOneSlabAndMergesThemAgain) {
  Slabs slabs;
  SlabHeap heap(slabs.source());
  std::vector<void*> blocks;
  for (int k = 0; k < 64; ++k) blocks.push_back(heap.allocate(mebi));

  EXPECT_EQ(slabs.given, 1U);
  EXPECT_EQ(heap.used(), 64 * mebi);
  for (int k = 0; k < 64; k += 2) heap.release(blocks[static_cast<std::size_t>(k)]);
  EXPECT_EQ(heap.largest_free(), mebi);
  for (int k = 1; k < 64; k += 2) heap.release(blocks[static_cast<std::size_t>(k)]);
  EXPECT_EQ(heap.largest_free(), 64 * mebi);
  EXPECT_EQ(heap.used(), 0U);
  EXPECT_EQ(heap.peak(), 64 * mebi);
}

TEST(SlabHeap, TakesTheSmallestFreeBlockThatFits) {
  Slabs slabs;
  SlabHeap heap(slabs.source());
  void* const large = heap.allocate(8 * mebi);
  void* const wall = heap.allocate(512);
  void* const small = heap.allocate(2 * mebi);
  void* const end = heap.allocate(512);
  heap.release(large);
  heap.release(small);

  EXPECT_EQ(heap.allocate(mebi), small);
  EXPECT_EQ(heap.allocate(8 * mebi), large);
  EXPECT_NE(wall, end);
}

TEST(SlabHeap, HoldsNoMoreThanItsLimitAndGivesUnusedSlabsBack) {
  Slabs slabs;
  SlabHeap heap(slabs.source(), 100 * mebi);
  void* const first = heap.allocate(60 * mebi);
  EXPECT_EQ(heap.held(), 64 * mebi);
  EXPECT_EQ(heap.allocate(50 * mebi), nullptr);
  void* const second = heap.allocate(30 * mebi);
  EXPECT_NE(second, nullptr);
  EXPECT_LE(heap.held(), 100 * mebi);
  heap.release(first);
  EXPECT_EQ(heap.trim(0), 64 * mebi);
  EXPECT_NE(heap.allocate(50 * mebi), nullptr);
  EXPECT_EQ(heap.trim(0), 0U);
}

TEST(SlabHeap, MemoryTakenByOtherWaysCountsAgainstTheLimit) {
  Slabs slabs;
  SlabHeap heap(slabs.source(), 100 * mebi);

  EXPECT_TRUE(heap.charge(60 * mebi));
  EXPECT_FALSE(heap.charge(41 * mebi));
  EXPECT_EQ(heap.held(), 60 * mebi);
  EXPECT_EQ(heap.used(), 60 * mebi);
  EXPECT_EQ(heap.allocate(42 * mebi), nullptr);
  EXPECT_NE(heap.allocate(40 * mebi), nullptr);
  EXPECT_FALSE(heap.charge(1));
  EXPECT_EQ(heap.trim(0), 0U);

  heap.discharge(60 * mebi);
  EXPECT_EQ(heap.held(), 40 * mebi);
  EXPECT_EQ(heap.used(), 40 * mebi);
  EXPECT_EQ(heap.peak(), 100 * mebi);
  heap.set_limit(10 * mebi);
  EXPECT_FALSE(heap.charge(1)) << "more is held than the limit allows";
  heap.set_limit(0);
  EXPECT_TRUE(heap.charge(10000 * mebi)) << "no limit";
}

TEST(SlabHeap, WhereMemoryIsShortASlabIsNoLargerThanTheBlock) {
  Slabs slabs;
  slabs.left = 10 * mebi;
  SlabHeap heap(slabs.source());

  EXPECT_NE(heap.allocate(9 * mebi), nullptr);
  EXPECT_EQ(heap.held(), 10 * mebi);
  EXPECT_EQ(heap.allocate(2 * mebi), nullptr);
  EXPECT_EQ(heap.allocate(~std::size_t{0} - 5), nullptr);
}

TEST(SlabHeap, BlocksNeverOverlapAndNothingIsLost) {
  constexpr unsigned seed = 20261121;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Slabs slabs;
  SlabHeap heap(slabs.source());
  std::map<std::uintptr_t, std::size_t> live;
  for (int step = 0; step < strata_tests::trials(20000); ++step) {
    if (live.size() < 50 || random() % 2 == 0) {
      const std::size_t bytes = 1 + random() % (random() % 8 == 0 ? 3 * mebi : 5000);
      const auto address = reinterpret_cast<std::uintptr_t>(heap.allocate(bytes));
      if (address == 0) continue;
      ASSERT_EQ(address % SlabHeap::alignment, 0U);
      const auto [entry, fresh] = live.emplace(address, bytes);
      ASSERT_TRUE(fresh);
      if (entry != live.begin()) {
        const auto before = std::prev(entry);
        ASSERT_LE(before->first + before->second, address);
      }
      if (std::next(entry) != live.end()) {
        ASSERT_LE(address + bytes, std::next(entry)->first);
      }
    } else {
      auto victim = live.begin();
      std::advance(victim, random() % live.size());
      heap.release(reinterpret_cast<void*>(victim->first));
      live.erase(victim);
    }
  }
  for (const auto& [address, bytes] : live) heap.release(reinterpret_cast<void*>(address));

  EXPECT_EQ(heap.used(), 0U);
  const std::size_t held = heap.held();
  EXPECT_EQ(heap.trim(0), held);
  EXPECT_EQ(slabs.left, 1024 * mebi);
}

}  // namespace
#endif
