// deep_copy between all pairs of devices, layouts, strides, parts and spellings; from scalars; on queues; and
// what is refused.
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "core/random.hpp"
#include "test_devices.hpp"

namespace {

using strata::create;
using strata::deep_copy;
using strata::everything;
using strata::index_t;
using strata::MDArray;
using strata::range;
using strata::rank;
using strata::RankExtents;
using strata::subview;
using strata::View;
using strata_tests::on_host;

using Host = MDArray<int, strata::Serial, rank<3>>;

int value_at(index_t i, index_t j, index_t k) { return static_cast<int>(10000 * i + 100 * j + k + 1); }

Host numbered(index_t n0, index_t n1, index_t n2) {
  const Host x = create<Host>("numbered", n0, n1, n2);
  for (index_t i = 0; i < n0; ++i)
    for (index_t j = 0; j < n1; ++j)
      for (index_t k = 0; k < n2; ++k) x(i, j, k) = value_at(i, j, k);
  return x;
}

template <class H>
int count_wrong(const H& x) {
  int wrong = 0;
  for (index_t i = 0; i < x.extent(0); ++i)
    for (index_t j = 0; j < x.extent(1); ++j)
      for (index_t k = 0; k < x.extent(2); ++k) wrong += x(i, j, k) != value_at(i, j, k);
  return wrong;
}

template <class D>
class DeepCopy : public ::testing::Test {};
TYPED_TEST_SUITE(DeepCopy, strata_tests::TestDevices, strata_tests::DeviceName);

// The whole way round: host, first array, second array, host.
template <class A, class B>
void expect_round_trip(const A& a, const B& b) {
  const Host source = numbered(a.extent(0), a.extent(1), a.extent(2));
  const Host back = create<Host>("back", a.extent(0), a.extent(1), a.extent(2));

  deep_copy(a, source);
  deep_copy(b, a);
  deep_copy(back, b);

  EXPECT_EQ(count_wrong(back), 0);
}

template <class D, class L>
using In = View<int, D, RankExtents<3>, L>;

TYPED_TEST(DeepCopy, BetweenAllPairsOfDevices) {
  const auto a = create<MDArray<int, TypeParam, rank<3>>>("a", 9, 4, 5);
  strata::KernelDevices::for_each([&]<class Other>(const Other&) {
    const auto b = create<MDArray<int, Other, rank<3>>>("b", 9, 4, 5);
    const auto free = create<MDArray<int, Other>>("free", 9, 4, 5);
    const auto fixed = create<MDArray<int, Other, 4, 5>>("fixed", 9);
    expect_round_trip(a, b);
    expect_round_trip(b, a);
    expect_round_trip(a, free);
    expect_round_trip(fixed, a);
  });
}

TYPED_TEST(DeepCopy, BetweenAllPairsOfLayouts) {
  const auto right = create<In<TypeParam, strata::LayoutRight>>("right", 13, 4, 5);
  const auto left = create<In<TypeParam, strata::LayoutLeft>>("left", 13, 4, 5);
  const auto tiled = create<In<TypeParam, strata::LayoutTiled<4>>>("tiled", 13, 4, 5);
  const auto wide = create<In<TypeParam, strata::LayoutTiled<8>>>("wide", 13, 4, 5);

  expect_round_trip(right, left);
  expect_round_trip(left, tiled);
  expect_round_trip(tiled, wide);
  expect_round_trip(wide, right);
  expect_round_trip(tiled, left);
}

TYPED_TEST(DeepCopy, PaddedNegativeAndPartialStrides) {
  using Strided = In<TypeParam, strata::LayoutStrided>;
  using Right = In<TypeParam, strata::LayoutRight>;
  const index_t strides[] = {-30, 1, 6};
  const auto turned =
      create<Strided>("turned", typename Strided::mapping_type(RankExtents<3>(5, 4, 5), strides, 120));
  const auto padded =
      create<Right>("padded", typename Right::mapping_type(RankExtents<3>(5, 4, 5), {0, 5}, 32));
  const auto large = create<In<TypeParam, strata::LayoutTiled<4>>>("large", 20, 6, 7);

  expect_round_trip(turned, padded);
  expect_round_trip(padded, turned);
  expect_round_trip(subview(large, range(3, 8), range(1, 5), range(2, 7)), padded);
  expect_round_trip(subview(large, range(11, 16), range(1, 5), range(0, 5)), turned);
}

TYPED_TEST(DeepCopy, IntoAPartLeavesTheRestAlone) {
  const auto x = create<MDArray<int, TypeParam, rank<2>>>("x", 6, 5);
  deep_copy(x, 1);

  deep_copy(subview(x, range(2, 4), 3), 9);

  const auto host = on_host(x);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 5; ++j) EXPECT_EQ(host(i, j), j == 3 && (i == 2 || i == 3) ? 9 : 1);
}

TYPED_TEST(DeepCopy, APartOfAnArrayIntoAnotherPartOfIt) {
  const auto x = create<MDArray<int, TypeParam, rank<2>>>("x", 6, 4);
  deep_copy(subview(x, everything, 0), 7);

  deep_copy(subview(x, everything, 2), subview(x, everything, 0));

  const auto host = on_host(x);
  EXPECT_EQ(host(5, 2), 7);
  EXPECT_EQ(host(5, 1) + host(5, 3), 0);
}

TYPED_TEST(DeepCopy, ScalarsGoToAndComeFromRankZero) {
  const auto v = create<strata::Value<double, TypeParam>>("v");
  double result = 0;

  deep_copy(v, 2.5);
  deep_copy(result, v);
  EXPECT_EQ(result, 2.5);

  const auto x = create<MDArray<double, TypeParam, rank<1>>>("x", 3);
  deep_copy(x, 4.5);
  deep_copy(result, subview(x, 1));
  EXPECT_EQ(result, 4.5);
}

// Elements from `first` to `last` of a line and nothing beside, wherever in 16 bytes they begin.
template <class T, class D>
void fill_drawn(strata_tests::Random& draw, const T& value, const T& before) {
  using Line = MDArray<T, D, rank<1>>;
  const index_t n = draw(0, 4) == 0 ? draw(1, 40'000) : draw(1, 40), first = draw(0, n),
                last = draw(first, n);
  const Line x = create<Line>("x", n);
  const auto host = strata::create_mirror(x);
  for (index_t i = 0; i < n; ++i) host(i) = before;
  deep_copy(x, host);

  deep_copy(subview(x, range(first, last)), value);

  const auto found = on_host(x);
  for (index_t i = 0; i < n; ++i)
    ASSERT_TRUE(found(i) == (i >= first && i < last ? value : before))
        << i << " of " << n << ": " << first << " to " << last;
}
struct Twelve {
  int a, b, c;
  friend bool operator==(const Twelve&, const Twelve&) = default;
};
TYPED_TEST(DeepCopy, AValueFillsLinesOfEveryLengthAndBeginning) {
  using D = TypeParam;
  strata_tests::Random draw;
  for (int trial = 0; trial < strata_tests::trials(40) + 1; ++trial) {
    fill_drawn<signed char, D>(draw, 3, -1);
    fill_drawn<short, D>(draw, draw(0, 1) ? 0x0101 : 0x1234, -1);
    fill_drawn<float, D>(draw, draw(0, 1) ? 0.0F : 1.5F, -1.0F);
    fill_drawn<double, D>(draw, draw(0, 1) ? 0.0 : 1.7, -1.0);
    fill_drawn<strata::complex<double>, D>(draw, {1.25, -3.5}, {-1.0, 2.0});
    fill_drawn<Twelve, D>(draw, {1, 2, 3}, {-1, -1, -1});
    if (this->HasFatalFailure()) return;
  }
}

struct Large {
  int of[128];
};
// On GPUs also more than their caches hold.
TYPED_TEST(DeepCopy, LargeElementsAreSetToZeroInLinesAndApart) {
  using D = TypeParam;
  const bool is_card = strata_tests::is_asynchronous<D> && !std::is_same_v<D, strata::Emulated>;
  for (const index_t n : {index_t{5}, index_t{is_card ? 140'000 : 700}})
    for (const index_t step : {index_t{1}, index_t{2}}) {
      const auto x = create<MDArray<Large, D, rank<2>>>("x", step, n);
      const auto host = strata::create_mirror(x);
      for (index_t i = 0; i < n; ++i)
        for (index_t s = 0; s < step; ++s) host(s, i) = Large{{1, 2}};
      deep_copy(x, host);
      const auto part = subview(x, 0, everything);

      deep_copy(part, Large{});

      const auto found = on_host(x);
      for (index_t i = 0; i < n; ++i)
        for (index_t s = 0; s < step; ++s) {
          const Large& element = found(s, i);
          ASSERT_EQ(element.of[1], s == 0 ? 0 : 2) << i << " of " << n << ", " << s << " of " << step;
        }
    }
}

TYPED_TEST(DeepCopy, OnAQueueIsOrderedInIt) {
  const strata::Queue<TypeParam> queue;
  const auto x = create<MDArray<int, TypeParam, rank<3>>>("x", 7, 3, 2),
             y = create<MDArray<int, TypeParam, rank<3>>>("y", 7, 3, 2);
  const Host source = numbered(7, 3, 2), back = create<Host>("back", 7, 3, 2);

  deep_copy(queue, x, 5);
  deep_copy(queue, x, source);
  deep_copy(queue, y, x);
  deep_copy(queue, back, y);
  queue.wait();

  EXPECT_EQ(count_wrong(back), 0);
}

TYPED_TEST(DeepCopy, BetweenInstances) {
  using A = MDArray<int, TypeParam, rank<3>>;
  const int last = TypeParam::count() - 1;

  expect_round_trip(create<A>("a", 4, 3, 2, strata::on(TypeParam(0))),
                    create<A>("b", 4, 3, 2, strata::on(TypeParam(last))));
}

TYPED_TEST(DeepCopy, AShapeMismatchNamesBothArraysAndShapes) {
  const auto x = create<MDArray<int, TypeParam, rank<2>>>("wide", 3, 4),
             y = create<MDArray<int, TypeParam, rank<2>>>("tall", 4, 3);
  const auto line = create<MDArray<int, TypeParam, rank<1>>>("line", 12);

  try {
    deep_copy(x, y);
    FAIL() << "not refused";
  } catch (const strata::ShapeMismatch& e) {
    const std::string text = e.what();
    for (const char* part : {"\"wide\" has shape (3, 4)", "\"tall\" has shape (4, 3)"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_THROW(deep_copy(x, line), strata::ShapeMismatch);
  EXPECT_THROW(deep_copy(x, MDArray<int, TypeParam, rank<2>>()), strata::ShapeMismatch);
}

TYPED_TEST(DeepCopy, OverlappingPartsAreRefused) {
  const auto x = create<MDArray<int, TypeParam, rank<1>>>("x", 10);

  EXPECT_THROW(
      {
        deep_copy(subview(x, range(0, 6)), subview(x, range(3, 9)));
        strata::wait(TypeParam());
      },
      strata::CopyError);
}

TYPED_TEST(DeepCopy, OntoItselfAndOfNothingDoNothing) {
  const auto x = create<MDArray<int, TypeParam, rank<1>>>("x", 10);
  const auto none = create<MDArray<int, TypeParam, rank<2>>>("none", 0, 4);
  const MDArray<int, TypeParam, rank<1>> null;
  deep_copy(x, 3);

  EXPECT_NO_THROW(deep_copy(x, x));
  EXPECT_NO_THROW(deep_copy(none, none));
  EXPECT_NO_THROW(deep_copy(none, 1));
  EXPECT_NO_THROW(deep_copy(null, null));
  EXPECT_NO_THROW(deep_copy(subview(x, range(2, 2)), subview(x, range(5, 5))));

  EXPECT_EQ(on_host(x)(9), 3);
}

TYPED_TEST(DeepCopy, ConstSourcesAreCopied) {
  using A = MDArray<int, TypeParam, rank<1>>;
  const A x = create<A>("x", 4), y = create<A>("y", 4);
  deep_copy(x, 6);

  deep_copy(y, typename A::const_type(x));

  EXPECT_EQ(on_host(y)(3), 6);
}

}  // namespace
