// Random extents of every rank: each mapping is injective into its span, agrees with its description, gives
// lane indices the offsets of the integers they stand for, and its slices are the whole, shifted.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <strata/core/layout_left.hpp>
#include <strata/core/layout_offset.hpp>
#include <strata/core/layout_right.hpp>
#include <strata/core/layout_strided.hpp>
#include <strata/core/layout_tiled.hpp>

#include "core/random.hpp"

namespace {

using strata::index_t;
using strata::LaneIndex;
using strata::RankExtents;
using strata::ResidentRows;
using strata_tests::Random;

constexpr int rounds = 40;

template <int R>
RankExtents<R> random_extents(Random& random) {
  // Small inner extents keep the number of points low; the first crosses several tiles.
  index_t n[R + 1] = {};
  for (int r = 0; r < R; ++r) n[r] = r == 0 ? random(1, 37) : random(1, R > 5 ? 2 : 4);
  if (R > 0 && random(0, 19) == 0) n[random(0, R - 1)] = 0;
  return RankExtents<R>(n, R);
}

// Multi-indices and extents of any rank, so that the checks below are compiled once: mappings only say
// offsets.
using Index = std::array<index_t, 9>;

// Every multi-index of the extents, counted from 0.
std::vector<Index> indices_of(const index_t* extent, int rank) {
  std::vector<Index> all;
  for (int r = 0; r < rank; ++r)
    if (extent[r] == 0) return all;
  Index index{};
  const auto at = [&](int r) -> index_t& { return index[static_cast<std::size_t>(r)]; };
  while (true) {
    all.push_back(index);
    int r = rank - 1;
    for (; r >= 0 && ++at(r) == extent[r]; --r) at(r) = 0;
    if (r < 0) return all;
  }
}
template <class E>
std::vector<Index> indices_of(const E& extents) {
  index_t extent[E::max_rank_value + 1] = {};
  for (int r = 0; r < extents.rank(); ++r) extent[r] = extents.extent(r);
  return indices_of(extent, extents.rank());
}

template <class M>
index_t offset(const M& m, const Index& i) {
  return [&]<std::size_t... R>(std::index_sequence<R...>) { return static_cast<index_t>(m(i[R]...)); }
  (std::make_index_sequence<M::extents_type::max_rank_value>());
}

// With the first index as a lane index.
template <int Lanes, class M>
index_t lane_offset(const M& m, const Index& i) {
  const index_t block = i[0] >> strata::detail::log2_of(Lanes);
  const LaneIndex<Lanes> first{block, static_cast<int>(i[0] - block * Lanes)};
  return [&]<std::size_t... R>(std::index_sequence<R...>) {
    return static_cast<index_t>(m(first, i[R + 1]...));
  }
  (std::make_index_sequence<M::extents_type::max_rank_value - 1>());
}

// What a mapping says of itself, and the offset of each of its indices.
struct Offsets {
  std::vector<Index> index;
  std::vector<index_t> at;
  strata::LayoutDescriptor described;
  index_t span;
  bool is_exhaustive;
};
template <class M>
Offsets offsets_of(const M& m) {
  Offsets all{indices_of(m.extents()), {}, m.describe(), m.required_span_size(), m.is_exhaustive()};
  for (const Index& i : all.index) all.at.push_back(offset(m, i));
  return all;
}

void expect_injective_and_described(const Offsets& m) {
  const std::set<index_t> seen(m.at.begin(), m.at.end());
  const index_t count = static_cast<index_t>(m.at.size());
  for (std::size_t k = 0; k < m.at.size(); ++k)
    ASSERT_EQ(m.at[k], strata::detail::offset_of(m.described, m.index[k].data()));
  ASSERT_EQ(static_cast<index_t>(seen.size()), count);
  ASSERT_EQ(count, strata::detail::element_count(m.described));
  ASSERT_EQ(m.described.span, m.span);
  if (count == 0) {
    ASSERT_EQ(m.span, 0);
    return;
  }
  ASSERT_GE(*seen.begin(), 0);
  ASSERT_LT(*seen.rbegin(), m.span);
  if (m.is_exhaustive) {
    ASSERT_EQ(m.span, count);
  }
}

template <class M>
void expect_lanes_agree(const M& m) {
  if constexpr (M::extents_type::max_rank_value > 0) {
    std::vector<index_t> of_lanes, of_integers;
    for (const Index& i : indices_of(m.extents()))
      for (const index_t at :
           {lane_offset<1>(m, i), lane_offset<2>(m, i), lane_offset<8>(m, i), lane_offset<32>(m, i)}) {
        of_lanes.push_back(at);
        of_integers.push_back(offset(m, i));
      }
    ASSERT_EQ(of_lanes, of_integers);
  }
}

// `rows` of the whole, in a slice that spans `span`; where their offsets are those of the whole but for a
// shift, it is `shift`, the slice's less the whole's.
void expect_rows_of_the_whole(const Offsets& whole, const Offsets& slice, ResidentRows rows, index_t span,
                              std::optional<index_t> shift) {
  ASSERT_EQ(slice.index, whole.index);
  std::set<index_t> seen;
  index_t count = 0;
  for (std::size_t k = 0; k < slice.at.size(); ++k) {
    const Index& i = slice.index[k];
    if (i[0] < rows.begin || i[0] >= rows.end) continue;
    const index_t at = slice.at[k];
    ASSERT_GE(at, 0);
    ASSERT_LT(at, span);
    ASSERT_EQ(at, strata::detail::offset_of(slice.described, i.data()));
    seen.insert(at);
    ++count;
    if (shift) {
      ASSERT_EQ(at - *shift, whole.at[k]);
    }
  }
  ASSERT_EQ(static_cast<index_t>(seen.size()), count);
}

template <class M>
void expect_slices_are_the_whole_shifted(const M& whole, Random& random) {
  if constexpr (M::extents_type::max_rank_value > 0) {
    const index_t n = whole.extents().extent(0);
    if (strata::detail::element_count(whole.describe()) == 0) return;
    const index_t begin = random(0, n - 1), end = random(begin + 1, n);
    const M slice(whole.extents(), ResidentRows{begin, end});
    // Left has another column stride; all others differ from the whole by the shift only.
    std::optional<index_t> shift = slice.shift() - whole.shift();
    if (std::is_same_v<M, strata::detail::LeftMapping<typename M::extents_type, typename M::index_type>>)
      shift.reset();
    expect_rows_of_the_whole(offsets_of(whole), offsets_of(slice), {begin, end},
                             slice.span_size({begin, end}), shift);
  }
}

template <class L>
class LayoutProperty : public ::testing::Test {};
using Layouts =
    ::testing::Types<strata::LayoutRight, strata::LayoutLeft, strata::LayoutTiled<1>, strata::LayoutTiled<8>,
                     strata::Index32<strata::LayoutLeft>, strata::Index32<strata::LayoutTiled<8>>>;
TYPED_TEST_SUITE(LayoutProperty, Layouts);

template <class L, class Check>
void for_all_ranks(Random& random, Check&& check) {
  const auto one_rank = [&]<int R>(std::integral_constant<int, R>) {
    for (int round = 0; round < rounds; ++round) {
      const auto extents = random_extents<R>(random);
      check(typename L::template mapping<RankExtents<R>>(extents));
      if (::testing::Test::HasFatalFailure()) {
        for (int r = 0; r < R; ++r) ADD_FAILURE() << "extent " << r << " is " << extents.extent(r);
        return;
      }
    }
  };
  [&]<int... R>(std::integer_sequence<int, R...>) { (one_rank(std::integral_constant<int, R>()), ...); }
  (std::make_integer_sequence<int, 9>());
}

TYPED_TEST(LayoutProperty, OffsetsAreDistinctInsideTheSpanAndAsDescribed) {
  Random random;
  for_all_ranks<TypeParam>(random, [](const auto& m) { expect_injective_and_described(offsets_of(m)); });
}

TYPED_TEST(LayoutProperty, LaneIndicesGiveTheOffsetsOfTheIntegersTheyStandFor) {
  Random random;
  for_all_ranks<TypeParam>(random, [](const auto& m) { expect_lanes_agree(m); });
}

TYPED_TEST(LayoutProperty, SlicesAnswerGlobalIndicesInsideTheirOwnSpan) {
  Random random;
  for_all_ranks<TypeParam>(random, [&](const auto& m) { expect_slices_are_the_whole_shifted(m, random); });
}

TYPED_TEST(LayoutProperty, OffsetRangesAreTheSameArrayCountedFromElsewhere) {
  using L = strata::LayoutOffset<TypeParam>;
  Random random;
  for (int round = 0; round < rounds; ++round) {
    const auto extents = random_extents<3>(random);
    const index_t begins[] = {random(-50, 50), random(-50, 50), random(-50, 50)};
    const typename TypeParam::template mapping<RankExtents<3>> plain(extents);
    const typename L::template mapping<RankExtents<3>> moved(extents, begins);

    ASSERT_EQ(moved.required_span_size(), plain.required_span_size());
    for (const Index& i : indices_of(extents)) {
      ASSERT_EQ(moved(i[0] + begins[0], i[1] + begins[1], i[2] + begins[2]), plain(i[0], i[1], i[2]));
      const index_t first = i[0] + begins[0], block = first >> 3;
      const LaneIndex<8> lane{block, static_cast<int>(first - 8 * block)};  // negative blocks, too
      ASSERT_EQ(moved(lane, i[1] + begins[1], i[2] + begins[2]), plain(i[0], i[1], i[2]));
    }
  }
}

TEST(LayoutStridedProperty, PermutedAndPaddedStridesAreInjectiveAndAsDescribed) {
  Random random;
  for (int round = 0; round < 200; ++round) {
    const auto extents = random_extents<4>(random);
    int order[] = {0, 1, 2, 3};
    for (int r = 3; r > 0; --r) std::swap(order[r], order[random(0, r)]);
    index_t strides[4], next = random(1, 3), shift = 0;
    for (int r : order) {
      strides[r] = next;
      next *= extents.extent(r) + random(extents.extent(r) == 0 ? 1 : 0, 2);
      if (random(0, 1) == 1) {
        shift += (extents.extent(r) > 0 ? extents.extent(r) - 1 : 0) * strides[r];
        strides[r] = -strides[r];
      }
    }

    expect_injective_and_described(
        offsets_of(strata::LayoutStrided::mapping<RankExtents<4>>(extents, strides, shift)));
    if (HasFatalFailure()) return;
  }
}

TEST(LayoutTiledPartProperty, APartIsTheRowsOfTheWholeFromAnyLane) {
  Random random;
  for (int round = 0; round < 100; ++round) {
    const auto extents = random_extents<3>(random);
    const strata::LayoutTiled<8>::mapping<RankExtents<3>> whole(extents);
    if (strata::detail::element_count(whole.describe()) == 0) continue;
    const index_t begin = random(0, extents.extent(0) - 1), end = random(begin + 1, extents.extent(0));
    const auto d = whole.describe();
    const index_t phase = begin & 7, base = whole(begin, 0, 0);
    using Part = strata::LayoutTiledPart<8>::mapping<RankExtents<3>>;
    const Part part(RankExtents<3>(end - begin, extents.extent(1), extents.extent(2)), d.tile_stride,
                    d.stride, phase, -phase);

    expect_injective_and_described(offsets_of(part));
    for (const Index& i : indices_of(part.extents()))
      ASSERT_EQ(part(i[0], i[1], i[2]) + base, whole(i[0] + begin, i[1], i[2]));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
