// Reductions over grids of every device: values of every size, reducers of every kind, blocks that are not
// full, tags and hints, rows of many blocks. All have the bits of one device.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <strata/algorithms/grid/grid.hpp>

#include "algorithms/arrays.hpp"
#include "test_devices.hpp"

namespace {

using namespace strata;
using strata_tests::mixed_number;
using strata_tests::same_bits;

template <class D>
auto two_by_two() {
  return across(std::vector<D>(4)).grid(2, 2);
}

template <class D>
class GridValues : public ::testing::Test {
 protected:
  using Plane = CoherentArray<double, rank<2>, LayoutRight>;
  static Plane mixed(index_t n, index_t m) {
    const Plane a("a", n, m);
    const auto view = a.write();
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < m; ++j) view(i, j) = mixed_number(i * m + j);
    return a;
  }
};
TYPED_TEST_SUITE(GridValues, strata_tests::TestDevices, strata_tests::DeviceName);

// A value of a double and `Words` integers; the functor has a state that every function uses.
template <int Words>
struct Wide {
  double sum;
  std::int64_t word[Words];
};
template <int Words>
struct AddWide {
  double scale;
  std::int64_t start;

  using value_type = Wide<Words>;
  STRATA_FUNCTION void init(value_type& v) const {
    v.sum = 0;
    for (int w = 0; w < Words; ++w) v.word[w] = start;
  }
  STRATA_FUNCTION void join(value_type& v, const value_type& o) const {
    v.sum += o.sum;
    for (int w = 0; w < Words; ++w) v.word[w] += o.word[w] - start;
  }
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a, value_type& v) const {
    v.sum += scale * a(i, j);
    for (int w = 0; w < Words; ++w) v.word[w] += (w + 1) * i - j;
  }
};

// Lanes of the tree: 64, 32, 8 and 1.
TYPED_TEST(GridValues, OfEverySizeHaveTheBitsOfOneDevice) {
  const index_t n = 7, m = 1337;
  const auto a = this->mixed(n, m);
  const auto check = [&]<int Words>(std::integral_constant<int, Words>) {
    for (const index_t last : {m, index_t{4}, index_t{40}, index_t{515}}) {
      const auto work = mdrange({1, 3}, {n, last});
      const AddWide<Words> add{0.25, 7};
      Wide<Words> expected{}, got{};

      launch_reduce(on(TypeParam{}), work, add, expected, in(a));
      launch_reduce(two_by_two<TypeParam>(), work, add, got, in(a, own_element));

      EXPECT_TRUE(same_bits(got, expected)) << Words << " words, columns to " << last;
      EXPECT_EQ(got.word[0], 7 + (last - 3) * 21 - 6 * (3 + last - 1) * (last - 3) / 2);
    }
  };
  check(std::integral_constant<int, 1>());
  check(std::integral_constant<int, 3>());
  check(std::integral_constant<int, 15>());
  check(std::integral_constant<int, 150>());
}

struct Bytes {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a, unsigned char& most, bool& any) const {
    const auto number = static_cast<unsigned char>((31 * i + 17 * j) % 251);
    most = most < number ? number : most;
    any = any || a(i, j) < -1e5;
  }
};
struct MostByte {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a, auto marks, unsigned char& most) const {
    const auto number = static_cast<unsigned char>(a(i, j) < 0 ? (i + j) % 200 : 0);
    marks(i, j) = a(i, j) < 0;
    most = most < number ? number : most;
  }
};
struct Extremes {
  index_t columns;
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a, double& sum,
                                  MinMaxLocation<double>& ends) const {
    const double number = a(i, j);
    const index_t at = i * columns + j;
    sum += number;
    if (number < ends.min) {
      ends.min = number;
      ends.min_location = at;
    }
    if (number > ends.max) {
      ends.max = number;
      ends.max_location = at;
    }
  }
};

TYPED_TEST(GridValues, OfNamedReducersAreThoseOfOneDevice) {
  const index_t n = 6, m = 1111;
  const auto a = this->mixed(n, m);
  const auto reduce = [&](const auto& where) {
    unsigned char most = 0;
    bool any = false;
    double sum = 0;
    MinMaxLocation<double> ends{};
    launch_reduce(where, mdrange({n, m}), Bytes{}, Max(most), LogicalOr(any), in(a));
    launch_reduce(where, mdrange({n, m}), Extremes{m}, Sum(sum), MinMaxLoc(ends), in(a));
    EXPECT_EQ(most, 250);
    return std::array<double, 6>{static_cast<double>(any),
                                 sum,
                                 ends.min,
                                 ends.max,
                                 static_cast<double>(ends.min_location),
                                 static_cast<double>(ends.max_location)};
  };

  EXPECT_EQ(reduce(two_by_two<TypeParam>()), reduce(on(TypeParam{})));
}

// Checked builds note which of the marks are written, and which of the values of blocks.
TYPED_TEST(GridValues, OfAByteComeWithAnArrayOfSmallElements) {
  const index_t n = 6, m = 1111;
  const auto a = this->mixed(n, m);
  const CoherentArray<bool, rank<2>, LayoutRight> marks("marks", n, m);
  unsigned char most = 0, expected = 0;
  index_t wrong = 0;

  launch_reduce(two_by_two<TypeParam>(), mdrange({n, m}), MostByte{}, Max(most), in(a, own_element),
                out(marks));

  const auto view = a.read();
  const auto marked = marks.read();
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < m; ++j) {
      const bool is_negative = view(i, j) < 0;
      wrong += marked(i, j) != is_negative;
      if (is_negative) expected = std::max(expected, static_cast<unsigned char>((i + j) % 200));
    }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(most, expected);
}

struct Weights {};
struct Cube {
  STRATA_FUNCTION void operator()(Weights, index_t i, index_t j, index_t k, auto a, double& sum) const {
    sum += a(i, j, k) * static_cast<double>(i + 2 * j + 3 * k);
  }
};
TYPED_TEST(GridValues, OfThreeDimensionsTakeTagsAndHints) {
  for (const index_t layers : {5, 64, 700}) {
    const CoherentArray<double, rank<3>, LayoutRight> a("a", 5, 23, layers);
    {
      const auto view = a.write();
      for (index_t i = 0; i < 5; ++i)
        for (index_t j = 0; j < 23; ++j)
          for (index_t k = 0; k < layers; ++k) view(i, j, k) = mixed_number((i * 23 + j) * layers + k);
    }
    const auto work = launch_bounds<128, 1>(tagged<Weights>(mdrange({1, 2, 1}, {5, 23, layers})));
    double expected = 0, sum = 0;

    launch_reduce(on(TypeParam{}), work, Cube{}, Sum(expected), in(a));
    launch_reduce(across(std::vector<TypeParam>(8)).grid(2, 2, 2), work, Cube{}, Sum(sum),
                  in(a, own_element));

    EXPECT_TRUE(same_bits(sum, expected)) << sum << " is not " << expected << ", " << layers << " layers";
  }
}

struct Add {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a, double& sum) const { sum += a(i, j); }
};
// A row is joined in one step up to 32 blocks, in two up to 1024, and so on.
TYPED_TEST(GridValues, OfRowsOfManyBlocksHaveTheBitsOfOneDevice) {
  for (const index_t blocks : {32, 33, 64, 1024, 1025, 1171}) {
    const index_t n = 2, m = 512 * blocks - 100;
    const auto a = this->mixed(n, m);
    double expected = 0, sum = 0;

    launch_reduce(on(TypeParam{}), mdrange({n, m}), Add{}, Sum(expected), in(a));
    launch_reduce(across(std::vector<TypeParam>(3)).grid(1, 3), mdrange({n, m}), Add{}, Sum(sum),
                  in(a, own_element));

    EXPECT_TRUE(same_bits(sum, expected)) << sum << " is not " << expected << ", " << blocks << " blocks";
  }
}

}  // namespace
