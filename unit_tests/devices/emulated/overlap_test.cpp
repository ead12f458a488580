// Overlap on Emulated, in virtual time: what two queues do side by side takes exactly the time that
// bandwidths and kernels say.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "devices/emulated/fixture.hpp"

namespace {

using namespace emulated_testing;
using Bytes = MDArray<char, Emulated, rank<1>>;
using HostBytes = MDArray<char, Serial, rank<1>>;

// From the figures of round_config, for 2^16 bytes and 64 work items.
constexpr index_t size = 1 << 16;
constexpr double upload = 0x1p-4, download = 0x1p-3, within = 0x1p-6, peer = 0x1p-5;
constexpr index_t items = 64;
constexpr double kernel = 0x1p-4;

constexpr auto nothing = [](index_t) {};

class EmulatedOverlap : public EmulatedTest {
 protected:
  void SetUp() override {
    EmulatedTest::SetUp();
    a = create<Bytes>("a", size, uninitialized);
    b = create<Bytes>("b", size, uninitialized);
    host_a = create<HostBytes>("host a", size);
    host_b = create<HostBytes>("host b", size);
    emulated::reset_time();
  }
  void TearDown() override {
    a = b = Bytes();
    EmulatedTest::TearDown();
  }

  Bytes a, b;
  HostBytes host_a, host_b;
};

TEST_F(EmulatedOverlap, OneQueueAddsUp) {
  const Queue<Emulated> queue;

  deep_copy(queue, a, host_a);
  parallel_for(on(queue), items, nothing);
  deep_copy(queue, b, a);
  deep_copy(queue, host_b, b);
  EXPECT_EQ(emulated::now(), 0) << "nothing was waited for yet";
  queue.wait();

  EXPECT_EQ(emulated::now(), upload + kernel + within + download);
}

TEST_F(EmulatedOverlap, AHeldClockIsNotMovedByWaits) {
  const Queue<Emulated> queue;
  deep_copy(queue, a, host_a);
  const Event event = queue.record();
  {
    const emulated::HeldClock held;
    event.wait();
    EXPECT_EQ(emulated::now(), 0);
    emulated::advance(upload / 2);
    EXPECT_EQ(emulated::now(), upload / 2);
  }
  event.wait();
  EXPECT_EQ(emulated::now(), upload);
}

TEST_F(EmulatedOverlap, CopiesOverlapKernelsOfAnotherQueue) {
  const Queue<Emulated> compute, transfer;

  parallel_for(on(compute), items, nothing);
  deep_copy(transfer, a, host_a);
  deep_copy(transfer, b, host_b);
  compute.wait();
  EXPECT_EQ(emulated::now(), kernel);
  transfer.wait();

  EXPECT_EQ(emulated::now(), 2 * upload);
}

TEST_F(EmulatedOverlap, UploadAndDownloadOverlap) {
  const Queue<Emulated> up, down;

  deep_copy(up, a, host_a);
  deep_copy(down, host_b, b);
  wait(Emulated{});

  EXPECT_EQ(emulated::now(), std::max(upload, download));
}

TEST_F(EmulatedOverlap, TwoUploadsTakeTurns) {
  const Queue<Emulated> first, second;

  deep_copy(first, a, host_a);
  deep_copy(second, b, host_b);
  wait(Emulated{});

  EXPECT_EQ(emulated::now(), 2 * upload);
}

TEST_F(EmulatedOverlap, UploadAndDownloadShareALinkWithATotal) {
  emulated::Config config = round_config();
  a = b = Bytes();
  config.host_to_device_bandwidth = config.device_to_host_bandwidth = config.host_link_total = 0x1p20;
  emulated::configure(config);
  a = create<Bytes>("a", size, uninitialized);
  b = create<Bytes>("b", size, uninitialized);
  {
    const Queue<Emulated> up, down;

    deep_copy(up, a, host_a);
    deep_copy(down, host_b, b);
    wait(Emulated{});
  }

  EXPECT_EQ(emulated::now(), 2 * upload);
}

TEST_F(EmulatedOverlap, TwoKernelsOfOneInstanceDoNotOverlap) {
  const Queue<Emulated> first, second;

  parallel_for(on(first), items, nothing);
  parallel_for(on(second), 2 * items, nothing);
  wait(Emulated{});

  EXPECT_EQ(emulated::now(), 3 * kernel);
}

TEST_F(EmulatedOverlap, KernelsOfTwoInstancesOverlap) {
  const Queue<Emulated> first(Emulated{0}), second(Emulated{1});

  parallel_for(on(first), items, nothing);
  parallel_for(on(second), items, nothing);
  first.wait();
  second.wait();

  EXPECT_EQ(emulated::now(), kernel);
}

TEST_F(EmulatedOverlap, EventsOrderQueuesWithoutMovingTheHost) {
  const Queue<Emulated> compute, transfer;

  deep_copy(transfer, a, host_a);
  const Event there = transfer.record();
  deep_copy(transfer, b, host_b);
  compute.wait_for(there);
  parallel_for(on(compute), items, nothing);
  EXPECT_EQ(emulated::now(), 0);
  compute.wait();

  EXPECT_EQ(emulated::now(), upload + kernel);  // the second copy is beside the kernel
  there.wait();
  EXPECT_EQ(emulated::now(), upload + kernel) << "the event has passed";
  transfer.wait();
  EXPECT_EQ(emulated::now(), 2 * upload);
}

TEST_F(EmulatedOverlap, WaitForAnEventMovesTheHostToItAndNoFurther) {
  const Queue<Emulated> queue;

  deep_copy(queue, a, host_a);
  const Event first = queue.record();
  parallel_for(on(queue), items, nothing);
  first.wait();

  EXPECT_EQ(emulated::now(), upload);
}

TEST_F(EmulatedOverlap, EventsOfBeforeAResetHavePassed) {
  const Queue<Emulated> queue, other;
  deep_copy(queue, a, host_a);
  const Event before = queue.record();
  queue.wait();
  emulated::reset_time();

  before.wait();
  other.wait_for(before);
  parallel_for(on(other), items, nothing);
  other.wait();

  EXPECT_EQ(emulated::now(), kernel);
}

TEST_F(EmulatedOverlap, BlockingCopiesAndFillsMoveTheHostByTheirTime) {
  deep_copy(a, host_a);
  EXPECT_EQ(emulated::now(), upload);
  deep_copy(host_a, a);
  EXPECT_EQ(emulated::now(), upload + download);
  deep_copy(a, char{1});
  EXPECT_EQ(emulated::now(), upload + download + within);
}

TEST_F(EmulatedOverlap, CopiesBetweenInstancesUseTheLinkOrGoThroughTheHost) {
  {
    const auto c = create<Bytes>("c", size, uninitialized, on(Emulated{1}));
    deep_copy(c, a);
    EXPECT_EQ(emulated::now(), peer);
  }
  a = b = Bytes();
  emulated::Config config = round_config();
  config.peer_bandwidth = 0;
  emulated::configure(config);
  a = create<Bytes>("a", size, uninitialized);
  const auto c = create<Bytes>("c", size, uninitialized, on(Emulated{1}));
  deep_copy(c, a);
  EXPECT_EQ(emulated::now(), download + upload);
}

TEST_F(EmulatedOverlap, DoubleBufferedPipelineIsBoundByItsSlowestEngine) {
  constexpr int slices = 8;
  const Queue<Emulated> queues[2];
  const Bytes buffers[2] = {a, b};
  const HostBytes results[2] = {host_b, create<HostBytes>("another", size)};

  for (int s = 0; s < slices; ++s) {
    deep_copy(queues[s % 2], buffers[s % 2], host_a);
    parallel_for(on(queues[s % 2]), items, nothing);
    deep_copy(queues[s % 2], results[s % 2], buffers[s % 2]);
  }
  for (const auto& queue : queues) queue.wait();

  // Downloads are the bottleneck; before the first comes one upload and one kernel.
  EXPECT_EQ(emulated::now(), upload + kernel + slices * download);
}

TEST_F(EmulatedOverlap, SubmissionsAndTheHostsOwnWorkCostHostTime) {
  emulated::Config config = round_config();
  a = b = Bytes();
  config.host_submit_cost = 0x1p-8;
  config.launch_latency = 0x1p-9;
  emulated::configure(config);
  const Queue<Emulated> queue = default_queue<Emulated>();

  parallel_for(on(queue), items, nothing);
  parallel_for(on(queue), items, nothing);
  emulated::advance(0x1p-8);
  EXPECT_EQ(emulated::now(), 3 * 0x1p-8);
  queue.wait();

  EXPECT_EQ(emulated::now(), 0x1p-8 + 2 * (kernel + 0x1p-9));
}

TEST_F(EmulatedOverlap, TraceSaysWhatRanWhereAndWhen) {
  const Queue<Emulated> compute, transfer;
  emulated::keep_trace(true);

  deep_copy(transfer, a, host_a);
  parallel_for("smooth", on(compute), items, nothing);
  deep_copy(transfer, host_b, b);
  deep_copy(transfer, b, a);
  wait(Emulated{});

  std::vector<emulated::Operation> work;
  for (const emulated::Operation& each : emulated::trace())
    if (each.engine != "host") work.push_back(each);
  ASSERT_EQ(work.size(), 4u);
  const auto check = [&](int k, const char* engine, const char* label, double start, double end,
                         index_t bytes) {
    const emulated::Operation& each = work[static_cast<std::size_t>(k)];
    EXPECT_EQ(each.engine, engine);
    EXPECT_EQ(each.label, label);
    EXPECT_EQ(each.start, start);
    EXPECT_EQ(each.end, end);
    EXPECT_EQ(each.bytes, static_cast<std::size_t>(bytes));
  };
  check(0, "upload 0", "a", 0, upload, size);
  check(1, "compute 0", "smooth", 0, kernel, 0);
  check(2, "download 0", "host b", upload, upload + download, size);
  check(3, "memory 0", "b", upload + download, upload + download + within, size);
  EXPECT_NE(work[0].queue, work[1].queue);
  EXPECT_EQ(work[0].queue, work[2].queue);
}

TEST_F(EmulatedOverlap, TimesAreTheSameInEveryRun) {
  const auto run = [&] {
    emulated::reset_time();
    const Queue<Emulated> queues[3];
    for (int k = 0; k < 30; ++k) {
      const auto& queue = queues[k % 3];
      const auto block = create<Bytes>("block", size * (1 + k % 4), uninitialized, on(queue));
      deep_copy(queue, block, char{1});
      parallel_for(on(queue), items * (k % 5), nothing);
      if (k % 7 == 0) queues[(k + 1) % 3].wait_for(queue.record());
      // Freed with work under way; memory for all 30 blocks there is not.
    }
    wait(Emulated{});
    return emulated::now();
  };

  const double first = run();
  for (int k = 0; k < 20; ++k) ASSERT_EQ(run(), first);
}

}  // namespace
