// Residency by examples, and random programs under budgets that force arrays out.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <gtest/gtest.h>

#include <strata/views/coherent/plan/residency.hpp>

#include "core/random.hpp"
#include "views/coherent/plan/machine.hpp"

namespace {

using namespace strata_tests;
using strata::detail::Residency;

bool all_clean(int) { return true; }
std::vector<int> room(const Residency& memory, index_t more, bool (*is_clean)(int) = all_clean) {
  std::vector<int> victims;
  EXPECT_TRUE(memory.make_room(more, is_clean, victims));
  return victims;
}

TEST(Residency, GivesUpWhatWasNotUsedForLongest) {
  Residency memory(100);
  for (int array = 0; array < 4; ++array) memory.grown(array, 25);
  memory.used(0);
  EXPECT_TRUE(room(memory, 0).empty());
  EXPECT_EQ(room(memory, 1), std::vector<int>{1});
  EXPECT_EQ(room(memory, 30), (std::vector<int>{1, 2}));
  EXPECT_EQ(room(memory, 100), (std::vector<int>{1, 2, 3, 0}));
}

TEST(Residency, GivesUpWhatIsCleanFirst) {
  Residency memory(100);
  for (int array = 0; array < 4; ++array) memory.grown(array, 25);
  EXPECT_EQ(room(memory, 60, [](int array) { return array >= 2; }), (std::vector<int>{2, 3, 0}));
}

TEST(Residency, KeepsWhatIsPinned) {
  Residency memory(100);
  for (int array = 0; array < 4; ++array) memory.grown(array, 25);
  memory.pin(0);
  memory.pin(0);
  memory.pin(1);
  memory.unpin(0);
  EXPECT_EQ(room(memory, 50), (std::vector<int>{2, 3}));
  std::vector<int> victims;
  EXPECT_FALSE(memory.make_room(51, all_clean, victims));
  EXPECT_TRUE(victims.empty());
  memory.unpin(0);
  EXPECT_EQ(room(memory, 51), (std::vector<int>{0, 2, 3}));
}

TEST(Residency, PinsOutliveTheMemory) {
  Residency memory(100);
  memory.grown(0, 50);
  memory.pin(0);
  memory.dropped(0);  // to be had again, elsewhere
  memory.grown(0, 60);
  std::vector<int> victims;
  EXPECT_FALSE(memory.make_room(50, all_clean, victims));
  memory.dropped(0);
  memory.unpin(0);
  memory.unpin(0);  // once too often
  memory.grown(0, 60);
  memory.pin(0);
  EXPECT_FALSE(memory.make_room(50, all_clean, victims));
}

TEST(Residency, WhatHoldsNothingMakesNoRoom) {
  Residency memory(100);
  memory.grown(0, 80);
  memory.pin(7);
  memory.unpin(7);
  memory.pin(8);
  EXPECT_EQ(room(memory, 30), std::vector<int>{0});
  EXPECT_EQ(memory.residents().size(), 1U);
}

TEST(Residency, CountsWhatIsHeld) {
  Residency memory(100);
  memory.grown(7, 30);
  memory.grown(3, 10);
  memory.grown(7, 5);
  EXPECT_EQ(memory.bytes(), 45);
  EXPECT_EQ(memory.bytes(7), 35);
  EXPECT_EQ(memory.bytes(1), 0);
  ASSERT_EQ(memory.residents().size(), 2U);
  EXPECT_EQ(memory.residents()[0].array, 7);
  memory.dropped(7);
  EXPECT_EQ(memory.bytes(), 10);
  EXPECT_TRUE(room(memory, 90).empty());
}

TEST(Residency, ABudgetBelowWhatIsHeldTakesEffectAtTheNextGrowth) {
  Residency memory(100);
  memory.grown(0, 40);
  memory.grown(1, 40);
  memory.set_budget(50);
  EXPECT_EQ(room(memory, 10), std::vector<int>{0});
  std::vector<int> victims;
  EXPECT_FALSE(memory.make_room(51, all_clean, victims));
}

// Two devices whose memories hold less than the arrays: what a call needs is pinned, others leave, and no
// read meets an old value.
class SmallMachine : public RegionMachine {
 public:
  SmallMachine(int devices, index_t budget)
      : RegionMachine(devices, true), memories_(static_cast<std::size_t>(devices) + 1, Residency(budget)) {}

  /// False where there is no room: the call is not made.
  bool call_within_budget(const std::vector<Access>& accesses, const std::vector<Box>& domains) {
    std::vector<std::pair<int, MemoryId>> pinned;
    bool fits = true;
    for (const Access& access : accesses) {
      if (access.memory == host_memory) continue;
      memories_[static_cast<std::size_t>(access.memory)].pin(access.array);
      pinned.emplace_back(access.array, access.memory);
    }
    for (const Access& access : accesses) {
      if (access.memory == host_memory || !fits) continue;
      Residency& memory = memories_[static_cast<std::size_t>(access.memory)];
      // All of an array at once: instances that grow are the other machine's matter.
      const index_t more =
          memory.bytes(access.array) > 0 ? 0 : domains[static_cast<std::size_t>(access.array)].size();
      std::vector<int> victims;
      fits = memory.make_room(
          more,
          [&](int array) {
            const Directory& where = directory(array);
            return where.only_in(access.memory, where.domain()).empty();
          },
          victims);
      if (!fits) continue;
      for (const int victim : victims) {
        evict(victim, access.memory);
        memory.dropped(victim);
        ++evictions;
      }
      memory.grown(access.array, more);
      EXPECT_LE(memory.bytes(), memory.budget());
    }
    if (fits) call(accesses);
    for (const auto& [array, memory] : pinned) memories_[static_cast<std::size_t>(memory)].unpin(array);
    return fits;
  }
  int evictions = 0;

 private:
  std::vector<Residency> memories_;
};

TEST(Residency, RandomProgramsInTooLittleMemoryLoseNothing) {
  Random random;
  int evictions = 0, calls = 0, refused = 0;
  for (int trace = 0; trace < trials(3000) && !HasFailure(); ++trace) {
    SmallMachine machine(2, random(10, 60));
    std::vector<Box> domains;
    for (int k = 0; k < 5; ++k) {
      domains.push_back(Box::from_extents({random(1, 25)}));
      machine.array(domains.back(), 1, random(0, 1) == 1);
    }
    for (int step = 0; step < 20; ++step) {
      std::vector<Access> accesses;
      for (index_t k = random(1, 2); k > 0; --k) {
        const int array = static_cast<int>(random(0, 4));
        const Box& domain = domains[static_cast<std::size_t>(array)];
        const index_t lower = random(0, domain.upper(0) - 1);
        if (!accesses.empty() && accesses[0].array == array) continue;
        accesses.push_back({array, static_cast<MemoryId>(random(0, 2)),
                            Box({lower}, {random(lower + 1, domain.upper(0))}),
                            random(0, 1) == 1 ? AccessMode::InOut : AccessMode::In});
      }
      ++(machine.call_within_budget(accesses, domains) ? calls : refused);
    }
    evictions += machine.evictions;
  }
  EXPECT_GT(calls, 5 * refused);
  EXPECT_GT(evictions, trials(1000));
}

}  // namespace
