// The books of managed memory of GPUs, over blocks of addresses that nobody touches.
// SPDX-License-Identifier: Apache-2.0
#if __has_include(<strata/devices/cuda/memory/managed_heap.hpp>)
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include <strata/devices/cuda/memory/managed_heap.hpp>

namespace {

using strata::detail::managed_memory_left;
using strata::detail::managed_run;
using strata::detail::ManagedHeap;
using strata::detail::SlabHeap;

constexpr std::size_t mebi = std::size_t{1} << 20;

struct Blocks {
  std::uintptr_t next = std::uintptr_t{1} << 40;
  std::map<void*, std::size_t> live;
  std::size_t calls = 0;

  SlabHeap::Source source() {
    return {[](void* raw, std::size_t bytes) -> void* {
              auto& b = *static_cast<Blocks*>(raw);
              ++b.calls;
              void* const block = reinterpret_cast<void*>(b.next);
              b.next += bytes;
              b.live[block] = bytes;
              return block;
            },
            [](void* raw, void* block, std::size_t bytes) {
              auto& b = *static_cast<Blocks*>(raw);
              EXPECT_EQ(b.live.at(block), bytes);
              b.live.erase(block);
            },
            this};
  }
};

TEST(ManagedHeap, EachArrayHasRunsOfItsOwn) {
  Blocks blocks;
  ManagedHeap heap(blocks.source());

  std::map<std::uintptr_t, std::size_t> arrays;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, 2 * mebi - 1, 2 * mebi,
                                  2 * mebi + 1, std::size_t{7}, 9 * mebi})
    arrays[reinterpret_cast<std::uintptr_t>(heap.allocate(bytes))] = bytes;

  EXPECT_EQ(arrays.size(), 8U);
  std::uintptr_t end = 0;
  for (const auto& [at, bytes] : arrays) {
    EXPECT_EQ(at % managed_run, 0U);
    EXPECT_GE(at, end) << "the end of the array before, in whole runs";
    end = at + ManagedHeap::taken_by(bytes);
  }
  EXPECT_EQ(heap.used(), (5 * 2 + 2 + 4 + 10) * mebi);
}

TEST(ManagedHeap, SmallArraysShareAllocationsAndLargeOnesGoBackAtOnce) {
  Blocks blocks;
  ManagedHeap heap(blocks.source());

  std::vector<void*> small;
  for (int k = 0; k < 20; ++k) small.push_back(heap.allocate(4096));
  void* const large = heap.allocate(3 * mebi);
  EXPECT_EQ(blocks.calls, 2U);
  EXPECT_TRUE(heap.keeps(small.front()));
  EXPECT_FALSE(heap.keeps(large));
  heap.release(large);
  EXPECT_FALSE(blocks.live.contains(large));

  for (void* const block : small) heap.release(block);
  EXPECT_EQ(heap.used(), 0U);
  static_cast<void>(heap.allocate(100));
  EXPECT_EQ(blocks.calls, 2U) << "the slab was kept";
}

TEST(ManagedHeap, KeepsOneSlabWithoutAnArray) {
  Blocks blocks;
  ManagedHeap heap(blocks.source());
  std::vector<void*> small;
  for (std::size_t k = 0; k < 4 * SlabHeap::slab_bytes / managed_run; ++k) small.push_back(heap.allocate(1));
  EXPECT_EQ(blocks.live.size(), 4U);

  for (void* const block : small) heap.release(block);
  EXPECT_EQ(blocks.live.size(), 1U);

  EXPECT_EQ(heap.trim(), SlabHeap::slab_bytes);
  EXPECT_TRUE(blocks.live.empty());
}

TEST(ManagedHeap, RefusesSizesThatCannotBeCounted) {
  Blocks blocks;
  ManagedHeap heap(blocks.source());

  EXPECT_EQ(heap.allocate(std::numeric_limits<std::size_t>::max()), nullptr);
  EXPECT_EQ(ManagedHeap::taken_by(std::numeric_limits<std::size_t>::max()), 0U);
  EXPECT_EQ(blocks.calls, 0U);
}

TEST(ManagedMemoryLeft, CountsManagedPagesWhereverTheyAre) {
  // 100 free at the start; 30 of managed arrays, 20 of device memory.
  EXPECT_EQ(managed_memory_left({100, 80, 20, 30}), 50U) << "pages on the host";
  EXPECT_EQ(managed_memory_left({100, 50, 20, 30}), 50U) << "pages on the card";
  EXPECT_EQ(managed_memory_left({100, 60, 20, 30}), 50U) << "20 of 30 there";
}

TEST(ManagedMemoryLeft, IsNeverMoreThanIsFree) {
  EXPECT_EQ(managed_memory_left({100, 10, 20, 30}), 10U) << "other programs took what the books do not have";
  EXPECT_EQ(managed_memory_left({100, 5, 90, 30}), 0U);
}

TEST(ManagedMemoryLeft, SeesWhatOthersGaveBack) { EXPECT_EQ(managed_memory_left({10, 90, 0, 30}), 60U); }

}  // namespace
#endif
