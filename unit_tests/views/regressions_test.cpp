// What once went wrong in views: slices that were copied whole, negative strides, ranges that begin elsewhere
// than at 0, access kinds, shapes that types fix, messages.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "messages.hpp"
#include "test_devices.hpp"

namespace {

using strata::create;
using strata::everything;
using strata::Extents;
using strata::index_t;
using strata::MDArray;
using strata::range;
using strata::rank;
using strata::RankExtents;
using strata::ResidentRows;
using strata::Serial;
using strata::subview;
using strata::View;
using strata_tests::expect_parts;
using strata_tests::message_of;
using strata_tests::on_host;

template <class D, class L>
using In = View<int, D, RankExtents<2>, L>;

template <class D>
class ViewRegression : public ::testing::Test {};
TYPED_TEST_SUITE(ViewRegression, strata_tests::TestDevices, strata_tests::DeviceName);

// --- slices

// 8 of 40 rows; columns, so that LayoutLeft interleaves rows.
template <class V>
struct SliceOf {
  V whole = create<V>("whole", 40, 3);
  V slice = strata::create_slice<V>("slice", RankExtents<2>(40, 3), {16, 24});
};

template <class F>
void for_each_layout(F f) {
  f(strata::LayoutRight());
  f(strata::LayoutLeft());
  f(strata::LayoutTiled<8>());
}

TYPED_TEST(ViewRegression, CopiesAndFillsOfAWholeSliceAreRefused) {
  for_each_layout([]<class L>(L) {
    const SliceOf<In<TypeParam, L>> s;

    expect_parts(message_of<strata::OutOfBounds>([&] { strata::deep_copy(s.slice, s.whole); }),
                 {"\"slice\"", "(40, 3)", "deep_copy_rows"});
    EXPECT_THROW(strata::deep_copy(s.whole, s.slice), strata::OutOfBounds);
    EXPECT_THROW(strata::deep_copy(s.slice, 7), strata::OutOfBounds);
    EXPECT_THROW(strata::deep_copy(subview(s.slice, everything, 1), 7), strata::OutOfBounds);
    EXPECT_NO_THROW(strata::deep_copy(subview(s.slice, range(16, 24), everything), 7));
  });
}

TYPED_TEST(ViewRegression, CopiesOfRowsThatASliceDoesNotHoldAreRefused) {
  for_each_layout([]<class L>(L) {
    const SliceOf<In<TypeParam, L>> s;

    for (const ResidentRows rows :
         {ResidentRows{15, 20}, {20, 25}, {0, 40}, {24, 26}, {-1, 3}, {20, 18}, {39, 41}}) {
      EXPECT_THROW(strata::deep_copy_rows(s.slice, s.whole, rows), strata::OutOfBounds) << rows.begin;
      EXPECT_THROW(strata::deep_copy_rows(s.whole, s.slice, rows), strata::OutOfBounds) << rows.begin;
    }
    EXPECT_NO_THROW(strata::deep_copy_rows(s.slice, s.whole, {16, 24}));
    EXPECT_NO_THROW(strata::deep_copy_rows(s.whole, s.slice, {17, 18}));
    EXPECT_NO_THROW(strata::deep_copy_rows(s.whole, s.slice, {3, 3}));
  });
}

TYPED_TEST(ViewRegression, AMirrorOfASliceIsRefused) {
  for_each_layout([]<class L>(L) {
    const SliceOf<In<TypeParam, L>> s;

    expect_parts(message_of<strata::LayoutError>([&] { (void)strata::create_mirror(s.slice); }),
                 {"\"slice\"", "create_slice"});
    if constexpr (!strata::detail::aliases_host<In<TypeParam, L>>) {
      EXPECT_THROW((void)strata::create_mirror_and_copy(s.slice), strata::LayoutError);
    }
  });
}

// --- index ranges and strides

TYPED_TEST(ViewRegression, ResizeAndReallocKeepWhereIndicesBegin) {
  for_each_layout([]<class L>(L) {
    using V = In<TypeParam, strata::LayoutOffset<L>>;
    const index_t begins[] = {-2, 3};
    V x = create<V>("x", typename V::mapping_type(RankExtents<2>(5, 4), begins));
    strata::deep_copy(x, 1);
    strata::deep_copy(subview(x, -2, 3), 2);
    strata::deep_copy(subview(x, 2, 6), 3);

    strata::resize(x, 9, 5);

    EXPECT_EQ(x.begin(0), -2);
    EXPECT_EQ(x.begin(1), 3);
    const auto host = on_host(x);
    for (index_t i = -2; i < 7; ++i)
      for (index_t j = 3; j < 8; ++j) {
        const int expected = i == -2 && j == 3 ? 2 : i == 2 && j == 6 ? 3 : i < 3 && j < 7 ? 1 : 0;
        EXPECT_EQ(host(i, j), expected) << i << " " << j;
      }
    strata::realloc(x, 2, 2);
    EXPECT_EQ(x.begin(0), -2);
    EXPECT_EQ(x.end(1), 5);
  });
}

TYPED_TEST(ViewRegression, StorageOfNegativeStridesBeginsAtTheLowestOffset) {
  using V = In<TypeParam, strata::LayoutStrided>;
  const index_t strides[] = {-6, 1};
  const V x = create<V>("x", typename V::mapping_type(RankExtents<2>(5, 6), strides));
  const auto plain = create<In<Serial, strata::LayoutRight>>("plain", 5, 6);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 6; ++j) plain(i, j) = 10 * i + j;

  EXPECT_EQ(x.data() - static_cast<int*>(x.allocation().get()->data), 24);
  strata::deep_copy(x, plain);
  const auto mirror = strata::create_mirror(x);
  EXPECT_EQ(mirror.data() - static_cast<int*>(mirror.allocation().get()->data), 24);
  strata::deep_copy(mirror, x);

  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 6; ++j) EXPECT_EQ(mirror(i, j), 10 * i + j);
}

TEST(ViewRegressions, TrailingIndicesThatAreLeftOutAreZeroWhereTheyMayBe) {
  for_each_layout([]<class L>(L) {
    using V = View<int, Serial, strata::DynamicRank<3>, L>;
    const V line = create<V>("line", 6), column = create<V>("column", 6, 1, 1);
    EXPECT_EQ(&line(4), line.data() + 4);
    EXPECT_EQ(&column(4), &column(4, 0, 0));
    EXPECT_EQ(&column(4, 0), &column(4, 0, 0));
    if constexpr (std::is_same_v<L, strata::LayoutLeft>) {
      const V block = create<V>("block", 6, 2, 3);
      EXPECT_EQ(&block(4), &block(4, 0, 0));
    } else if constexpr (strata::checked_build) {
      const V block = create<V>("block", 6, 2, 3);
      EXPECT_THROW((void)block(4), strata::OutOfBounds);
      EXPECT_THROW((void)block(4, 1), strata::OutOfBounds);
    }
  });
}

// --- access

TEST(ViewRegressions, PostIncrementsReturnTheValueThatTheUpdateReplaced) {
  const auto count = create<MDArray<int, Serial, rank<1>>>("count", 2);
  const auto counter = strata::atomic(count);
  constexpr int each = 20000, threads = 4;
  std::vector<std::array<int, each>> seen(threads);

  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      for (int& value : seen[static_cast<std::size_t>(t)]) value = counter(0)++;
    });
  for (auto& worker : workers) worker.join();

  std::vector<int> times(each * threads, 0);
  for (const auto& values : seen)
    for (const int value : values) ++times.at(static_cast<std::size_t>(value));
  for (const int n : times) ASSERT_EQ(n, 1);
  EXPECT_EQ(counter(1)--, 0);
  EXPECT_EQ(count(1), -1);
}

TEST(ViewRegressions, PostIncrementOfALargeFloatReturnsWhatWasThere) {
  float data[1] = {16777216.0F};  // 2^24: adding 1 changes nothing
  const View<float, Serial, RankExtents<1>, strata::LayoutRight, strata::AtomicAccess> x(data, 1);

  EXPECT_EQ(x(0)++, 16777216.0F);
  EXPECT_EQ(x(0)--, 16777216.0F);
  EXPECT_EQ(data[0], 16777215.0F);
}

template <class D>
struct CountHits {
  View<int, D, RankExtents<1>, typename D::layout, strata::AtomicAccess> hits;
  using device_type = D;
  STRATA_FUNCTION void operator()(int i) const { hits(i % 10) += 1; }
};

TYPED_TEST(ViewRegression, ViewsOfAnotherAccessShareTheElements) {
  const auto hits = create<MDArray<int, TypeParam, rank<1>>>("hits", 10);

  strata::parallel_for(1000, CountHits<TypeParam>{strata::atomic(hits)});
  strata::wait(TypeParam());

  const auto read = strata::read_only(hits);
  static_assert(std::is_same_v<typename decltype(read)::reference, int>);
  EXPECT_EQ(read.use_count(), 2);
  const auto none = strata::unmanaged(hits);
  EXPECT_EQ(hits.use_count(), 2);
  static_assert(std::is_same_v<typename decltype(strata::atomic(none))::access_type,
                               strata::Unmanaged<strata::AtomicAccess>>);
  EXPECT_EQ(none.data(), hits.data());
  const auto host = on_host(hits);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(host(i), 100);
}

TYPED_TEST(ViewRegression, CopiesOfUnmanagedViewsRunOnTheInstanceThatHoldsThem) {
  using A = MDArray<int, TypeParam, rank<1>>;
  const int last = TypeParam::count() - 1;
  const A x = create<A>("x", 12, strata::on(TypeParam(last)));

  EXPECT_NO_THROW(strata::deep_copy(strata::unmanaged(x), 5));
  const auto back = create<MDArray<int, Serial, rank<1>>>("back", 12);
  EXPECT_NO_THROW(strata::deep_copy(back, strata::unmanaged(x)));

  EXPECT_EQ(back(11), 5);
  if constexpr (!TypeParam::memory_space::host_accessible) {
    const auto layout = strata::detail::describe(x.mapping());
    const auto plain = strata::unmanaged(x);
    EXPECT_EQ(strata::detail::copy_side(plain, layout).space.instance, last);
    const A slice = strata::create_slice<A>("slice", RankExtents<1>(40), {5, 9});
    EXPECT_THROW(strata::deep_copy(strata::unmanaged(slice), 5), strata::OutOfBounds);
  }
}

// --- subviews

struct TakePart {
  STRATA_FUNCTION void operator()(index_t i, auto x, auto done) const {
    if (i == 5) subview(x, 8, everything)(0) = 9;
    done(i) = 1;
  }
};
struct TakeRangePart {
  STRATA_FUNCTION void operator()(index_t i, auto x, auto done) const {
    if (i == 5) subview(x, range(2, 9), 0)(0) = 9;
    done(i) = 1;
  }
};

template <class D, class K>
void expect_reported(K kernel, const char* index) {
  const auto x = create<MDArray<int, D, rank<2>>>("pressure", 8, 4);
  const auto done = create<MDArray<int, D, rank<1>>>("done", 20);

  const std::string text = message_of<strata::OutOfBounds>([&] {
    strata::parallel_for("parts", 20, strata::with(kernel, x, done));
    strata::wait(D());
  });

  expect_parts(text, {"parts", "\"pressure\"", index, "[0, 8) x [0, 4)"});
  const auto all_done = on_host(done);
  const auto host = on_host(x);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(all_done(i), 1);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(host(i, 0), 0);
}

TYPED_TEST(ViewRegression, ABadSubviewInAKernelIsReportedLikeABadAccess) {
  if constexpr (!strata::checked_build) GTEST_SKIP() << "bounds are checked in checked builds only";

  expect_reported<TypeParam>(TakePart{}, "(8, 0)");
  expect_reported<TypeParam>(TakeRangePart{}, "(8, 0)");
}

TEST(ViewRegressions, SubviewsOfRowsThatAreNotResidentAreRefusedOnTheHost) {
  if constexpr (!strata::checked_build) GTEST_SKIP() << "bounds are checked in checked builds only";
  using A = MDArray<int, Serial, rank<2>>;
  const A slice = strata::create_slice<A>("slice", RankExtents<2>(20, 3), {5, 9});

  EXPECT_THROW((void)subview(slice, 4, everything), strata::LayoutError);
  EXPECT_THROW((void)subview(slice, range(5, 10), everything), strata::LayoutError);
  EXPECT_NO_THROW((void)subview(slice, range(5, 9), 1));
  EXPECT_NO_THROW((void)subview(slice, everything, 1));
}

// --- types

using Rank2 = MDArray<int, Serial, rank<2>>;
using FixedRow = MDArray<int, Serial, 3>;
using AllFixed = View<int, Serial, Extents<2, 3>, strata::LayoutRight>;

static_assert(std::is_constructible_v<Rank2, int*, int, long>);
static_assert(!std::is_constructible_v<Rank2, int*, double, int>, "extents are integers");
static_assert(!std::is_constructible_v<Rank2, int*>, "run-time extents must be given");
static_assert(!std::is_constructible_v<MDArray<int, Serial>, int*>);
static_assert(std::is_constructible_v<AllFixed, int*>);
static_assert(std::is_constructible_v<strata::Value<int, Serial>, int*>);
static_assert(!std::is_constructible_v<RankExtents<2>, float, int>);
static_assert(!std::is_constructible_v<strata::DynamicRank<4>, float, int>);
template <class... I>
concept MakesMDArray = requires(I... i) {
  strata::create_mdarray<Rank2>(i...);
};
static_assert(MakesMDArray<int, int> && !MakesMDArray<int, double>);

static_assert(std::is_convertible_v<FixedRow, Rank2>);
static_assert(std::is_convertible_v<
              AllFixed, View<const int, Serial, Extents<strata::dynamic, 3>, strata::LayoutRight>>);
static_assert(!std::is_convertible_v<Rank2, FixedRow>);
static_assert(!std::is_convertible_v<FixedRow, MDArray<int, Serial, 4>>);
static_assert(!std::is_convertible_v<FixedRow, MDArray<int, Serial, rank<3>>>);

TEST(ViewRegressions, FixedExtentsBecomeRunTimeExtentsOfTheSameElements) {
  for_each_layout([]<class L>(L) {
    using Fixed = View<int, Serial, Extents<strata::dynamic, 3>, L>;
    const Fixed x = create<Fixed>("x", 20);
    const Fixed slice = strata::create_slice<Fixed>("slice", Extents<strata::dynamic, 3>(20), {8, 16});

    const In<Serial, L> y = x, part = slice;

    EXPECT_EQ(y.extent(1), 3);
    EXPECT_EQ(x.use_count(), 2);
    EXPECT_EQ(&y(17, 2), &x(17, 2));
    EXPECT_EQ(&part(11, 2), &slice(11, 2));
    if constexpr (strata::checked_build) {
      EXPECT_THROW((void)part(16, 0), strata::OutOfBounds);
    }
  });
}

// --- messages

TYPED_TEST(ViewRegression, ExtentErrorsOfCreateNameTheArrayAndItsShape) {
  using A = MDArray<int, TypeParam, rank<2>>;
  using Short = View<int, TypeParam, RankExtents<2>, strata::Index32<strata::LayoutRight>>;

  expect_parts(message_of<strata::ExtentError>([] { (void)create<A>("field", 3, -4); }),
               {"create \"field\"", "(3, -4)", "extent 1 is -4"});
  expect_parts(message_of<strata::ExtentError>([] { (void)create<Short>("short", 70000, 70000); }),
               {"create \"short\"", "(70000, 70000)", "int32"});
}

TYPED_TEST(ViewRegression, AValueMayHaveALabel) {
  EXPECT_STREQ((strata::create_value<strata::Value<int, TypeParam>>("norm").label()), "norm");
  EXPECT_STREQ((strata::create_value<strata::Value<int, TypeParam>>().label()), "");
}

}  // namespace
