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
template <class... V>
using IndexOf = detail::IndexFor<Serial, With<AnyIndex, V...>>;

TEST(Lines, OfNumbersOfFourBytesHaveTwiceAsManyLanesOnHosts) {
  using Floats = Vector<float, Serial>;
  using Ints = Vector<const std::int32_t, Serial>;
  EXPECT_TRUE((std::is_same_v<IndexOf<Floats>, LaneIndex<16>>));
  EXPECT_TRUE((std::is_same_v<IndexOf<Floats, Ints>, LaneIndex<16>>));
  EXPECT_TRUE((std::is_same_v<IndexOf<Floats, Vector<double, Serial>>, LaneIndex<8>>));
  EXPECT_TRUE((std::is_same_v<IndexOf<Floats, Vector<std::int8_t, Serial>>, LaneIndex<8>>));
  // A block of these is of eight elements, and so are the items that may go together.
  EXPECT_TRUE((std::is_same_v<IndexOf<MDArrayIn<LayoutTiled<8>, float, Serial, rank<1>>>, LaneIndex<8>>));
  EXPECT_TRUE((std::is_same_v<IndexOf<MDArray<float, Serial, rank<2>>>, LaneIndex<8>>));
  // A functor may hold arrays in blocks, and a type of index of its own.
  EXPECT_TRUE((std::is_same_v<detail::IndexFor<Serial, With<HoldsAnArray, Floats>>, LaneIndex<8>>));
  EXPECT_TRUE((std::is_same_v<detail::IndexFor<Serial, With<OfEightLanes, Floats>>, LaneIndex<8>>));
  // Where the index is a number it stays one.
  EXPECT_TRUE((std::is_same_v<detail::IndexFor<Serial, With<Number, Floats>>, index_t>));
}

TEST(Lines, KernelsMayHaveAnIndexOfEightLanes) {
  const auto x = create<Vector<float, Serial>>("x", 37);
  launch(on(Serial{}), range(3, 30), OfEightLanesAndAnyView{}, inout(x));
  for (index_t i = 0; i < 37; ++i) EXPECT_EQ(x(i), i >= 3 && i < 30 ? 2 : 0) << i;
}

struct AddProduct {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const {
    using T = typename decltype(y)::value_type;
    y(i) = static_cast<T>(y(i) + x(i) * static_cast<T>(3) + static_cast<T>(index_t(i) % 7));
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

TYPED_TEST(LinesOf, AnyRangeHaveTheValuesAndBitsOfOneItemAfterTheOther) {
  Random draw;
  for (int trial = 0; trial < trials(120) && !this->HasFatalFailure(); ++trial) {
    SCOPED_TRACE(trial);
    this->template draw_one<float>(draw);
    this->template draw_one<std::int32_t>(draw);
    this->template draw_one<double>(draw);
  }
}

}  // namespace
