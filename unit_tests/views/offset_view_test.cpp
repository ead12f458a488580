// Views whose index ranges begin anywhere: ghost cells below 0, on every device and layout.
// SPDX-License-Identifier: Apache-2.0
#include "test_devices.hpp"

namespace {

using strata::create;
using strata::index_t;
using strata::RankExtents;
using strata::View;

template <class D, class L>
using Ghosted = View<int, D, RankExtents<2>, strata::LayoutOffset<L>>;

// n0 x n1 cells with `ghosts` layers around.
template <class V>
V ghosted(index_t n0, index_t n1, index_t ghosts) {
  const index_t begins[] = {-ghosts, -ghosts};
  return create<V>("cells",
                   typename V::mapping_type(RankExtents<2>(n0 + 2 * ghosts, n1 + 2 * ghosts), begins));
}

template <class D>
class OffsetView : public ::testing::Test {};
TYPED_TEST_SUITE(OffsetView, strata_tests::TestDevices, strata_tests::DeviceName);

struct Fill {
  STRATA_FUNCTION void operator()(index_t i, auto x) const {
    for (index_t j = x.begin(1); j < x.end(1); ++j) x(i, j) = static_cast<int>(100 * i + j);
  }
};
struct Laplace {
  STRATA_FUNCTION void operator()(index_t i, auto x, auto y) const {
    for (index_t j = 0; j < y.extent(1); ++j)
      y(i, j) = x(i - 1, j) + x(i + 1, j) + x(i, j - 1) + x(i, j + 1) - 4 * x(i, j) + static_cast<int>(i);
  }
};

template <class D, class L>
void expect_stencil_works() {
  const auto x = ghosted<Ghosted<D, L>>(13, 6, 1);
  const auto y = create<View<int, D, RankExtents<2>, L>>("y", 13, 6);

  strata::parallel_for(strata::range(x.begin(0), x.end(0)), strata::with(Fill{}, x));
  strata::parallel_for(13, strata::with(Laplace{}, x, y));

  const auto host = strata_tests::on_host(y);
  for (int i = 0; i < 13; ++i)
    for (int j = 0; j < 6; ++j) ASSERT_EQ(host(i, j), i) << i << " " << j;
}

TYPED_TEST(OffsetView, AStencilReadsItsGhostCells) {
  expect_stencil_works<TypeParam, strata::LayoutRight>();
  expect_stencil_works<TypeParam, strata::LayoutLeft>();
  expect_stencil_works<TypeParam, strata::LayoutTiled<4>>();
}

template <class D, class L>
void expect_copies() {
  const auto x = ghosted<Ghosted<D, L>>(7, 5, 2);
  strata::parallel_for(strata::range(-2, 9), strata::with(Fill{}, x));

  const auto mirror = strata::create_mirror_and_copy(x);
  const auto plain = create<View<int, strata::Serial, RankExtents<2>, strata::LayoutRight>>("plain", 11, 9);
  strata::deep_copy(plain, x);

  EXPECT_EQ(mirror.begin(0), -2);
  EXPECT_EQ(mirror.end(1), 7);
  for (int i = -2; i < 9; ++i)
    for (int j = -2; j < 7; ++j) {
      ASSERT_EQ(mirror(i, j), 100 * i + j);
      ASSERT_EQ(plain(i + 2, j + 2), 100 * i + j);
    }
}

TYPED_TEST(OffsetView, CopiesAndMirrorsKeepTheIndexRange) {
  expect_copies<TypeParam, strata::LayoutRight>();
  expect_copies<TypeParam, strata::LayoutLeft>();
  expect_copies<TypeParam, strata::LayoutTiled<4>>();
}

}  // namespace
