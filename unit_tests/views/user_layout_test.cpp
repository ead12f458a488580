// A layout of the user's own, through the concept alone: Morton order, without strides.
// SPDX-License-Identifier: Apache-2.0
#include "test_devices.hpp"

namespace user {

using strata::index_t;

// Two-dimensional arrays in Morton (Z) order, padded to a square of a power of two.
struct LayoutMorton {
  template <class E>
  class mapping {
   public:
    using extents_type = E;
    using index_type = index_t;
    constexpr mapping() = default;
    constexpr explicit mapping(const E& extents) : extents_(extents) {
      while (side_ < extents.extent(0) || side_ < extents.extent(1)) side_ *= 2;
    }
    STRATA_FUNCTION constexpr const E& extents() const { return extents_; }
    constexpr index_t required_span_size() const { return side_ * side_; }
    STRATA_FUNCTION constexpr index_t operator()(index_t i, index_t j) const {
      return 2 * spread(i) + spread(j);
    }

   private:
    STRATA_FUNCTION static constexpr index_t spread(index_t i) {
      index_t result = 0;
      for (int bit = 0; bit < 31; ++bit) result |= (i >> bit & 1) << (2 * bit);
      return result;
    }
    E extents_{};
    index_t side_ = 1;
  };
};

}  // namespace user

namespace {

using strata::create;
using strata::index_t;
using strata::RankExtents;
using strata::View;
using user::LayoutMorton;

static_assert(strata::Layout<LayoutMorton>);
static_assert(!strata::SliceableMapping<LayoutMorton::mapping<RankExtents<2>>>);

template <class D>
using Morton = View<int, D, RankExtents<2>, LayoutMorton>;
template <class D, class L>
using In = View<int, D, RankExtents<2>, L>;

template <class D>
class UserLayout : public ::testing::Test {};
TYPED_TEST_SUITE(UserLayout, strata_tests::TestDevices, strata_tests::DeviceName);

struct Fill {
  STRATA_FUNCTION void operator()(index_t i, auto x) const {
    for (index_t j = 0; j < x.extent(1); ++j) x(i, j) = static_cast<int>(100 * i + j);
  }
};

template <class H>
int count_wrong(const H& x) {
  int wrong = 0;
  for (index_t i = 0; i < x.extent(0); ++i)
    for (index_t j = 0; j < x.extent(1); ++j) wrong += x(i, j) != 100 * i + j;
  return wrong;
}

TYPED_TEST(UserLayout, IsCreatedZeroedAndUsedInKernels) {
  const auto x = create<Morton<TypeParam>>("x", 5, 7);
  const auto before = strata::create_mirror_and_copy(x);
  EXPECT_EQ(before(4, 6), 0);

  strata::parallel_for(5, strata::with(Fill{}, x));

  EXPECT_EQ(count_wrong(strata_tests::on_host(x)), 0);
  EXPECT_EQ(x.mapping()(1, 1), 3);
  EXPECT_EQ(x.mapping().required_span_size(), 64);
}

TYPED_TEST(UserLayout, IsCopiedToAndFromEveryOtherLayout) {
  const auto x = create<Morton<TypeParam>>("x", 5, 7), y = create<Morton<TypeParam>>("y", 5, 7);
  const auto right = create<In<TypeParam, strata::LayoutRight>>("right", 5, 7);
  const auto tiled = create<In<TypeParam, strata::LayoutTiled<4>>>("tiled", 5, 7);
  const auto left = create<In<strata::Serial, strata::LayoutLeft>>("left", 5, 7);
  strata::parallel_for(5, strata::with(Fill{}, right));

  strata::deep_copy(x, right);
  strata::deep_copy(tiled, x);
  strata::deep_copy(y, tiled);
  strata::deep_copy(left, y);

  EXPECT_EQ(count_wrong(left), 0);
}

TYPED_TEST(UserLayout, IsFilledElementByElement) {
  const auto x = create<Morton<TypeParam>>("x", 5, 7);

  strata::deep_copy(x, 4);

  const auto host = strata_tests::on_host(x);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 7; ++j) EXPECT_EQ(host(i, j), 4);
}

TYPED_TEST(UserLayout, TheMappingMayGoBeforeAQueuedCopyRuns) {
  const strata::Queue<TypeParam> queue;
  const auto host = create<In<strata::Serial, strata::LayoutRight>>("host", 5, 7);
  strata::parallel_for(5, strata::with(Fill{}, host));
  const auto target = create<Morton<TypeParam>>("target", 5, 7);

  {
    const Morton<TypeParam> short_lived = target;
    strata::deep_copy(queue, short_lived, host);
  }
  queue.wait();

  EXPECT_EQ(count_wrong(strata_tests::on_host(target)), 0);
}

}  // namespace
