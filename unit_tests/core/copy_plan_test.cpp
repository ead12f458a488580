// Plans of named copies: which kind, how many pieces, and that offsets beyond 2^32 bytes are exact.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <strata/core/copy_plan.hpp>
#include <strata/core/error.hpp>

namespace {

using namespace strata;
using namespace strata::detail;

LayoutDescriptor strided(std::vector<index_t> extents, std::vector<index_t> strides) {
  LayoutDescriptor layout;
  layout.rank = static_cast<int>(extents.size());
  for (int r = 0; r < layout.rank; ++r) {
    layout.extent[r] = extents[static_cast<std::size_t>(r)];
    layout.stride[r] = strides[static_cast<std::size_t>(r)];
  }
  return layout;
}

// The layout of a box of `extents` inside an array of `whole` extents, in row-major order.
LayoutDescriptor right(const std::vector<index_t>& extents, const std::vector<index_t>& whole) {
  std::vector<index_t> strides(whole.size(), 1);
  for (std::size_t r = whole.size(); r-- > 1;) strides[r - 1] = strides[r] * whole[r];
  return strided(extents, strides);
}
LayoutDescriptor right(const std::vector<index_t>& extents) { return right(extents, extents); }

LayoutDescriptor left(const std::vector<index_t>& extents, const std::vector<index_t>& whole) {
  std::vector<index_t> strides(whole.size(), 1);
  for (std::size_t r = 1; r < whole.size(); ++r) strides[r] = strides[r - 1] * whole[r - 1];
  return strided(extents, strides);
}
LayoutDescriptor left(const std::vector<index_t>& extents) { return left(extents, extents); }

// Rows [begin, begin + rows) of an array of `columns` columns in tiles of 2^log2 lanes.
LayoutDescriptor tiled(index_t rows, index_t columns, int log2, index_t begin = 0) {
  LayoutDescriptor layout = strided({rows, columns}, {1, index_t{1} << log2});
  layout.tile_log2 = log2;
  layout.tile_stride = columns << log2;
  layout.phase = begin;
  return layout;
}

index_t total_bytes(const CopyPieces& pieces) {
  index_t total = 0;
  for (const CopyPiece& piece : pieces) total += bytes_of(piece);
  return total;
}

TEST(CopyPlan, ArraysOfTheSameOrderAreOneContiguousPiece) {
  for (const auto& layout : {right({5, 7, 11}), left({5, 7, 11}), strided({5, 7, 11}, {7, 1, 35})}) {
    const auto pieces = plan_copy(layout, layout, 8);

    ASSERT_EQ(pieces.size(), 1u);
    EXPECT_EQ(pieces[0].kind, CopyKind::Contiguous);
    EXPECT_EQ(pieces[0].run_bytes, 5 * 7 * 11 * 8);
  }
}

TEST(CopyPlan, RankZeroIsOneElement) {
  LayoutDescriptor dst, src;
  dst.shift = 3;
  src.shift = -2;

  const auto pieces = plan_copy(dst, src, 24);

  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].kind, CopyKind::Contiguous);
  EXPECT_EQ(pieces[0].run_bytes, 24);
  EXPECT_EQ(pieces[0].dst_offset, 72);
  EXPECT_EQ(pieces[0].src_offset, -48);
}

TEST(CopyPlan, AnEmptyArrayHasNoPiecesEvenWhereItsOtherExtentsOverflow) {
  const index_t huge = index_t{1} << 40;

  EXPECT_TRUE(plan_copy(right({4, 0}), left({4, 0}), 8).empty());
  EXPECT_TRUE(plan_fill(strided({huge, huge, 0}, {0, 0, 0}), 8).empty());
}

TEST(CopyPlan, WholeRowsOfARightArrayAreOneContiguousPiece) {
  LayoutDescriptor rows = right({3, 7}, {100, 7});
  rows.shift = 40 * 7;

  const auto pieces = plan_copy(right({3, 7}), rows, 4);

  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].kind, CopyKind::Contiguous);
  EXPECT_EQ(pieces[0].run_bytes, 3 * 7 * 4);
  EXPECT_EQ(pieces[0].src_offset, 40 * 7 * 4);
}

TEST(CopyPlan, ASubBoxOfRankTwoIsOnePitchedPiece) {
  const auto pieces = plan_copy(right({3, 5}), right({3, 5}, {10, 20}), 8);

  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].kind, CopyKind::Pitched2d);
  EXPECT_EQ(pieces[0].run_bytes, 5 * 8);
  EXPECT_EQ(pieces[0].extent[0], 3);
  EXPECT_EQ(pieces[0].dst_stride[0], 5 * 8);
  EXPECT_EQ(pieces[0].src_stride[0], 20 * 8);
}

TEST(CopyPlan, ASubBoxOfRankThreeIsOnePitchedPieceInEitherOrder) {
  const auto from_right = plan_copy(right({3, 4, 5}), right({3, 4, 5}, {10, 20, 30}), 8);
  const auto from_left = plan_copy(left({5, 4, 3}, {6, 6, 6}), left({5, 4, 3}, {30, 20, 10}), 8);

  for (const auto& pieces : {from_right, from_left}) {
    ASSERT_EQ(pieces.size(), 1u);
    EXPECT_EQ(pieces[0].kind, CopyKind::Pitched3d);
    EXPECT_EQ(pieces[0].run_bytes, 5 * 8);
    EXPECT_EQ(pieces[0].src_stride[0], 600 * 8);
    EXPECT_EQ(pieces[0].src_stride[1], 30 * 8);
  }
}

TEST(CopyPlan, APlanePitchThatRowsDoNotDivideIsNotPitched) {
  const auto pieces = plan_copy(right({3, 4, 5}), strided({3, 4, 5}, {603, 30, 1}), 8);

  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].kind, CopyKind::Strided);
  EXPECT_EQ(pieces[0].run_bytes, 5 * 8);
}

TEST(CopyPlan, ASubBoxThatSpansTheInnerIndicesFusesThem) {
  const auto pieces = plan_copy(right({3, 4, 30}), right({3, 4, 30}, {10, 20, 30}), 8);

  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].kind, CopyKind::Pitched2d);
  EXPECT_EQ(pieces[0].run_bytes, 4 * 30 * 8);
}

TEST(CopyPlan, AColumnIsStrided) {
  const auto pieces = plan_copy(right({9}), strided({9}, {17}), 8);

  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].kind, CopyKind::Strided);
  EXPECT_EQ(pieces[0].run_bytes, 8);
}

TEST(CopyPlan, OppositeOrdersAreOneTransposeWithTheDestinationInnermost) {
  const auto pieces = plan_copy(right({6, 9}), left({6, 9}), 8);

  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].kind, CopyKind::Transpose);
  EXPECT_EQ(pieces[0].rank, 2);
  EXPECT_EQ(pieces[0].dst_stride[1], 8);
  EXPECT_EQ(pieces[0].src_stride[1], 6 * 8);
}

TEST(CopyPlan, UnitExtentsDoNotHideARun) {
  const auto pieces = plan_copy(right({1, 8, 1}), strided({1, 8, 1}, {3, 1, -77}), 2);

  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].kind, CopyKind::Contiguous);
}

TEST(CopyPlan, TwoDescendingSidesAreOneContiguousPieceFromTheirLowestAddress) {
  LayoutDescriptor reversed = strided({10}, {-1});
  reversed.shift = 9;

  const auto pieces = plan_copy(reversed, reversed, 4);

  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].kind, CopyKind::Contiguous);
  EXPECT_EQ(pieces[0].dst_offset, 0);
  EXPECT_EQ(pieces[0].src_offset, 0);
}

TEST(CopyPlan, WholeTilesAlikeOnBothSidesAreOneContiguousPiece) {
  const auto pieces = plan_copy(tiled(64, 5, 3), tiled(64, 5, 3), 8);

  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].kind, CopyKind::Contiguous);
  EXPECT_EQ(pieces[0].run_bytes, 64 * 5 * 8);
}

TEST(CopyPlan, RowsThatCutTilesAreHeadBodyAndTail) {
  const auto pieces = plan_copy(tiled(3 + 32 + 6, 5, 3, 5), tiled(3 + 32 + 6, 5, 3, 13), 8);

  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0].kind, CopyKind::Pitched2d);
  EXPECT_EQ(pieces[0].run_bytes, 3 * 8);
  EXPECT_EQ(pieces[1].kind, CopyKind::Contiguous);
  EXPECT_EQ(pieces[1].run_bytes, 32 * 5 * 8);
  EXPECT_EQ(pieces[2].kind, CopyKind::Pitched2d);
  EXPECT_EQ(pieces[2].run_bytes, 6 * 8);
}

TEST(CopyPlan, ATiledVectorIsContiguousBecauseItsTilesFollowEachOther) {
  const auto pieces = plan_copy(tiled(41, 1, 3, 5), tiled(41, 1, 4, 2), 8);

  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].kind, CopyKind::Contiguous);
}

TEST(CopyPlan, RowsInsideOneTileAreOnePiece) {
  EXPECT_EQ(plan_copy(tiled(6, 5, 3, 1), right({6, 5}), 8).size(), 1u);
}

TEST(CopyPlan, TiledToUntiledIsOnePieceForWholeTilesAndThreeOtherwise) {
  EXPECT_EQ(plan_copy(tiled(64, 5, 3), right({64, 5}), 8).size(), 1u);
  EXPECT_EQ(plan_copy(left({64, 5}), tiled(64, 5, 3), 8).size(), 1u);
  EXPECT_EQ(plan_copy(right({41, 5}), tiled(41, 5, 3, 5), 8).size(), 3u);
}

TEST(CopyPlan, TilesOfTwoWidthsThatLineUpAreTileSubTileAndLane) {
  const auto pieces = plan_copy(tiled(64, 5, 4), tiled(64, 5, 2), 8);

  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].run_bytes, 4 * 8);
  EXPECT_EQ(pieces[0].rank, 3);
}

// The worst number of pieces over all phases and lengths, for tiles of 2^dst and 2^src lanes.
std::size_t most_pieces(int dst, int src, bool line_up) {
  std::size_t most = 0;
  const index_t narrow = index_t{1} << std::min(dst, src);
  for (index_t rows = 1; rows <= 80; ++rows)
    for (index_t i = 0; i < 16; ++i)
      for (index_t j = 0; j < 16; ++j)
        if (!line_up || (i - j) % narrow == 0)
          most = std::max(most, plan_copy(tiled(rows, 3, dst, i), tiled(rows, 3, src, j), 8).size());
  return most;
}

TEST(CopyPlan, TheNumberOfPiecesIsBoundedByTheLayoutsAlone) {
  EXPECT_EQ(most_pieces(3, 3, true), 3u);
  EXPECT_EQ(most_pieces(4, 2, true), 5u);
  EXPECT_LE(most_pieces(3, 3, false), 9u);
  EXPECT_LE(most_pieces(2, 4, false), 9u);
}

TEST(CopyPlan, OffsetsBeyondTwoToThe32AreExact) {
  const index_t n = 5'000'000'000;
  LayoutDescriptor far = strided({n, 3}, {-4, 1});
  far.shift = 4 * (n - 1);

  const auto one_run = plan_copy(right({n}), right({n}), 1);
  const auto strided_run = plan_copy(right({n, 3}), far, 24);

  ASSERT_EQ(one_run.size(), 1u);
  EXPECT_EQ(one_run[0].run_bytes, n);
  ASSERT_EQ(strided_run.size(), 1u);
  EXPECT_EQ(strided_run[0].extent[0], n);
  EXPECT_EQ(strided_run[0].src_offset, 4 * (n - 1) * 24);
  EXPECT_EQ(strided_run[0].src_stride[0], -96);
  EXPECT_EQ(total_bytes(strided_run), n * 72);
}

TEST(CopyPlan, AFillHasTheDestinationsPiecesAndNoSource) {
  const auto dense = plan_fill(left({6, 9}), 8);
  const auto box = plan_fill(right({3, 5}, {10, 20}), 8);

  ASSERT_EQ(dense.size(), 1u);
  EXPECT_EQ(dense[0].kind, CopyKind::Contiguous);
  ASSERT_EQ(box.size(), 1u);
  EXPECT_EQ(box[0].kind, CopyKind::Pitched2d);
  EXPECT_EQ(box[0].src_stride[0], 0);
}

TEST(CopyPlan, AUserSuppliedLayoutOnEitherSideIsElementWise) {
  LayoutDescriptor user = right({6, 9});
  user.offset = [](const void*, const index_t* i) { return i[0] * 9 + (i[1] ^ 1); };

  for (const auto& pieces :
       {plan_copy(user, right({6, 9}), 8), plan_copy(right({6, 9}), user, 8), plan_fill(user, 8)}) {
    ASSERT_EQ(pieces.size(), 1u);
    EXPECT_EQ(pieces[0].kind, CopyKind::ElementWise);
  }
}

TEST(CopyPlan, UnequalShapesAreRefusedWithBothShapes) {
  try {
    plan_copy(right({6, 9}), right({6, 8}), 8);
    FAIL() << "no exception";
  } catch (const ShapeMismatch& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("(6, 9)"), std::string::npos) << text;
    EXPECT_NE(text.find("(6, 8)"), std::string::npos) << text;
  }
  EXPECT_THROW(plan_copy(right({6}), right({6, 1}), 8), ShapeMismatch);
}

TEST(CopyPlanOverlap, DisjointBoxesOfOneArrayDoNotOverlapThoughTheyInterleave) {
  const index_t row = 20 * 8, plane = 30 * row;
  const auto column = plan_copy(strided({30}, {20}), strided({30}, {20}), 8);
  const auto box = plan_copy(right({10, 30, 5}, {10, 30, 20}), right({10, 30, 5}, {10, 30, 20}), 8);
  const auto rows = plan_copy(right({10, 4, 20}, {10, 30, 20}), right({10, 4, 20}, {10, 30, 20}), 8);

  EXPECT_FALSE(sides_overlap(column, 8));
  EXPECT_FALSE(sides_overlap(box, 5 * 8));
  EXPECT_TRUE(sides_overlap(box, 4 * 8));
  EXPECT_TRUE(sides_overlap(box, row - 4 * 8));
  EXPECT_FALSE(sides_overlap(rows, 4 * row));
  EXPECT_FALSE(sides_overlap(rows, -4 * row));
  EXPECT_TRUE(sides_overlap(rows, 3 * row));
  EXPECT_TRUE(sides_overlap(rows, plane));
  EXPECT_FALSE(sides_overlap(rows, 10 * plane));
}

}  // namespace
