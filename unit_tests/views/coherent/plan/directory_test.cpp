// Directory and CopyPlanner by examples, among them the defects of SkePU 3's containers that the study of
// them found: each lost or reused old data there.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <gtest/gtest.h>

#include <strata/core/error.hpp>

#include "views/coherent/plan/machine.hpp"

namespace {

using namespace strata_tests;

Box line(index_t begin, index_t end) { return Box({begin}, {end}); }
std::vector<Box> boxes(std::initializer_list<Box> list) { return list; }

TEST(Directory, KnowsWhoHasWhat) {
  Directory where(line(0, 10), {host_memory});
  where.copied(1, line(2, 6));
  where.written(2, line(4, 8));

  EXPECT_TRUE(where.holds(host_memory, line(0, 4)));
  EXPECT_FALSE(where.holds(host_memory, line(0, 5)));
  EXPECT_TRUE(where.holds(1, line(2, 4)));
  EXPECT_EQ(where.missing(1, line(0, 10)), boxes({line(0, 2), line(4, 10)}));
  EXPECT_EQ(where.missing(2, line(0, 10)), boxes({line(0, 4), line(8, 10)}));
  EXPECT_EQ(where.only_in(2, line(0, 10)), boxes({line(4, 8)}));
  EXPECT_TRUE(where.only_in(1, line(0, 10)).empty());
}

TEST(Directory, IsTheSameWhereAllIsInTheSameMemoriesHoweverItCameThere) {
  Directory here(line(0, 10), {host_memory}), there(line(0, 10), {host_memory});
  here.written(1, line(0, 10));
  there.written(1, line(0, 5));
  EXPECT_FALSE(here.same_as(there));
  EXPECT_FALSE(there.same_as(here));

  there.written(1, line(5, 10));
  EXPECT_TRUE(here.same_as(there));
  EXPECT_NE(here.changes(), there.changes());
  there.copied(2, line(9, 10));
  EXPECT_FALSE(here.same_as(there));
}

TEST(Directory, WhatWasNeverWrittenIsNowhere) {
  Directory where(line(0, 10), {});
  EXPECT_EQ(where.never_written(line(0, 10)), boxes({line(0, 10)}));
  EXPECT_TRUE(where.missing(1, line(0, 10)).empty());
  where.written(1, line(3, 5));
  where.copied(2, line(0, 10));
  EXPECT_EQ(where.never_written(line(0, 10)), boxes({line(0, 3), line(5, 10)}));
  EXPECT_TRUE(where.holds(2, line(3, 5)));
}

TEST(Directory, WhatIsDroppedByTheLastIsLost) {
  Directory where(line(0, 10), {});
  where.written(1, line(0, 10));
  where.copied(2, line(0, 4));
  where.dropped(1, line(0, 10));
  EXPECT_TRUE(where.holds(2, line(0, 4)));
  EXPECT_EQ(where.never_written(line(0, 10)), boxes({line(4, 10)}));
}

TEST(Directory, AWriteThatDoesNotComeAboutIsUndone) {
  Directory where(line(0, 10), {host_memory});
  where.copied(1, line(2, 6));
  std::vector<Directory::Part> before;
  where.map().visit(line(4, 8), [&](const Box& box, MemorySet memories) {
    before.push_back({box, memories});
  });
  where.written(2, line(4, 8));
  EXPECT_FALSE(where.holds(1, line(2, 6)));
  where.restore(before);
  EXPECT_TRUE(where.holds(1, line(2, 6)));
  EXPECT_TRUE(where.holds(host_memory, line(0, 10)));
  EXPECT_EQ(where.missing(2, line(0, 10)), boxes({line(0, 10)}));
  EXPECT_EQ(where.map().size(), 3U);
}

TEST(Directory, IsCleanWhereOthersHaveAll) {
  Directory where(line(0, 10), {host_memory});
  where.copied(1, line(0, 10));
  EXPECT_TRUE(where.is_clean(1));
  where.written(1, line(9, 10));
  EXPECT_FALSE(where.is_clean(1));
  EXPECT_FALSE(where.lacks(1, line(0, 10)));
  EXPECT_TRUE(where.lacks(host_memory, line(0, 10)));
  EXPECT_FALSE(where.lacks(host_memory, line(0, 9)));
}

TEST(Directory, EmptyBoxesAreHeldByAll) {
  const Directory where(Box::from_extents({4, 4}), {});
  EXPECT_TRUE(where.holds(1, Box::none(2)));
  EXPECT_TRUE(where.missing(1, Box::none(2)).empty());
}

// A trace on one machine of each protocol; the machines check every read.
template <class Program>
void run(const Program& program, int devices) {
  ExactMachine exact(devices, true);
  program(exact);
  RegionMachine regions(devices, true);
  program(regions);
}

// a. A modified copy that holds more than the box written next was thrown away without a copy to the host.
TEST(SmartContainerDefects, AWriteWithinAModifiedCopyKeepsWhatIsAround) {
  run(
      [](Machine& m) {
        const int a = m.array(line(0, 20), 1, true);
        m.call({{a, 1, line(0, 13), AccessMode::Out}});
        m.call({{a, 1, line(10, 12), AccessMode::Out}});
        m.call({{a, host_memory, line(0, 20), AccessMode::In}});
      },
      1);
}

// b. Memory was freed without writing back what only it had.
TEST(SmartContainerDefects, MemoryGivenUpLosesNothing) {
  RegionMachine m(2, true);
  const int a = m.array(line(0, 20), 1, true);
  m.call({{a, 1, line(5, 15), AccessMode::Out}});
  m.evict(a, 1);
  EXPECT_EQ(m.counts().to_host, 10);
  m.call({{a, 2, line(0, 20), AccessMode::In}});
  m.evict(a, 2);  // has nothing of its own
  EXPECT_EQ(m.counts().to_host, 10);
}

// c. A halo that another device had written stayed valid here.
TEST(SmartContainerDefects, AHaloGoesOutOfDateWhenItsOwnerWrites) {
  run(
      [](Machine& m) {
        const int a = m.array(line(0, 20), 1, true);
        for (int step = 0; step < 3; ++step) {
          m.call({{a, 1, line(0, 11), AccessMode::In}, {a, 2, line(9, 20), AccessMode::In}});
          m.call({{a, 1, line(0, 10), AccessMode::Out}, {a, 2, line(10, 20), AccessMode::Out}});
        }
        m.call({{a, 1, line(0, 20), AccessMode::In}});
      },
      2);
}

// d. A read of the host took all of a copy.
TEST(SmartContainerDefects, TheHostReadsWhatItAsksFor) {
  RegionMachine m(1, true);
  const int a = m.array(line(0, 1000), 8, true);
  m.call({{a, 1, line(0, 1000), AccessMode::InOut}});
  m.call({{a, host_memory, line(500, 501), AccessMode::In}});
  EXPECT_EQ(m.counts().to_host, 8);
}

// e. There was room for ten ranges and 33 copies.
TEST(SmartContainerDefects, ThereIsNoLimitToThePartsOfAnArray) {
  RegionMachine m(2, true);
  const int a = m.array(line(0, 10000), 1, true);
  for (index_t i = 0; i < 10000; i += 10) m.call({{a, 1, line(i, i + 5), AccessMode::Out}});
  m.call({{a, 2, line(0, 10000), AccessMode::In}});
  EXPECT_EQ(m.counts().peer, 5000);
  EXPECT_EQ(m.counts().to_device, 5000);
  EXPECT_EQ(m.counts().copies_peer, 1000);
}

// f. One flag said for all pairs of devices whether they copy directly.
TEST(SmartContainerDefects, EveryPairOfDevicesHasItsOwnWay) {
  MemoryLinks links = links_of(3, false);
  links.set(1, 2, {1e-5, 395e9});
  RegionMachine m(links, CopyPlanner::Broadcast::No);
  const int a = m.array(line(0, 100), 1, true);
  m.call({{a, 1, line(0, 100), AccessMode::Out}});
  m.call({{a, 2, line(0, 100), AccessMode::In}});
  EXPECT_EQ(m.counts().peer, 100);
  m.call({{a, 3, line(0, 100), AccessMode::In}});
  EXPECT_EQ(m.counts().peer, 100);
  EXPECT_EQ(m.counts().to_host, 100);
  EXPECT_EQ(m.counts().to_device, 100);
}

TEST(CopyPlanner, TakesTheCheapestSource) {
  MemoryLinks links = links_of(3, true);
  links.set(1, 3, {1e-5, 20e9});  // slower than the host's
  Directory where(line(0, 1 << 20), {host_memory});
  where.copied(1, line(0, 1 << 20));
  CopyPlanner slow_peer(links);
  slow_peer.read(0, where, 8, 3, line(0, 1 << 20));
  ASSERT_EQ(slow_peer.copies().size(), 1U);
  EXPECT_EQ(slow_peer.copies()[0].from, host_memory);
  CopyPlanner fast_peer(links);
  fast_peer.read(0, where, 8, 2, line(0, 1 << 20));
  ASSERT_EQ(fast_peer.copies().size(), 1U);
  EXPECT_EQ(fast_peer.copies()[0].from, 1);
}

// Also those of which there was no choice.
TEST(CopyPlanner, TakesTheSourceThatHasNoOtherArraysToSend) {
  const MemoryLinks links = links_of(4, true);
  Directory only_in_1(line(0, 1 << 20), {}), in_both(line(0, 1 << 20), {});
  only_in_1.written(1, line(0, 1 << 20));
  in_both.written(1, line(0, 1 << 20));
  in_both.copied(2, line(0, 1 << 20));

  CopyPlanner planner(links);
  planner.read(0, only_in_1, 8, 3, line(0, 1 << 20));
  planner.read(1, in_both, 8, 4, line(0, 1 << 20));

  ASSERT_EQ(planner.copies().size(), 2U);
  EXPECT_EQ(planner.copies()[0].from, 1);
  EXPECT_EQ(planner.copies()[1].from, 2);
}

TEST(CopyPlanner, CopiesToTheSameMemoryOnce) {
  const MemoryLinks links = links_of(1, true);
  const Directory where(line(0, 100), {host_memory});
  CopyPlanner planner(links);
  planner.read(0, where, 1, 1, line(0, 60));
  planner.read(0, where, 1, 1, line(40, 100));
  ASSERT_EQ(planner.copies().size(), 2U);
  EXPECT_EQ(planner.copies()[0].box, line(0, 60));
  EXPECT_EQ(planner.copies()[1].box, line(60, 100));
}

TEST(CopyPlanner, ThroughTheHostOnceForAllAndInOrder) {
  const MemoryLinks links = links_of(3, false);
  Directory where(line(0, 100), {});
  where.written(1, line(0, 100));
  CopyPlanner planner(links, CopyPlanner::Broadcast::No);
  planner.read(0, where, 1, 2, line(0, 100));
  planner.read(0, where, 1, 3, line(0, 100));
  const auto& copies = planner.copies();
  ASSERT_EQ(copies.size(), 3U);
  EXPECT_EQ(copies[0].to, host_memory);
  EXPECT_TRUE(copies[0].after.empty());
  EXPECT_EQ(copies[1].to, 2);
  EXPECT_EQ(copies[1].after, std::vector<int>{0});
  EXPECT_EQ(copies[2].to, 3);
  EXPECT_EQ(copies[2].after, std::vector<int>{0});
}

TEST(CopyPlanner, ABroadcastGoesOnFromWhereItCame) {
  const MemoryLinks links = links_of(2, true);
  const Directory where(line(0, 1 << 20), {host_memory});
  CopyPlanner planner(links, CopyPlanner::Broadcast::Yes);
  planner.read(0, where, 8, 1, line(0, 1 << 20));
  planner.read(0, where, 8, 2, line(0, 1 << 20));
  ASSERT_EQ(planner.copies().size(), 2U);
  EXPECT_EQ(planner.copies()[1].from, 1);
  EXPECT_EQ(planner.copies()[1].after, std::vector<int>{0});
}

TEST(CopyPlanner, ABroadcastToManySpreadsFromDeviceToDevice) {
  const MemoryLinks links = links_of(8, true);
  const Directory where(line(0, 1 << 20), {host_memory});
  CopyPlanner planner(links, CopyPlanner::Broadcast::Yes);
  for (MemoryId device = 1; device <= 8; ++device) planner.read(0, where, 8, device, line(0, 1 << 20));
  ASSERT_EQ(planner.copies().size(), 8U);
  std::vector<int> sent(9);
  for (const PlannedCopy& copy : planner.copies()) ++sent[static_cast<std::size_t>(copy.from)];
  EXPECT_EQ(sent[host_memory], 1);
  EXPECT_EQ(sent[1], 3);  // 2 in the first round, then 3 and 4, then 5 to 8
}

TEST(CopyPlanner, WithoutAWayItSaysSo) {
  MemoryLinks links = links_of(2, false);
  links.set(1, host_memory, {});
  Directory where(line(0, 100), {});
  where.written(1, line(0, 100));
  CopyPlanner planner(links);
  EXPECT_THROW(planner.read(0, where, 8, 2, line(0, 100)), strata::CopyError);
}

TEST(CopyPlanner, APlanChangesNothing) {
  const MemoryLinks links = links_of(2, true);
  Directory where(line(0, 100), {host_memory});
  CopyPlanner planner(links);
  planner.read(0, where, 1, 1, line(0, 100));
  EXPECT_FALSE(where.holds(1, line(0, 1)));
}

TEST(CopyPlanner, PartsThatComeTheSameWayAreOneCopy) {
  const MemoryLinks links = links_of(2, true);
  Directory where(line(0, 100), {host_memory});
  where.copied(2, line(30, 60));  // three parts of the map, all on the host
  MemoryLinks no_peer = links_of(2, false);
  CopyPlanner planner(no_peer);
  planner.read(0, where, 1, 1, line(0, 100));
  ASSERT_EQ(planner.copies().size(), 1U);
  EXPECT_EQ(planner.copies()[0].box, line(0, 100));
}

}  // namespace
