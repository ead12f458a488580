// map_overlap: all ranks, edges and reaches by plain loops; in place in all modes.
// SPDX-License-Identifier: Apache-2.0
#include "places.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using skeletons::map_overlap;
using skeletons::overlap;
using skeletons::Update;
using skeletons::with_scratch;

template <class D>
class MapOverlap : public SkeletonTest {};
TYPED_TEST_SUITE(MapOverlap, TestDevices, DeviceName);

// Sums all elements of a region, each with a weight of its own.
template <int Rank>
struct Weigh {
  template <class R>
  STRATA_FUNCTION std::int64_t operator()(const R& region) const {
    index_t count = 1;
    for (int d = 0; d < Rank; ++d) count *= 2 * region.reach(d) + 1;
    std::int64_t sum = 0;
    for (index_t k = 0; k < count; ++k) {
      index_t at[Rank] = {}, rest = k;
      for (int d = Rank - 1; d >= 0; --d) {
        at[d] = rest % (2 * region.reach(d) + 1) - region.reach(d);
        rest /= 2 * region.reach(d) + 1;
      }
      sum += (7 * k + 1) * element(region, at, std::make_index_sequence<Rank>());
    }
    return sum % 100003;
  }

 private:
  template <class R, std::size_t... D>
  STRATA_FUNCTION static std::int64_t element(const R& region, const index_t (&at)[Rank],
                                              std::index_sequence<D...>) {
    return region(at[D]...);
  }
};

// A region of elements one after the other, for loops by hand.
template <int Rank, class Edge>
struct PlainRegion {
  const std::int64_t* x;
  const index_t (&extents)[Rank];
  const index_t (&widths)[Rank];
  const index_t (&centre)[Rank];
  Edge edge;

  STRATA_FUNCTION index_t reach(int d) const { return widths[d]; }
  template <class... I>
  STRATA_FUNCTION std::int64_t operator()(I... offsets) const {
    const index_t by[] = {offsets...};
    index_t k = 0;
    for (int d = 0; d < Rank; ++d) {
      index_t i = centre[d] + by[d];
      if (i < 0 || i >= extents[d]) {
        if constexpr (std::is_same_v<Edge, edge::Cyclic>) i = (i + extents[d]) % extents[d];
        else if constexpr (std::is_same_v<Edge, edge::Duplicate>) i = i < 0 ? 0 : extents[d] - 1;
        else if constexpr (std::is_same_v<Edge, edge::None>) return -1000000007;  // no result is so
        else return edge.value;
      }
      k = k * extents[d] + i;
    }
    return x[k];
  }
};
template <int Rank>
bool is_inner(const index_t (&n)[Rank], const index_t (&reach)[Rank], const index_t (&at)[Rank]) {
  for (int d = 0; d < Rank; ++d)
    if (at[d] < reach[d] || at[d] >= n[d] - reach[d]) return false;
  return true;
}

// New elements where `parity` allows (-1: everywhere) and neighbours exist, in `y`; from those of `x`.
template <int Rank, class Edge>
void by_hand(const std::vector<std::int64_t>& x, std::vector<std::int64_t>& y, const index_t (&n)[Rank],
             const index_t (&reach)[Rank], const Edge& at_edges, int parity) {
  index_t k = 0;
  for_each_index(n, [&](const index_t(&at)[Rank]) {
    index_t sum = 0;
    for (const index_t i : at) sum += i;
    const bool computed = !std::is_same_v<Edge, edge::None> || is_inner(n, reach, at);
    if (computed && (parity < 0 || sum % 2 == parity))
      y[static_cast<std::size_t>(k)] =
          Weigh<Rank>{}(PlainRegion<Rank, Edge>{x.data(), n, reach, at, at_edges});
    ++k;
  });
}

template <class L, int Rank, class Where, class Edge>
void expect_as_by_hand(const Where& where, const index_t (&n)[Rank], const index_t (&reach)[Rank],
                       const Edge& at_edges) {
  const auto x = make_numbers<std::int64_t, Rank, L>("x", n),
             y = make_numbers<std::int64_t, Rank, L>("y", n, 1);
  std::vector<std::int64_t> expected = values_of(y);
  by_hand(values_of(x), expected, n, reach, at_edges, -1);

  map_overlap(where, Weigh<Rank>{}, y, x, overlap(reach, at_edges));

  ASSERT_EQ(values_of(y), expected);
}

TYPED_TEST(MapOverlap, InOneDimensionEveryEdgeAndReachIsRight) {
  for_each_place<TypeParam>([](const auto& where) {
    for (const index_t n : {1, 2, 5, 8, 65, 1025})
      for (const index_t reach : {0, 1, 3}) {
        SCOPED_TRACE(std::to_string(n) + " elements, reach " + std::to_string(reach));
        expect_as_by_hand<LayoutRight>(where, {n}, {reach}, edge::none);
        expect_as_by_hand<LayoutRight>(where, {n}, {reach}, edge::duplicate);
        expect_as_by_hand<LayoutRight>(where, {n}, {reach}, edge::pad(std::int64_t{-9}));
        if (reach <= n) expect_as_by_hand<LayoutRight>(where, {n}, {reach}, edge::cyclic);
      }
  });
}

TYPED_TEST(MapOverlap, InTwoDimensionsReachesMayDiffer) {
  for_each_place<TypeParam>([](const auto& where) {
    for (const bool flat : {false, true}) {
      const index_t n[] = {flat ? 3 : 37, 19}, reach[] = {1, 2};
      expect_as_by_hand<LayoutTiled<8>>(where, n, reach, edge::none);
      expect_as_by_hand<LayoutTiled<8>>(where, n, reach, edge::cyclic);
      expect_as_by_hand<LayoutRight>(where, n, reach, edge::duplicate);
      expect_as_by_hand<LayoutRight>(where, n, reach, edge::pad(std::int64_t{5}));
    }
  });
}

TYPED_TEST(MapOverlap, InThreeAndFourDimensionsItIsRightToo) {
  for_each_place<TypeParam>([](const auto& where) {
    expect_as_by_hand<LayoutTiled<8>>(where, {19, 5, 6}, {2, 1, 0}, edge::none);
    expect_as_by_hand<LayoutTiled<8>>(where, {19, 5, 6}, {2, 1, 3}, edge::cyclic);
    expect_as_by_hand<LayoutRight>(where, {18, 3, 4, 3}, {1, 1, 2, 1}, edge::duplicate);
    expect_as_by_hand<LayoutTiled<8>>(where, {18, 3, 4, 3}, {1, 0, 1, 1}, edge::pad(std::int64_t{2}));
  });
}

struct Source {
  template <class R>
  STRATA_FUNCTION std::int64_t operator()(const R& r, std::int64_t b) const {
    return r(-1) + 2 * r(0) + r(1) - b;
  }
};
struct AtIndex {
  template <class R, class V>
  STRATA_FUNCTION std::int64_t operator()(index_t i, index_t j, const R& r, const V& table) const {
    return r(0, -1) * table(0) + r(0, 1) * table(1) + 10 * i + j;
  }
};

TYPED_TEST(MapOverlap, FurtherOperandsAreElementsOrReadAnywhere) {
  for_each_place<TypeParam>([](const auto& where) {
    const auto x = make_numbers<std::int64_t, 1>("x", {515}),
               b = make_numbers<std::int64_t, 1>("b", {515}, 1);
    const auto m = make_numbers<std::int64_t, 2>("m", {21, 7});
    const auto table = make_array<int, 1>("table", {2}, [](index_t k) { return 3 + k; });
    const CoherentArray<std::int64_t, rank<1>> y("y", 515);
    const CoherentArray<std::int64_t, rank<2>> z("z", 21, 7);

    map_overlap(where, Source{}, y, x, overlap(1), b);
    map_overlap(where, AtIndex{}, z, m, overlap({0, 1}, edge::pad(0)), in(table, everything));

    const auto got_y = values_of(y), got_z = values_of(z);
    for (index_t i = 0; i < 515; ++i)
      ASSERT_EQ(got_y[static_cast<std::size_t>(i)],
                i == 0 || i == 514 ? 0 : number(i - 1) + 2 * number(i) + number(i + 1) - number(i, 1));
    for (index_t k = 0; k < 21 * 7; ++k)
      ASSERT_EQ(
          got_z[static_cast<std::size_t>(k)],
          (k % 7 > 0 ? 3 * number(k - 1) : 0) + (k % 7 < 6 ? 4 * number(k + 1) : 0) + 10 * (k / 7) + k % 7);
  });
}

template <class L, int Rank, class Where, class Edge>
void expect_in_place(const Where& where, const index_t (&n)[Rank], const index_t (&reach)[Rank],
                     const Edge& at_edges) {
  for (const Update update : {Update::Normal, Update::Red, Update::Black, Update::RedBlack}) {
    SCOPED_TRACE("update " + std::to_string(static_cast<int>(update)));
    const auto x = make_numbers<std::int64_t, Rank, L>("x", n),
               scratch = make_numbers<std::int64_t, Rank, L>("s", n, 1);
    std::vector<std::int64_t> expected = values_of(x);
    for (int step = 0; step < 2; ++step) {
      if (update == Update::Normal) by_hand(std::vector(expected), expected, n, reach, at_edges, -1);
      if (update == Update::Red || update == Update::RedBlack)
        by_hand(std::vector(expected), expected, n, reach, at_edges, 0);
      if (update == Update::Black || update == Update::RedBlack)
        by_hand(std::vector(expected), expected, n, reach, at_edges, 1);
    }

    map_overlap(where, Weigh<Rank>{}, x, overlap(reach, at_edges), update);
    map_overlap(where, Weigh<Rank>{}, x, overlap(reach, at_edges), with_scratch(update, scratch));

    ASSERT_EQ(values_of(x), expected);
  }
}

// The regions hold corners, and so elements of the same colour: those must be old ones, too.
TYPED_TEST(MapOverlap, InPlaceNoElementSeesAHalfNewNeighbour) {
  for_each_place<TypeParam>([](const auto& where) {
    expect_in_place<LayoutRight>(where, {131}, {2}, edge::cyclic);
    expect_in_place<LayoutRight>(where, {131}, {1}, edge::none);
    expect_in_place<LayoutTiled<8>>(where, {35, 9}, {1, 1}, edge::duplicate);
    expect_in_place<LayoutTiled<8>>(where, {35, 9}, {1, 2}, edge::none);
  });
}

TYPED_TEST(MapOverlap, OnlyRowsAtTheBordersOfDevicesAreExchanged) {
  using D = TypeParam;
  const auto x = make_numbers<std::int64_t, 1>("x", {1000}), y = make_numbers<std::int64_t, 1>("y", {1000});
  const auto steps = [&](const auto& where) {
    for (int step = 0; step < 5; ++step) {
      map_overlap(where, Weigh<1>{}, y, x, overlap(1, edge::duplicate));
      map_overlap(where, Weigh<1>{}, x, y, overlap(1, edge::duplicate));
    }
  };
  // Elements that go to a device at first, and in all further steps.
  index_t first = 0, later = 0;

  if (!is_asynchronous<D>) {
    steps(on(D{}));
  } else if (D::count() < 2) {
    steps(on(D{}));
    first = 1000;
  } else {
    steps(across(std::vector<D>{D{0}, D(1)}));
    first = 1002;
    later = 9 * 2;
  }

  const TransferCounters of_x = x.counters(), of_y = y.counters();
  const std::uint64_t bytes =
      of_x.host_to_device.bytes + of_x.peer.bytes + of_y.host_to_device.bytes + of_y.peer.bytes;
  EXPECT_EQ(bytes, static_cast<std::uint64_t>(first + later) * sizeof(std::int64_t));
  EXPECT_LE(of_x.device_to_host.bytes + of_y.device_to_host.bytes,
            static_cast<std::uint64_t>(later) * sizeof(std::int64_t))
      << "only where devices are not linked";
}

TYPED_TEST(MapOverlap, WhatDoesNotFitIsAnErrorThatNamesTheArrays) {
  const CoherentArray<std::int64_t, rank<1>> x("left one", 9), y("right one", 10), small("small one", 2);
  const auto where = on(TypeParam{});

  EXPECT_TRUE(contains(message_of<ShapeMismatch>([&] { map_overlap(where, Weigh<1>{}, y, x, overlap(1)); }),
                       {"map_overlap", "left one", "right one"}));
  EXPECT_TRUE(contains(message_of<ShapeMismatch>(
                           [&] { map_overlap(where, Weigh<1>{}, small, small, overlap(3, edge::cyclic)); }),
                       {"small one", "3", "2"}));
  EXPECT_TRUE(contains(
      message_of<ShapeMismatch>([&] { map_overlap(where, Weigh<1>{}, x, overlap(-1), Update::Red); }),
      {"left one", "-1"}));
  EXPECT_TRUE(contains(message_of<AccessConflict>([&] { map_overlap(where, Weigh<1>{}, x, x, overlap(1)); }),
                       {"left one"}));
  EXPECT_TRUE(contains(message_of<ShapeMismatch>([&] {
                         map_overlap(where, Weigh<1>{}, x, overlap(1), with_scratch(Update::Red, y));
                       }),
                       {"left one", "right one"}));
}

#if defined(STRATA_CHECKED) && STRATA_CHECKED
struct TooFar {
  template <class R>
  STRATA_FUNCTION std::int64_t operator()(const R& r) const {
    return r(2) + r(-1);
  }
};

TYPED_TEST(MapOverlap, ReadingFurtherThanTheReachIsToldInCheckedBuilds) {
  const auto x = make_numbers<std::int64_t, 1>("x", {9}), y = make_numbers<std::int64_t, 1>("y", {9});

  EXPECT_TRUE(contains(message_of<AssertionFailed>([&] {
                         map_overlap(on(TypeParam{}), TooFar{}, y, x, overlap(1, edge::duplicate));
                         wait(TypeParam{});
                       }),
                       {"map_overlap", "overlap(...)"}));
}
#endif

}  // namespace
