// Several steps in one launch over fields of two dimensions.
// SPDX-License-Identifier: Apache-2.0
#include <strata/core/error.hpp>

#include "fused_fixture.hpp"

namespace {

using namespace stream_test;

// Weights depend on the place and the direction, so that a wrong index shows.
struct BoxStep {  // all eight neighbours
  static constexpr int reach = 1;
  STRATA_FUNCTION void operator()(index_t i, index_t j, const auto& old, const auto& next) const {
    double sum = 1e-3 * static_cast<double>((i + 2 * j) % 7);
    for (int a = -1; a <= 1; ++a)
      for (int b = -1; b <= 1; ++b) sum += old(i + a, j + b) / static_cast<double>(11 + 3 * a + b);
    next(i, j) = sum;
  }
};
template <int Reach>
struct CrossStep {
  static constexpr int reach = Reach;
  STRATA_FUNCTION void operator()(index_t i, index_t j, const auto& old, const auto& next) const {
    next(i, j) = 0.3 * old(i, j) + 0.2 * old(i - Reach, j) + 0.1 * old(i + Reach, j) +
                 0.25 * old(i, j - Reach) + 0.15 * old(i, j + Reach);
  }
};

template <class D>
class FusedPlane : public ::testing::Test {};
TYPED_TEST_SUITE(FusedPlane, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(FusedPlane, OfAnyReach) {
  expect_bits_of_core<TypeParam, 2>(mdrange({1, 1}, {149, 308}), 19, {2, 4, 8}, 70, BoxStep{}, halo(1, 1),
                                    index_t{150}, index_t{309});
  expect_bits_of_core<TypeParam, 2>(mdrange({2, 2}, {98, 598}), 9, {4}, 40, CrossStep<2>{}, halo(2, 2),
                                    index_t{100}, index_t{600});
  expect_bits_of_core<TypeParam, 2>(mdrange({3, 3}, {57, 47}), 6, {2}, 30, CrossStep<3>{}, halo(3, 3),
                                    index_t{60}, index_t{50});
}
TYPED_TEST(FusedPlane, WithWideEdgesThatStay) {
  expect_bits_of_core<TypeParam, 2>(mdrange({11, 20}, {60, 150}), 9, {4}, 40, BoxStep{}, halo(1, 1),
                                    index_t{90}, index_t{300});
}

}  // namespace
