// Virtual time of `Emulated`: exact begins and ends, in figures that binary floating point holds exactly.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <strata/core/error.hpp>
#include <strata/devices/emulated/timeline.hpp>

#include "core/random.hpp"

namespace {

using namespace strata;
using namespace strata::detail;
using Kind = Resource::Kind;

constexpr int host = Timeline::host;

// 64 bytes/s up, 32 down, 256 within the memory; no latencies and a host that submits at no cost.
InstanceRates plain() {
  InstanceRates rates;
  rates.host_to_device_bandwidth = 64;
  rates.device_to_host_bandwidth = 32;
  rates.memory_bandwidth = 256;
  rates.copy_latency = 0;
  rates.launch_latency = 0;
  return rates;
}

TimelineConfig machine(int count, const InstanceRates& rates = plain()) {
  TimelineConfig config;
  config.instances.assign(std::size_t(count), rates);
  config.host_submit_cost = 0;
  return config;
}

TEST(Timeline, OperationsOfAQueueFollowEachOther) {
  Timeline timeline(machine(1));
  const QueueId queue = timeline.make_queue(0);

  EXPECT_EQ(timeline.copy(queue, host, 0, 64), (TimeSpan{0, 1}));
  EXPECT_EQ(timeline.kernel(queue, 2), (TimeSpan{1, 3}));
  EXPECT_EQ(timeline.copy(queue, 0, host, 64), (TimeSpan{3, 5}));
  EXPECT_EQ(timeline.copy(queue, 0, 0, 64), (TimeSpan{5, 5.25}));

  EXPECT_EQ(timeline.record(queue), 5.25);
  EXPECT_EQ(timeline.makespan(), 5.25);
  EXPECT_EQ(timeline.now(), 0);
}

TEST(Timeline, LatenciesAndSubmissionsArePaidOnce) {
  InstanceRates rates = plain();
  rates.copy_latency = 0.5;
  rates.launch_latency = 0.25;
  TimelineConfig config = machine(1, rates);
  config.host_submit_cost = 0.125;
  Timeline timeline(config);
  const QueueId queue = timeline.make_queue(0);

  EXPECT_EQ(timeline.copy(queue, host, 0, 64), (TimeSpan{0.125, 1.625}));
  EXPECT_EQ(timeline.kernel(queue, 1), (TimeSpan{1.625, 2.875}));
  EXPECT_EQ(timeline.now(), 0.25);
}

TEST(Timeline, SubmissionBoundKernelsBeginAsTheHostSubmitsThem) {
  TimelineConfig config = machine(1);
  config.host_submit_cost = 1;
  Timeline timeline(config);
  const QueueId queue = timeline.make_queue(0);

  EXPECT_EQ(timeline.kernel(queue, 0.5), (TimeSpan{1, 1.5}));
  EXPECT_EQ(timeline.kernel(queue, 0.5), (TimeSpan{2, 2.5}));
}

TEST(Timeline, CopyAndKernelOfTwoQueuesOverlap) {
  Timeline timeline(machine(1));
  const QueueId compute = timeline.make_queue(0), transfer = timeline.make_queue(0);

  EXPECT_EQ(timeline.kernel(compute, 4), (TimeSpan{0, 4}));
  EXPECT_EQ(timeline.copy(transfer, host, 0, 128), (TimeSpan{0, 2}));
  EXPECT_EQ(timeline.kernel(transfer, 1), (TimeSpan{4, 5}));
}

TEST(Timeline, KernelsOfOneInstanceNeverOverlapAndOfTwoDo) {
  Timeline timeline(machine(2));
  const QueueId first = timeline.make_queue(0), second = timeline.make_queue(0),
                other = timeline.make_queue(1);

  EXPECT_EQ(timeline.kernel(first, 2), (TimeSpan{0, 2}));
  EXPECT_EQ(timeline.kernel(second, 2), (TimeSpan{2, 4}));
  EXPECT_EQ(timeline.kernel(other, 2), (TimeSpan{0, 2}));
}

TEST(Timeline, CopiesUpAndDownOverlapAndTwoUpDoNot) {
  Timeline timeline(machine(1));
  const QueueId a = timeline.make_queue(0), b = timeline.make_queue(0), c = timeline.make_queue(0);

  EXPECT_EQ(timeline.copy(a, host, 0, 64), (TimeSpan{0, 1}));
  EXPECT_EQ(timeline.copy(b, 0, host, 64), (TimeSpan{0, 2}));
  EXPECT_EQ(timeline.copy(c, host, 0, 64), (TimeSpan{1, 2}));
}

TEST(Timeline, HostLinksOfTwoInstancesAreIndependent) {
  TimelineConfig config = machine(2);
  config.instances[1].host_to_device_bandwidth = 16;
  Timeline timeline(config);

  EXPECT_EQ(timeline.copy(timeline.make_queue(0), host, 0, 64), (TimeSpan{0, 1}));
  EXPECT_EQ(timeline.copy(timeline.make_queue(1), host, 1, 64), (TimeSpan{0, 4}));
}

TEST(Timeline, PeerLinkIsUsedWhereBothEndsHaveOne) {
  InstanceRates rates = plain();
  rates.peer_bandwidth = 128;
  TimelineConfig config = machine(3, rates);
  config.instances[1].peer_bandwidth = 16;
  config.instances[2].peer_bandwidth = 0;
  Timeline timeline(config);
  timeline.keep_trace(true);
  const QueueId there = timeline.make_queue(0), back = timeline.make_queue(1),
                staged = timeline.make_queue(0);

  EXPECT_EQ(timeline.copy(there, 0, 1, 64), (TimeSpan{0, 4}));
  EXPECT_EQ(timeline.copy(back, 1, 0, 64), (TimeSpan{0, 4}));
  EXPECT_EQ(timeline.copy(staged, 0, 2, 64), (TimeSpan{0, 3}));

  ASSERT_EQ(timeline.trace().size(), 4u);
  EXPECT_EQ(timeline.trace()[0].resource, (Resource{Kind::Peer, 0, 1}));
  EXPECT_EQ(timeline.trace()[1].resource, (Resource{Kind::Peer, 1, 0}));
}

TEST(Timeline, StagedCopyOccupiesBothHostLinksInTurn) {
  Timeline timeline(machine(2));
  timeline.keep_trace(true);
  const QueueId queue = timeline.make_queue(0), up = timeline.make_queue(1);

  EXPECT_EQ(timeline.copy(up, host, 1, 160), (TimeSpan{0, 2.5}));
  EXPECT_EQ(timeline.copy(queue, 0, 1, 64, "moved"), (TimeSpan{0, 3.5}));
  EXPECT_EQ(timeline.kernel(queue, 1), (TimeSpan{3.5, 4.5}));

  ASSERT_EQ(timeline.trace().size(), 4u);
  EXPECT_EQ(timeline.trace()[1].resource, (Resource{Kind::Download, 0}));
  EXPECT_EQ(timeline.trace()[1].time, (TimeSpan{0, 2}));
  EXPECT_EQ(timeline.trace()[2].resource, (Resource{Kind::Upload, 1}));
  EXPECT_EQ(timeline.trace()[2].time, (TimeSpan{2.5, 3.5}));
  EXPECT_EQ(timeline.trace()[2].label, "moved");
  EXPECT_EQ(timeline.trace()[2].bytes, 64u);
}

TEST(Timeline, LinkTotalSlowsTheLaterDirectionWhileBothAreInUse) {
  InstanceRates rates = plain();
  rates.host_link_total = 80;
  Timeline timeline(machine(1, rates));
  const QueueId up = timeline.make_queue(0), down = timeline.make_queue(0);

  EXPECT_EQ(timeline.copy(up, host, 0, 128), (TimeSpan{0, 2}));
  // 16 bytes/s are left until 2, then 32: 32 + 32 bytes.
  EXPECT_EQ(timeline.copy(down, 0, host, 64), (TimeSpan{0, 3}));
  // Meets a download at 32 from 2 to 3: 48 are left, then the full 64.
  EXPECT_EQ(timeline.copy(up, host, 0, 112), (TimeSpan{2, 4}));
}

TEST(Timeline, LinkTotalBelowOneDirectionMakesTheOtherWait) {
  InstanceRates rates = plain();
  rates.host_link_total = 32;
  Timeline timeline(machine(1, rates));
  const QueueId up = timeline.make_queue(0), down = timeline.make_queue(0);

  EXPECT_EQ(timeline.copy(up, host, 0, 64), (TimeSpan{0, 2}));
  EXPECT_EQ(timeline.copy(down, 0, host, 32), (TimeSpan{0, 3}));
}

TEST(Timeline, LinkTotalAboveTheSumChangesNothing) {
  InstanceRates rates = plain();
  rates.host_link_total = 96;
  Timeline timeline(machine(1, rates));

  EXPECT_EQ(timeline.copy(timeline.make_queue(0), host, 0, 64), (TimeSpan{0, 1}));
  EXPECT_EQ(timeline.copy(timeline.make_queue(0), 0, host, 64), (TimeSpan{0, 2}));
}

TEST(Timeline, CopyLatencyTakesNoShareOfTheLink) {
  InstanceRates rates = plain();
  rates.host_link_total = 64;
  rates.copy_latency = 1;
  Timeline timeline(machine(1, rates));

  EXPECT_EQ(timeline.copy(timeline.make_queue(0), host, 0, 64), (TimeSpan{0, 2}));
  EXPECT_EQ(timeline.copy(timeline.make_queue(0), 0, host, 64), (TimeSpan{0, 4}));
}

TEST(Timeline, LaterOperationFillsAGapThatIsLongEnough) {
  Timeline timeline(machine(1));
  const QueueId waiting = timeline.make_queue(0), free = timeline.make_queue(0),
                more = timeline.make_queue(0);
  timeline.wait_event(waiting, 4);

  EXPECT_EQ(timeline.kernel(waiting, 2), (TimeSpan{4, 6}));
  EXPECT_EQ(timeline.kernel(free, 3), (TimeSpan{0, 3}));
  EXPECT_EQ(timeline.kernel(more, 1.5), (TimeSpan{6, 7.5}));
  EXPECT_EQ(timeline.kernel(free, 1), (TimeSpan{3, 4}));
  EXPECT_EQ(timeline.kernel(free, 1), (TimeSpan{7.5, 8.5}));
}

TEST(Timeline, EventOfAnotherQueueHoldsBackWhatFollows) {
  Timeline timeline(machine(2));
  const QueueId producer = timeline.make_queue(0), consumer = timeline.make_queue(1);

  timeline.kernel(producer, 3);
  EXPECT_EQ(timeline.kernel(consumer, 1), (TimeSpan{0, 1}));
  timeline.wait_event(consumer, timeline.record(producer));
  timeline.kernel(producer, 5);

  EXPECT_EQ(timeline.kernel(consumer, 1), (TimeSpan{3, 4}));
}

TEST(Timeline, HostWaitsAdvanceOnlyTheHost) {
  Timeline timeline(machine(1));
  timeline.keep_trace(true);
  const QueueId queue = timeline.make_queue(0), other = timeline.make_queue(0);
  timeline.kernel(queue, 2);

  timeline.host_wait(queue);
  EXPECT_EQ(timeline.now(), 2);
  timeline.host_wait(queue);
  timeline.host_wait_until(1);
  EXPECT_EQ(timeline.now(), 2);
  timeline.host_advance(0.5);
  EXPECT_EQ(timeline.now(), 2.5);
  EXPECT_EQ(timeline.record(other), 2.5);
  EXPECT_EQ(timeline.copy(other, host, 0, 64), (TimeSpan{2.5, 3.5}));

  ASSERT_EQ(timeline.trace().size(), 4u);
  EXPECT_EQ(timeline.trace()[1].label, "wait");
  EXPECT_EQ(timeline.trace()[1].time, (TimeSpan{0, 2}));
  EXPECT_EQ(timeline.trace()[2].label, "work");
  EXPECT_EQ(timeline.trace()[2].resource, Resource{});
}

TEST(Timeline, DoubleBufferedStreamHidesAllButTheFirstCopyAndTheLastKernel) {
  Timeline timeline(machine(1));
  const QueueId copies = timeline.make_queue(0), kernels = timeline.make_queue(0);
  std::vector<double> consumed;

  for (int slice = 0; slice < 10; ++slice) {
    if (slice >= 2) timeline.wait_event(copies, consumed[std::size_t(slice - 2)]);
    timeline.copy(copies, host, 0, 64);
    timeline.wait_event(kernels, timeline.record(copies));
    consumed.push_back(timeline.kernel(kernels, 1).end);
  }

  EXPECT_EQ(timeline.makespan(), 11);
}

TEST(Timeline, InfiniteBandwidthAndNoLatencyTakeNoTime) {
  InstanceRates rates = plain();
  rates.host_to_device_bandwidth = std::numeric_limits<double>::infinity();
  Timeline timeline(machine(1, rates));
  const QueueId queue = timeline.make_queue(0);
  timeline.kernel(queue, 1);

  EXPECT_EQ(timeline.copy(queue, host, 0, 1 << 30), (TimeSpan{1, 1}));
  EXPECT_EQ(timeline.kernel(queue, 0), (TimeSpan{1, 1}));
}

TEST(Timeline, ResetGoesBackToTimeZeroAndKeepsQueues) {
  Timeline timeline(machine(1));
  timeline.keep_trace(true);
  const QueueId queue = timeline.make_queue(0);
  timeline.kernel(queue, 3);
  timeline.host_wait(queue);

  timeline.reset();

  EXPECT_EQ(timeline.now(), 0);
  EXPECT_EQ(timeline.makespan(), 0);
  EXPECT_TRUE(timeline.trace().empty());
  EXPECT_EQ(timeline.kernel(queue, 1), (TimeSpan{0, 1}));
}

TEST(Timeline, ReleasedQueueLeavesItsWorkAndItsIdStartsAfresh) {
  Timeline timeline(machine(2));
  const QueueId old = timeline.make_queue(0);
  timeline.kernel(old, 3);

  timeline.release_queue(old);
  EXPECT_THROW(timeline.kernel(old, 1), Error);
  const QueueId fresh = timeline.make_queue(1);

  EXPECT_EQ(fresh, old);
  EXPECT_EQ(timeline.kernel(fresh, 1), (TimeSpan{0, 1}));
  EXPECT_EQ(timeline.makespan(), 3);
}

TEST(Timeline, WrongArgumentsAreTypedErrors) {
  Timeline timeline(machine(2));
  const QueueId queue = timeline.make_queue(0);
  TimelineConfig none, negative = machine(1), still = machine(1);
  none.instances.clear();
  negative.instances[0].copy_latency = -1;
  still.instances[0].memory_bandwidth = 0;

  EXPECT_THROW(Timeline{none}, SettingError);
  EXPECT_THROW(Timeline{negative}, SettingError);
  EXPECT_THROW(Timeline{still}, SettingError);
  EXPECT_THROW(timeline.make_queue(2), NoSuchDevice);
  EXPECT_THROW(timeline.kernel(queue, -1), SettingError);
  EXPECT_THROW(timeline.kernel(QueueId::None, 1), Error);
  EXPECT_THROW(timeline.copy(queue, host, host, 1), CopyError);
  EXPECT_THROW(timeline.copy(queue, 0, 2, 1), CopyError);
  EXPECT_EQ(timeline.makespan(), 0);
}

// What must hold of any schedule, checked on the trace of random ones: nothing overlaps on a resource or
// within a queue, nothing begins before its submission, and the same calls give the same times.
TEST(Timeline, RandomSchedulesKeepEveryRuleAndRepeat) {
  const unsigned seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  const auto run = [seed](std::vector<double>& submitted) {
    std::mt19937 random(seed);
    InstanceRates rates;
    rates.host_link_total = 1.5 * rates.host_to_device_bandwidth;
    TimelineConfig config = machine(2, rates);
    config.host_submit_cost = 1e-6;
    Timeline timeline(config);
    timeline.keep_trace(true);
    std::vector<QueueId> queues;
    for (int k = 0; k < 6; ++k) queues.push_back(timeline.make_queue(k % 2));
    for (int step = 0; step < strata_tests::trials(2000); ++step) {
      const QueueId queue = queues[random() % 6];
      const int place = int(random() % 2);
      const std::size_t bytes = random() % (1 << 20);
      switch (random() % 8) {
        case 0:
        case 1:
          timeline.kernel(queue, 1e-7 * double(random() % 1000));
          break;
        case 2:
        case 3:
          timeline.copy(queue, host, place, bytes);
          break;
        case 4:
        case 5:
          timeline.copy(queue, place, host, bytes);
          break;
        case 6:
          timeline.copy(queue, place, 1 - place, bytes);
          break;
        default:
          timeline.wait_event(queue, timeline.record(queues[random() % 6]));
          if (random() % 64 == 0) timeline.host_wait(queue);
      }
      submitted.resize(timeline.trace().size(), timeline.now());
    }
    return timeline.trace();
  };
  std::vector<double> submitted, again;

  const std::vector<TraceEntry> trace = run(submitted);
  const std::vector<TraceEntry> repeated = run(again);

  ASSERT_EQ(trace.size(), repeated.size());
  for (std::size_t a = 0; a < trace.size(); ++a) {
    ASSERT_EQ(trace[a].time, repeated[a].time);
    if (trace[a].resource.kind == Kind::Host) continue;
    ASSERT_GE(trace[a].time.start, submitted[a]);
    for (std::size_t b = a + 1; b < trace.size(); ++b) {
      const TimeSpan first = trace[a].time, second = trace[b].time;
      ASSERT_TRUE(trace[a].queue != trace[b].queue || first.end <= second.start);
      ASSERT_TRUE(trace[a].resource != trace[b].resource || first.end <= second.start ||
                  second.end <= first.start);
    }
  }
}

TEST(Timeline, RandomTrafficNeverExceedsTheLinkTotal) {
  const unsigned seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  InstanceRates rates = plain();
  rates.host_link_total = 72;
  Timeline timeline(machine(1, rates));
  double bytes = 0;

  for (int step = 0; step < 500; ++step) {
    const std::size_t size = random() % 1000;
    const bool up = random() % 3 != 0;  // in the proportion of the bandwidths, so that both stay in use
    timeline.copy(timeline.make_queue(0), up ? host : 0, up ? 0 : host, size);
    bytes += double(size);
  }

  EXPECT_GE(timeline.makespan() * 72 * (1 + 1e-12), bytes);
}

}  // namespace
