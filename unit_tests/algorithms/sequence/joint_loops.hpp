// What the tests of loops over several devices share that are enqueued in one call: a stencil with its
// values, and what the host called for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <strata/algorithms/sequence/sequence.hpp>
#include <strata/core/profiling/hooks.hpp>

#include "views/coherent/executor_fixture.hpp"

namespace joint_loops {

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

class JointLoops : public CoherentTest {
 protected:
  void SetUp() override {
    if constexpr (checked_build) GTEST_SKIP() << "checked builds look at each launch";
    CoherentTest::SetUp();
  }
};

}  // namespace joint_loops
