// Kernels over lines of numbers: ranges that begin and end anywhere, numbers of every size, all in the loops
// that hosts have for them, with the values and the bits of one item after the other.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "arrays.hpp"
#include "core/random.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

struct AnyIndex {
  STRATA_FUNCTION void operator()(auto, auto...) const {}
};
struct Number {
  STRATA_FUNCTION void operator()(int, const Vector<float, Serial>&) const {}
};
struct HoldsAnArray : AnyIndex {
  MDArrayIn<LayoutTiled<8>, float, Serial, rank<1>> other;
};
struct OfEightLanes {
  void operator()(LaneIndex<8> i, const Vector<float, AnyHost>& x) const { x(i) = 1; }
};
// Its index may be one of more lanes, for it is one of eight as well.
struct OfEightLanesAndAnyView {
  void operator()(Serial::index_type i, auto x) const { x(i) += 2; }
};
struct StoresLane {
  index_t below;
  void operator()(auto i, auto x) const {
    x(i + below) = i.block * i.lanes + i.lane == i ? static_cast<float>(i.lane) : -2;
  }
};
// What is passed to a kernel over such views on a host.
template <class K, class... V>
using IndexOf = detail::IndexFor<Serial, With<K, V...>>;
template <class K, class... V>
constexpr bool has_lanes(int lanes) {
  return (std::is_same_v<IndexOf<K, V...>, LaneIndex<16>> && lanes == 16) ||
         (std::is_same_v<IndexOf<K, V...>, LaneIndex<8>> && lanes == 8);
}
using Floats = Vector<float, Serial>;
using Ints = Vector<const std::int32_t, Serial>;

TEST(Lines, KernelsOverOneToFourLinesOfNumbersOfFourBytesHaveSixteenLanesOnHosts) {
  EXPECT_TRUE((has_lanes<AnyIndex, Floats>(16)));
  EXPECT_TRUE((has_lanes<AnyIndex, Floats, Ints>(16)));
  EXPECT_TRUE((has_lanes<AnyIndex, Floats, Floats, Floats, Ints>(16)));
}

TEST(Lines, KernelsOverFiveLinesHaveEightLanesOnHosts) {
  EXPECT_TRUE((has_lanes<AnyIndex, Floats, Floats, Floats, Floats, Ints>(8)));
}

TEST(Lines, KernelsOverArraysOfWhichOneIsOfOtherNumbersOrNoLineHaveEightLanesOnHosts) {
  EXPECT_TRUE((has_lanes<AnyIndex, Floats, Vector<double, Serial>>(8)));
  EXPECT_TRUE((has_lanes<AnyIndex, Floats, Vector<std::int8_t, Serial>>(8)));
  EXPECT_TRUE((has_lanes<AnyIndex, Floats, MDArray<float, Serial, rank<2>>>(8)));
  // A block of these is of eight elements, and so are the items that may go together.
  EXPECT_TRUE((has_lanes<AnyIndex, MDArrayIn<LayoutTiled<8>, float, Serial, rank<1>>>(8)));
}

TEST(Lines, KernelsThatHoldArraysOrDeclareALaneIndexHaveEightLanesOnHosts) {
  EXPECT_TRUE((has_lanes<HoldsAnArray, Floats>(8)));
  EXPECT_TRUE((has_lanes<OfEightLanes, Floats>(8)));
}

TEST(Lines, KernelsWhoseIndexIsANumberAreCalledWithANumber) {
  EXPECT_TRUE((std::is_same_v<IndexOf<Number, Floats>, index_t>));
}

TEST(Lines, AKernelWithAnIndexOfEightLanesIsCalledForEachItemWhereOthersHaveSixteen) {
  const auto x = create<Vector<float, Serial>>("x", 37);

  launch(on(Serial{}), range(3, 30), OfEightLanesAndAnyView{}, inout(x));

  for (index_t i = 0; i < 37; ++i) EXPECT_EQ(x(i), i >= 3 && i < 30 ? 2 : 0) << i;
}

// Also ranges that begin below zero, and those that have half of a block only.
TEST(Lines, EachItemOfAShortRangeIsOneLaneOfItsBlock) {
  constexpr index_t below = 48, most = 40;
  const auto x = create<Vector<float, Serial>>("x", below + 8 + most);
  for (index_t first = -below; first < 8; ++first)
    for (index_t last = first; last < first + most; ++last) {
      deep_copy(x, -1.0F);

      launch(on(Serial{}), range(first, last), StoresLane{below}, inout(x));

      for (index_t i = -below; i < 8 + most; ++i)
        ASSERT_EQ(x(i + below), i >= first && i < last ? static_cast<float>(i & 15) : -1)
            << i << " of " << first << " to " << last;
    }
}

struct AddProduct {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const {
    using T = typename decltype(y)::value_type;
    y(i) = static_cast<T>(y(i) + x(i) * static_cast<T>(3) + static_cast<T>(index_t(i) % 7));
  }
};
struct AddOfFourArrays {
  STRATA_FUNCTION void operator()(auto i, auto a, auto b, auto c, auto to) const {
    to(i) += a(i) * b(i) + c(i);
  }
};
struct AddOfFiveArrays {
  STRATA_FUNCTION void operator()(auto i, auto a, auto b, auto c, auto d, auto to) const {
    to(i) += a(i) * b(i) + c(i) * d(i);
  }
};
// Sums and running sums, by kernels that take any index and by some whose index is a number.
struct SumOfProducts {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, auto& sum) const { sum += x(i) * y(i); }
};
template <class T, class D>
struct SumByNumbers {
  Vector<T, D> x, y;
  STRATA_FUNCTION void operator()(index_t i, T& sum) const { sum += x(i) * y(i); }
};
struct SumsSoFar {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, auto& sum, bool is_final) const {
    sum += x(i);
    if (is_final) y(i) = sum;
  }
};
template <class T, class D>
struct SumsSoFarByNumbers {
  Vector<T, D> x, y;
  STRATA_FUNCTION void operator()(index_t i, T& sum, bool is_final) const {
    sum += x(i);
    if (is_final) y(i) = sum;
  }
};

// A value that differs for every order of items and joins.
struct Order {
  std::uint64_t hash;
};
template <class D>
struct HashOfOrder {
  using device_type = D;
  using value_type = Order;
  STRATA_FUNCTION static void init(Order& order) { order.hash = 1; }
  STRATA_FUNCTION static void join(Order& a, const Order& b) {
    a.hash = a.hash * 6364136223846793005U + b.hash;
  }
};
template <class D>
struct HashByLanes : HashOfOrder<D> {
  STRATA_FUNCTION void operator()(auto i, auto x, Order& order) const {
    order.hash = order.hash * 31 + static_cast<std::uint64_t>(x(i));
  }
};
template <class D>
struct HashByNumbers : HashOfOrder<D> {
  Vector<int, D> x;
  STRATA_FUNCTION void operator()(index_t i, Order& order) const {
    order.hash = order.hash * 31 + static_cast<std::uint64_t>(x(i));
  }
};

template <class D>
class LinesOf : public ::testing::Test {
 protected:
  template <class T>
  void draw_one(Random& draw) {
    constexpr index_t n = 700;
    const index_t first = draw(0, 120), last = first + draw(0, n - first);
    const std::string what = std::to_string(first) + " to " + std::to_string(last);
    const auto whole = [](index_t i) { return i % 37 - i % 5; };
    const auto x = make_vector<T, D>(n, whole), y = make_vector<T, D>(n, whole);
    const index_t chunk = draw(0, 2) == 0 ? draw(1, 40) : 0;
    if (chunk > 0) launch(on(D{}), range(first, last).dynamic(chunk), AddProduct{}, in(x), inout(y));
    else launch(on(D{}), range(first, last), AddProduct{}, in(x), inout(y));
    const std::vector<T> all = values_of(y);
    for (index_t i = 0; i < n; ++i) {
      const index_t right = i >= first && i < last ? 4 * whole(i) + i % 7 : whole(i);
      ASSERT_EQ(all[static_cast<std::size_t>(i)], static_cast<T>(right))
          << i << " of " << what << ", pieces of " << chunk;
    }

    // Floating-point numbers whose sums differ where they are added in another order.
    const auto mixed = [](index_t i) { return std::is_integral_v<T> ? i % 101 - 50 : mixed_number(i); };
    const auto a = make_vector<T, D>(n, mixed), b = make_vector<T, D>(n, mixed),
               c = make_vector<T, D>(n, mixed);
    T by_lanes{}, by_numbers{};
    launch_reduce(on(D{}), range(first, last), SumOfProducts{}, Sum(by_lanes), in(a), in(b));
    parallel_reduce(on(D{}), range(first, last), SumByNumbers<T, D>{a, b}, Sum(by_numbers));
    ASSERT_EQ(by_lanes, by_numbers) << what;
    launch_scan(on(D{}), range(first, last), SumsSoFar{}, Sum(by_lanes), in(a), out(b));
    parallel_scan(on(D{}), range(first, last), SumsSoFarByNumbers<T, D>{a, c}, Sum(by_numbers));
    ASSERT_EQ(by_lanes, by_numbers) << what;
    ASSERT_EQ(values_of(b), values_of(c)) << what;
  }
};
TYPED_TEST_SUITE(LinesOf, TestDevices, DeviceName);

TYPED_TEST(LinesOf, KernelsOverFourAndFiveArraysHaveTheValuesOfEachItem) {
  constexpr index_t n = 300;
  Random draw;
  const auto array = [](index_t factor) {
    return make_vector<float, TypeParam>(n, [=](index_t i) { return factor * i % 37; });
  };
  const auto a = array(1), b = array(3), c = array(5), d = array(7);
  for (int trial = 0; trial < trials(20); ++trial) {
    const index_t first = draw(0, 100), last = first + draw(0, n - first);
    const auto four = array(2), five = array(2);

    launch(on(TypeParam{}), range(first, last), AddOfFourArrays{}, in(a), in(b), in(c), inout(four));
    launch(on(TypeParam{}), range(first, last), AddOfFiveArrays{}, in(a), in(b), in(c), in(d), inout(five));

    const std::vector<float> of_four = values_of(four), of_five = values_of(five);
    for (index_t i = 0; i < n; ++i) {
      const index_t product = (i % 37) * (3 * i % 37), before = 2 * i % 37;
      const bool is_item = i >= first && i < last;
      ASSERT_EQ(of_four[static_cast<std::size_t>(i)],
                static_cast<float>(before + is_item * (product + 5 * i % 37)))
          << i << " of " << first << " to " << last;
      ASSERT_EQ(of_five[static_cast<std::size_t>(i)],
                static_cast<float>(before + is_item * (product + (5 * i % 37) * (7 * i % 37))))
          << i << " of " << first << " to " << last;
    }
  }
}

TYPED_TEST(LinesOf, NumbersHaveTheValuesAndBitsOfOneItemAfterTheOtherInAnyRange) {
  Random draw;
  for (int trial = 0; trial < trials(120) && !this->HasFatalFailure(); ++trial) {
    SCOPED_TRACE(trial);
    this->template draw_one<float>(draw);
    this->template draw_one<std::int32_t>(draw);
    this->template draw_one<double>(draw);
  }
}

TYPED_TEST(LinesOf, ReductionsJoinInTheSameOrderWhereverTheyBeginInABlock) {
  const auto x = make_vector<int, TypeParam>(1200, [](index_t i) { return i + 1; });
  for (const index_t first : {0, 1, 8, 15, 16, 24, 120, 500})
    for (const index_t count : {1, 15, 63, 64, 65, 79, 100, 492, 600}) {
      Order by_lanes{}, by_numbers{};

      parallel_reduce(range(first, first + count), with(HashByLanes<TypeParam>{}, x), by_lanes);
      parallel_reduce(range(first, first + count), HashByNumbers<TypeParam>{{}, x}, by_numbers);

      ASSERT_EQ(by_lanes.hash, by_numbers.hash) << count << " items from " << first;
    }
}

}  // namespace
