// Loops of sequences over several devices that are planned once and enqueued in one call: how often that is
// so, that others find what they leave, and what a failure leaves.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <strata/algorithms/sequence/sequence.hpp>
#include <strata/core/error.hpp>
#include <strata/core/profiling/hooks.hpp>

#include "views/coherent/executor_fixture.hpp"

namespace {

using namespace coherent_testing;
using Numbers = CoherentArray<std::int64_t, rank<1>>;
using Expected = std::vector<std::int64_t>;

// What the host called for.
struct HostCalls : Listener {
  int graphs = 0, others = 0;
  HostCalls() { add_listener(*this); }
  ~HostCalls() override { remove_listener(*this); }
  void on_event(const HookEvent& event) override {
    graphs += event.kind == EventKind::BeginGraph;
    others += event.kind == EventKind::BeginFor || event.kind == EventKind::BeginCopy;
  }
};

// u to v and back, with the ends as they are.
class Stencil {
 public:
  explicit Stencil(index_t size) : n(size), u("u", n), v("v", n) {
    for (const Numbers* const array : {&u, &v}) {
      const auto all = array->write();
      for (index_t i = 0; i < n; ++i) all(i) = i * i % 17;
      expected.push_back({});
      for (index_t i = 0; i < n; ++i) expected.back().push_back(i * i % 17);
    }
  }
  template <class Where>
  void declare(Sequence<Where>& steps) const {
    steps.loop("there", range(1, n - 1), SumOfThree{}, in(u, halo(1, 1)), out(v));
    steps.loop("back", range(1, n - 1), SumOfThree{}, in(v, halo(1, 1)), out(u));
  }
  void expect_steps(int count) {
    for (int k = 0; k < count; ++k)
      for (const auto& [from, to] : {std::pair{0, 1}, std::pair{1, 0}}) {
        const Expected& x = expected[static_cast<std::size_t>(from)];
        Expected& y = expected[static_cast<std::size_t>(to)];
        for (std::size_t i = 1; i + 1 < x.size(); ++i) y[i] = (x[i - 1] + x[i] + x[i + 1]) % wrap;
      }
  }
  void expect_values() const {
    EXPECT_EQ(values(u), expected[0]);
    EXPECT_EQ(values(v), expected[1]);
  }

  // As SumOfThree, in numbers that do not grow.
  static constexpr std::int64_t wrap = 1'000'003;
  struct SumOfThree {
    STRATA_FUNCTION void operator()(auto i, auto x, auto y) const {
      y(i) = (x(i - 1) + x(i) + x(i + 1)) % wrap;
    }
  };
  const index_t n;
  const Numbers u, v;
  std::vector<Expected> expected;
};

struct SumAll {
  STRATA_FUNCTION void operator()(auto i, auto x, std::int64_t& sum) const { sum += x(i); }
};

class JointLoops : public CoherentTest {
 protected:
  void SetUp() override {
    if constexpr (checked_build) GTEST_SKIP() << "checked builds look at each launch";
    CoherentTest::SetUp();
  }
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

// Each kernel and copy of a run fails once: what the host then reads is right, or an error.
TEST_F(JointLoops, FailuresAreReportedAndTheNextRunIsRight) {
  for (const emulated::Fault fault : {emulated::Fault::Kernel, emulated::Fault::Copy}) {
    int k = 0;
    for (bool failed = true; failed && k < 100;) {
      SCOPED_TRACE(++k);
      const index_t n = 100;
      Stencil stencil(n);
      const Numbers other("other", n);
      Sequence steps("steps", across(Emulated{0}, Emulated{1}));
      stencil.declare(steps);
      steps.run(3);
      launch(on(Emulated{1}), n, AddTo{7}, inout(other));
      wait(Emulated{0}), wait(Emulated{1});
      failed = false;
      stencil.expect_steps(3);
      std::vector<std::vector<Expected>> states{stencil.expected};
      for (int step = 0; step < 2; ++step) {
        stencil.expect_steps(1);
        states.push_back(stencil.expected);
      }
      emulated::fail(fault, k);

      try {
        steps.run(1);
        steps.run(1);
        stencil.expect_values();
      } catch (const Error& error) {
        failed = true;
        EXPECT_TRUE(has(error.what(), "injected"));
      }

      emulated::clear_faults();
      EXPECT_EQ(values(other), Expected(n, 7)) << "which the run does not use";
      // What is said to be somewhere is as before the run, after its first part, or as at its end.
      std::array<bool, 3> is_state{true, true, true};
      for (const std::size_t a : {0U, 1U}) {
        const Numbers& array = a == 0 ? stencil.u : stencil.v;
        for (const Residence& part : array.where(line(0, n))) {
          if (part.memories.empty()) continue;
          const auto view = array.read(part.box);
          for (index_t i = part.box.lower(0); i < part.box.upper(0); ++i)
            for (std::size_t s = 0; s < 3; ++s)
              is_state[s] = is_state[s] && view(i) == states[s][a][static_cast<std::size_t>(i)];
        }
        const auto anew = array.write();
        for (index_t i = 0; i < n; ++i) stencil.expected[a][static_cast<std::size_t>(i)] = anew(i) = i;
      }
      EXPECT_TRUE(is_state[0] || is_state[1] || is_state[2]) << "a mixture";
      steps.run(5);
      stencil.expect_steps(5);
      stencil.expect_values();
    }
    EXPECT_GT(k, 2);
    EXPECT_LT(k, 100);
  }
}

// What it comes after failed on one device, so that no part of it begins on any: it counts as dropped, and
// nothing that it was to write is lost.
TEST_F(JointLoops, OneThatNeverBeganLeavesWhatItWasToWriteAsItWas) {
  const index_t n = 64;
  static std::atomic<bool> gate;
  gate = false;
  Stencil stencil(n);
  const auto both = across(Emulated{0}, Emulated{1});
  Sequence steps("steps", both);
  stencil.declare(steps);
  steps.run(3);
  stencil.expect_steps(3);
  wait(Emulated{0}), wait(Emulated{1});
  const HostCalls calls;
  parallel_for(on(Emulated{0}), 1, [](index_t) {
    while (!gate) std::this_thread::yield();
  });
  // Of two kernels, on the parts that the run writes as well, the first one.
  emulated::fail(emulated::Fault::Kernel, 1);
  launch(both.named("fails on one"), range(1, n - 1), AddTo{7}, inout(stencil.u));

  steps.run(1);
  EXPECT_EQ(calls.graphs, 1);
  gate = true;
  const std::string message = message_of<DataLost>([&] { stencil.u.flush(); });

  EXPECT_TRUE(has(message, "fails on one"));
  EXPECT_FALSE(has(message, "\"v\"")) << "only the run writes it";
  EXPECT_EQ(values(stencil.v), stencil.expected[1]);
  index_t lost = 0;
  for (const Residence& part : stencil.u.where(line(0, n))) {
    if (part.memories.empty()) {
      lost += part.box.size();
      EXPECT_TRUE(has(message, to_string(part.box) + " of \"u\""));
      continue;
    }
    const auto view = stencil.u.read(part.box);
    for (index_t i = part.box.lower(0); i < part.box.upper(0); ++i)
      EXPECT_EQ(view(i), stencil.expected[0][static_cast<std::size_t>(i)] + (i > 0 && i < n - 1 ? 7 : 0))
          << i;
  }
  EXPECT_GT(lost, 0);
  EXPECT_LT(lost, n - 2) << "the other device did its part";
}

// A kernel that cannot be copied at times.
struct Fragile {
  static inline int copies_left = -1;  // without end
  Fragile() = default;
  Fragile(const Fragile&) {
    if (copies_left == 0) throw std::runtime_error("no copy");
    if (copies_left > 0) --copies_left;
  }
  Fragile& operator=(const Fragile&) = default;
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) += 1; }
};
TEST_F(JointLoops, AnErrorWhileARunIsEnqueuedLosesWhatItMayHaveWrittenAndNothingElse) {
  const index_t n = 64;
  for (int copies = 0; copies < 60; ++copies) {
    SCOPED_TRACE(copies);
    const Numbers x("x", n), y("y", n), other("other", n);
    Sequence steps("steps", across(Emulated{0}, Emulated{1}));
    steps.loop("x", n, Fragile{}, inout(x));
    steps.loop("y", n, AddTo{1}, inout(y));
    steps.run(3);
    launch(on(Emulated{1}), n, AddTo{7}, inout(other));
    Fragile::copies_left = copies;
    bool threw = false;

    try {
      steps.run(1);
    } catch (const std::runtime_error& error) {
      threw = true;
      EXPECT_STREQ(error.what(), "no copy");
    }

    Fragile::copies_left = -1;
    EXPECT_EQ(values(other), Expected(n, 7));
    for (const Numbers* const array : {&x, &y}) {
      if (threw) {
        EXPECT_NE(
            message_of<DataLost>([&] { values(*array); }).find(std::string("\"") + array->label() + "\""),
            std::string::npos);
      } else {
        EXPECT_EQ(values(*array), Expected(n, 4));
      }
      const auto anew = array->write();
      for (index_t i = 0; i < n; ++i) anew(i) = 0;
    }
    steps.begin_with(0);
    steps.run(2);
    EXPECT_EQ(values(x), Expected(n, 2));
    EXPECT_EQ(values(y), Expected(n, 2));
    if (!threw) {
      EXPECT_GT(copies, 0);
      return;
    }
  }
  FAIL() << "a run copies its kernels too often";
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
