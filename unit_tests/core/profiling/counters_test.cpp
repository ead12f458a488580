// Counters count what happened since they were started, by kind, and nothing before or after.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/child_process.hpp"
#include "test_devices.hpp"

namespace {

using namespace strata;
using child_testing::ChildProcess;
using child_testing::Finished;
using child_testing::run_watched;

struct SetOnes {
  STRATA_FUNCTION void operator()(index_t i, auto x) const { x(i) = 1.0; }
};
struct AddUp {
  STRATA_FUNCTION void operator()(index_t i, auto x, double& sum) const { sum += x(i); }
};

template <class D>
class CountersOf : public ::testing::Test {
 protected:
  void TearDown() override { stop_counting(); }

  static MemoryCount memory() {
    for (const MemoryCount& each : counters().memories)
      if (each.kind == D::memory_space::kind && each.instance == 0) return each;
    return {};
  }
  static CopyCount copies(const std::string& source, const std::string& destination) {
    for (const CopyCount& each : counters().copies)
      if (each.source == source && each.destination == destination) return each;
    return {};
  }
  using Array = MDArray<double, D, rank<1>>;
};
TYPED_TEST_SUITE(CountersOf, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(CountersOf, CountLaunchesCopiesAndFences) {
  using D = TypeParam;
  const auto x = create<typename TestFixture::Array>("x", 100);
  const auto host = create<MDArray<double, Serial, rank<1>>>("host", 100);
  double sum = 0;
  start_counting();

  parallel_for(100, with(SetOnes{}, x));
  parallel_for(20, with(SetOnes{}, x));
  parallel_reduce(100, with(AddUp{}, x), Sum(sum));
  deep_copy(host, x);
  deep_copy(x, 3.0);
  wait(D{});

  const Counters now = counters();
  EXPECT_EQ(now.parallel_for.calls, 2u);
  EXPECT_EQ(now.parallel_for.items, 120u);
  EXPECT_EQ(now.parallel_reduce.calls, 1u);
  EXPECT_EQ(now.parallel_reduce.items, 100u);
  EXPECT_EQ(now.parallel_scan.calls, 0u);
  EXPECT_EQ(now.fences, 1u);
  const std::string kind = D::memory_space::kind;
  EXPECT_EQ(TestFixture::copies(kind, "Host").calls, 1u);
  EXPECT_EQ(TestFixture::copies(kind, "Host").bytes, 800u);
  EXPECT_EQ(TestFixture::copies("", kind).calls, 1u);
  EXPECT_EQ(TestFixture::copies("", kind).bytes, 800u);
}

TYPED_TEST(CountersOf, CountMemoryAndItsPeakWithWhatLivedBefore) {
  const auto before = create<typename TestFixture::Array>("before", 10);
  start_counting();
  const std::uint64_t lived = TestFixture::memory().live_bytes;

  {
    const auto x = create<typename TestFixture::Array>("x", 100);
    const auto y = create<typename TestFixture::Array>("y", 50);
  }
  const auto z = create<typename TestFixture::Array>("z", 20);

  const MemoryCount now = TestFixture::memory();
  EXPECT_GE(lived, 80u);
  EXPECT_EQ(now.allocations, 3u);
  EXPECT_EQ(now.allocated_bytes, 1360u);
  EXPECT_EQ(now.frees, 2u);
  EXPECT_EQ(now.freed_bytes, 1200u);
  EXPECT_EQ(now.live_bytes, lived + 160);
  EXPECT_EQ(now.peak_bytes, lived + 1200);
}

TYPED_TEST(CountersOf, StopAndBeginAgainFromZero) {
  const auto x = create<typename TestFixture::Array>("x", 100);
  start_counting();
  parallel_for(100, with(SetOnes{}, x));
  stop_counting();
  parallel_for(100, with(SetOnes{}, x));
  wait(TypeParam{});
  const std::uint64_t stopped = counters().parallel_for.calls;
  start_counting();
  const std::uint64_t fresh = counters().parallel_for.calls;

  EXPECT_EQ(stopped, 1u);
  EXPECT_EQ(fresh, 0u);
}

TYPED_TEST(CountersOf, CountAReplayOfAGraphOnce) {
  const auto x = create<typename TestFixture::Array>("x", 100);
  const Queue<TypeParam> queue;
  start_counting();

  const auto graph = record(queue, [&] {
    parallel_for(on(queue), 100, with(SetOnes{}, x));
    parallel_for(on(queue), 100, with(SetOnes{}, x));
  });
  graph.launch(queue);
  queue.wait();

  EXPECT_EQ(counters().graph.calls, 1u);
  EXPECT_EQ(counters().graph.items, static_cast<std::uint64_t>(graph.size()));
  EXPECT_EQ(counters().parallel_for.calls, 0u);
}

class CountersFile : public ChildProcess {};

TEST_F(CountersFile, IsWrittenAtTheEndAsJson) {
  const Finished run = run_watched("emulated", "STRATA_COUNTERS=" + file("counters.json"));
  const auto all = nlohmann::json::parse(child_testing::text_of(file("counters.json")));

  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(all["parallel_for"]["calls"], 4);
  EXPECT_EQ(all["parallel_for"]["items"], 40);
  EXPECT_EQ(all["parallel_reduce"]["calls"], 1);
  EXPECT_EQ(all["parallel_scan"]["calls"], 1);
  EXPECT_EQ(all["graph"]["calls"], 2);
  EXPECT_EQ(all["fences"], 3);
  ASSERT_EQ(all["copies"].size(), 2u);
  EXPECT_EQ(all["copies"][1]["source"], "Emulated");
  EXPECT_EQ(all["copies"][1]["destination"], "Host");
  EXPECT_EQ(all["copies"][1]["bytes"], 80);
  ASSERT_EQ(all["memories"].size(), 2u);
  EXPECT_EQ(all["memories"][0]["peak_bytes"], 80);
  EXPECT_EQ(all["memories"][0]["live_bytes"], 0);
}

class LeakReport : public ChildProcess {};

TEST_F(LeakReport, ListsWhatIsStillAllocatedAtTheEndLargestFirst) {
  const Finished run = run_watched("leak", "STRATA_LEAK_REPORT=1");

  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.output,
            "strata: leak report: 2 arrays still allocated, 8080 bytes:\n"
            "strata:   \"large\" 8000 bytes in Host\n"
            "strata:   \"kept\" 80 bytes in Host\n");
}

TEST_F(LeakReport, SaysThatNothingIsAllocated) {
  EXPECT_EQ(run_watched("emulated", "STRATA_LEAK_REPORT=1").output,
            "strata: leak report: nothing is allocated\n");
}

TEST_F(LeakReport, IsNotPrintedUnlessAskedFor) { EXPECT_EQ(run_watched("leak").output, ""); }

}  // namespace
