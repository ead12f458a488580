// What control groups of both versions allow: processors and memory.
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
