// The books of the blocks that CUDA's pool hands out, over a pool of addresses that nobody touches.
// SPDX-License-Identifier: Apache-2.0
#if __has_include(<strata/devices/cuda/memory/pool_heap.hpp>)
#include <cstdint>
#include <map>

#include <gtest/gtest.h>

#include <strata/devices/cuda/memory/pool_heap.hpp>

namespace {

using strata::detail::HeapStatistics;
using strata::detail::PoolHeap;

constexpr std::size_t mebi = std::size_t{1} << 20;

// Keeps what it is given until it is trimmed.
struct Pool {
  std::size_t capacity = 100 * mebi;
  std::size_t held = 0, unused = 0;
  std::uintptr_t next = std::uintptr_t{1} << 40;
  std::map<void*, std::size_t> live;

  PoolHeap::Source source() {
    return {[](void* raw, std::size_t bytes) -> void* {
              auto& p = *static_cast<Pool*>(raw);
              if (bytes > p.unused && p.held + bytes > p.capacity) return nullptr;
              if (bytes <= p.unused) p.unused -= bytes;
              else p.held += bytes;
              void* const address = reinterpret_cast<void*>(p.next);
              p.next += bytes;
              p.live[address] = bytes;
              return address;
            },
            [](void* raw, void* address) {
              auto& p = *static_cast<Pool*>(raw);
              p.unused += p.live.at(address);
              p.live.erase(address);
            },
            [](void* raw) { return static_cast<Pool*>(raw)->held; },
            [](void* raw, std::size_t keep) {
              auto& p = *static_cast<Pool*>(raw);
              const std::size_t used = p.held - p.unused;
              p.held = used > keep ? used : keep < p.held ? keep : p.held;
              p.unused = p.held - used;
            },
            this};
  }
};

TEST(PoolHeap, BooksWhatIsLiveInMultiplesOfTheAlignment) {
  Pool pool;
  PoolHeap heap(pool.source());

  void* const first = heap.allocate(1);
  void* const second = heap.allocate(513);

  EXPECT_EQ(heap.bytes_of(first), 512U);
  EXPECT_EQ(heap.bytes_of(second), 1024U);
  EXPECT_EQ(heap.statistics().used, 1536U);
  EXPECT_EQ(heap.statistics().blocks, 2U);
  heap.release(first);
  EXPECT_EQ(heap.statistics().used, 1024U);
  EXPECT_EQ(heap.statistics().peak, 1536U);
  EXPECT_EQ(heap.statistics().held, 1536U);
  EXPECT_EQ(pool.live.size(), 1U);
}

TEST(PoolHeap, GivesNoMoreThanItsLimitAndThePool) {
  Pool pool;
  PoolHeap heap(pool.source(), 10 * mebi);

  void* const most = heap.allocate(10 * mebi);

  EXPECT_NE(most, nullptr);
  EXPECT_EQ(heap.allocate(1), nullptr);
  heap.set_limit(0);
  EXPECT_NE(heap.allocate(1), nullptr);
  EXPECT_EQ(heap.allocate(91 * mebi), nullptr);
  EXPECT_EQ(heap.allocate(SIZE_MAX), nullptr);
  heap.set_limit(mebi);
  EXPECT_EQ(heap.allocate(1), nullptr);
  EXPECT_EQ(heap.statistics().blocks, 2U);
}

TEST(PoolHeap, ItsLimitLeavesWhatThePoolHoldsForOthersAlone) {
  Pool pool;
  PoolHeap heap(pool.source());
  heap.release(heap.allocate(30 * mebi));
  heap.set_limit(10 * mebi);

  EXPECT_NE(heap.allocate(5 * mebi), nullptr);

  EXPECT_EQ(heap.statistics().held, 30 * mebi);
  EXPECT_EQ(heap.allocate(6 * mebi), nullptr);
}

TEST(PoolHeap, TrimGivesBackWhatIsUnusedDownToWhatIsKept) {
  Pool pool;
  PoolHeap heap(pool.source());
  void* const kept = heap.allocate(4 * mebi);
  heap.release(heap.allocate(20 * mebi));

  EXPECT_EQ(heap.trim(10 * mebi), 14 * mebi);
  EXPECT_EQ(heap.trim(30 * mebi), 0U);
  EXPECT_EQ(heap.trim(0), 6 * mebi);
  EXPECT_EQ(heap.statistics().held, 4 * mebi);
  heap.release(kept);
}

TEST(PoolHeap, ForgettingABlockLeavesThePoolAlone) {
  Pool pool;
  PoolHeap heap(pool.source());
  void* const block = heap.allocate(mebi);

  heap.forget(block);

  EXPECT_EQ(heap.statistics().used, 0U);
  EXPECT_EQ(pool.live.size(), 1U);
  heap.release(block);
  EXPECT_EQ(pool.live.size(), 1U);
}

TEST(PoolHeap, MemoryTakenByOtherWaysCountsAgainstTheLimit) {
  Pool pool;
  PoolHeap heap(pool.source(), 50 * mebi);

  EXPECT_TRUE(heap.charge(30 * mebi));
  EXPECT_FALSE(heap.charge(21 * mebi));
  EXPECT_EQ(heap.allocate(21 * mebi), nullptr);
  EXPECT_NE(heap.allocate(20 * mebi), nullptr);
  EXPECT_EQ(heap.statistics().held, 50 * mebi);
  EXPECT_EQ(heap.statistics().used, 50 * mebi);

  heap.discharge(30 * mebi);
  EXPECT_EQ(heap.statistics().held, 20 * mebi);
  EXPECT_EQ(heap.statistics().used, 20 * mebi);
}

}  // namespace
#endif
