// What a failure leaves of loops over several devices that are enqueued in one call.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <strata/core/error.hpp>

#include "joint_loops.hpp"

namespace {

using namespace joint_loops;

class JointLoopsFailures : public JointLoops {};

// Each kernel and copy of a run fails once: what the host then reads is right, or an error.
TEST_F(JointLoopsFailures, FailuresAreReportedAndTheNextRunIsRight) {
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
TEST_F(JointLoopsFailures, OneThatNeverBeganLeavesWhatItWasToWriteAsItWas) {
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

TEST_F(JointLoopsFailures, AnErrorWhileARunIsEnqueuedLosesWhatItMayHaveWrittenAndNothingElse) {
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

}  // namespace
