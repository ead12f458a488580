// Views with the address of a work item: they have the elements of the view that they are made of, and
// kernels over boxes find with them what they would find by the indices alone, wherever boxes and arrays
// begin.
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

// ---- the elements

template <class V, int Rank>
void expect_elements(Random& random) {
  Index<Rank> begins, extents;
  for (int r = 0; r < Rank; ++r) begins[r] = random(-3, 3), extents[r] = random(1, 7);
  const V view = array_over<V, Rank>(begins, extents);
  index_t item[Rank];
  for (index_t& i : item) i = random(-20, 20);
  [&]<std::size_t... R>(std::index_sequence<R...>) {
    detail::AnchoredView<V> anchored(detail::AtItem(), view, item);
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

TEST(AnchoredView, SharesReadsOfNumbersOfAWordThatAreReadOnly) {
  const auto may = []<class V>(const V&) { return detail::may_share_reads<typename V::unmanaged_type>; };
  EXPECT_TRUE(may(read_only(MDArray<float, Serial, rank<2>>())));
  EXPECT_FALSE(may(MDArray<float, Serial, rank<2>>()));
  EXPECT_TRUE(may(read_only(MDArray<double, Serial, rank<2>>())));
  EXPECT_FALSE(may(read_only(MDArray<complex<double>, Serial, rank<2>>())));
}

template <int Rank, class V>
constexpr bool can_be_anchored = detail::can_be_anchored<typename V::unmanaged_type, Rank>;

TEST(AnchoredView, IsMadeOfViewsOfTheBoxesRankWithStrides) {
  using Right = MDArray<double, Serial, rank<3>>;
  EXPECT_EQ((can_be_anchored<3, Right>), !checked_build);
  EXPECT_EQ((can_be_anchored<3, MDArrayIn<LayoutStrided, int, Serial, rank<3>>>), !checked_build);
  EXPECT_FALSE((can_be_anchored<2, Right>));
  EXPECT_FALSE((can_be_anchored<1, Vector<double, Serial>>));
  EXPECT_FALSE((can_be_anchored<2, MDArrayIn<LayoutTiled<8>, int, Serial, rank<2>>>));
  EXPECT_FALSE((can_be_anchored<3, MDArrayIn<Index32<LayoutRight>, int, Serial, rank<3>>>))
      << "an item that is no element may have an offset of more than 32 bits";
}

// ---- what kernels find

// What a test adds up: elements of all kinds here are whole numbers.
STRATA_FUNCTION std::uint64_t number_of(const auto& element) { return static_cast<std::uint64_t>(element); }
STRATA_FUNCTION std::uint64_t number_of(const half_t& element) {
  return static_cast<std::uint64_t>(static_cast<float>(element));
}
STRATA_FUNCTION std::uint64_t number_of(const complex<float>& element) {
  return 7 * number_of(element.real()) + number_of(element.imag());
}
template <class T>
T element_of(std::uint64_t number) {
  if constexpr (std::is_same_v<T, complex<float>>)
    return T(static_cast<float>(number % 64), static_cast<float>(number / 64 % 64));
  else if constexpr (std::is_same_v<T, std::uint64_t>) return number;
  else return static_cast<T>(static_cast<float>(number % 64));
}

// The next ones in a direction, elements at other places, and those of an array of another rank.
struct Combine {
  std::uint64_t seed;
  index_t far;  // an index that all arrays have in all dimensions

  template <class... I>
  STRATA_FUNCTION std::uint64_t value(const auto& u, const auto& line, I... i) const {
    const index_t item[] = {static_cast<index_t>(i)...};
    constexpr int rank = sizeof...(I);
    std::uint64_t sum = seed + number_of(line(item[0]));
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
  STRATA_FUNCTION static std::uint64_t element(const auto& u, const index_t (&i)[2]) {
    return number_of(u(i[0], i[1]));
  }
  STRATA_FUNCTION static std::uint64_t element(const auto& u, const index_t (&i)[3]) {
    return number_of(u(i[0], i[1], i[2]));
  }

  STRATA_FUNCTION void operator()(auto i, auto j, auto u, auto line, auto v) const {
    v(i, j) += value(u, line, i, j);
  }
  STRATA_FUNCTION void operator()(auto i, auto j, auto k, auto u, auto line, auto v) const {
    v(i, j, k) += value(u, line, i, j, k);
  }
};
struct WithTag {
  struct Second {};
  Combine combine;
  STRATA_FUNCTION void operator()(Second, index_t i, index_t j, auto u, auto line, auto v) const {
    combine(i, j, u, line, v);
  }
};

// Calls f(the box, the same in tiles of 8: a thread that marches then walks over 8 items in any box).
template <int Rank, class F>
void with_box(const Index<Rank>& lower, const Index<Rank>& upper, const F& f) {
  [&]<std::size_t... R>(std::index_sequence<R...>) {
    f(mdrange({lower[R]...}, {upper[R]...}),
      mdrange({lower[R]...}, {upper[R]...}, {(static_cast<void>(R), index_t{8})...}));
  }
  (std::make_index_sequence<Rank>());
}

// The launches below, of number `way`, over a box within arrays of these extents.
template <class D, class L, int Rank>
void expect_box(Random& random, const Index<Rank>& extents, index_t way) {
  using Array = View<std::uint64_t, D, RankExtents<Rank>, LayoutOffset<L>>;
  using Line = View<std::uint64_t, D, RankExtents<1>, LayoutOffset<LayoutLeft>>;
  Index<Rank> begins, ends, lower, upper;
  for (int r = 0; r < Rank; ++r) {
    begins[r] = random(std::max<index_t>(-40, 5 - extents[r]), 2);  // 3 and 4 are indices
    ends[r] = begins[r] + extents[r];
    lower[r] = begins[r] + 1 + random(0, 3);
    upper[r] = std::max(lower[r], ends[r] - 1 - random(0, 3) * random(0, 1));
  }
  const auto u = array_over<Array, Rank>(begins, extents), v = array_over<Array, Rank>(begins, extents);
  const auto line = array_over<Line, 1>({begins[0]}, {extents[0]});
  const auto host_u = create_mirror(u), host_v = create_mirror(v);
  const auto host_line = create_mirror(line);
  std::uint64_t number = 0;
  visit_box<Rank>(begins, ends,
                  [&](auto... i) { host_u(i...) = mix(++number), host_v(i...) = mix(++number); });
  for (index_t i = begins[0]; i < ends[0]; ++i) host_line(i) = mix(++number);
  deep_copy(u, host_u), deep_copy(v, host_v), deep_copy(line, host_line);

  const Combine combine{mix(++number), 3};
  with_box<Rank>(lower, upper, [&](const auto& box, const auto& tiles) {
    switch (way) {
      case 0:
        return launch(on(D{}), box, combine, in(u), in(line), inout(v));
      case 1:
        return launch(on(D{}), marching(tiles), combine, in(u), in(line), inout(v));
      case 2:
        return launch(on(D{}), marching(box), combine, in(u), in(line), inout(v));
      default:
        if constexpr (Rank > 2) return parallel_for(marching<0>(tiles), with(combine, read_only(u), line, v));
        else if (way == 3) return parallel_for(block_size(64, marching<0>(box)), with(combine, u, line, v));
        else parallel_for(tagged<WithTag::Second>(box), with(WithTag{combine}, u, read_only(line), v));
    }
  });
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
  const auto extent = [&](index_t largest) { return 5 + random(0, random(0, 2) == 0 ? largest : 15); };
  for (int draw = 0; draw < trials(25) + 1; ++draw) {
    SCOPED_TRACE(draw);
    expect_box<TypeParam, LayoutLeft, 2>(random, {extent(10 * most), extent(10 * most)}, random(0, 4));
    expect_box<TypeParam, LayoutLeft, 3>(random, {extent(most), extent(most), extent(most)}, random(0, 4));
    expect_box<TypeParam, LayoutRight, 3>(random, {extent(most), extent(most), extent(most)}, random(0, 4));
    if (this->HasFatalFailure()) return;
  }
}

// ---- other elements, layouts and ways to access them

// Some strides in elements, the largest of any dimension, of either sign.
template <class V, int Rank>
V array_with_strides(Random& random, const Index<Rank>& extents) {
  index_t strides[Rank], shift = 0, stride = random(1, 3);
  int order[Rank];
  for (int r = 0; r < Rank; ++r) order[r] = r;
  for (int r = Rank - 1; r > 0; --r) std::swap(order[r], order[random(0, r)]);
  for (const int r : order) {
    strides[r] = random(0, 1) == 0 ? stride : -stride;
    if (strides[r] < 0) shift += (extents[r] - 1) * stride;
    stride = stride * extents[r] + random(0, 3);
  }
  return [&]<std::size_t... R>(std::index_sequence<R...>) {
    return create<V>("array",
                     typename V::mapping_type(typename V::extents_type(extents[R]...), strides, shift));
  }
  (std::make_index_sequence<Rank>());
}

// A stencil over elements T of an array in any strides, from which an array with compile-time extents and
// one of atomic access are made. LastExtent: of that array's last dimension.
template <class T, class D, class L, index_t LastExtent>
void expect_elements_found(Random& random, index_t most) {
  using Source = View<T, D, RankExtents<2>, LayoutStrided>;
  using Fixed = View<std::uint64_t, D, Extents<dynamic, LastExtent>, L>;
  const Index<2> extents{6 + random(0, most), LastExtent};
  const auto u = array_with_strides<Source, 2>(random, extents);
  const auto v = create<Fixed>("v", extents[0]), sums = create<Fixed>("sums", extents[0]);
  const auto line = create<Vector<T, D>>("line", extents[0]);
  const auto host_u = create_mirror(u);
  const auto host_v = create_mirror(v), host_sums = create_mirror(sums);
  const auto host_line = create_mirror(line);
  std::uint64_t number = static_cast<std::uint64_t>(random(0, 1 << 20));
  for (index_t i = 0; i < extents[0]; ++i) host_line(i) = element_of<T>(mix(++number));
  visit_box<2>({0, 0}, extents, [&](auto... i) {
    host_u(i...) = element_of<T>(mix(++number));
    host_v(i...) = host_sums(i...) = mix(++number);
  });
  deep_copy(u, host_u), deep_copy(v, host_v), deep_copy(sums, host_sums), deep_copy(line, host_line);

  const Combine combine{mix(++number), 3};
  const Index<2> lower{1 + random(0, 3), 1 + random(0, 3)};
  const Index<2> upper{std::max(lower[0], extents[0] - 1 - random(0, 3)), extents[1] - 1 - random(0, 3)};
  with_box<2>(lower, upper, [&](const auto& box, const auto& tiles) {
    if (random(0, 1) == 0) launch(on(D{}), box, combine, in(u), in(line), inout(v));
    else launch(on(D{}), marching(tiles), combine, in(u), in(line), inout(v));
    parallel_for(marching<0>(tiles), with(combine, u, read_only(line), atomic(sums)));
  });
  wait(D{});

  visit_box<2>(lower, upper, [&](auto... i) {
    const std::uint64_t sum = combine.value(host_u, host_line, i...);
    host_v(i...) += sum, host_sums(i...) += sum;
  });
  const auto found = on_host(v), found_sums = on_host(sums);
  visit_box<2>({0, 0}, extents, [&](auto... i) {
    ASSERT_EQ(found(i...), host_v(i...));
    ASSERT_EQ(found_sums(i...), host_sums(i...));
  });
}

TYPED_TEST(AnchoredViews, HaveElementsOfAllKindsInAnyStrides) {
  Random random;
  const index_t most = std::string(TypeParam::name) == "Cuda" ? 700 : 40;
  for (int draw = 0; draw < trials(10) + 1; ++draw) {
    SCOPED_TRACE(draw);
    expect_elements_found<half_t, TypeParam, LayoutRight, 37>(random, most);
    expect_elements_found<double, TypeParam, LayoutLeft, 133>(random, most);
    expect_elements_found<complex<float>, TypeParam, LayoutRight, 20>(random, most);
    if (this->HasFatalFailure()) return;
  }
}

// Of so many items a thread of a GPU takes four without being told to.
TYPED_TEST(AnchoredViews, HaveThatInLargeBoxesToo) {
  Random random;
  const index_t edge = std::string(TypeParam::name) == "Cuda" ? 180 : 20;
  expect_box<TypeParam, LayoutLeft, 3>(random, {edge, edge, edge + random(0, 3)}, 0);
  expect_box<TypeParam, LayoutRight, 3>(random, {edge + random(0, 3), edge, edge}, 0);
}

struct SevenPoints {
  STRATA_FUNCTION static auto value(const auto& u, auto i, auto j, auto k) {
    return 2 * u(i, j, k) + 3 * u(i - 1, j, k) + 5 * u(i + 1, j, k) + 7 * u(i, j - 1, k) +
           11 * u(i, j + 1, k) + 13 * u(i, j, k - 1) + 17 * u(i, j, k + 1);
  }
  STRATA_FUNCTION void operator()(auto i, auto j, auto k, auto u, auto v) const {
    v(i, j, k) = value(u, i, j, k);
  }
};
template <class T, class D, class L>
void expect_stencil(Random& random, index_t edge, bool marches) {
  using Array = View<T, D, RankExtents<3>, L>;
  Index<3> extents, lower, upper;
  for (int r = 0; r < 3; ++r) {
    extents[r] = edge + random(0, 3);
    lower[r] = 1 + random(0, 2);
    upper[r] = extents[r] - 1 - random(0, 2);
  }
  const auto u = create<Array>("u", extents[0], extents[1], extents[2]);
  const auto v = create<Array>("v", extents[0], extents[1], extents[2]);
  const auto host_u = create_mirror(u);
  std::uint64_t number = static_cast<std::uint64_t>(random(0, 1 << 20));
  visit_box<3>({0, 0, 0}, extents, [&](auto... i) { host_u(i...) = static_cast<T>(mix(++number) % 1024); });
  deep_copy(u, host_u), deep_copy(v, T(-1));
  with_box<3>(lower, upper, [&](const auto& box, const auto&) {
    if (marches) launch(on(D{}), marching(box), SevenPoints{}, in(u), out(v));
    else launch(on(D{}), box, SevenPoints{}, in(u), out(v));
  });
  const auto found = on_host(v);
  const auto is_inside = [&](int r, index_t i) { return i >= lower[r] && i < upper[r]; };
  visit_box<3>({0, 0, 0}, extents, [&](auto i, auto j, auto k) {
    const bool inside = is_inside(0, i) && is_inside(1, j) && is_inside(2, k);
    ASSERT_EQ(found(i, j, k), inside ? SevenPoints::value(host_u, i, j, k) : T(-1))
        << i << ' ' << j << ' ' << k;
  });
}

// Of some more it takes eight, told to or not (box_plan_test.cpp has which kernel that is).
TYPED_TEST(AnchoredViews, HaveThatInBoxesOfEightItemsAThread) {
  Random random;
  const index_t edge = std::string(TypeParam::name) == "Cuda" ? 212 : 20;
  const bool marches = random(0, 1) == 1;
  expect_stencil<double, TypeParam, LayoutLeft>(random, edge, marches);
  expect_stencil<float, TypeParam, LayoutRight>(random, edge, !marches);
  if (this->HasFatalFailure()) return;
  const auto larger = edge + edge / 8;
  expect_box<TypeParam, LayoutLeft, 3>(random, {larger, edge, edge}, 0);
  expect_box<TypeParam, LayoutLeft, 2>(random, {80 * edge, edge}, 2);
}

// ---- kernels that do more with views

template <class T, class D, class E, class L, class A>
STRATA_FUNCTION index_t extents_of(const View<T, D, E, L, A>& view) {
  return 100 * view.extent(0) + view.extent(1);
}
struct MakesViews {
  STRATA_FUNCTION void operator()(auto i, auto j, auto u, auto v) const {
    decltype(u) made;
    made = u;
    const decltype(v) same(v.data(), v.mapping());
    same(i, j) = 2 * made(j, i) + 10000 * u.rank() + extents_of(made) + subview(u, everything, j)(i);
  }
};

TYPED_TEST(AnchoredViews, AreMadeAndPassedOnAsViewsAre) {
  using D = TypeParam;
  using Matrix = MDArray<index_t, D, rank<2>>;
  const auto u = create<Matrix>("u", 40, 40), v = create<Matrix>("v", 40, 40);
  const auto host_u = create_mirror(u);
  visit_box<2>({0, 0}, {40, 40}, [&](index_t i, index_t j) { host_u(i, j) = i * i + 7 * j; });
  deep_copy(u, host_u);

  launch(on(D{}), marching(mdrange({0, 0}, {40, 40}, {8, 8})), MakesViews{}, in(u), out(v));

  wait(D{});
  const auto found = on_host(v);
  visit_box<2>({0, 0}, {40, 40}, [&](index_t i, index_t j) {
    ASSERT_EQ(found(i, j), 2 * host_u(j, i) + 20000 + 4040 + host_u(i, j)) << i << " " << j;
  });
}

}  // namespace
