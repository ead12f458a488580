// Subviews, element by element: every combination of index, range and `everything` for ranks 1 to 4 on every
// kind of layout; which layout results; subviews of subviews, of offset views and of slices; in kernels.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <type_traits>
#include <utility>

#include "test_devices.hpp"

namespace {

using strata::create;
using strata::dynamic;
using strata::Everything;
using strata::everything;
using strata::Extents;
using strata::index_t;
using strata::MDArray;
using strata::Range;
using strata::range;
using strata::rank;
using strata::RankExtents;
using strata::subview;
using strata::View;

template <class L, int R>
using HostView = View<int, strata::Serial, RankExtents<R>, L>;

// Every element is its position in row-major order.
template <class V, std::size_t... R>
void number(const V& v, std::index_sequence<R...>) {
  constexpr int ranks = sizeof...(R);
  index_t i[] = {(static_cast<void>(R), index_t{0})...};
  for (int n = 0;; ++n) {
    v((i[R] + v.begin(static_cast<int>(R)))...) = n;
    int r = ranks - 1;
    for (; r >= 0 && ++i[r] == v.extent(r); --r) i[r] = 0;
    if (r < 0) return;
  }
}

// Combinations are tested on host arrays: the host's compiler is enough, and nvcc takes a minute for them.
#ifndef __CUDACC__

constexpr index_t shape[] = {11, 4, 3, 3};

template <class A>
index_t first_of(const A& a, index_t begin) {
  if constexpr (std::is_same_v<A, Everything>) return begin;
  else if constexpr (std::is_same_v<A, Range>) return a.first;
  else return a;
}
template <class A>
constexpr bool keeps = std::is_same_v<A, Everything> || std::is_same_v<A, Range>;

// The number of elements of the part, which keeps some dimensions of the whole and begins at `first`, that
// are not the whole's. Addresses, from the descriptions of both: one function for all types.
int wrong_elements(const int* part, const strata::LayoutDescriptor& p, const int* whole,
                   const strata::LayoutDescriptor& w, const bool* keep, const index_t* first) {
  index_t i[9] = {}, at[9] = {};
  int wrong = 0;
  for (index_t n = strata::detail::element_count(p); n > 0; --n) {
    for (int d = 0, k = 0; d < w.rank; ++d) at[d] = first[d] + (keep[d] ? i[k++] : 0);
    wrong += part + strata::detail::offset_of(p, i) != whole + strata::detail::offset_of(w, at);
    for (int d = p.rank - 1; d >= 0 && ++i[d] == p.extent[d]; --d) i[d] = 0;
  }
  return wrong;
}

template <class V, class... A>
void expect_part(const V& whole, const A&... arguments) {
  const auto part = subview(whole, arguments...);
  constexpr int kept = (keeps<A> + ...);
  static_assert(decltype(part)::extents_type::max_rank_value == kept);
  const bool keep[] = {keeps<A>...};
  int r = 0;
  const auto from_zero = [&](const auto& argument) {
    const index_t begin = whole.begin(r++);
    return first_of(argument, begin) - begin;
  };
  const index_t first[] = {from_zero(arguments)...};

  EXPECT_EQ(wrong_elements(part.data(), part.mapping().describe(), whole.data(), whole.mapping().describe(),
                           keep, first),
            0);
}

// All 3^R combinations: appends an index, a range or `everything` until every dimension has its argument.
template <class V, class... A>
void expect_all_parts(const V& whole, const A&... arguments) {
  constexpr int done = sizeof...(A);
  if constexpr (done == V::extents_type::max_rank_value) {
    expect_part(whole, arguments...);
  } else {
    const index_t begin = whole.begin(done), end = whole.end(done);
    expect_all_parts(whole, arguments..., end - 1);
    expect_all_parts(whole, arguments..., range(begin + 1, end - 1));
    expect_all_parts(whole, arguments..., everything);
  }
}

template <class L>
class SubviewCombinations : public ::testing::Test {};
using Layouts =
    ::testing::Types<strata::LayoutRight, strata::LayoutLeft, strata::LayoutTiled<4>, strata::LayoutStrided>;
TYPED_TEST_SUITE(SubviewCombinations, Layouts);

template <class L, int R>
HostView<L, R> numbered() {
  const auto v = create<HostView<L, R>>("v", typename HostView<L, R>::mapping_type(RankExtents<R>(shape, R)));
  number(v, std::make_index_sequence<R>());
  return v;
}

TYPED_TEST(SubviewCombinations, AllOfRanksOneToFourShowTheElementsTheySelect) {
  expect_all_parts(numbered<TypeParam, 1>());
  expect_all_parts(numbered<TypeParam, 2>());
  expect_all_parts(numbered<TypeParam, 3>());
  expect_all_parts(numbered<TypeParam, 4>());
}

TYPED_TEST(SubviewCombinations, SubviewsOfSubviewsShowTheElementsOfTheWhole) {
  const auto v = numbered<TypeParam, 3>();

  expect_all_parts(subview(v, range(3, 10), everything, range(1, 3)));
  expect_all_parts(subview(v, range(2, 9), 1, everything));
  expect_all_parts(subview(subview(v, range(2, 10), everything, 1), range(1, 7), range(1, 3)));
  expect_all_parts(subview(v, 5, everything, everything));
}

TYPED_TEST(SubviewCombinations, OfOffsetViewsTakeItsIndicesAndKeepTheBeginsUnderEverything) {
  if constexpr (!std::is_same_v<TypeParam, strata::LayoutStrided>) {
    using V = HostView<strata::LayoutOffset<TypeParam>, 2>;
    const index_t begins[] = {-3, 2};
    const auto v = create<V>("v", typename V::mapping_type(RankExtents<2>(shape, 2), begins));
    number(v, std::make_index_sequence<2>());

    expect_all_parts(v);
    EXPECT_EQ(subview(v, range(-2, 3), 4)(0), v(-2, 4));
    const auto column = subview(v, everything, 4);
    EXPECT_EQ(column.begin(0), -3);
    EXPECT_EQ(column(-3), v(-3, 4));
    const auto part = subview(v, range(-2, 3), everything);
    EXPECT_EQ(part.begin(0), 0);
    EXPECT_EQ(part.begin(1), 2);
    EXPECT_EQ(part(1, 5), v(-1, 5));
    EXPECT_EQ(subview(part, range(1, 4), everything)(2, 3), v(1, 3));
  }
}

TYPED_TEST(SubviewCombinations, OfSlicesTakeGlobalRows) {
  const auto whole = numbered<TypeParam, 2>();
  if constexpr (!std::is_same_v<TypeParam, strata::LayoutStrided>) {
    const auto slice = strata::create_slice<HostView<TypeParam, 2>>("slice", whole.extents(), {5, 9});
    strata::deep_copy_rows(slice, whole, {5, 9});

    const auto rows = subview(slice, range(6, 9), everything);
    const auto row = subview(slice, 7, everything);
    const auto column = subview(slice, range(5, 9), 2);

    for (int j = 0; j < 4; ++j) {
      EXPECT_EQ(rows(1, j), whole(7, j));
      EXPECT_EQ(row(j), whole(7, j));
    }
    for (int i = 0; i < 4; ++i) EXPECT_EQ(column(i), whole(5 + i, 2));
  }
}

#endif

// --- types

template <class L, class E, class... A>
using Part = decltype(subview(std::declval<View<int, strata::Serial, E, L>>(), std::declval<A>()...));
template <class L, class E, class... A>
using PartLayout = typename Part<L, E, A...>::layout_type;

using R2 = RankExtents<2>;
using R3 = RankExtents<3>;
using strata::LayoutLeft;
using strata::LayoutRight;
using strata::LayoutStrided;
using strata::LayoutTiled;
using strata::LayoutTiledPart;

static_assert(std::is_same_v<PartLayout<LayoutRight, R2, int, Everything>, LayoutRight>);
static_assert(std::is_same_v<PartLayout<LayoutRight, R2, Range, Everything>, LayoutRight>);
static_assert(std::is_same_v<PartLayout<LayoutRight, R2, Range, Range>, LayoutRight>);  // padded rows
static_assert(std::is_same_v<PartLayout<LayoutRight, R2, Everything, int>, LayoutStrided>);
static_assert(std::is_same_v<PartLayout<LayoutRight, R3, Everything, Everything, Range>, LayoutStrided>);
static_assert(std::is_same_v<PartLayout<LayoutRight, R3, int, int, int>, LayoutRight>);
static_assert(std::is_same_v<PartLayout<LayoutLeft, R2, Everything, int>, LayoutLeft>);
static_assert(std::is_same_v<PartLayout<LayoutLeft, R2, Range, Range>, LayoutLeft>);  // padded columns
static_assert(std::is_same_v<PartLayout<LayoutLeft, R2, int, Everything>, LayoutStrided>);
static_assert(std::is_same_v<PartLayout<LayoutLeft, R3, Everything, Range, Everything>, LayoutStrided>);
static_assert(std::is_same_v<PartLayout<LayoutTiled<4>, R2, Everything, int>, LayoutTiledPart<4>>);
static_assert(std::is_same_v<PartLayout<LayoutTiled<4>, R2, Range, Everything>, LayoutTiledPart<4>>);
static_assert(std::is_same_v<PartLayout<LayoutTiled<4>, R2, int, Everything>, LayoutStrided>);
static_assert(std::is_same_v<PartLayout<LayoutStrided, R2, Everything, Everything>, LayoutStrided>);
static_assert(std::is_same_v<PartLayout<strata::LayoutOffset<LayoutTiled<4>>, R2, Everything, int>,
                             strata::LayoutOffset<LayoutTiledPart<4>>>);
static_assert(std::is_same_v<PartLayout<strata::LayoutOffset<LayoutRight>, R2, Range, int>, LayoutStrided>);
static_assert(
    std::is_same_v<PartLayout<strata::Index32<LayoutTiled<4>>, R2, Everything, int>, LayoutTiledPart<4>>);
static_assert(std::is_same_v<PartLayout<strata::Index32<LayoutRight>, R2, int, Everything>, LayoutRight>);
// Static extents stay under `everything`.
static_assert(
    std::is_same_v<Part<LayoutRight, Extents<dynamic, 3, 8>, int, Everything, Everything>::extents_type,
                   Extents<3, 8>>);
static_assert(
    std::is_same_v<Part<LayoutRight, Extents<dynamic, 3, 8>, Everything, Range, Everything>::extents_type,
                   Extents<dynamic, dynamic, 8>>);

TEST(Subview, SharesOwnershipAndConstness) {
  const auto v = create<MDArray<int, strata::Serial, rank<2>>>("v", 4, 3);
  const typename decltype(v)::const_type c = v;

  const auto row = subview(v, 1, everything);
  const auto const_row = subview(c, 1, everything);

  EXPECT_EQ(v.use_count(), 4);
  EXPECT_STREQ(row.label(), "v");
  static_assert(std::is_const_v<typename decltype(const_row)::element_type>);
}

TEST(Subview, OfADynamicRankTakesOneArgumentForEachDimension) {
  const auto v = create<MDArray<int, strata::Serial>>("v", 4, 3);
  number(v, std::make_index_sequence<2>());

  EXPECT_EQ(subview(v, 2, everything)(1), 7);
  EXPECT_EQ(subview(v, everything, 1)(3), 10);
  EXPECT_THROW((void)subview(v, 2), strata::ExtentError);
  EXPECT_THROW((void)subview(v, 2, everything, everything), strata::ExtentError);
}

TEST(Subview, EmptyRangesGiveEmptyViews) {
  const auto v = create<MDArray<int, strata::Serial, rank<2>>>("v", 4, 3);

  EXPECT_EQ(subview(v, range(2, 2), everything).size(), 0);
  EXPECT_EQ(subview(v, range(4, 4), everything).size(), 0);
}

template <class D>
class SubviewInKernels : public ::testing::Test {};
TYPED_TEST_SUITE(SubviewInKernels, strata_tests::TestDevices, strata_tests::DeviceName);

struct RowSums {
  STRATA_FUNCTION void operator()(index_t i, auto x, auto sum) const {
    const auto row = subview(x, i, everything);
    for (index_t j = 0; j < row.extent(0); ++j) sum(i) += row(j);
  }
};

TYPED_TEST(SubviewInKernels, RowsTakenInAKernelAndColumnsPassedToOne) {
  const auto x = create<MDArray<int, TypeParam, 3>>("x", 50);
  const auto sum = create<MDArray<int, TypeParam, rank<2>>>("sum", 50, 2);
  strata::deep_copy(x, 2);
  strata::deep_copy(subview(x, range(10, 20), 1), 7);

  strata::parallel_for(50, strata::with(RowSums{}, x, subview(sum, everything, 1)));

  const auto host = strata_tests::on_host(sum);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(host(i, 1), i >= 10 && i < 20 ? 11 : 6);
    EXPECT_EQ(host(i, 0), 0);
  }
}

struct CountColumn {
  STRATA_FUNCTION void operator()(index_t i, auto x) const {
    const auto column = subview(x, everything, 4);
    column(i) += static_cast<int>(i);
  }
};

TYPED_TEST(SubviewInKernels, OfOffsetViewsKeepTheBeginsUnderEverything) {
  using V = View<int, TypeParam, RankExtents<2>, strata::LayoutOffset<strata::LayoutRight>>;
  const index_t begins[] = {-3, 2};
  const auto x = create<V>("x", typename V::mapping_type(RankExtents<2>(7, 5), begins));
  strata::deep_copy(x, 100);

  strata::parallel_for(range(-3, 4), strata::with(CountColumn{}, x));

  const auto host = strata_tests::on_host(x);
  for (index_t i = -3; i < 4; ++i)
    for (index_t j = 2; j < 7; ++j) EXPECT_EQ(host(i, j), j == 4 ? 100 + i : 100) << i << ", " << j;
}

}  // namespace
