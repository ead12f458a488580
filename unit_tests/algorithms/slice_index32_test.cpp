// Slices of arrays whose offsets are computed in 32 bits: by strides, and in tiles.
// SPDX-License-Identifier: Apache-2.0
#include "slices.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class SlicesIndex32 : public ::testing::Test {};
TYPED_TEST_SUITE(SlicesIndex32, TestDevices, DeviceName);

TYPED_TEST(SlicesIndex32, OfLayoutRightGiveTheBitsOfTheWhole) {
  expect_kernels_in_slices<TypeParam, Index32<LayoutRight>>("right, 32-bit");
}

TYPED_TEST(SlicesIndex32, OfTilesOf32GiveTheBitsOfTheWhole) {
  expect_kernels_in_slices<TypeParam, Index32<LayoutTiled<32>>>("tiled by 32, 32-bit");
}

}  // namespace
