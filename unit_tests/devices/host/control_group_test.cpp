// What control groups of both versions allow: processors and memory.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <strata/devices/host/control_group.hpp>

#include "devices/host/cgroups.hpp"

namespace {

using device_testing::Cgroups;

TEST(ControlGroup, TakesTheTightestQuotaOfAGroupAndItsAncestors) {
  const Cgroups tree;
  tree.write("job/cpu.max", "250000 100000");
  tree.write("job/step/cpu.max", "max 100000");

  EXPECT_EQ(strata::detail::quota_processors("0::/job/step\n", tree.root()), 2);
  EXPECT_EQ(strata::detail::quota_processors("0::/job\n", tree.root()), 2);
  EXPECT_EQ(strata::detail::quota_processors("0::/elsewhere\n", tree.root()), 0);
}

TEST(ControlGroup, TakesTheQuotaAtTheMountWhereThePathIsThatOfTheHost) {
  const Cgroups tree;
  tree.write("cpu.max", "50000 100000");

  EXPECT_EQ(strata::detail::quota_processors("0::/kubepods/pod1/c2\n", tree.root()), 1);
}

TEST(ControlGroup, ReadsQuotasOfTheFirstVersion) {
  const Cgroups tree;
  tree.write("cpu/a/cpu.cfs_quota_us", "300000");
  tree.write("cpu/a/cpu.cfs_period_us", "100000");
  tree.write("cpu/b/cpu.cfs_quota_us", "-1");
  tree.write("cpu/b/cpu.cfs_period_us", "100000");

  EXPECT_EQ(strata::detail::quota_processors("4:memory:/a\n1:cpu,cpuacct:/a\n0::/\n", tree.root()), 3);
  EXPECT_EQ(strata::detail::quota_processors("1:cpu:/b\n", tree.root()), 0);
  EXPECT_EQ(strata::detail::quota_processors("3:cpuset:/a\n", tree.root()), 0);
  EXPECT_EQ(strata::detail::quota_processors("nonsense", tree.root()), 0);
}

TEST(ControlGroup, TakesTheTightestLimitOfMemory) {
  const Cgroups tree;
  tree.write("job/memory.max", "100663296");
  tree.write("job/step/memory.max", "max");
  tree.write("job/step/small/memory.max", "4096");

  EXPECT_EQ(strata::detail::limited_memory("0::/job/step\n", tree.root()), 100663296);
  EXPECT_EQ(strata::detail::limited_memory("0::/job/step/small\n", tree.root()), 4096);
  EXPECT_EQ(strata::detail::limited_memory("0::/elsewhere\n", tree.root()), 0);
}

TEST(ControlGroup, ReadsLimitsOfMemoryOfTheFirstVersion) {
  const Cgroups tree;
  tree.write("memory/a/memory.limit_in_bytes", "100663296");
  tree.write("memory/memory.limit_in_bytes", "9223372036854771712");

  EXPECT_EQ(strata::detail::limited_memory("4:cpu:/\n3:memory:/a/b\n0::/\n", tree.root()), 100663296);
  EXPECT_EQ(strata::detail::limited_memory("3:memory:/other\n", tree.root()), 0);
  EXPECT_EQ(strata::detail::limited_memory("3:cpu:/a\n", tree.root()), 0);
}

TEST(ControlGroup, TakesLimitsOfAncestorsWhereThoseBelowAreLooserOrNone) {
  const Cgroups tree;
  tree.write("a/memory.max", "max");
  tree.write("a/b/memory.max", "1000000");
  tree.write("a/b/c/memory.max", "2000000");
  tree.write("a/b/c/d/memory.max", "max");
  tree.write("a/cpu.max", "150000 50000");
  tree.write("a/b/cpu.max", "800000 100000");
  tree.write("a/b/c/cpu.max", "max 100000");

  EXPECT_EQ(strata::detail::limited_memory("0::/a/b/c/d\n", tree.root()), 1000000);
  EXPECT_EQ(strata::detail::limited_memory("0::/a/b/c/d/not_yet\n", tree.root()), 1000000);
  EXPECT_EQ(strata::detail::limited_memory("0::/a\n", tree.root()), 0);
  EXPECT_EQ(strata::detail::quota_processors("0::/a/b/c/d\n", tree.root()), 3);
}

TEST(ControlGroup, TakesTheTightestOfBothVersionsWhereBothAreMounted) {
  const std::string membership = "9:name=systemd:/user\n4:memory:/job\n1:cpu,cpuacct:/job\n0::/user/scope\n";
  const Cgroups of_the_second;  // whose controllers the first one does not have
  of_the_second.write("unified/user/memory.max", "2000000");
  of_the_second.write("unified/user/scope/cpu.max", "200000 100000");
  of_the_second.write("systemd/user/memory.max", "1");

  EXPECT_EQ(strata::detail::limited_memory(membership, of_the_second.root()), 2000000);
  EXPECT_EQ(strata::detail::quota_processors(membership, of_the_second.root()), 2);

  const Cgroups of_both;
  of_both.write("unified/user/memory.max", "2000000");
  of_both.write("memory/job/memory.limit_in_bytes", "1000000");
  of_both.write("cpu,cpuacct/job/cpu.cfs_quota_us", "300000");  // without a link by the name cpu
  of_both.write("cpu,cpuacct/job/cpu.cfs_period_us", "100000");
  of_both.write("unified/user/cpu.max", "500000 100000");

  EXPECT_EQ(strata::detail::limited_memory(membership, of_both.root()), 1000000);
  EXPECT_EQ(strata::detail::quota_processors(membership, of_both.root()), 3);
}

TEST(ControlGroup, LooksAtNothingOutsideOfTheMount) {
  const Cgroups tree;
  tree.write("outside/memory.max", "4096");
  tree.write("mount/memory.max", "1000000");
  tree.write("mount/memory/memory.limit_in_bytes", "2000000");

  EXPECT_EQ(strata::detail::limited_memory("0::/../outside\n", tree.root() + "/mount"), 1000000);
  EXPECT_EQ(strata::detail::limited_memory("0::/..\n", tree.root() + "/mount"), 1000000);
  EXPECT_EQ(strata::detail::limited_memory("4:memory:/../../outside\n", tree.root() + "/mount"), 2000000);
}

TEST(ControlGroup, TakesWhatCannotBeReadForNoLimit) {
  const Cgroups tree;
  for (const char* text : {"", "nonsense", "-5", "99999999999999999999999"}) {
    tree.write("memory.max", text);
    tree.write("cpu.max", text);
    EXPECT_EQ(strata::detail::limited_memory("0::/\n", tree.root()), 0) << text;
    EXPECT_EQ(strata::detail::quota_processors("0::/\n", tree.root()), 0) << text;
  }
  tree.write("memory.max", "0");
  EXPECT_EQ(strata::detail::limited_memory("0::/\n", tree.root()), 1) << "the least, which is not no limit";
}

TEST(ControlGroup, LimitsOfThisProcessAreNotBeyondTheMachine) {
  EXPECT_GT(strata::detail::usable_memory(), strata::index_t{1} << 20);
  if (strata::detail::limited_memory() > 0) {
    EXPECT_LE(strata::detail::usable_memory(), strata::detail::limited_memory());
    EXPECT_GE(strata::detail::most_memory(), strata::detail::limited_memory());
  } else {
    EXPECT_EQ(strata::detail::most_memory(), 0);
  }
}

}  // namespace
