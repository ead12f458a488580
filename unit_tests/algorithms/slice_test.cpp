// Slices of arrays with 64-bit offsets: kernels, reductions and scans.
// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "slices.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class Slices : public ::testing::Test {};
TYPED_TEST_SUITE(Slices, TestDevices, DeviceName);

TYPED_TEST(Slices, OfLayoutRightGiveTheBitsOfTheWhole) {
  expect_kernels_in_slices<TypeParam, LayoutRight>("right");
}

TYPED_TEST(Slices, OfLayoutLeftGiveTheBitsOfTheWhole) {
  expect_kernels_in_slices<TypeParam, LayoutLeft>("left");
}

TYPED_TEST(Slices, OfTilesOf8GiveTheBitsOfTheWhole) {
  expect_kernels_in_slices<TypeParam, LayoutTiled<8>>("tiled by 8");
}

TYPED_TEST(Slices, OfTilesOf32GiveTheBitsOfTheWhole) {
  expect_kernels_in_slices<TypeParam, LayoutTiled<32>>("tiled by 32");
}

// ---- reductions and scans over the rows of a slice

struct SumOfProducts {
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const { sum += x(i, 0) * x(i, 2); }
};
struct SumOfColumn {
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum, bool) const { sum += x(i, 1); }
};
struct SumOfElements {
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const { sum += x(i); }
};

template <class D, class Layout>
void expect_same_sums() {
  using V = MDArrayIn<Layout, double, D, rank<2>>;
  std::mt19937 random(seed);
  constexpr index_t n = 4099;
  const auto x = make_numbered<V>(1, n, 3);
  const auto sum_of_rows = [](const V& array, ResidentRows rows) {
    double sum = -1;
    parallel_reduce(range(rows.begin, rows.end), with(SumOfProducts{}, array), Sum(sum));
    return sum;
  };
  const auto last_prefix = [](const V& array, ResidentRows rows) {
    double total = -1;
    parallel_scan(range(rows.begin, rows.end), with(SumOfColumn{}, array), Sum(total), 0.5);
    return total;
  };

  for (const ResidentRows rows : random_cuts(n, 9, random)) {
    const auto slice = create_slice<V>("slice", x.extents(), rows);
    deep_copy_rows(slice, x, rows);

    EXPECT_TRUE(same_bits(sum_of_rows(slice, rows), sum_of_rows(x, rows)))
        << rows.begin << " to " << rows.end << ", seed " << seed;
    EXPECT_TRUE(same_bits(last_prefix(slice, rows), last_prefix(x, rows)))
        << rows.begin << " to " << rows.end << ", seed " << seed;
  }
}

TYPED_TEST(Slices, GiveReductionsAndScansOfTheirRowsTheBitsOfTheWholeArrays) {
  expect_same_sums<TypeParam, LayoutRight>();
  expect_same_sums<TypeParam, LayoutLeft>();
  expect_same_sums<TypeParam, LayoutTiled<8>>();
  expect_same_sums<TypeParam, Index32<LayoutTiled<32>>>();
}

// A sum over all rows, streamed: slices cut at blocks are reduced to one value a block, and those are joined
// as one launch over all rows joins its blocks.
TYPED_TEST(Slices, PartialsOfBlocksOfSlicesJoinToTheBitsOfOneLaunch) {
  using D = TypeParam;
  constexpr index_t n = 4 * 512;
  const auto x = make_vector<double, D>(n, mixed_number);
  const auto sum_of_rows = [](const Vector<double, D>& array, index_t begin, index_t end) {
    double sum = -1;
    parallel_reduce(range(begin, end), with(SumOfElements{}, array), Sum(sum));
    return sum;
  };
  double half[2];

  for (int h = 0; h < 2; ++h) {
    const ResidentRows rows{h * 1024, (h + 1) * 1024};
    const auto slice = create_slice<Vector<double, D>>("slice", x.extents(), rows);
    deep_copy_rows(slice, x, rows);
    half[h] = sum_of_rows(slice, rows.begin, rows.end);
  }

  EXPECT_TRUE(same_bits(half[0] + half[1], sum_of_rows(x, 0, n)));
}

}  // namespace
