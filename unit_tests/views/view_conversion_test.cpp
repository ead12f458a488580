// Views of one array as another type: the rank and extents that types fix, left and right, and strides that
// happen to be those of a layout. What cannot be known at compile time is explicit, and checked.
// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "messages.hpp"
#include "test_devices.hpp"

namespace {

using strata::create;
using strata::Extents;
using strata::index_t;
using strata::LayoutLeft;
using strata::LayoutRight;
using strata::LayoutStrided;
using strata::MDArray;
using strata::MDArrayIn;
using strata::range;
using strata::rank;
using strata::RankExtents;
using strata::Serial;
using strata::subview;
using strata_tests::expect_parts;
using strata_tests::message_of;
using strata_tests::on_host;

template <class From, class To>
constexpr bool implicit = std::is_convertible_v<From, To>;
template <class From, class To>
constexpr bool explicit_only = !implicit<From, To> && std::is_constructible_v<To, From>;

using Free = MDArray<int, Serial>;
using Two = MDArray<int, Serial, rank<2>>;
using Fixed = MDArray<int, Serial, 3>;
static_assert(implicit<Two, Free> && implicit<Fixed, Free> && implicit<Fixed, Two>);
static_assert(explicit_only<Free, Two> && explicit_only<Free, Fixed> && explicit_only<Two, Fixed>);
static_assert(implicit<Two, MDArray<const int, Serial>> &&
              !std::is_constructible_v<Two, MDArray<const int, Serial>>);
static_assert(!std::is_constructible_v<Two, MDArray<int, Serial, rank<3>>>);
static_assert(!std::is_constructible_v<MDArray<int, Serial, 4>, Fixed>);
static_assert(implicit<strata::MultiVector<int, Serial>, MDArrayIn<LayoutLeft, int, Serial>>);

template <class L, int R>
using In = MDArrayIn<L, int, Serial, rank<R>>;
static_assert(implicit<In<LayoutLeft, 1>, In<LayoutRight, 1>> &&
              implicit<In<LayoutRight, 1>, In<LayoutLeft, 1>>);
static_assert(explicit_only<In<LayoutLeft, 2>, In<LayoutRight, 2>>);
static_assert(explicit_only<In<LayoutStrided, 1>, In<LayoutLeft, 1>> &&
              implicit<In<LayoutLeft, 2>, In<LayoutStrided, 2>>);
static_assert(!std::is_constructible_v<In<LayoutLeft, 1>, In<strata::LayoutTiled<4>, 1>>);

template <class D>
class ViewConversion : public ::testing::Test {};
TYPED_TEST_SUITE(ViewConversion, strata_tests::TestDevices, strata_tests::DeviceName);

struct Number {
  STRATA_FUNCTION void operator()(index_t i, auto x) const {
    for (index_t j = 0; j < x.extent(1); ++j) x(i, j) = static_cast<int>(10 * i + j);
  }
};

TYPED_TEST(ViewConversion, FromFixedToFreeRankAndBack) {
  using D = TypeParam;
  const auto x = create<MDArray<int, D, rank<2>>>("x", 5, 3);

  const MDArray<int, D> free = x;
  strata::parallel_for(5, strata::with(Number{}, free));
  const MDArray<int, D, rank<2>> back(free);
  const MDArray<int, D, 3> columns(free);

  EXPECT_EQ(free.rank(), 2);
  EXPECT_EQ(free.extent(1), 3);
  EXPECT_EQ(x.use_count(), 4);
  EXPECT_TRUE(back == x);
  const auto host = on_host(columns);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 3; ++j) EXPECT_EQ(host(i, j), 10 * i + j);
}

// In a kernel, too.
struct Columns {
  template <class V>
  STRATA_FUNCTION void operator()(index_t i, V free) const {
    const strata::View<int, typename V::device_type, Extents<strata::dynamic, 3>, typename V::layout_type,
                       typename V::access_type>
        columns(free);
    for (int j = 0; j < 3; ++j) columns(i, j) = static_cast<int>(i) - j;
  }
};
TYPED_TEST(ViewConversion, InKernels) {
  const auto x = create<MDArray<int, TypeParam>>("x", 5, 3);

  strata::parallel_for(5, strata::with(Columns{}, x));

  EXPECT_EQ(on_host(x)(4, 2), 2);
}

TYPED_TEST(ViewConversion, ToAShapeThatTheArrayHasNotIsRefused) {
  using D = TypeParam;
  const auto x = create<MDArray<int, D>>("x", 5, 3);

  expect_parts(message_of<strata::ExtentError>([&] { MDArray<int, D, rank<1>>{x}; }),
               {"the rank is 2, it must be 1"});
  expect_parts(message_of<strata::ExtentError>([&] { MDArray<int, D, 4>{x}; }),
               {"extent 1 is 3: it contradicts the extent fixed at compile time"});
  const auto line = create<MDArray<int, D>>("line", 5);
  EXPECT_THROW((MDArray<int, D, 3>{line}), strata::ExtentError);
  EXPECT_THROW(
      (strata::MDArrayIn<typename D::layout, int, D>{x},
       strata::MultiVector<int, D>{create<
           strata::View<int, D, strata::DynamicRank<8>, typename strata::MultiVector<int, D>::layout_type>>(
           "cube", 2, 2, 2)}),
      strata::ExtentError);
}

TYPED_TEST(ViewConversion, LeftAndRightOfOneDimensionAreTheSame) {
  using D = TypeParam;
  const auto x = create<MDArrayIn<LayoutLeft, int, D, rank<1>>>("x", 7);
  strata::deep_copy(x, 4);

  const MDArrayIn<LayoutRight, int, D, rank<1>> right = x;
  const MDArrayIn<LayoutLeft, int, D, rank<1>> left = right;

  strata::deep_copy(subview(right, range(2, 4)), 9);
  EXPECT_EQ(on_host(left)(3), 9);
  EXPECT_EQ(on_host(left)(4), 4);
  EXPECT_EQ(left.data(), x.data());
}

TYPED_TEST(ViewConversion, StridesThatAreThoseOfALayout) {
  using D = TypeParam;
  using Left = MDArrayIn<LayoutLeft, int, D, rank<3>>;
  const Left x = create<Left>("x", 4, 3, 2);
  const auto part = subview(x, range(1, 3), strata::everything, strata::everything);
  const MDArrayIn<LayoutStrided, int, D, rank<3>> strided = part;

  const Left left(strided);
  strata::deep_copy(left, 8);

  for (int r = 0; r < 3; ++r) EXPECT_EQ(left.stride(r), part.stride(r));
  const auto host = on_host(x);
  EXPECT_EQ(host(1, 2, 1), 8);
  EXPECT_EQ(host(0, 2, 1) + host(3, 2, 1), 0);

  using Right = MDArrayIn<LayoutRight, int, D, rank<2>>;
  const auto y = create<Right>("y", 4, 6);
  const MDArrayIn<LayoutStrided, int, D, rank<2>> rows = subview(y, range(0, 2), range(1, 5));
  EXPECT_TRUE(Right(rows) == subview(y, range(0, 2), range(1, 5)));
  const auto one = create<Right>("one", 5, 1);
  EXPECT_EQ((MDArrayIn<LayoutLeft, int, D, rank<2>>(one)).extent(0), 5);
}

TYPED_TEST(ViewConversion, OtherStridesAreRefused) {
  using D = TypeParam;
  const auto x = create<MDArrayIn<LayoutRight, int, D, rank<2>>>("x", 4, 6);
  const auto column = subview(x, strata::everything, 2);
  using Line = MDArrayIn<LayoutLeft, int, D, rank<1>>;
  using Left = MDArrayIn<LayoutLeft, int, D, rank<2>>;

  expect_parts(message_of<strata::LayoutError>([&] { Line{column}; }),
               {"converted to LayoutLeft", "6 apart where that layout has them 1 apart", "deep_copy"});
  EXPECT_THROW(Left{x}, strata::LayoutError);
  using Strided = MDArrayIn<LayoutStrided, int, D, rank<3>>;
  const index_t strides[] = {1, 10, 20};  // 3 columns of 10 would be 30 apart
  const auto spread =
      create<Strided>("spread", typename Strided::mapping_type(RankExtents<3>(4, 3, 2), strides));
  EXPECT_THROW((MDArrayIn<LayoutLeft, int, D, rank<3>>{spread}), strata::LayoutError);
  EXPECT_NO_THROW((Left{MDArrayIn<LayoutRight, int, D, rank<2>>()}));
}

}  // namespace
