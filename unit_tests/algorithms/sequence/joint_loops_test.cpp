// Loops of sequences over several devices that are planned once and enqueued in one call: how often that is
// so, and that others find what they leave.
// SPDX-License-Identifier: Apache-2.0
#include "joint_loops.hpp"

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <strata/core/error.hpp>

namespace {

using namespace joint_loops;

struct SumAll {
  STRATA_FUNCTION void operator()(auto i, auto x, std::int64_t& sum) const { sum += x(i); }
};

TEST_F(JointLoops, AStencilStepOverTwoDevicesIsOneHostCall) {
  Stencil stencil(1000);
  Sequence steps("steps", across(Emulated{0}, Emulated{1}));
  stencil.declare(steps);
  steps.run(2);
  steps.run(1);
  {
    const HostCalls calls;

    steps.run(1);
    EXPECT_EQ(calls.graphs, 1);
    steps.run(3);
    EXPECT_EQ(calls.graphs, 1 + 3);
    steps.run(34);  // 16 steps twice, and two
    EXPECT_EQ(calls.graphs, 1 + 3 + 4);
    EXPECT_EQ(calls.others, 0);
  }
  stencil.expect_steps(2 + 1 + 1 + 3 + 34);
  stencil.expect_values();
  EXPECT_EQ(stencil.u.counters().host_to_device.count, 2u) << "only before the first step";
}

TEST_F(JointLoops, CopyTheSameAsSingleLaunches) {
  for (const double peer : {0., 395e9}) {
    emulated::configure(machine(3, peer));
    Stencil together(300), singly(300);
    const auto everywhere = across(emulated_devices(3));
    Sequence steps("steps", everywhere);
    together.declare(steps);

    steps.run(20);
    for (int k = 0; k < 20; ++k) {
      launch(everywhere, range(1, 299), Stencil::SumOfThree{}, in(singly.u, halo(1, 1)), out(singly.v));
      launch(everywhere, range(1, 299), Stencil::SumOfThree{}, in(singly.v, halo(1, 1)), out(singly.u));
    }

    together.expect_steps(20);
    together.expect_values();
    const auto moved = [](const Numbers& x) {
      const auto c = x.counters();
      return std::vector{c.host_to_device.bytes, c.device_to_host.bytes, c.peer.bytes,
                         c.host_to_device.count, c.device_to_host.count, c.peer.count};
    };
    singly.expected = together.expected;
    singly.expect_values();
    EXPECT_EQ(moved(together.u), moved(singly.u));
    EXPECT_EQ(moved(together.v), moved(singly.v));
  }
}

TEST_F(JointLoops, GoOnWhereOthersHaveUsedTheirArraysBetweenRuns) {
  Stencil stencil(200);
  Sequence steps("steps", across(Emulated{0}, Emulated{1}));
  stencil.declare(steps);
  for (int run = 0; run < 6; ++run) {
    steps.run(2);
    stencil.expect_steps(2);
    if (run % 2 == 0) {
      const auto view = stencil.u.read_write(line(90, 110));
      for (index_t i = 90; i < 110; ++i) view(i) += 3, stencil.expected[0][static_cast<std::size_t>(i)] += 3;
    }
    if (run % 3 == 0) {
      launch(on(Emulated{2}), 200, AddTo{5}, inout(stencil.v));
      for (std::int64_t& value : stencil.expected[1]) value += 5;
    }
  }
  stencil.expect_values();
}

TEST_F(JointLoops, AreOneByOneForAStepAfterTheHostHasReadThem) {
  Stencil stencil(200);
  Sequence steps("steps", across(Emulated{0}, Emulated{1}));
  stencil.declare(steps);
  steps.run(1);
  steps.run(40);  // 16 steps twice, and eight
  {
    const HostCalls calls;
    steps.run(40);
    EXPECT_EQ(calls.graphs, 2 + 8);
    EXPECT_EQ(calls.others, 0);
  }
  stencil.expect_steps(81);
  stencil.expect_values();
  {
    const HostCalls calls;
    steps.run(40);
    EXPECT_EQ(calls.graphs, 2 + 7);
    EXPECT_GT(calls.others, 0);
  }
  stencil.expect_steps(40);
  stencil.expect_values();
  for (int k = 0; k < 3; ++k) {  // where that is so each time it is planned so
    steps.run(1);
    static_cast<void>(values(stencil.u));
  }
  const HostCalls calls;

  steps.run(1);

  EXPECT_EQ(calls.graphs, 1);
  EXPECT_EQ(calls.others, 0);
  stencil.expect_steps(4);
  stencil.expect_values();
}

TEST_F(JointLoops, ShareArraysWithLaunchesOfOtherThreads) {
  const index_t n = 200;
  const Numbers x("x", n), y("y", n);
  Sequence steps("steps", across(Emulated{0}, Emulated{1}));
  steps.loop("x", n, AddTo{1}, inout(x));
  steps.loop("y", n, AddTo{2}, inout(y));
  std::thread other([&] {
    for (int k = 0; k < 50; ++k) {
      launch(on(Emulated{2}), n, AddTo{1000}, inout(x));
      if (k % 10 == 0) {
        EXPECT_GE(x(7), 1000);
      }
    }
  });

  for (int k = 0; k < 50; ++k) steps.run(2);
  other.join();

  EXPECT_EQ(values(x), Expected(n, 50 * 2 + 50 * 1000));
  EXPECT_EQ(values(y), Expected(n, 50 * 2 * 2));
}

TEST_F(JointLoops, RunsThatBeginWithinAStepAndOnesAfterAReleaseAreRight) {
  Stencil stencil(100);
  Sequence steps("steps", across(Emulated{0}, Emulated{1}));
  stencil.declare(steps);

  steps.run_loops(5);
  steps.run_loops(6);
  steps.release();
  steps.run_loops(3);

  stencil.expect_steps(7);
  stencil.expect_values();
}

TEST_F(JointLoops, LoopsWithValuesForTheHostAreLaunchedBetweenThem) {
  Stencil stencil(100);
  std::vector<std::int64_t> sums;
  Sequence steps("steps", across(Emulated{0}, Emulated{1}));
  stencil.declare(steps);
  steps.loop_reduce("sum", 100, SumAll{}, each_step(Sum, sums), in(stencil.u));
  steps.run(2);
  const HostCalls calls;

  steps.run(4);

  EXPECT_EQ(calls.graphs, 4);
  stencil.expect_steps(2);
  for (const std::int64_t sum : sums) {
    stencil.expect_steps(1);
    std::int64_t expected = 0;
    for (const std::int64_t value : stencil.expected[0]) expected += value;
    EXPECT_EQ(sum, expected);
  }
  EXPECT_EQ(sums.size(), 4u);
}

struct SumOfSquares {
  using value_type = double;
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const { sum += x(i) * x(i); }
  STRATA_FUNCTION static void init(double& sum) { sum = 0; }
  STRATA_FUNCTION static void join(double& sum, const double& other) { sum += other; }
};
struct SetFactor {
  STRATA_FUNCTION void operator()(const double& sum, auto factor) const { factor() = 1 / (1 + sum); }
};
struct Grow {
  STRATA_FUNCTION void operator()(auto i, auto factor, auto sum, auto x) const {
    x(i) = x(i) * (1 + factor()) + 1e-9 * sum();
  }
};

// With results on the device a sum is two launches of the same call: of the parts, and of what joins them.
TEST_F(JointLoops, SumsThatStayOnADeviceAreInTheSameCallWithTheBitsOfOneDevice) {
  const index_t n = 5000;
  std::vector<double> expected;
  for (const int devices : {1, 2, 3}) {
    CoherentArray<double, rank<1>> x("x", n);
    CoherentArray<double, rank<0>> factor("factor"), sum("sum");
    {
      const auto all = x.write();
      for (index_t i = 0; i < n; ++i) all(i) = 1 / (1. + static_cast<double>(i));
    }
    Sequence steps("steps", across(emulated_devices(devices)));
    steps.loop_reduce("sum", n, SumOfSquares{}, sum, in(x));
    steps.loop_reduce("factor", n, SumOfSquares{}, finalize(SetFactor{}, out(factor, everything)), in(x));
    steps.loop("grow", n, Grow{}, in(factor, everything), in(sum, everything), inout(x));
    steps.run(3);
    {
      const HostCalls calls;
      steps.run(17);
      if (devices > 1) {
        EXPECT_EQ(calls.graphs, 2) << devices;  // of 16 steps, and of one
        EXPECT_EQ(calls.others, 0) << devices;
      }
    }
    steps.run_loops(2);  // a part of a step
    std::vector<double> found;
    const auto all = x.read();
    for (index_t i = 0; i < n; ++i) found.push_back(all(i));
    found.push_back(factor.read()());
    found.push_back(sum.read()());
    if (devices == 1) expected = found;
    EXPECT_EQ(found, expected) << devices;
  }
}

TEST_F(JointLoops, AreLaunchedOneByOneWhereMemoryIsTooSmallForAllOfThem) {
  const index_t n = 1000, bytes = 8 * n;
  const Numbers x("x", n), y("y", n), z("z", n);
  Sequence steps("steps", across(Emulated{0}, Emulated{1}));
  steps.loop("y", n, coherent_testing::Copy{}, in(x), out(y));
  steps.loop("z", n, coherent_testing::Copy{}, in(y), out(z));
  steps.loop("x", n, AddTo{1}, inout(x));
  steps.loop("z again", n, AddTo{1}, inout(z));
  coherent::set_budget(Emulated{0}, bytes + 256);  // two halves
  steps.run(3);
  {
    const HostCalls calls;
    steps.run(1);
    EXPECT_EQ(calls.graphs, 0);
  }
  EXPECT_GT((x.counters() + y.counters() + z.counters()).device_to_host.count, 0u);
  coherent::set_budget(Emulated{0}, no_budget);
  steps.run(2);
  const HostCalls calls;

  steps.run(1);

  EXPECT_EQ(calls.graphs, 1);
  EXPECT_EQ(values(x), Expected(n, 7));
  EXPECT_EQ(values(z), Expected(n, 6 + 1));
}

TEST_F(JointLoops, EvictionsByOthersBetweenRunsChangeNoValue) {
  const index_t n = 1000, bytes = 8 * n;
  const Numbers x("x", n), y("y", n), other("other", n);
  coherent::set_budget(Emulated{1}, bytes + 256);
  Sequence steps("steps", across(Emulated{0}, Emulated{1}));
  steps.loop("x", n, AddTo{1}, inout(x));
  steps.loop("y", n, coherent_testing::Copy{}, in(x), out(y));

  for (int run = 0; run < 6; ++run) {
    steps.run(3);
    launch(on(Emulated{1}), n, AddTo{1}, inout(other));
  }

  EXPECT_GT(other.counters().device_to_host.count, 0u);
  EXPECT_EQ(values(x), Expected(n, 18));
  EXPECT_EQ(values(y), Expected(n, 18));
  EXPECT_EQ(values(other), Expected(n, 6));
}

struct SetAll {
  STRATA_FUNCTION void operator()(auto, auto x) const {
    for (index_t k = 0; k < x.extent(0); ++k) x(k) = 2 * k;
  }
};
TEST_F(JointLoops, FindMemoryThatHeldNoValueAndWasGivenUp) {
  const index_t n = 1000, bytes = 8 * n;
  const Numbers x("x", n), other("other", n);
  Sequence steps("steps", across(Emulated{0}, Emulated{1}));
  steps.loop("halves", n, Iota{5}, out(x));
  steps.loop("all on the last", 1, SetAll{}, out(x, everything));
  steps.run(3);
  coherent::set_budget(Emulated{0}, bytes + 256);
  launch(on(Emulated{0}), n, AddTo{1}, inout(other));
  coherent::set_budget(Emulated{0}, no_budget);

  steps.run_loops(3);

  EXPECT_EQ(x(7), 5 + 7);
  steps.run_loops(1);
  EXPECT_EQ(x(7), 2 * 7);
}

TEST_F(JointLoops, AHostViewThatIsAliveIsAnErrorOfTheLaunchThatNeedsItsEnd) {
  Stencil stencil(100);
  Sequence steps("steps", across(Emulated{0}, Emulated{1}));
  stencil.declare(steps);
  steps.run(3);
  {
    const auto reads = stencil.v.read(line(0, 1));  // which nothing writes
    steps.run(1);
  }
  {
    const auto writes = stencil.u.read_write(line(20, 30));
    EXPECT_NE(message_of<AccessConflict>([&] { steps.run(1); }).find("launch of there"), std::string::npos);
  }
  steps.run(2);

  stencil.expect_steps(6);
  stencil.expect_values();
}

TEST_F(JointLoops, SharesThatChangeAndHostsAreLaunchedOneByOne) {
  Balance balance;
  const auto graphs_of = [](const auto& where) {
    Stencil stencil(100);
    Sequence steps("steps", where);
    stencil.declare(steps);
    steps.run(3);
    const HostCalls calls;
    steps.run(3);
    stencil.expect_steps(6);
    stencil.expect_values();
    return calls.graphs;
  };

  EXPECT_EQ(graphs_of(across(Emulated{0}, Emulated{1}).adaptive(balance)), 0);
  EXPECT_EQ(graphs_of(across(Emulated{0}, Threads{}, Emulated{1})), 0);
  EXPECT_EQ(graphs_of(across(Emulated{0}, Emulated{1}).weighted({1, 3})), 3);
  EXPECT_EQ(graphs_of(across(std::vector{Emulated{1}})), 3);
}

}  // namespace
