// Several steps in one launch over fields of one dimension: the same bits as one by one in core.
// SPDX-License-Identifier: Apache-2.0
#include <strata/core/error.hpp>

#include "fused_fixture.hpp"

namespace {

using namespace stream_test;

// Weights depend on the place and the direction, so that a wrong index shows.
template <int Reach>
struct LineStep {
  static constexpr int reach = Reach;
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next) const {
    double sum = 1e-3 * static_cast<double>(index_t(i) % 7);
    for (int k = -Reach; k <= Reach; ++k) sum += old(i + k) / static_cast<double>(3 + k + Reach);
    next(i) = sum;
  }
};
struct Upwind {  // reads two cells before its own, and none behind
  static constexpr int reach = 2;
  STRATA_FUNCTION void operator()(index_t i, const auto& old, const auto& next) const {
    next(i) = 0.5 * old(i) + 0.3 * old(i - 1) + 0.2 * old(i - 2) + 1e-3 * static_cast<double>(i % 3);
  }
};
struct Sometimes {  // leaves elements out
  static constexpr int reach = 1;
  STRATA_FUNCTION void operator()(index_t i, const auto& old, const auto& next) const {
    if (i % 5 != 0 && i < old.extent(0)) next[i] = 0.5 * (old[i - 1] + old[i + 1]);
  }
};

template <class D>
class FusedLine : public ::testing::Test {};
TYPED_TEST_SUITE(FusedLine, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(FusedLine, OfAnyLength) {
  for (const index_t n : {40, 5000})
    expect_bits_of_core<TypeParam, 1>(range(1, n - 1), 23, {2, 5, 8}, 900, LineStep<1>{}, halo(1, 1), n);
  expect_bits_of_core<TypeParam, 1>(range(3, 4990), 9, {4}, 900, LineStep<3>{}, halo(3, 3), index_t{5000});
}
TYPED_TEST(FusedLine, WithAHaloOnOneSide) {
  expect_bits_of_core<TypeParam, 1>(range(2, 4000), 12, {4}, 700, Upwind{}, halo(2, 0), index_t{4000});
}
TYPED_TEST(FusedLine, WhoseEndsStay) {
  expect_bits_of_core<TypeParam, 1>(range(333, 1500), 12, {4}, 700, LineStep<2>{}, halo(2, 2), index_t{2500});
}
TYPED_TEST(FusedLine, ElementsThatTheKernelLeavesOutStay) {
  expect_bits_of_core<TypeParam, 1>(range(1, 2999), 8, {4}, 700, Sometimes{}, halo(1, 1), index_t{3000});
}
TYPED_TEST(FusedLine, WithinABudgetOfAPart) {
  const index_t n = 100000;
  CoherentArray<double, rank<1>> a("a", n), b("b", n);
  fill(a);
  fill(b);
  in_core(TypeParam{}, range(1, n - 1), 40, LineStep<1>{}, a, b, halo(1, 1));
  const CoherentArray<double, rank<1>> u("u", n);
  fill(u);
  const StreamReport report = streamed_iterate(streamed(TypeParam{}, 200000).steps_per_launch(8), 40,
                                               LineStep<1>{}, state(u, halo(1, 1)));
  EXPECT_LE(report.device_bytes, 200000);
  EXPECT_EQ(report.steps_per_pass % 8, 0);
  const auto got = values(u), expected = values(a);
  for (std::size_t e = 0; e < got.size(); ++e)
    ASSERT_LE(std::abs(got[e] - expected[e]), contraction<TypeParam> * std::abs(expected[e])) << e;
}
TYPED_TEST(FusedLine, StepsThatAreLeftOverAreReportedToo) {
  const CoherentArray<double, rank<1>> u("u", 1000);
  fill(u);
  const StreamReport report =
      streamed_iterate(streamed(TypeParam{}, 1 << 20).steps_per_launch(8).steps_per_pass(8), 20,
                       LineStep<1>{}, state(u, halo(1, 1)));
  EXPECT_EQ(report.passes, 3);
  EXPECT_EQ(report.steps_per_pass, 8);
}
TYPED_TEST(FusedLine, MistakesAreErrors) {
  const CoherentArray<double, rank<1>> u("u", 100), v("v", 101);
  EXPECT_THROW(streamed_iterate(streamed(TypeParam{}, 1 << 20).steps_per_launch(4), 8, LineStep<1>{},
                                state(u, halo(2, 1))),
               Error);
  EXPECT_THROW(streamed_iterate(streamed(TypeParam{}, 1 << 20).steps_per_launch(0), 8, LineStep<1>{},
                                state(u, halo(1, 1))),
               Error);
}

}  // namespace
