// map_array: operands that are read anywhere, within rows, columns, or all of an array.
// SPDX-License-Identifier: Apache-2.0
#include "places.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using skeletons::map_array;

template <class D>
class MapArray : public SkeletonTest {};
TYPED_TEST_SUITE(MapArray, TestDevices, DeviceName);

struct RowTimesVector {
  template <class A, class V>
  STRATA_FUNCTION std::int64_t operator()(index_t i, const A& a, const V& v) const {
    std::int64_t sum = 0;
    for (index_t j = 0; j < v.extent(0); ++j) sum += a(i, j) * v(j);
    return sum;
  }
};
struct ColumnTimesVector {
  template <class A, class V>
  STRATA_FUNCTION std::int64_t operator()(index_t j, const A& a, const V& v) const {
    std::int64_t sum = 0;
    for (index_t i = 0; i < v.extent(0); ++i) sum += a(i, j) * v(i);
    return sum;
  }
};
// As the programs of the paper: all of an array beside an element.
struct Attracted {
  template <class V>
  STRATA_FUNCTION std::int64_t operator()(std::int64_t own, const V& others) const {
    std::int64_t sum = own;
    for (index_t k = 0; k < others.extent(0); ++k) sum += (others(k) - own) * (k % 5);
    return sum;
  }
};
struct MatrixProduct {
  template <class A, class B>
  STRATA_FUNCTION std::int64_t operator()(index_t i, index_t j, const A& a, const B& b) const {
    std::int64_t sum = 0;
    for (index_t k = 0; k < b.extent(0); ++k) sum += a(i, k) * b(k, j);
    return sum;
  }
};
struct PairAt {
  template <class V>
  STRATA_FUNCTION std::int64_t operator()(index_t i, const V& pairs, int which) const {
    return pairs(2 * i + which);
  }
};
struct PairsOf {
  ResidentRows operator()(ResidentRows work) const { return {2 * work.begin, 2 * work.end}; }
};

TYPED_TEST(MapArray, RowsAndColumnsOfAMatrixMeetAVector) {
  static constexpr index_t n = 37, m = 29;
  for_each_place<TypeParam>([](const auto& where) {
    const auto a = make_numbers<std::int64_t, 2>("a", {n, m});
    const auto v = make_numbers<std::int64_t, 1>("v", {m}, 1), w = make_numbers<std::int64_t, 1>("w", {n}, 2);
    const CoherentArray<std::int64_t, rank<1>> y("y", n), z("z", m);

    map_array(where, RowTimesVector{}, y, in(a), in(v, everything));
    map_array(where, ColumnTimesVector{}, z, in(a, columns), in(w, everything));

    const auto got_y = values_of(y), got_z = values_of(z);
    for (index_t i = 0; i < n; ++i) {
      std::int64_t sum = 0;
      for (index_t j = 0; j < m; ++j) sum += number(i * m + j) * number(j, 1);
      ASSERT_EQ(got_y[static_cast<std::size_t>(i)], sum);
    }
    for (index_t j = 0; j < m; ++j) {
      std::int64_t sum = 0;
      for (index_t i = 0; i < n; ++i) sum += number(i * m + j) * number(i, 2);
      ASSERT_EQ(got_z[static_cast<std::size_t>(j)], sum);
    }
  });
}

TYPED_TEST(MapArray, AllOfAnArrayStandsBesideAnElementInAlternation) {
  for_each_place<TypeParam>([](const auto& where) {
    static constexpr index_t n = 203;
    const auto x = make_numbers<std::int64_t, 1>("x", {n}), y = make_numbers<std::int64_t, 1>("y", {n}, 1);
    std::vector<std::int64_t> by_hand_x = values_of(x), by_hand_y = values_of(y);
    const auto step = [](const std::vector<std::int64_t>& full, std::vector<std::int64_t>& part) {
      for (std::int64_t& own : part) {
        std::int64_t sum = own;
        for (std::size_t k = 0; k < full.size(); ++k)
          sum += (full[k] - own) * static_cast<std::int64_t>(k % 5);
        own = sum;
      }
    };

    for (int round = 0; round < 2; ++round) {
      map_array(where, Attracted{}, inout(y), in(x, everything));
      map_array(where, Attracted{}, inout(x), in(y, everything));
      step(by_hand_x, by_hand_y);
      step(by_hand_y, by_hand_x);
    }

    ASSERT_EQ(values_of(x), by_hand_x);
    ASSERT_EQ(values_of(y), by_hand_y);
  });
}

TYPED_TEST(MapArray, OutputsOfTwoDimensionsReadRowsOfOneMatrixAndAllOfAnother) {
  for_each_place<TypeParam>([](const auto& where) {
    static constexpr index_t n = 19, m = 11, inner = 7;
    const auto a = make_numbers<std::int64_t, 2>("a", {n, inner});
    const auto b = make_numbers<std::int64_t, 2, LayoutRight>("b", {inner, m}, 1);
    const CoherentArray<std::int64_t, rank<2>> c("c", n, m);

    map_array(where, MatrixProduct{}, c, in(a), in(b, everything));

    const auto got = values_of(c);
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < m; ++j) {
        std::int64_t sum = 0;
        for (index_t k = 0; k < inner; ++k) sum += number(i * inner + k) * number(k * m + j, 1);
        ASSERT_EQ(got[static_cast<std::size_t>(i * m + j)], sum) << i << ", " << j;
      }
  });
}

TYPED_TEST(MapArray, RowsByAFunctionAreAllThatADeviceGets) {
  for_each_place<TypeParam>([](const auto& where) {
    static constexpr index_t n = 400;
    const auto pairs = make_numbers<std::int64_t, 1>("pairs", {2 * n});
    const auto which = make_array<int, 1>("which", {n}, [](index_t k) { return k % 3 == 0; });
    const CoherentArray<std::int64_t, rank<1>> y("y", n);

    map_array(where, PairAt{}, y, in(pairs, rows(PairsOf{})), which);

    const auto got = values_of(y);
    for (index_t k = 0; k < n; ++k) ASSERT_EQ(got[static_cast<std::size_t>(k)], number(2 * k + (k % 3 == 0)));
    const std::uint64_t most = static_cast<std::uint64_t>(n) * (2 * sizeof(std::int64_t));
    EXPECT_LE(pairs.counters().host_to_device.bytes, most) << "each pair goes to one device only";
  });
}

TYPED_TEST(MapArray, ElementsOfAnotherShapeAreAnErrorThatNamesBothArrays) {
  const CoherentArray<std::int64_t, rank<1>> x("operand", 9), y("result", 10), v("v", 3);

  EXPECT_TRUE(contains(
      message_of<ShapeMismatch>([&] { map_array(on(TypeParam{}), Attracted{}, y, x, in(v, everything)); }),
      {"map_array", "operand", "result"}));
  EXPECT_TRUE(contains(message_of<AccessConflict>(
                           [&] { map_array(on(TypeParam{}), Attracted{}, inout(x), in(x, everything)); }),
                       {"operand"}));
}

}  // namespace
