// Layouts by hand-computed examples: offsets, strides, spans, shifts, and what is refused.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <strata/core/error.hpp>
#include <strata/core/layout_left.hpp>
#include <strata/core/layout_offset.hpp>
#include <strata/core/layout_right.hpp>
#include <strata/core/layout_strided.hpp>
#include <strata/core/layout_tiled.hpp>

namespace {

using strata::dynamic;
using strata::ExtentError;
using strata::Extents;
using strata::Index32;
using strata::index_t;
using strata::LaneIndex;
using strata::LayoutLeft;
using strata::LayoutOffset;
using strata::LayoutRight;
using strata::LayoutStrided;
using strata::LayoutTiled;
using strata::LayoutTiledPart;
using strata::RankExtents;
using strata::ResidentRows;

template <class L, int R>
using Map = typename L::template mapping<RankExtents<R>>;

static_assert(strata::Layout<LayoutRight> && strata::Layout<LayoutLeft> && strata::Layout<LayoutStrided>);
static_assert(strata::Layout<LayoutTiled<4>> && strata::Layout<LayoutTiledPart<4>>);
static_assert(strata::Layout<Index32<LayoutTiled<8>>> && strata::Layout<LayoutOffset<LayoutRight>>);
static_assert(!strata::Layout<int>);

TEST(LayoutRight, TheRightMostIndexIsFastest) {
  const Map<LayoutRight, 3> m(RankExtents<3>(4, 3, 5));

  EXPECT_EQ(m(0, 0, 0), 0);
  EXPECT_EQ(m(0, 0, 1), 1);
  EXPECT_EQ(m(0, 1, 0), 5);
  EXPECT_EQ(m(1, 0, 0), 15);
  EXPECT_EQ(m(3, 2, 4), 59);
  EXPECT_EQ(m.required_span_size(), 60);
  EXPECT_TRUE(m.is_exhaustive());
}

TEST(LayoutRight, PaddedRowsAreTheStrideApart) {
  const Map<LayoutRight, 2> m(RankExtents<2>(4, 3), ResidentRows{0, 4}, 8);

  EXPECT_EQ(m(2, 1), 17);
  EXPECT_EQ(m.stride(0), 8);
  EXPECT_EQ(m.required_span_size(), 3 * 8 + 3);
  EXPECT_FALSE(m.is_exhaustive());
}

TEST(LayoutLeft, TheLeftMostIndexIsFastest) {
  const Map<LayoutLeft, 3> m(RankExtents<3>(4, 3, 5));

  EXPECT_EQ(m(1, 0, 0), 1);
  EXPECT_EQ(m(0, 1, 0), 4);
  EXPECT_EQ(m(0, 0, 1), 12);
  EXPECT_EQ(m(3, 2, 4), 59);
  EXPECT_EQ(m.required_span_size(), 60);
}

TEST(LayoutLeft, TheLeadingDimensionOfBlasIsTheLeadingStride) {
  const Map<LayoutLeft, 2> m(RankExtents<2>(4, 3), ResidentRows{0, 4}, 10);

  EXPECT_EQ(m(2, 1), 12);
  EXPECT_EQ(m.leading_stride(), 10);
  EXPECT_EQ(m.required_span_size(), 2 * 10 + 4);
}

TEST(LayoutTiled, LanesAreInnermostAndStorageIsWholeTiles) {
  const Map<LayoutTiled<4>, 2> m(RankExtents<2>(10, 3));

  EXPECT_EQ(m(1, 0), 1);
  EXPECT_EQ(m(0, 1), 4);
  EXPECT_EQ(m(4, 0), 12);
  EXPECT_EQ(m(9, 2), 24 + 8 + 1);
  EXPECT_EQ(m.required_span_size(), 3 * 12);
  EXPECT_FALSE(m.is_exhaustive());
}

TEST(LayoutTiled, ASliceThatBeginsInATileHoldsTheWholeTile) {
  const Map<LayoutTiled<4>, 2> m(RankExtents<2>(100, 3), ResidentRows{10, 17});

  EXPECT_EQ(m.span_size({10, 17}), 3 * 12);  // tiles 2, 3, 4
  EXPECT_EQ(m(10, 0), 2);
  EXPECT_EQ(m(16, 2), 24 + 8);
}

TEST(LayoutStrided, TakesAnyStridesWithNegativeOnes) {
  const index_t strides[] = {-3, 7};
  const Map<LayoutStrided, 2> m(RankExtents<2>(3, 2), strides, 6);

  EXPECT_EQ(m(0, 0), 6);
  EXPECT_EQ(m(2, 0), 0);
  EXPECT_EQ(m(0, 1), 13);
  EXPECT_EQ(m.required_span_size(), 1 + 6 + 7);
}

TEST(LayoutOffset, IndicesBeginAnywhere) {
  const index_t begins[] = {-2, 3};
  const Map<LayoutOffset<LayoutRight>, 2> right(RankExtents<2>(4, 5), begins);
  const Map<LayoutOffset<LayoutTiled<4>>, 2> tiled(RankExtents<2>(6, 5), begins);

  EXPECT_EQ(right(-2, 3), 0);
  EXPECT_EQ(right(1, 7), 19);
  EXPECT_EQ(right.begin(0), -2);
  EXPECT_EQ(right.end(0), 2);
  EXPECT_EQ(right.required_span_size(), 20);
  EXPECT_EQ(tiled(-2, 3), 0);
  EXPECT_EQ(tiled(2, 3), 20);  // the first lane of the second tile
}

TEST(Layouts, RankZeroHasOneElement) {
  EXPECT_EQ((Map<LayoutRight, 0>(RankExtents<0>()).required_span_size()), 1);
  EXPECT_EQ((Map<LayoutLeft, 0>(RankExtents<0>()).required_span_size()), 1);
  EXPECT_EQ((Map<LayoutTiled<8>, 0>(RankExtents<0>()).required_span_size()), 1);
  EXPECT_EQ((Map<LayoutStrided, 0>(RankExtents<0>()).required_span_size()), 1);
  EXPECT_EQ((Map<LayoutTiledPart<8>, 0>(RankExtents<0>()).required_span_size()), 1);
  EXPECT_EQ((Map<LayoutRight, 0>(RankExtents<0>())()), 0);
}

template <class M>
void expect_empty(const M& m) {
  EXPECT_EQ(m.required_span_size(), 0);
}

TEST(Layouts, AnEmptyArrayNeedsNoStorageWhateverItsOtherExtents) {
  const index_t big = index_t{1} << 40;
  for (const auto& e :
       {RankExtents<3>(0, big, big), RankExtents<3>(big, 0, big), RankExtents<3>(big, big, 0)}) {
    expect_empty(Map<LayoutRight, 3>(e));
    expect_empty(Map<LayoutLeft, 3>(e));
    expect_empty(Map<LayoutTiled<8>, 3>(e));
    expect_empty(Map<LayoutStrided, 3>(e));
  }
}

TEST(Layouts, ConvertToStridedWithTheSameOffsets) {
  const Map<LayoutRight, 3> right(RankExtents<3>(4, 3, 5), ResidentRows{1, 4});
  const Map<LayoutLeft, 2> left(RankExtents<2>(4, 3), ResidentRows{0, 4}, 10);

  const Map<LayoutStrided, 3> of_right(right);
  const Map<LayoutStrided, 2> of_left(left);

  EXPECT_EQ(of_right(2, 1, 4), right(2, 1, 4));
  EXPECT_EQ(of_left(3, 2), left(3, 2));
  static_assert(!std::is_constructible_v<Map<LayoutStrided, 2>, Map<LayoutTiled<4>, 2>>);
}

// --- 32-bit offsets

TEST(Index32, OffsetsAre32BitsWide) {
  using M = Map<Index32<LayoutRight>, 2>;
  const M m(RankExtents<2>(4, 5));

  static_assert(std::is_same_v<decltype(m(1, 2)), std::int32_t>);
  EXPECT_EQ(m(3, 4), 19);
}

TEST(Index32, AnArrayOfMoreElementsThanTheyCountIsRefused) {
  const RankExtents<2> fits(46340, 46341), large(65536, 32768);

  EXPECT_NO_THROW((Map<Index32<LayoutRight>, 2>(fits)));
  EXPECT_NO_THROW((Map<Index32<LayoutLeft>, 2>(fits)));
  EXPECT_THROW((Map<Index32<LayoutRight>, 2>(large)), ExtentError);
  EXPECT_THROW((Map<Index32<LayoutLeft>, 2>(large)), ExtentError);
  EXPECT_THROW((Map<Index32<LayoutStrided>, 2>(large)), ExtentError);
  EXPECT_NO_THROW((Map<LayoutRight, 2>(large)));
}

TEST(Index32, ThePaddingOfTilesCounts) {
  const RankExtents<2> padded_too_far(1, index_t{1} << 29);  // 2^32 elements in tiles of 8

  EXPECT_THROW((Map<Index32<LayoutTiled<8>>, 2>(padded_too_far)), ExtentError);
  EXPECT_THROW((Map<Index32<LayoutTiledPart<8>>, 2>(padded_too_far)), ExtentError);
  EXPECT_NO_THROW((Map<LayoutTiled<8>, 2>(padded_too_far)));
}

TEST(Index32, ThePaddingOfRowsAndColumnsAndStridesCounts) {
  const RankExtents<2> e(1 << 10, 1 << 10);
  const index_t strides[] = {1 << 22, 1};

  EXPECT_THROW((Map<Index32<LayoutRight>, 2>(e, ResidentRows{0, 1 << 10}, 1 << 22)), ExtentError);
  EXPECT_THROW((Map<Index32<LayoutLeft>, 2>(e, ResidentRows{0, 1 << 10}, 1 << 22)), ExtentError);
  EXPECT_THROW((Map<Index32<LayoutStrided>, 2>(e, strides)), ExtentError);
  EXPECT_NO_THROW((Map<Index32<LayoutRight>, 2>(e, ResidentRows{0, 1 << 10}, 1 << 20)));
}

TEST(Index32, TheMessageNamesTheIndexTypeAndTheWayOut) {
  try {
    (void)Map<Index32<LayoutRight>, 1>(RankExtents<1>(index_t{1} << 31));
    FAIL() << "not refused";
  } catch (const ExtentError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("2147483648"), std::string::npos) << text;
    EXPECT_NE(text.find("int32"), std::string::npos) << text;
    EXPECT_NE(text.find("64-bit"), std::string::npos) << text;
  }
}

TEST(Layouts, PaddingBeyond64BitsIsRefused) {
  const RankExtents<2> e(1, INT64_MAX / 4);

  EXPECT_THROW((Map<LayoutTiled<8>, 2>(e)), ExtentError);
}

}  // namespace
