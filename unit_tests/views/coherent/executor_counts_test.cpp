// What launches over emulated devices copy and allocate, exactly, by the counters of the arrays: the
// scenarios of the design. plan/counts_test.cpp has the same numbers of the logic alone, beside those of the
// protocol of Dastgeer and Kessler (IJPP 44, 2016). All values are checked.
// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "views/coherent/transfer_sums.hpp"

namespace {

using namespace coherent_testing;

using Numbers = CoherentArray<std::int64_t, rank<1>>;
constexpr std::uint64_t element = sizeof(std::int64_t);

void fill(const Numbers& x) {
  const auto view = x.write();
  for (index_t i = 0; i < x.extent(0); ++i) view(i) = 1000 + i;
}

// S1
TEST_F(CoherentCounters, WhatIsCurrentIsNotCopiedAgain) {
  const auto program = [] {
    const Numbers x("x", 10);
    fill(x);
    launch(on(Emulated{}), 10, ReadOnly{}, in(x));
    launch(on(Emulated{}), range(5, 10), Iota{0}, out(x));
    launch(on(Emulated{}), 10, ReadOnly{}, in(x));
    const TransferCounters counters = x.counters();
    for (index_t i = 0; i < 10; ++i) EXPECT_EQ(x(i), i < 5 ? 1000 + i : i);
    return counters;
  };
  expect_sums(1, fast, element, program, {10, 0, 0, 0, 10});
}

// S2
TEST_F(CoherentCounters, AWriteOfTheHostCostsWhatItWrites) {
  const auto program = [] {
    const Numbers x("x", 1000);
    fill(x);
    launch(on(Emulated{}), 1000, AddTo{1}, inout(x));
    x.write(line(3, 4))(3) = -1;
    launch(on(Emulated{}), 1000, ReadOnly{}, in(x));
    return x.counters();
  };
  expect_sums(1, fast, element, program, {1001, 0, 0, 0, 1000});
}

// S3
TEST_F(CoherentCounters, AReadOfTheHostCostsWhatItReads) {
  const auto program = [] {
    const Numbers x("x", 1000);
    fill(x);
    launch(on(Emulated{}), 1000, AddTo{1}, inout(x));
    for (index_t i = 0; i < 10; ++i) EXPECT_EQ(x.read(line(i, i + 1))(i), 1001 + i);
    return x.counters();
  };
  expect_sums(1, fast, element, program, {1000, 0, 0, 10, 1000});
}

// S4
TEST_F(CoherentCounters, PartsOfWhatADeviceHasAreThere) {
  const auto program = [] {
    const Numbers x("x", 10);
    fill(x);
    launch(on(Emulated{}), 10, AddTo{1}, inout(x));
    launch(on(Emulated{}), range(5, 10), AddTo{10}, inout(x));
    launch(on(Emulated{}), range(3, 7), AddTo{100}, inout(x));
    const TransferCounters counters = x.counters();
    for (index_t i = 0; i < 10; ++i)
      EXPECT_EQ(x(i), 1001 + i + (i >= 5 ? 10 : 0) + (i >= 3 && i < 7 ? 100 : 0));
    return counters;
  };
  expect_sums(1, fast, element, program, {10, 0, 0, 0, 10});
}

// S5
TEST_F(CoherentCounters, AWriteOfAPartKeepsTheRest) {
  const auto program = [] {
    const Numbers x("x", 10);
    fill(x);
    launch(on(Emulated{}), 10, Iota{0}, out(x));
    launch(on(Emulated{}), range(5, 10), Iota{50}, out(x));
    const auto all = values(x);
    for (index_t i = 0; i < 10; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i < 5 ? i : 50 + i);
    return x.counters();
  };
  expect_sums(1, fast, element, program, {0, 0, 0, 10, 10});
}

// S6: three points, two arrays in turn.
struct ThreePoints {
  index_t n;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const {
    const index_t k = static_cast<index_t>(i);
    y(k) = x(k) + (k > 0 ? x(k - 1) : 0) + (k + 1 < n ? x(k + 1) : 0);
  }
};
TransferCounters stencil() {
  const index_t n = 1000;
  const Numbers a("a", n), b("b", n, uninitialized);
  std::vector<std::int64_t> expected, next;
  {
    const auto view = a.write();
    for (index_t i = 0; i < n; ++i) expected.push_back(view(i) = i % 7);
  }
  Numbers from = a, to = b;
  for (int t = 0; t < 10; ++t) {
    launch(across(Emulated{0}, Emulated{1}), n, ThreePoints{n}, in(from, halo(1, 1)), out(to));
    std::swap(from, to);
    next = expected;
    for (std::size_t i = 0; i < expected.size(); ++i)
      next[i] += (i > 0 ? expected[i - 1] : 0) + (i + 1 < expected.size() ? expected[i + 1] : 0);
    expected.swap(next);
  }
  EXPECT_EQ(values(from), expected);
  return a.counters() + b.counters();
}
TEST_F(CoherentCounters, AStencilExchangesItsHalos) {
  expect_sums(2, slow, element, stencil, {1002, 0, 18, 1000, 2004});
}
TEST_F(CoherentCounters, ABroadcastStencilSendsNothingTwiceFromTheHost) {
  expect_sums(2, fast, element, stencil, {1000, 0, 20, 1000, 2004});
}
TEST_F(CoherentCounters, AStencilExchangesItsHalosThroughTheHost) {
  expect_sums(2, none, element, stencil, {1020, 0, 0, 1018, 2004});
}

// S7
TEST_F(CoherentCounters, ASplitThatMovesCostsTheDifference) {
  const auto program = [] {
    const Numbers x("x", 1000);
    fill(x);
    for (int t = 0; t < 10; ++t) {
      const auto both = across(Emulated{0}, Emulated{1});
      launch(t % 2 == 0 ? both : both.weighted({0.6, 0.4}), 1000, AddTo{1}, inout(x));
    }
    const auto all = values(x);
    for (index_t i = 0; i < 1000; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], 1010 + i);
    return x.counters();
  };
  expect_sums(2, fast, element, program, {1000, 0, 900, 1000, 1100});
}

// S8: int[100][80], split by columns.
struct FivePoints {
  STRATA_FUNCTION void operator()(auto c, auto x, auto y) const {
    const index_t rows = x.extent(0), columns = x.extent(1), j = static_cast<index_t>(c);
    for (index_t i = 0; i < rows; ++i)
      y(i, j) = x(i, j) + (i > 0 ? x(i - 1, j) : 0) + (i + 1 < rows ? x(i + 1, j) : 0) +
                (j > 0 ? x(i, j - 1) : 0) + (j + 1 < columns ? x(i, j + 1) : 0);
  }
};
TransferCounters columns_stencil() {
  using Plane = CoherentArray<std::int32_t, rank<2>, LayoutRight>;
  const index_t rows = 100, width = 80;
  const Plane a("a", rows, width), b("b", rows, width, uninitialized);
  std::vector<std::int32_t> expected(8000), next(8000);
  {
    const auto view = a.write();
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < width; ++j)
        expected[static_cast<std::size_t>(i * width + j)] = view(i, j) =
            static_cast<int>((3 * i + 5 * j) % 11);
  }
  Plane from = a, to = b;
  for (int t = 0; t < 10; ++t) {
    launch(across(Emulated{0}, Emulated{1}), width, FivePoints{}, in(from, columns(1, 1)), out(to, columns));
    std::swap(from, to);
    const auto at = [&](index_t i, index_t j) -> std::int32_t {
      return i < 0 || i >= rows || j < 0 || j >= width ? 0
                                                       : expected[static_cast<std::size_t>(i * width + j)];
    };
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < width; ++j)
        next[static_cast<std::size_t>(i * width + j)] =
            at(i, j) + at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1);
    expected.swap(next);
  }
  const auto view = from.read();
  for (index_t i = 0; i < rows; ++i)
    for (index_t j = 0; j < width; ++j)
      EXPECT_EQ(view(i, j), expected[static_cast<std::size_t>(i * width + j)]) << i << ", " << j;
  EXPECT_EQ(a.counters().peer.count + b.counters().peer.count, 18U) << "a column each";
  return a.counters() + b.counters();
}
TEST_F(CoherentCounters, AStencilSplitByColumnsExchangesColumns) {
  // Of 41 columns all rows are there: devices hold whole rows.
  expect_sums(2, slow, 4, columns_stencil, {8200, 0, 1800, 8000, 32000});
}

TEST_F(CoherentCounters, FewerElementsThanDevices) {
  const auto program = [] {
    const Numbers x("x", 1);
    fill(x);
    for (int t = 0; t < 3; ++t) launch(across(Emulated{0}, Emulated{1}), 1, AddTo{1}, inout(x));
    EXPECT_EQ(values(x)[0], 1003);
    return x.counters();
  };
  expect_sums(2, fast, element, program, {1, 0, 0, 1, 1});
}

TEST_F(CoherentCounters, OfAllArraysAreTheSumFromTheLastResetOn) {
  coherent::reset_counters();
  const TransferCounters both = stencil();
  EXPECT_EQ(sums_of(coherent::counters(), 1), sums_of(both, 1));

  coherent::reset_counters();
  EXPECT_EQ(sums_of(coherent::counters(), 1), (Sums{0, 0, 0, 0, 0}));
}

}  // namespace
