// Grids of emulated devices: what they copy, to the element; what overlaps; reductions in all forms.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string>
#include <vector>

#include <strata/algorithms/grid/grid.hpp>

#include "algorithms/arrays.hpp"
#include "algorithms/grid/grid_kernels.hpp"
#include "devices/emulated/fixture.hpp"
#include "views/coherent/transfer_sums.hpp"

namespace {

using namespace grid_testing;
using strata_tests::mixed_number;
struct RowSum {  // of a whole row, for each of its elements
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a, auto b) const {
    b(i, j) = j;
    for (index_t k = 0; k < a.extent(1); ++k) b(i, j) += a(i, k);
  }
};
struct Add {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a, double& sum) const {
    sum += static_cast<double>(a(i, j));
  }
};

// ---- copies

class GridCounters : public CoherentCounters {
 protected:
  static constexpr index_t n = 96, m = 80;

  struct Moved {
    Sums sums;
    std::uint64_t peer_copies;
  };
  // Ten steps of a stencil from one array to the other, all values checked; what all but the first move.
  template <class Where, class Region>
  static Moved steps(const Where& where, const Region& region) {
    using Numbers = Plane<std::int32_t>;
    const Numbers a("a", n, m), b("b", n, m, uninitialized);
    std::vector<std::int32_t> known(n * m), next(n * m);
    const auto at = [&](index_t i, index_t j) -> std::int32_t& {
      return known[static_cast<std::size_t>(i * m + j)];
    };
    {
      const auto view = a.write();
      for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j < m; ++j) at(i, j) = view(i, j) = static_cast<int>((3 * i + 5 * j) % 11);
    }
    Numbers from = a, to = b;
    TransferCounters first;
    for (int step = 0; step < 10; ++step) {
      launch(where, mdrange({n, m}), FivePoints{n, m}, in(from, region), out(to));
      if (step == 0) first = a.counters() + b.counters();
      std::swap(from, to);
      for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j < m; ++j) {
          const auto outside = [&](index_t k, index_t l) { return k < 0 || k >= n || l < 0 || l >= m; };
          const auto seen = [&](index_t k, index_t l) { return outside(k, l) ? 0 : at(k, l); };
          next[static_cast<std::size_t>(i * m + j)] =
              seen(i, j) + seen(i - 1, j) + seen(i + 1, j) + seen(i, j - 1) + seen(i, j + 1);
        }
      known = next;
    }
    const auto view = from.read();
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < m; ++j) EXPECT_EQ(view(i, j), at(i, j)) << i << ", " << j;
    const TransferCounters all = a.counters() + b.counters();
    const Sums sums = sums_of(all, sizeof(std::int32_t)), before = sums_of(first, sizeof(std::int32_t));
    return {{sums.to_device - before.to_device, 0, sums.peer - before.peer, sums.to_host, 0},
            all.peer.count - first.peer.count};
  }
  // The elements of the neighbours that p0 x p1 parts read, with the corners.
  static std::uint64_t halo_elements(index_t p0, index_t p1) {
    // A cut of columns is crossed twice over all rows and, at cuts of rows, over the rows beyond; so are cuts
    // of rows over all columns.
    return static_cast<std::uint64_t>(2 * (p0 - 1) * m + 2 * (p1 - 1) * n + 4 * (p0 - 1) * (p1 - 1));
  }
};

// After a first step, to which the host contributes, nine take halos, each part once, and nothing else. At a
// crossing of cuts these are eight edges and four corners; one of the edges comes in two copies, as an
// element of it has gone to another part as a corner before.
TEST_F(GridCounters, AStencilExchangesTheEdgesOfBoxes) {
  for (const auto& [p0, p1, copies] : {std::array<index_t, 3>{2, 2, 13}, {4, 1, 6}, {1, 4, 6}, {3, 2, 24}}) {
    SCOPED_TRACE(std::to_string(p0) + " x " + std::to_string(p1));
    leave_nothing();
    emulated::configure(machine(static_cast<int>(p0 * p1), slow));
    const std::uint64_t all = n * m, halos = halo_elements(p0, p1);

    const Moved moved =
        steps(across(emulated_devices(static_cast<int>(p0 * p1))).grid(p0, p1), halo({1, 1}, {1, 1}));

    EXPECT_EQ(moved.sums.to_device, 0U);
    EXPECT_EQ(moved.sums.peer, 9 * halos);
    EXPECT_EQ(moved.peer_copies, 9U * static_cast<std::uint64_t>(copies));
    EXPECT_EQ(moved.sums.to_host, all) << "at the end";
    std::printf("%d x %d: %d elements and %d copies a step\n", static_cast<int>(p0), static_cast<int>(p1),
                static_cast<int>(halos), static_cast<int>(copies));
  }
}
TEST_F(GridCounters, BoxesWithoutAGridAreRows) {
  leave_nothing();
  emulated::configure(machine(4, slow));

  const Moved boxes = steps(across(emulated_devices(4)), halo({1, 1}, {1, 1}));

  EXPECT_EQ(boxes.sums, steps(across(emulated_devices(4)), halo(1, 1)).sums);
  EXPECT_EQ(boxes.sums.peer, 9 * halo_elements(4, 1));
}
TEST_F(GridCounters, RowsInAGridAreWhole) {
  leave_nothing();
  emulated::configure(machine(4, slow));

  // All of the rows, and those next to them, on each of the four.
  const Moved moved = steps(across(emulated_devices(4)).grid(2, 2), halo(1, 1));

  EXPECT_EQ(moved.sums.peer, 9U * (4 * (n / 2 + 1) * m - n * m));
}

TEST_F(GridCounters, WhatIsReadWithoutARegionIsRows) {
  const Plane<std::int64_t> a("a", 12, 10), b("b", 12, 10);
  const auto where = across(emulated_devices(4)).grid(2, 2);
  launch(where, mdrange({12, 10}), NumberOfPlace{}, out(a));
  const std::uint64_t before = a.counters().peer.bytes;

  launch(where, mdrange({12, 10}), RowSum{}, in(a), out(b));

  EXPECT_EQ(a.counters().peer.bytes - before, 4 * 6 * 5 * sizeof(std::int64_t));
  const auto view = b.read();
  for (index_t i = 0; i < 12; ++i)
    for (index_t j = 0; j < 10; ++j) EXPECT_EQ(view(i, j), j + 10000 * i + 45);
}
TEST_F(GridCounters, WhatIsReadAsElementsIsNotCopied) {
  const Plane<std::int64_t> a("a", 12, 10);
  const auto where = across(emulated_devices(4)).grid(2, 2);
  launch(where, mdrange({12, 10}), NumberOfPlace{}, out(a));
  for (int k = 0; k < 3; ++k) {
    launch(where, mdrange({12, 10}), AddOne{}, inout(a));
    launch(where, mdrange({12, 10}), Nothing{}, in(a, own_element));
  }

  EXPECT_EQ(a.counters().peer.bytes + a.counters().host_to_device.bytes + a.counters().device_to_host.bytes,
            0U);
  EXPECT_EQ(a(7, 6), 7009);
}

TEST_F(GridCounters, HalosTravelWhileTheInsideIsComputed) {
#if defined(STRATA_CHECKED) && STRATA_CHECKED
  GTEST_SKIP() << "checked builds fill what is to be written before the kernel, in one piece";
#endif
  const index_t size = 300;
  const Plane<std::int64_t> a("a", size, size), b("b", size, size);
  const auto where = across(emulated_devices(4)).grid(2, 2);
  launch(where, mdrange({size, size}), AddOne{}, inout(a));
  launch(where, mdrange({size, size}), AddOne{}, inout(b));
  for (int k = 0; k < 4; ++k) wait(Emulated{k});
  emulated_testing::Gate gates[4];
  for (int k = 0; k < 4; ++k) gates[k].hold(default_queue(Emulated{k}));
  emulated::keep_trace(true);
  launch(where.named("edges"), mdrange({size, size}), AddOne{}, inout(a));
  launch(where.named("stencil"), mdrange({size, size}), FivePoints{size, size}, in(a, halo({1, 1}, {1, 1})),
         out(b));
  for (auto& gate : gates) gate.open();
  b.flush();

  std::vector<emulated::Operation> kernels, copies;
  for (const emulated::Operation& operation : emulated::trace()) {
    if (operation.engine == "compute 3" && operation.label == "stencil") kernels.push_back(operation);
    if (operation.engine.starts_with("peer") && operation.engine.ends_with(" 3")) copies.push_back(operation);
  }
  ASSERT_EQ(kernels.size(), 5U) << "the inside, and two rows and two columns";
  ASSERT_EQ(copies.size(), 3U);
  for (const emulated::Operation& copy : copies) {
    EXPECT_LT(kernels[0].start, copy.end);
    EXPECT_GE(kernels[1].start, copy.end);
  }
  EXPECT_EQ(b(size / 2, size / 2), 10);
  EXPECT_EQ(b(0, 0), 6);
}

// ---- places and ranges

struct NumberOfPlaceInCube {
  STRATA_FUNCTION void operator()(index_t i, index_t j, index_t k, auto x) const {
    x(i, j, k) = 100 * i + 10 * j + k;
  }
};
struct Corners {
  STRATA_FUNCTION void operator()(index_t i, index_t j, index_t k, auto x, auto y) const {
    y(i, j, k) = x(i - 1, j - 1, k - 1) + 1000 * x(i + 1, j + 1, k + 1);
  }
};

class GridLaunch : public CoherentTest {};

TEST_F(GridLaunch, MoreDimensionsAreCutOrWhole) {
  const CoherentArray<std::int64_t, rank<3>, LayoutRight> a("a", 5, 6, 7), b("b", 5, 6, 7);
  const auto check = [&](const auto& where) {
    launch(where, mdrange({5, 6, 7}), NumberOfPlaceInCube{}, out(a));
    launch(where.named("corners"), mdrange({1, 1, 1}, {4, 5, 6}), Corners{},
           in(a, halo({1, 1, 1}, {1, 1, 1})), inout(b));
    const auto view = b.read();
    for (index_t i = 1; i < 4; ++i)
      for (index_t j = 1; j < 5; ++j)
        for (index_t k = 1; k < 6; ++k)
          ASSERT_EQ(view(i, j, k), 1001 * (100 * i + 10 * j + k) + 999 * 111) << i << j << k;
  };
  check(across(emulated_devices(8)).grid(2, 2, 2));
  check(across(emulated_devices(6)).grid(1, 3, 2).weighted({{1}, {1, 0, 2}, {1, 1}}));
  check(across(emulated_devices(4)).grid(2, 2));
  check(across(Emulated{0}, AnyHost(Serial{}), Emulated{0}, AnyHost(Threads{})).grid(2, 2));
}

struct Lower {};
struct TaggedAdd {
  STRATA_FUNCTION void operator()(Lower, index_t i, index_t j, auto a) const { a(i, j) += 5; }
};
template <class A>
struct AddTwo {
  A a;
  STRATA_FUNCTION void operator()(index_t i, index_t j) const { a(i, j) += 2; }
};
struct MakeAddTwo {
  template <class A>
  AddTwo<A> operator()(const A& a) const {
    return {a};
  }
};
TEST_F(GridLaunch, TagsHintsTilesAndFactoriesAreThoseOfParallelFor) {
  const Plane<std::int64_t> a("a", 9, 11);
  const auto where = across(emulated_devices(4)).grid(2, 2);
  launch(where, tagged<Lower>(mdrange({2, 3}, {9, 10}, {4, 4})), TaggedAdd{}, inout(a));
  launch(where, block_size(64, mdrange({9, 11})), MakeAddTwo{}, inout(a));
  const auto view = a.read();
  for (index_t i = 0; i < 9; ++i)
    for (index_t j = 0; j < 11; ++j) EXPECT_EQ(view(i, j), i >= 2 && j >= 3 && j < 10 ? 7 : 2);
}
TEST_F(GridLaunch, RangesWithoutItemsAreFine) {
  const Plane<std::int64_t> a("a", 9, 11);
  const auto where = across(emulated_devices(4)).grid(2, 2);
  launch(where, mdrange({0, 0}), AddOne{}, inout(a));
  launch(where, mdrange({3, 4}, {3, 9}), AddOne{}, inout(a));
  EXPECT_EQ(a.counters().allocated.bytes, 0U);
  double sum = -1;
  launch_reduce(where, mdrange({3, 4}, {9, 4}), Add{}, Sum(sum), in(a));
  EXPECT_EQ(sum, 0);
}
TEST_F(GridLaunch, MemoryModesComputeTheSame) {
  for (const MemoryMode mode :
       {MemoryMode::Pinned, MemoryMode::Managed, MemoryMode::Mapped, MemoryMode::Implicit}) {
    const Plane<std::int64_t> a("a", 20, 21, mode), b("b", 20, 21, mode);
    const auto where = across(Emulated{0}, AnyHost(Threads{}), Emulated{1}, Emulated{2}).grid(2, 2);
    launch(where, mdrange({20, 21}), NumberOfPlace{}, out(a));
    for (int step = 0; step < 2; ++step) {
      launch(where, mdrange({20, 21}), FivePoints{20, 21}, in(a, halo({1, 1}, {1, 1})), out(b));
      launch(where, mdrange({20, 21}), NumberOfPlace{}, out(a));
    }
    EXPECT_EQ(b(9, 10), 5 * 9010) << to_string(mode);
    EXPECT_EQ(b(0, 20), 3 * 20 - 1 + 1000) << to_string(mode);
  }
}

// ---- reductions

class GridReduce : public CoherentTest {
 protected:
  static Plane<double> mixed(index_t n, index_t m) {
    const Plane<double> a("a", n, m);
    const auto view = a.write();
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < m; ++j) view(i, j) = mixed_number(i * m + j);
    return a;
  }
  static ::testing::AssertionResult same_bits(double a, double b) {
    if (std::memcmp(&a, &b, sizeof(double)) == 0) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << a << " and " << b << " differ by " << a - b;
  }
};
struct Moments {
  double sum, square;
};
struct MomentsOf {
  double scale;
  using value_type = Moments;
  STRATA_FUNCTION void init(Moments& v) const { v = {0, 0}; }
  STRATA_FUNCTION void join(Moments& v, const Moments& o) const {
    v.sum += o.sum;
    v.square += o.square;
  }
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a, Moments& v) const {
    v.sum += scale * a(i, j);
    v.square += a(i, j) * a(i, j);
  }
};
struct SumAndMost {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a, double& sum, double& most) const {
    sum += a(i, j);
    most = most < a(i, j) ? a(i, j) : most;
  }
};
struct StoreScaled {
  STRATA_FUNCTION void operator()(const Moments& value, auto into) const {
    into(0) = value.sum - value.square;
  }
};
struct Cube {
  STRATA_FUNCTION void operator()(index_t i, index_t j, index_t k, auto a, double& sum) const {
    sum += a(i, j, k) * static_cast<double>(i + 2 * j + 3 * k);
  }
};
struct Scale {  // writes, too
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a, double& sum) const {
    a(i, j) *= 3;
    sum += a(i, j);
  }
};

TEST_F(GridReduce, EveryFormHasTheBitsOfOneDevice) {
  const index_t n = 13, m = 2100;
  const Plane<double> a = mixed(n, m);
  const auto work = mdrange({2, 5}, {n, m});
  Moments moments{};
  double expected = 0, sum = 0, most = 0;
  launch_reduce(on(Serial{}), work, MomentsOf{0.3}, moments, in(a));
  launch_reduce(on(Serial{}), work, Add{}, Sum(expected), in(a));
  const auto check = [&](const auto& where) {
    Moments got{};
    launch_reduce(where, work, MomentsOf{0.3}, got, in(a, own_element));
    EXPECT_TRUE(same_bits(got.sum, moments.sum) && same_bits(got.square, moments.square));
    launch_reduce(where, work, SumAndMost{}, Sum(sum), Max(most), in(a, own_element));
    EXPECT_TRUE(same_bits(sum, expected));
    EXPECT_EQ(most, [&] {
      double largest = 0;
      launch_reduce(on(Serial{}), work, SumAndMost{}, Sum(sum), Max(largest), in(a));
      return largest;
    }());
    const CoherentArray<double, rank<0>> value("value");
    launch_reduce(where, work, Add{}, Sum(value), in(a));
    EXPECT_TRUE(same_bits(value.read()(), expected));
    const CoherentArray<double, rank<1>> stored("stored", 1);
    launch_reduce(where, work, MomentsOf{0.3}, finalize(StoreScaled{}, out(stored)), in(a, own_element));
    EXPECT_TRUE(same_bits(stored(0), moments.sum - moments.square));
  };
  check(across(emulated_devices(4)).grid(2, 2));
  check(across(emulated_devices(3)).grid(1, 3));
  check(across(Emulated{1}, AnyHost(Serial{})).grid(2, 1).named("sum"));
  check(across(emulated_devices(6)).grid(3, 2).weighted({{1, 1, 3}, {1, 5}}));
}

TEST_F(GridReduce, WritesAreThoseOfParts) {
  const index_t n = 9, m = 1500;
  const Plane<double> a = mixed(n, m), b = mixed(n, m);
  double expected = 0, sum = 0;
  launch_reduce(on(Serial{}), mdrange({n, m}), Scale{}, Sum(expected), inout(a));

  launch_reduce(across(emulated_devices(6)).grid(2, 3), mdrange({n, m}), Scale{}, Sum(sum), inout(b));

  EXPECT_TRUE(same_bits(sum, expected));
  const auto x = a.read(), y = b.read();
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < m; ++j) ASSERT_EQ(x(i, j), y(i, j)) << i << ", " << j;
}

TEST_F(GridReduce, MoreDimensionsHaveTheBitsOfOneDevice) {
  for (const index_t layers : {3, 48, 600}) {
    const CoherentArray<double, rank<3>, LayoutRight> a("a", 4, 40, layers);
    {
      const auto view = a.write();
      for (index_t i = 0; i < 4; ++i)
        for (index_t j = 0; j < 40; ++j)
          for (index_t k = 0; k < layers; ++k) view(i, j, k) = mixed_number((i * 40 + j) * layers + k);
    }
    const auto work = mdrange({0, 1, 0}, {4, 40, layers});
    double expected = 0;
    launch_reduce(on(Serial{}), work, Cube{}, Sum(expected), in(a));
    const auto check = [&](const auto& where) {
      double sum = 0;
      launch_reduce(where, work, Cube{}, Sum(sum), in(a, own_element));
      EXPECT_TRUE(same_bits(sum, expected)) << layers;
    };
    check(across(emulated_devices(4)).grid(2, 2));
    check(across(emulated_devices(8)).grid(2, 2, 2));
    check(across(emulated_devices(4)).grid(1, 2, 2).weighted({{1}, {1, 2}, {3, 1}}));
  }
}

TEST_F(GridReduce, WholeBlocksOfRowsStayWhereTheyAre) {
  const index_t n = 8, m = 4096;
  const Plane<double> a("a", n, m);
  const auto where = across(emulated_devices(4)).grid(2, 2);
  launch(where, mdrange({n, m}), AddOne{}, inout(a));
  const std::uint64_t before = a.counters().peer.bytes;
  double sum = 0;

  launch_reduce(where, mdrange({n, m}), Add{}, Sum(sum), in(a, own_element));

  EXPECT_EQ(sum, static_cast<double>(n * m));
  EXPECT_EQ(a.counters().peer.bytes, before);
}

}  // namespace
