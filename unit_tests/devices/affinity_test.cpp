// The processors that a worker pool binds its threads to, and how many of them a process may use.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <strata/core/error.hpp>
#include <strata/devices/affinity.hpp>

#include "worker_pools.hpp"

#if defined(__linux__)
#include <unistd.h>
#endif

namespace {

using namespace strata_tests;

TEST(Affinity, HasAsManyWorkersByDefaultAsUsableProcessors) {
  const WorkerPool pool({});

  EXPECT_EQ(pool.size(), strata::detail::usable_processors());
  EXPECT_GE(pool.size(), 1);
  EXPECT_LE(static_cast<std::size_t>(pool.size()), strata::detail::inherited_processors().size());
}

#if defined(__linux__)

TEST(Affinity, PinsEachWorkerToOneInheritedProcessorAndNeverTheCaller) {
  const std::vector<int>& inherited = strata::detail::inherited_processors();
  const std::vector<int> caller_before = strata::detail::processors_of_this_thread();
  WorkerPool pool({.workers = static_cast<int>(inherited.size()), .pin = true});
  std::vector<std::vector<int>> masks(inherited.size());

  pool.run({0, pool.size()}, erase([&](index_t, index_t, int worker) {
             masks[static_cast<std::size_t>(worker)] = strata::detail::processors_of_this_thread();
           }));

  EXPECT_EQ(masks[0], caller_before);
  std::set<int> taken;
  for (std::size_t w = 1; w < masks.size(); ++w) {
    ASSERT_EQ(masks[w].size(), 1U) << "worker " << w;
    EXPECT_TRUE(std::binary_search(inherited.begin(), inherited.end(), masks[w][0]));
    EXPECT_TRUE(taken.insert(masks[w][0]).second) << "two workers on processor " << masks[w][0];
  }
}

TEST(Affinity, LetsUnpinnedWorkersUseAllInheritedProcessorsThoughTheirMakerIsBound) {
  const std::vector<int>& inherited = strata::detail::inherited_processors();
  std::vector<int> mask;

  std::thread([&] {
    ASSERT_TRUE(strata::detail::bind_this_thread({inherited.back()}));
    WorkerPool pool({.workers = 2});
    pool.run({0, 2}, erase([&](index_t, index_t, int worker) {
               if (worker == 1) mask = strata::detail::processors_of_this_thread();
             }));
    EXPECT_EQ(strata::detail::processors_of_this_thread(), std::vector<int>{inherited.back()});
  }).join();

  EXPECT_EQ(mask, inherited);
}

TEST(Affinity, RefusesToBindToNothingOrToAProcessorThatDoesNotExist) {
  const std::vector<int> before = strata::detail::processors_of_this_thread();

  EXPECT_FALSE(strata::detail::bind_this_thread({}));
  EXPECT_FALSE(strata::detail::bind_this_thread({100'000}));

  EXPECT_EQ(strata::detail::processors_of_this_thread(), before);
}

#endif

// A folder that looks like /sys/fs/cgroup, removed at the end.
class Cgroups {
 public:
  Cgroups() {
    std::string name = (std::filesystem::temp_directory_path() / "strata_cgroup_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder: " + name);
    root_ = name;
  }
  ~Cgroups() { std::filesystem::remove_all(root_); }
  Cgroups(const Cgroups&) = delete;
  Cgroups& operator=(const Cgroups&) = delete;

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

TEST(Affinity, TakesTheTightestQuotaOfAGroupAndItsAncestors) {
  const Cgroups tree;
  tree.write("job/cpu.max", "250000 100000");
  tree.write("job/step/cpu.max", "max 100000");

  EXPECT_EQ(strata::detail::quota_processors("0::/job/step\n", tree.root()), 2);
  EXPECT_EQ(strata::detail::quota_processors("0::/job\n", tree.root()), 2);
  EXPECT_EQ(strata::detail::quota_processors("0::/elsewhere\n", tree.root()), 0);
}

TEST(Affinity, TakesTheQuotaAtTheMountWhereThePathIsThatOfTheHost) {
  const Cgroups tree;
  tree.write("cpu.max", "50000 100000");

  EXPECT_EQ(strata::detail::quota_processors("0::/kubepods/pod1/c2\n", tree.root()), 1);
}

TEST(Affinity, ReadsQuotasOfTheFirstVersion) {
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

}  // namespace
