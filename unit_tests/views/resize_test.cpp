// resize keeps what both shapes have, realloc drops it; other views keep the old array.
// SPDX-License-Identifier: Apache-2.0
#include "test_devices.hpp"

namespace {

using strata::create;
using strata::index_t;
using strata::MDArray;
using strata::rank;
using strata_tests::on_host;

template <class D>
class Resize : public ::testing::Test {};
TYPED_TEST_SUITE(Resize, strata_tests::TestDevices, strata_tests::DeviceName);

template <class A>
void number(const A& x) {
  const auto host = strata::create_mirror_view(x);
  for (index_t i = 0; i < x.extent(0); ++i)
    for (index_t j = 0; j < x.extent(1); ++j) host(i, j) = static_cast<int>(1 + 10 * i + j);
  strata::deep_copy(x, host);
}

template <class A>
void expect_common_kept(const A& x, index_t n0, index_t n1) {
  const auto host = on_host(x);
  for (index_t i = 0; i < x.extent(0); ++i)
    for (index_t j = 0; j < x.extent(1); ++j) EXPECT_EQ(host(i, j), i < n0 && j < n1 ? 1 + 10 * i + j : 0);
}

template <class A>
void expect_resizes() {
  A x = create<A>("x", 4, 3);
  number(x);
  const A old = x;

  strata::resize(x, 6, 2);

  EXPECT_EQ(x.extent(0), 6);
  EXPECT_EQ(x.extent(1), 2);
  EXPECT_STREQ(x.label(), "x");
  expect_common_kept(x, 4, 2);
  expect_common_kept(old, 4, 3);
  EXPECT_EQ(old.use_count(), 1);
}

TYPED_TEST(Resize, KeepsWhatBothShapesHaveInEverySpellingAndLayout) {
  expect_resizes<MDArray<int, TypeParam, rank<2>>>();
  expect_resizes<MDArray<int, TypeParam>>();
  expect_resizes<strata::MDArrayIn<strata::LayoutTiled<4>, int, TypeParam, rank<2>>>();
}

TYPED_TEST(Resize, FixedExtentsStay) {
  MDArray<int, TypeParam, 3> x = create<MDArray<int, TypeParam, 3>>("x", 4);
  number(x);

  strata::resize(x, 2);

  EXPECT_EQ(x.extent(0), 2);
  expect_common_kept(x, 2, 3);
}

TYPED_TEST(Resize, OfANullViewCreates) {
  MDArray<int, TypeParam, rank<2>> x;

  strata::resize(x, 2, 3);

  EXPECT_EQ(x.size(), 6);
  expect_common_kept(x, 0, 0);
}

TYPED_TEST(Resize, ToAnotherRankIsRefusedAndChangesNothing) {
  auto x = create<MDArray<int, TypeParam>>("x", 4, 3);
  number(x);

  EXPECT_THROW(strata::resize(x, 12), strata::ExtentError);

  EXPECT_EQ(x.rank(), 2);
  expect_common_kept(x, 4, 3);
}

TYPED_TEST(Resize, OutOfMemoryLeavesTheViewAsItWas) {
  auto x = create<MDArray<int, TypeParam, rank<2>>>("x", 4, 3);
  number(x);

  EXPECT_THROW(strata::resize(x, index_t{1} << 30, index_t{1} << 24), strata::OutOfMemory);

  expect_common_kept(x, 4, 3);
}

TYPED_TEST(Resize, ReallocDropsTheElementsAndKeepsTheLabel) {
  auto x = create<MDArray<int, TypeParam, rank<2>>>("x", 4, 3);
  number(x);

  strata::realloc(x, 5, 2);

  EXPECT_EQ(x.extent(0), 5);
  EXPECT_STREQ(x.label(), "x");
  expect_common_kept(x, 0, 0);
}

TYPED_TEST(Resize, StaysOnTheInstance) {
  using A = MDArray<int, TypeParam, rank<1>>;
  const int last = TypeParam::count() - 1;
  A x = create<A>("x", 4, strata::on(TypeParam(last)));

  strata::resize(x, 9);
  EXPECT_EQ(x.allocation().get()->space.instance, last);
  strata::realloc(x, 5);
  EXPECT_EQ(x.allocation().get()->space.instance, last);
}

TYPED_TEST(Resize, ToTheSameExtentsKeepsTheMemory) {
  auto x = create<MDArray<int, TypeParam, rank<2>>>("x", 4, 3);
  number(x);
  const auto* const memory = x.data();
  const auto other = x;

  strata::resize(x, 4, 3);
  EXPECT_EQ(x.data(), memory);
  EXPECT_EQ(x.use_count(), 2);
  expect_common_kept(x, 4, 3);

  strata::resize(x, 3, 4);
  EXPECT_NE(x.data(), memory);
  EXPECT_EQ(other.use_count(), 1);
}

TYPED_TEST(Resize, OnAQueueIsOrderedInItAndWaitsForNothing) {
  const strata::Queue<TypeParam> queue;
  auto x = create<MDArray<int, TypeParam, rank<2>>>("x", 4, 3);
  strata::wait(TypeParam());

  strata::deep_copy(queue, x, 7);
  strata::resize(x, 6, 2, strata::on(queue));
  const auto host = strata::create_mirror(x);
  strata::deep_copy(queue, host, x);
  queue.wait();

  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 2; ++j) EXPECT_EQ(host(i, j), i < 4 ? 7 : 0);
  strata::realloc(x, 2, 2, strata::on(queue));
  queue.wait();
  expect_common_kept(x, 0, 0);
}

TYPED_TEST(Resize, UninitializedKeepsTheCommonPartAndFillsNothing) {
  auto x = create<MDArray<int, TypeParam, rank<2>>>("x", 4, 3);
  number(x);

  strata::resize(x, 6, 3, strata::uninitialized);
  const auto host = on_host(x);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j) EXPECT_EQ(host(i, j), 1 + 10 * i + j);

  strata::realloc(x, 9, 9, strata::uninitialized);
  EXPECT_EQ(x.size(), 81);
  EXPECT_STREQ(x.label(), "x");
}

TEST(ResizeOnEmulated, NeitherOptionEnqueuesMoreThanTheCopy) {
  using strata::Emulated;
  const strata::Queue<Emulated> queue;
  auto x = create<MDArray<int, Emulated, rank<1>>>("x", 4);
  strata::emulated::reset_time();
  strata::emulated::keep_trace(true);

  strata::resize(x, 9, strata::uninitialized, strata::on(queue));

  EXPECT_EQ(strata::emulated::trace().size(), 1U);  // of the common part; no fill
  strata::emulated::keep_trace(false);
  queue.wait();
}

TEST(ResizeOnEmulated, ReallocFreesTheOldArrayBeforeItAllocates) {
  using A = MDArray<int, strata::Emulated, rank<1>>;
  A x = create<A>("x", 1 << 20);
  const index_t used = strata::emulated::used(0);
  strata::emulated::set_capacity(0, used + (2 << 20));  // room for half an array more

  EXPECT_THROW(strata::resize(x, (1 << 20) + 1), strata::OutOfMemory);
  EXPECT_NO_THROW(strata::realloc(x, (1 << 20) + 1));
  EXPECT_EQ(x.extent(0), (1 << 20) + 1);
  EXPECT_THROW(strata::realloc(x, 1 << 22), strata::OutOfMemory);
  EXPECT_FALSE(x);

  strata::emulated::set_capacity(0, strata::emulated::config().capacity);
}

}  // namespace
