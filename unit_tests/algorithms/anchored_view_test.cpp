// Views with the address of a work item, and those that keep what was read: they have the elements of the
// view that they are made of, and kernels over boxes find with them what they would find by the indices
// alone, wherever boxes and arrays begin.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "arrays.hpp"
#include "core/random.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <int Rank>
using Index = std::array<index_t, Rank>;

template <class V, int Rank>
V array_over(const Index<Rank>& begins, const Index<Rank>& extents) {
  const auto shape = [&]<std::size_t... R>(std::index_sequence<R...>) {
    return RankExtents<Rank>(extents[R]...);
  }
  (std::make_index_sequence<Rank>());
  return create<V>("array", typename V::mapping_type(shape, begins.data()));
}

// ---- the elements

template <class V, int Rank>
void expect_elements(Random& random) {
  Index<Rank> begins, extents;
  for (int r = 0; r < Rank; ++r) begins[r] = random(-3, 3), extents[r] = random(1, 7);
  const V view = array_over<V, Rank>(begins, extents);
  index_t item[Rank];
  for (index_t& i : item) i = random(-20, 20);
  [&]<std::size_t... R>(std::index_sequence<R...>) {
    detail::AnchoredView<V> anchored(view, item);
    for (int step = 0; step < 5; ++step) {
      const index_t i[] = {begins[R] + random(0, extents[R] - 1)...};
      ASSERT_EQ(&anchored(i[R]...), &view(i[R]...));
      const int dimension = static_cast<int>(random(0, Rank - 1));
      anchored.advance(dimension);
      ++item[dimension];
      anchored.set_item(item);
    }
  }
  (std::make_index_sequence<Rank>());
}

TEST(AnchoredView, HasTheElementsOfTheView) {
  Random random;
  for (int draw = 0; draw < trials(400); ++draw) {
    expect_elements<View<int, Serial, RankExtents<2>, LayoutOffset<LayoutRight>>, 2>(random);
    expect_elements<View<int, Serial, RankExtents<2>, LayoutOffset<LayoutLeft>>, 2>(random);
    expect_elements<View<int, Serial, RankExtents<3>, LayoutOffset<LayoutRight>>, 3>(random);
    expect_elements<View<int, Serial, RankExtents<4>, LayoutOffset<LayoutLeft>>, 4>(random);
  }
}

// Items in a row, each of which reads beside it, mostly along the row.
template <class V, int Rank, int Dimension>
void expect_kept(Random& random) {
  using Kept = detail::KeptView<
      View<const int, Serial, RankExtents<Rank>, typename V::layout_type, Unmanaged<ReadOnlyAccess>>,
      Dimension>;
  Index<Rank> begins, extents;
  for (int r = 0; r < Rank; ++r) begins[r] = random(-3, 3), extents[r] = random(4, 9);
  const V view = array_over<V, Rank>(begins, extents);
  for (index_t k = 0; k < static_cast<index_t>(view.size()); ++k) view.data()[k] = static_cast<int>(k);
  [&]<std::size_t... R>(std::index_sequence<R...>) {
    index_t item[] = {begins[R] + random(0, extents[R] - 1)...};
    item[Dimension] = begins[Dimension];
    Kept kept(read_only(view), item);
    for (; item[Dimension] < begins[Dimension] + extents[Dimension]; ++item[Dimension]) {
      kept.set_item(item);
      const typename Kept::unmanaged_type in_kernel(kept);
      for (int access = 0; access < 6; ++access) {
        index_t i[] = {item[R]...};
        const auto dimension = static_cast<std::size_t>(random(0, 2) == 0 ? random(0, Rank - 1) : Dimension);
        i[dimension] = std::clamp(i[dimension] + random(-2, 2), begins[dimension],
                                  begins[dimension] + extents[dimension] - 1);
        ASSERT_EQ(in_kernel(i[R]...), view(i[R]...));
      }
      kept.advance(Dimension);
    }
  }
  (std::make_index_sequence<Rank>());
}

TEST(KeptView, HasTheElementsOfTheViewForItemsInARow) {
  Random random;
  for (int draw = 0; draw < trials(400); ++draw) {
    expect_kept<View<int, Serial, RankExtents<2>, LayoutOffset<LayoutRight>>, 2, 0>(random);
    expect_kept<View<int, Serial, RankExtents<3>, LayoutOffset<LayoutLeft>>, 3, 2>(random);
  }
}

TEST(KeptView, IsMadeOfNumbersOfAWordThatAreReadOnly) {
  const auto can = []<class V>(const V&) { return detail::can_be_kept<typename V::unmanaged_type>; };
  EXPECT_TRUE(can(read_only(MDArray<float, Serial, rank<2>>())));
  EXPECT_FALSE(can(MDArray<float, Serial, rank<2>>()));
  EXPECT_TRUE(can(read_only(MDArray<double, Serial, rank<2>>())));
  EXPECT_FALSE(can(read_only(MDArray<complex<double>, Serial, rank<2>>())));
}

TEST(AnchoredView, IsMadeOfViewsOfTheBoxesRankWithStrides) {
  constexpr bool unchecked = !checked_build;
  const auto can = []<int Rank, class V>(V*) {
    return detail::can_be_anchored<typename V::unmanaged_type, Rank>;
  };
  using Right = MDArray<double, Serial, rank<3>>;
  EXPECT_EQ((can.template operator()<3>(static_cast<Right*>(nullptr))), unchecked);
  EXPECT_EQ(
      (can.template operator()<3>(static_cast<MDArrayIn<LayoutStrided, int, Serial, rank<3>>*>(nullptr))),
      unchecked);
  EXPECT_FALSE((can.template operator()<2>(static_cast<Right*>(nullptr))));
  EXPECT_FALSE((can.template operator()<1>(static_cast<Vector<double, Serial>*>(nullptr))));
  EXPECT_FALSE(
      (can.template operator()<2>(static_cast<MDArrayIn<LayoutTiled<8>, int, Serial, rank<2>>*>(nullptr))));
}

// ---- what kernels find

// The next ones in a direction, elements at other places, and those of an array of another rank.
struct Combine {
  std::uint64_t seed;
  index_t far;  // an index that all arrays have in all dimensions

  template <class... I>
  STRATA_FUNCTION std::uint64_t value(const auto& u, const auto& line, I... i) const {
    const index_t item[] = {static_cast<index_t>(i)...};
    constexpr int rank = sizeof...(I);
    std::uint64_t sum = seed + line(item[0]);
    for (int r = 0; r < rank; ++r)
      for (const index_t step : {-1, 0, 1}) {
        index_t at[rank];
        for (int k = 0; k < rank; ++k) at[k] = item[k] + (k == r ? step : 0);
        sum = 3 * sum + element(u, at);
        at[r] = far;
        sum = 5 * sum + element(u, at);
      }
    return sum;
  }
  STRATA_FUNCTION static std::uint64_t element(const auto& u, const index_t (&i)[2]) { return u(i[0], i[1]); }
  STRATA_FUNCTION static std::uint64_t element(const auto& u, const index_t (&i)[3]) {
    return u(i[0], i[1], i[2]);
  }

  STRATA_FUNCTION void operator()(auto i, auto j, auto u, auto line, auto v) const {
    v(i, j) += value(u, line, i, j);
  }
  STRATA_FUNCTION void operator()(auto i, auto j, auto k, auto u, auto line, auto v) const {
    v(i, j, k) += value(u, line, i, j, k);
  }
};
template <class D>
struct WithTag {
  struct Second {};
  Combine combine;
  STRATA_FUNCTION void operator()(Second, index_t i, index_t j, auto u, auto line, auto v) const {
    combine(i, j, u, line, v);
  }
};

// Calls f(i, ...) for the indices from `lower` to below `upper`.
template <int Rank, class F>
void visit_box(const Index<Rank>& lower, const Index<Rank>& upper, const F& f) {
  Index<Rank> i = lower;
  for (int r = 0; r < Rank; ++r)
    if (lower[r] >= upper[r]) return;
  for (int r = 0; r >= 0;) {
    std::apply(f, i);
    for (r = Rank - 1; r >= 0 && ++i[r] == upper[r]; --r) i[r] = lower[r];
  }
}

template <class D, class L, int Rank>
void expect_box(Random& random, index_t most) {
  using Array = View<std::uint64_t, D, RankExtents<Rank>, LayoutOffset<L>>;
  constexpr auto ranks = std::make_index_sequence<Rank>();
  Index<Rank> begins, extents, lower, upper;
  for (int r = 0; r < Rank; ++r) {
    begins[r] = random(-40, 2);
    extents[r] = 5 - begins[r] + random(0, random(0, 3) == 0 ? most : 6);
    lower[r] = begins[r] + 1 + random(0, 3);
    upper[r] = std::min(begins[r] + extents[r] - 1, lower[r] + random(0, extents[r]));
  }
  const auto u = array_over<Array, Rank>(begins, extents), v = array_over<Array, Rank>(begins, extents);
  const auto line = create<View<std::uint64_t, D, RankExtents<1>, LayoutOffset<LayoutLeft>>>(
      "line", typename View<std::uint64_t, D, RankExtents<1>, LayoutOffset<LayoutLeft>>::mapping_type(
                  RankExtents<1>(extents[0]), begins.data()));
  const auto host_u = create_mirror(u), host_v = create_mirror(v);
  const auto host_line = create_mirror(line);
  std::uint64_t number = 0;
  Index<Rank> ends;
  for (int r = 0; r < Rank; ++r) ends[r] = begins[r] + extents[r];
  visit_box<Rank>(begins, ends, [&](auto... i) {
    host_u(i...) = static_cast<std::uint32_t>(mix(++number)),
    host_v(i...) = static_cast<std::uint32_t>(mix(++number));
  });
  for (index_t i = begins[0]; i < ends[0]; ++i) host_line(i) = static_cast<std::uint32_t>(mix(++number));
  deep_copy(u, host_u), deep_copy(v, host_v), deep_copy(line, host_line);

  const Combine combine{static_cast<std::uint32_t>(mix(++number)), 3};
  const auto box = [&]<std::size_t... R>(std::index_sequence<R...>) {
    return mdrange({lower[R]...}, {upper[R]...});
  }
  (ranks);
  switch (random(0, 3)) {
    case 0:
      launch(on(D{}), box, combine, in(u), in(line), inout(v));
      break;
    case 1:
      launch(on(D{}), marching(box), combine, in(u), in(line), inout(v));
      break;
    case 2:
      parallel_for(block_size(64, marching<0>(box)), with(combine, u, line, v));
      break;
    default:
      if constexpr (Rank == 2)
        parallel_for(tagged<typename WithTag<D>::Second>(box),
                     with(WithTag<D>{combine}, u, read_only(line), v));
      else parallel_for(box, with(combine, read_only(u), line, v));
  }
  wait(D{});

  visit_box<Rank>(lower, upper, [&](auto... i) { host_v(i...) += combine.value(host_u, host_line, i...); });
  const auto found = on_host(v);
  visit_box<Rank>(begins, ends, [&](auto... i) { ASSERT_EQ(found(i...), host_v(i...)); });
}

template <class D>
class AnchoredViews : public ::testing::Test {};
TYPED_TEST_SUITE(AnchoredViews, TestDevices, DeviceName);

TYPED_TEST(AnchoredViews, HaveWhatTheIndicesSayWhereverBoxesAndArraysBegin) {
  Random random;
  const index_t most = std::string(TypeParam::name) == "Cuda" ? 70 : 20;
  for (int draw = 0; draw < trials(25); ++draw) {
    SCOPED_TRACE(draw);
    expect_box<TypeParam, LayoutLeft, 2>(random, 10 * most);
    expect_box<TypeParam, LayoutLeft, 3>(random, most);
    expect_box<TypeParam, LayoutRight, 3>(random, most);
    if (this->HasFatalFailure()) return;
  }
}

}  // namespace
