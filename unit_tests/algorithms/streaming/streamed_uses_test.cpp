// What streamed launches and runs of sequences take of their arrays, and that all is as it was where they
// fail before they begin.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <strata/algorithms/streaming/streamed_sequence.hpp>
#include <strata/core/error.hpp>

#include "views/coherent/executor_fixture.hpp"

namespace {

using namespace coherent_testing;
using Numbers = CoherentArray<std::int64_t, rank<1>>;
using Rows = CoherentArray<std::int64_t, rank<1>, LayoutRight>;

struct AddOf {
  STRATA_FUNCTION void operator()(auto i, const auto& x, const auto& y) const { y(i) += x(i); }
};
struct SumAround {
  STRATA_FUNCTION void operator()(auto i, const auto& x, const auto& y) const { y(i) = x(i - 1) + x(i + 1); }
};
std::vector<std::int64_t> iota(std::int64_t base, index_t n) {
  std::vector<std::int64_t> all;
  for (index_t i = 0; i < n; ++i) all.push_back(base + i);
  return all;
}

class StreamedUses : public CoherentTest {
 protected:
  static constexpr index_t n = 100;
  static auto slices() { return streamed(Emulated{0}, 1 << 16).chunk(8); }
};

TEST_F(StreamedUses, ARunOfSomeLoopsTakesTheArraysOfTheseAlone) {
  const Numbers x("x", n), y("y", n), other("other", n, uninitialized);
  Sequence steps("steps", slices());
  steps.loop("first", n, AddTo{1}, inout(x));
  steps.loop("second", n, AddOf{}, in(other), inout(y));
  {
    const auto in_use = other.write();
    for (index_t i = 0; i < n; ++i) in_use(i) = i;

    steps.run_loops(1);
    EXPECT_THROW(steps.run_loops(1), AccessConflict);
  }
  steps.begin_with(1);
  steps.run_loops(1);

  EXPECT_EQ(values(x)[7], 1);
  EXPECT_EQ(values(y), iota(0, n));
}

TEST_F(StreamedUses, ALoopAfterTheFirstWritesItsArrayAsAWhole) {
  const Numbers x("x", n), y("y", n);
  launch(on(Emulated{1}), n, Iota{500}, out(y));  // which the host has not
  Sequence steps("steps", slices());
  steps.loop("of a few rows", range(0, 4), AddTo{1}, inout(x));
  steps.loop("of all", n, Copy{}, in(x), out(y));

  steps.run(1);

  EXPECT_EQ(values(y)[2], 1);
  EXPECT_EQ(values(y)[50], 0);
}

TEST_F(StreamedUses, ALaunchThatFailsBeforeItBeginsLeavesWhatItWouldHaveWritten) {
  for (int order = 0; order < 2; ++order) {  // arrays are taken by their addresses
    const Numbers a("a", n), b("b", n);
    const Numbers &x = order == 0 ? a : b, &y = order == 0 ? b : a;
    launch(on(Emulated{1}), n, Iota{500}, out(x));
    launch(on(Emulated{1}), n, Iota{700}, out(y));
    emulated::fail(emulated::Fault::Copy, 1);  // x to the host

    EXPECT_THROW(launch(slices(), n, Copy{}, in(x), out(y)), CopyError);

    EXPECT_EQ(values(y), iota(700, n));
    EXPECT_EQ(values(x), iota(500, n));
  }
}

TEST_F(StreamedUses, ARunThatFailsBeforeItBeginsLeavesResidentArraysAsTheyWere) {
  const Numbers x("x", n), table("table", n);
  launch(on(Emulated{0}), n, Iota{500}, out(table));  // nowhere else
  launch(on(Emulated{1}), n, Iota{700}, out(x));
  Sequence steps("steps", slices());
  steps.loop("add", n, AddOf{}, in(x), resident(inout(table)));
  emulated::fail(emulated::Fault::Copy, 1);  // x to the host

  EXPECT_THROW(steps.run(1), CopyError);

  EXPECT_EQ(values(table), iota(500, n));
  steps.run(1);
  EXPECT_EQ(values(table)[3], 503 + 703);
}

TEST_F(StreamedUses, LaunchesOverNoWorkItemsMayHaveCyclicEdges) {
  const Rows none("none", 0), few("few", 3), y("y", 3);
  const Numbers in_tiles("in tiles", 3), z("z", 3);

  EXPECT_NO_THROW(launch(slices(), 0, SumAround{}, in(none, halo(1, 1, edge::cyclic)), out(y)));
  EXPECT_NO_THROW(launch(slices(), 0, SumAround{}, in(few, halo(9, 9, edge::cyclic)), out(y)));
  EXPECT_NO_THROW(launch(slices(), 0, SumAround{}, in(in_tiles, halo(1, 1, edge::cyclic)), out(z)));
  EXPECT_THROW(launch(slices(), 3, SumAround{}, in(few, halo(9, 9, edge::cyclic)), out(y)), ShapeMismatch);
}

}  // namespace
