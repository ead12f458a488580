// Shared launches of host threads and each device, over arrays of every memory mode.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <vector>

#include <strata/algorithms/sharing/dynamic.hpp>

#include "algorithms/arrays.hpp"
#include "messages.hpp"
#include "test_devices.hpp"

namespace {

using namespace strata;
template <class T>
using Line = CoherentArray<T, rank<1>>;

struct Fill {
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) = 3 * index_t(i) + 1; }
};
struct AddRow {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += 2 * x(i); }
};
struct ThreePoints {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) = x(i - 1) + x(i) + x(i + 1); }
};
struct AddIndex {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto x) const {
    x(i, j) += static_cast<float>(i + 1000 * j);
  }
};
struct Mixed {
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const { sum += x(i); }
};

template <class D>
class SharedLaunch : public ::testing::Test {};
TYPED_TEST_SUITE(SharedLaunch, strata_tests::TestDevices, strata_tests::DeviceName);

// So that small tests have several parts.
constexpr DynamicOptions many_parts{.host_seconds = 1e-5, .device_seconds = 1e-6, .parts_ahead = 2};

TYPED_TEST(SharedLaunch, ComputesTheSameInEveryMemoryMode) {
  constexpr index_t n = 20000;
  const auto both = across(Threads{}, TypeParam{}).dynamic(many_parts);
  for (const MemoryMode mode : {MemoryMode::Smart, MemoryMode::Pinned, MemoryMode::Managed,
                                MemoryMode::Mapped, MemoryMode::Implicit}) {
    SCOPED_TRACE(to_string(mode));
    const Line<std::int64_t> x("x", n, mode, main_in(TypeParam{})), y("y", n, mode, main_in(TypeParam{}));
    launch(both, n, Fill{}, out(x));
    const SharedReport report = launch(both.named("add"), range(7, n - 5), AddRow{}, in(x), inout(y));
    EXPECT_EQ(report.items, n - 12);
    EXPECT_EQ(report.devices[0].items + report.devices[1].items, n - 12);
    launch(both, range(1, n - 1), ThreePoints{}, in(y, halo(1, 1)), out(x));
    const auto view = x.read(), before = y.read();
    const auto y_at = [](index_t i) { return i < 7 || i >= n - 5 ? 0 : 2 * (3 * i + 1); };
    for (index_t i = 0; i < n; ++i) {
      ASSERT_EQ(before(i), y_at(i)) << i;
      const bool is_inner = i > 0 && i < n - 1;
      ASSERT_EQ(view(i), is_inner ? y_at(i - 1) + y_at(i) + y_at(i + 1) : 3 * i + 1) << i;
    }
  }
}

TYPED_TEST(SharedLaunch, OverManagedArraysIsClaimedByKernels) {
  constexpr index_t n = 1'100'003;  // enough for a GPU's kernels
  DynamicOptions options = many_parts;
  options.claimed_by = ClaimedBy::Kernels;
  const auto both = across(Threads{}, TypeParam{}).weighted({1, 1}).dynamic(options);
  const Line<std::int64_t> x("x", n, MemoryMode::Managed, main_in(TypeParam{})),
      y("y", n, MemoryMode::Managed, main_in(TypeParam{}));
  const CoherentArray<float, rank<2>, LayoutRight> a("a", 9000, 30, MemoryMode::Managed,
                                                     main_in(TypeParam{}));
  for (int round = 0; round < 3; ++round) {
    launch(both, n, Fill{}, out(x));
    const SharedReport report = launch(both, range(7, n - 5), AddRow{}, in(x), inout(y));
    EXPECT_EQ(report.devices[0].items + report.devices[1].items, n - 12) << report.explain();
    if (!std::is_same_v<TypeParam, AnyHost> && !checked_build) {
      EXPECT_TRUE(report.kernels_claimed);
    }
    launch(both, mdrange({1, 2}, {8999, 30}), AddIndex{}, inout(a));
  }
  launch(both, range(1, n - 1), ThreePoints{}, in(y, halo(1, 1)), out(x));
  const auto view = x.read(), before = y.read();
  const auto rows = a.read();
  const auto y_at = [](index_t i) { return i < 7 || i >= n - 5 ? 0 : 6 * (3 * i + 1); };
  index_t wrong = 0;
  for (index_t i = 0; i < n; ++i) {
    const bool is_inner = i > 0 && i < n - 1;
    wrong += before(i) != y_at(i);
    wrong += view(i) != (is_inner ? y_at(i - 1) + y_at(i) + y_at(i + 1) : 3 * i + 1);
  }
  for (index_t i = 0; i < 9000; ++i)
    for (index_t j = 0; j < 30; ++j)
      wrong += rows(i, j) != (i > 0 && i < 8999 && j > 1 ? static_cast<float>(3 * (i + 1000 * j)) : 0);
  EXPECT_EQ(wrong, 0);
}

TYPED_TEST(SharedLaunch, ReducesInTheBitsOfOneDevice) {
  constexpr index_t n = 300'007;
  const Line<double> x("x", n);
  {
    const auto view = x.write();
    for (index_t i = 0; i < n; ++i) view(i) = strata_tests::mixed_number(i);
  }
  for (const Range r : {range(0, n), range(1, n - 3), range(777, 778), range(500, 150'003)}) {
    double expected = 0, sum = 0;
    launch_reduce(on(Serial{}), r, Mixed{}, Sum(expected), in(x));
    const auto report =
        launch_reduce(across(Threads{}, TypeParam{}).dynamic(many_parts), r, Mixed{}, Sum(sum), in(x));
    EXPECT_EQ(sum, expected) << r.first << " " << r.last << report.explain();
  }
}

}  // namespace
