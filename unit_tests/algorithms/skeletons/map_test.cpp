// map: elements of several inputs and outputs, indices, in place, layouts, errors.
// SPDX-License-Identifier: Apache-2.0
#include "places.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using skeletons::map;
using skeletons::outputs;

template <class D>
class Map : public SkeletonTest {};
TYPED_TEST_SUITE(Map, TestDevices, DeviceName);

struct Ratio {
  double factor;
  STRATA_FUNCTION double operator()(double x, float y) const { return factor * x / static_cast<double>(y); }
};
struct Mixed {
  STRATA_FUNCTION std::int64_t operator()(std::int64_t x, int y) const { return 3 * x - y; }
};
struct SumAndIndex {
  STRATA_FUNCTION auto operator()(index_t i, std::int64_t x, std::int64_t y) const {
    return skeletons::results(x + y, static_cast<int>(i), x - i);
  }
};
struct PlusIndex1 {
  STRATA_FUNCTION std::int64_t operator()(index_t i, std::int64_t x) const { return 10 * x + i; }
};
struct PlusIndex3 {
  STRATA_FUNCTION std::int64_t operator()(index_t i, index_t j, index_t k, std::int64_t x) const {
    return 100 * x + 49 * i + 7 * j + k;
  }
};
struct Index2 {
  STRATA_FUNCTION std::int64_t operator()(index_t i, index_t j) const { return 1000 * i + j; }
};
struct Seven {
  STRATA_FUNCTION int operator()() const { return 7; }
};
struct SwapSum {
  STRATA_FUNCTION auto operator()(std::int64_t a, std::int64_t b, std::int64_t c) const {
    return skeletons::results(b + c, a - c);
  }
};

TYPED_TEST(Map, EveryElementIsTheFunctionOfItsInputs) {
  for_each_place<TypeParam>([](const auto& where) {
    for (const index_t n : some_sizes) {
      const auto x = make_numbers<double, 1>("x", {n});
      const auto y = make_array<float, 1>("y", {n}, [](index_t k) { return number(k, 1) * 2 + 1; });
      const CoherentArray<double, rank<1>> z("z", n);

      map(where, Ratio{3}, z, x, y);

      const std::vector<double> got = values_of(z);
      for (index_t i = 0; i < n; ++i)
        ASSERT_EQ(got[static_cast<std::size_t>(i)],
                  3.0 * static_cast<double>(number(i)) / static_cast<double>(number(i, 1) * 2 + 1))
            << i << " of " << n;
    }
  });
}

TYPED_TEST(Map, FunctionsMayTakeIndicesBeforeTheElements) {
  for_each_place<TypeParam>([](const auto& where) {
    const auto x = make_numbers<std::int64_t, 1>("x", {513});
    const auto a = make_numbers<std::int64_t, 3>("a", {17, 5, 7});
    const CoherentArray<std::int64_t, rank<1>> y("y", 513);
    const CoherentArray<std::int64_t, rank<2>> m("m", 33, 6);
    const CoherentArray<std::int64_t, rank<3>> b("b", 17, 5, 7);
    const CoherentArray<int, rank<1>> sevens("sevens", 40);

    map(where, PlusIndex1{}, y, x);
    map(where, Index2{}, m);
    map(where, PlusIndex3{}, b, a);
    map(where, Seven{}, sevens);

    const auto got_y = values_of(y), got_m = values_of(m), got_b = values_of(b);
    for (index_t k = 0; k < 513; ++k) ASSERT_EQ(got_y[static_cast<std::size_t>(k)], 10 * number(k) + k);
    for (index_t k = 0; k < 33 * 6; ++k) ASSERT_EQ(got_m[static_cast<std::size_t>(k)], k / 6 * 1000 + k % 6);
    for (index_t k = 0; k < 17 * 35; ++k)
      ASSERT_EQ(got_b[static_cast<std::size_t>(k)],
                100 * number(k) + 49 * (k / 35) + 7 * (k / 7 % 5) + k % 7);
    ASSERT_EQ(values_of(sevens), std::vector<int>(40, 7));
  });
}

TYPED_TEST(Map, SeveralOutputsTakeTheResultsOfOneCall) {
  for_each_place<TypeParam>([](const auto& where) {
    const auto x = make_numbers<std::int64_t, 1>("x", {1000}),
               y = make_numbers<std::int64_t, 1>("y", {1000}, 1);
    const CoherentArray<std::int64_t, rank<1>> sum("sum", 1000), difference("difference", 1000);
    const CoherentArray<int, rank<1>> index("index", 1000);

    map(where, SumAndIndex{}, outputs(sum, index, difference), x, y);

    const auto got_sum = values_of(sum), got_difference = values_of(difference);
    const auto got_index = values_of(index);
    for (index_t k = 0; k < 1000; ++k) {
      const auto at = static_cast<std::size_t>(k);
      ASSERT_EQ(got_sum[at], number(k) + number(k, 1));
      ASSERT_EQ(got_index[at], k);
      ASSERT_EQ(got_difference[at], number(k) - k);
    }
  });
}

TYPED_TEST(Map, InoutOutputsGiveTheirOldElementsFirst) {
  for_each_place<TypeParam>([](const auto& where) {
    const auto x = make_numbers<std::int64_t, 1>("x", {777}),
               y = make_numbers<std::int64_t, 1>("y", {777}, 1);
    const auto z = make_numbers<std::int64_t, 1>("z", {777}, 2);
    const auto whole = make_numbers<int, 1>("whole", {777}, 3);

    map(where, SwapSum{}, outputs(inout(x), inout(y)), z);
    map(where, Mixed{}, inout(z), whole);

    const auto got_x = values_of(x), got_y = values_of(y), got_z = values_of(z);
    for (index_t k = 0; k < 777; ++k) {
      const auto at = static_cast<std::size_t>(k);
      ASSERT_EQ(got_x[at], number(k, 1) + number(k, 2));
      ASSERT_EQ(got_y[at], number(k) - number(k, 2));
      ASSERT_EQ(got_z[at], 3 * number(k, 2) - number(k, 3));
    }
  });
}

TYPED_TEST(Map, ArraysMayLieInDifferentLayouts) {
  for_each_place<TypeParam>([](const auto& where) {
    const auto x = make_numbers<std::int64_t, 2, LayoutLeft>("x", {21, 13});
    const auto y = make_numbers<int, 2, LayoutRight>("y", {21, 13}, 1);
    const CoherentArray<std::int64_t, rank<2>> tiled("z", 21, 13);
    const CoherentArray<std::int64_t, rank<2>, LayoutRight> right("r", 21, 13);

    map(where, Mixed{}, tiled, x, y);
    map(where, Mixed{}, right, tiled, y);

    const auto got = values_of(right);
    for (index_t k = 0; k < 21 * 13; ++k)
      ASSERT_EQ(got[static_cast<std::size_t>(k)], 9 * number(k) - 4 * number(k, 1)) << k;
  });
}

TYPED_TEST(Map, DifferentShapesAreAnErrorThatNamesBothArrays) {
  const CoherentArray<std::int64_t, rank<1>> x("short one", 9), y("long one", 10);
  const CoherentArray<int, rank<1>> k("k", 10);
  const auto where = on(TypeParam{});

  EXPECT_TRUE(contains(message_of<ShapeMismatch>([&] { map(where, Mixed{}, y, x, k); }),
                       {"map", "short one", "long one", "9", "10"}));
  EXPECT_TRUE(contains(message_of<ShapeMismatch>([&] { map(where, SwapSum{}, outputs(y, x), y, y, y); }),
                       {"short one", "long one"}));
}

TYPED_TEST(Map, AnInputThatIsAnOutputIsAnErrorUnlessDeclaredOnce) {
  const CoherentArray<std::int64_t, rank<1>> x("x of both", 9);
  const CoherentArray<int, rank<1>> k("k", 9);
  const CoherentArray<std::int64_t, rank<1>> none;

  EXPECT_TRUE(contains(message_of<AccessConflict>([&] { map(on(TypeParam{}), Mixed{}, x, x, k); }),
                       {"x of both", "inout"}));
  EXPECT_TRUE(
      contains(message_of<Error>([&] { map(on(TypeParam{}), Mixed{}, none, x, k); }), {"create it first"}));
}

}  // namespace
