// MDArray on every device: its spellings, sharing, null and unmanaged views, conversions, host mirrors.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <type_traits>
#include <utility>

#include "test_devices.hpp"

namespace {

using strata::create;
using strata::dynamic;
using strata::index_t;
using strata::MDArray;
using strata::rank;
using strata_tests::on_host;

template <class D>
class MDArrays : public ::testing::Test {};
TYPED_TEST_SUITE(MDArrays, strata_tests::TestDevices, strata_tests::DeviceName);

// Every element becomes the number of its index, the left-most digit counting most.
struct Number {
  STRATA_FUNCTION void operator()(index_t i, auto x) const {
    if constexpr (std::remove_cvref_t<decltype(x)>::extents_type::has_dynamic_rank) {
      for (index_t j = 0; j < x.extent(1); ++j) x(i, j) = static_cast<int>(10 * i + j);
    } else if constexpr (std::remove_cvref_t<decltype(x)>::extents_type::max_rank_value == 1) {
      x(i) = static_cast<int>(i);
    } else {
      for (index_t j = 0; j < x.extent(1); ++j) x(i, j) = static_cast<int>(10 * i + j);
    }
  }
};

template <class A>
void expect_numbered(const A& x) {
  const auto host = on_host(x);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 3; ++j) EXPECT_EQ(host(i, j), 10 * i + j);
}

TYPED_TEST(MDArrays, TheThreeSpellingsHoldTheSameElements) {
  const auto free = create<MDArray<int, TypeParam>>("free", 5, 3);
  const auto fixed_rank = create<MDArray<int, TypeParam, rank<2>>>("fixed_rank", 5, 3);
  const auto fixed_extent = create<MDArray<int, TypeParam, 3>>("fixed_extent", 5);

  strata::parallel_for(5, strata::with(Number{}, free));
  strata::parallel_for(5, strata::with(Number{}, fixed_rank));
  strata::parallel_for(5, strata::with(Number{}, fixed_extent));

  expect_numbered(free);
  expect_numbered(fixed_rank);
  expect_numbered(fixed_extent);
  EXPECT_EQ(fixed_extent.extent(1), 3);
  EXPECT_EQ(decltype(fixed_extent)::extents_type::static_extent(1), 3);
  EXPECT_EQ(free.rank(), 2);
  EXPECT_EQ(free.dimension(1), 3);
}

TYPED_TEST(MDArrays, EveryRankFromZeroToEightIsCreatedZeroed) {
  const index_t n[] = {3, 2, 2, 2, 2, 2, 2, 2};
  const auto check = [&]<std::size_t R>(std::integral_constant<std::size_t, R>) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto fixed = create<MDArray<float, TypeParam, rank<static_cast<int>(R)>>>("fixed", n[I]...);
      const auto free = create<MDArray<float, TypeParam>>("free", n[I]...);
      const auto host = on_host(fixed);
      const auto host_free = on_host(free);
      EXPECT_EQ(fixed.rank(), static_cast<int>(R));
      EXPECT_EQ(free.rank(), static_cast<int>(R));
      EXPECT_EQ(fixed.size(), free.size());
      EXPECT_EQ(fixed.size(), R == 0 ? 1 : 3 << (R - 1));
      EXPECT_EQ(host((n[I] - 1)...), 0.0f);
      EXPECT_EQ(host_free((n[I] - 1)...), 0.0f);
    }
    (std::make_index_sequence<R>());
  };

  [&]<std::size_t... R>(std::index_sequence<R...>) { (check(std::integral_constant<std::size_t, R>()), ...); }
  (std::make_index_sequence<9>());
}

TYPED_TEST(MDArrays, ANullViewIsEmptyAndFalse) {
  const MDArray<int, TypeParam, rank<2>> null;

  EXPECT_FALSE(null);
  EXPECT_EQ(null.size(), 0);
  EXPECT_EQ(null.data(), nullptr);
  EXPECT_EQ(null.use_count(), 0);
  EXPECT_STREQ(null.label(), "");
  EXPECT_TRUE(null == (MDArray<int, TypeParam, rank<2>>()));
  EXPECT_EQ((MDArray<int, TypeParam>().rank()), 0);
}

TYPED_TEST(MDArrays, CopiesShareTheElementsAndTheLastOneFrees) {
  using A = MDArray<int, TypeParam, rank<1>>;
  const auto before = strata::allocation_totals(TypeParam::memory_space::kind);
  {
    A first = create<A>("shared", 100);
    A second = first;
    EXPECT_EQ(first.use_count(), 2);
    EXPECT_STREQ(second.label(), "shared");
    EXPECT_TRUE(first == second);
    EXPECT_TRUE(first);

    first = A();

    EXPECT_EQ(second.use_count(), 1);
    strata::parallel_for(100, strata::with(Number{}, second));
    EXPECT_EQ(on_host(second)(99), 99);
  }
  EXPECT_EQ(strata::allocation_totals(TypeParam::memory_space::kind).count, before.count);
}

TYPED_TEST(MDArrays, ViewsOfOtherElementsAreNotEqual) {
  using A = MDArray<int, TypeParam, rank<2>>;
  const A x = create<A>("x", 4, 4), y = create<A>("y", 4, 4);

  EXPECT_FALSE(x == y);
  EXPECT_TRUE(strata::subview(x, strata::range(0, 2), strata::everything) ==
              strata::subview(x, strata::range(0, 2), strata::everything));
  EXPECT_FALSE(strata::subview(x, strata::range(0, 2), strata::everything) ==
               strata::subview(x, strata::range(0, 3), strata::everything));
  // A row and a column begin at the same element.
  using Strided = strata::View<int, TypeParam, strata::RankExtents<1>, strata::LayoutStrided>;
  EXPECT_FALSE(Strided(strata::subview(x, 0, strata::everything)) ==
               Strided(strata::subview(x, strata::everything, 0)));
}

TYPED_TEST(MDArrays, ViewsOfConstElementsShareAndCannotWrite) {
  using A = MDArray<int, TypeParam, rank<1>>;
  const A x = create<A>("x", 4);
  const typename A::const_type c = x;

  EXPECT_EQ(x.use_count(), 2);
  EXPECT_EQ(c.data(), x.data());
  EXPECT_TRUE(c == x);
  static_assert(std::is_same_v<typename decltype(c)::reference, const int&>);
  static_assert(!std::is_convertible_v<typename A::const_type, A>);
  static_assert(std::is_same_v<typename decltype(c)::HostMirror, typename A::HostMirror>);
}

TYPED_TEST(MDArrays, StridedViewsAreMadeOfRightAndLeftOnes) {
  using A = MDArray<int, TypeParam, rank<2>>;
  using Strided = strata::View<int, TypeParam, strata::RankExtents<2>, strata::LayoutStrided>;
  const A x = create<A>("x", 5, 3);
  strata::parallel_for(5, strata::with(Number{}, x));

  const Strided s = x;

  expect_numbered(s);
  EXPECT_EQ(x.use_count(), 2);
}

TYPED_TEST(MDArrays, HostMirrorsHaveTheShapeAndLayoutInHostMemory) {
  using A = MDArray<int, TypeParam, 7>;
  using M = typename A::HostMirror;

  static_assert(M::memory_space::host_accessible);
  static_assert(std::is_same_v<typename M::layout_type, typename A::layout_type>);
  static_assert(std::is_same_v<typename M::extents_type, typename A::extents_type>);
  SUCCEED();
}

TEST(MDArrayOnHosts, HostDevicesUseEachOthersViews) {
  using OnSerial = MDArray<double, strata::Serial, rank<2>>;
  using OnThreads = MDArray<double, strata::Threads, rank<2>>;
  const OnSerial x = create<OnSerial>("x", 3, 4);

  const OnThreads y = x;
  strata::parallel_for(3, strata::with([](index_t i, OnThreads v) { v(i, 1) = 2.0; }, y));

  EXPECT_EQ(x(2, 1), 2.0);
  EXPECT_EQ(x.use_count(), 2);
  EXPECT_TRUE(x == y);
  static_assert(!std::is_convertible_v<MDArray<double, strata::Emulated, rank<2>>, OnSerial>);
}

TEST(MDArrayOnHosts, UnmanagedViewsShowMemoryOfSomebodyElse) {
  int data[6] = {0, 1, 2, 3, 4, 5};
  using A = MDArray<int, strata::Serial, rank<2>>;

  const A x(data, 2, 3);
  const MDArray<int, strata::Serial, 3> fixed(data, 2);
  const strata::Value<int, strata::Serial> value(data + 4);
  const A copy = x;

  EXPECT_EQ(x(1, 2), 5);
  EXPECT_EQ(fixed(1, 0), 3);
  EXPECT_EQ(*value, 4);
  EXPECT_EQ(copy.use_count(), 0);
  EXPECT_STREQ(x.label(), "");
  x(0, 1) = 7;
  EXPECT_EQ(data[1], 7);
}

TEST(MDArrayOnHosts, BracketsAndEnumerationsIndex) {
  enum Axis { x_axis, y_axis };
  const auto v = create<MDArray<int, strata::Serial, rank<1>>>("v", 2);

  v[y_axis] = 3;

  EXPECT_EQ(v(1), 3);
  EXPECT_EQ(v(x_axis), 0);
  static_assert(!strata::IndexLike<double>);
}

// Which the constructor that only reports a label leaves as they are.
TEST(MDArrayOnHosts, TextAndNullPointersAreMemoryOfSomebodyElse) {
  using Text = MDArray<const char, strata::Serial, rank<1>>;
  using Bytes = MDArray<char, strata::Serial, rank<1>>;
  char data[] = "abc";

  const Text text("abc", 3);
  const Bytes bytes(data, 3);
  const Text of_bytes(data, 3);
  const Bytes null(nullptr, 3);

  EXPECT_EQ(text(2), 'c');
  EXPECT_EQ(bytes(2), 'c');
  EXPECT_EQ(of_bytes.data(), data);
  EXPECT_FALSE(null);
  static_assert(!std::is_convertible_v<const char*, Bytes>);
  static_assert(!std::is_constructible_v<Bytes, double*, int>);
  static_assert(!std::is_constructible_v<Bytes, int, int>);
}

}  // namespace
