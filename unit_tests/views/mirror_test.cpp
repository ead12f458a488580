// Mirrors on every device: what they are, when they alias, and that they move elements both ways.
// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "test_devices.hpp"

namespace {

using strata::create;
using strata::index_t;
using strata::MDArray;
using strata::rank;

template <class D>
class Mirror : public ::testing::Test {};
TYPED_TEST_SUITE(Mirror, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(Mirror, CreateMirrorIsANewZeroedHostArrayOfTheSameShape) {
  const auto x = create<MDArray<int, TypeParam, rank<2>>>("x", 4, 5);
  strata::deep_copy(x, 3);

  const auto m = strata::create_mirror(x);

  EXPECT_EQ(m.use_count(), 1);
  EXPECT_EQ(m.extent(0), 4);
  EXPECT_EQ(m.extent(1), 5);
  EXPECT_EQ(m(3, 4), 0);
  EXPECT_STREQ(m.label(), "x");
  EXPECT_NE(static_cast<const void*>(m.data()), static_cast<const void*>(x.data()));
}

TYPED_TEST(Mirror, CreateMirrorViewAliasesWhereTheHostCanTouchTheMemory) {
  const auto x = create<MDArray<int, TypeParam, rank<2>>>("x", 4, 5);

  const auto m = strata::create_mirror_view(x);

  EXPECT_EQ(static_cast<const void*>(m.data()) == static_cast<const void*>(x.data()),
            TypeParam::memory_space::host_accessible);
  EXPECT_EQ(x.use_count(), TypeParam::memory_space::host_accessible ? 2 : 1);
}

TYPED_TEST(Mirror, ElementsGoThereAndBack) {
  const auto x = create<MDArray<int, TypeParam>>("x", 4, 5);
  const auto m = strata::create_mirror_view(x);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 5; ++j) m(i, j) = 10 * i + j;

  strata::deep_copy(x, m);
  const auto back = strata::create_mirror(x);
  strata::deep_copy(back, x);
  const auto copied = strata::create_mirror_and_copy(x);

  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 5; ++j) {
      EXPECT_EQ(back(i, j), 10 * i + j);
      EXPECT_EQ(copied(i, j), 10 * i + j);
    }
}

TYPED_TEST(Mirror, OfPartsAndTiledArraysAndConstViews) {
  using A = strata::MDArrayIn<strata::LayoutTiled<4>, int, TypeParam, rank<2>>;
  const A x = create<A>("x", 10, 3);
  strata::deep_copy(x, 1);
  strata::deep_copy(strata::subview(x, strata::range(3, 7), 1), 2);

  const auto whole = strata::create_mirror_and_copy(x);
  const auto part = strata::create_mirror(strata::subview(x, strata::range(3, 7), strata::everything));
  strata::deep_copy(part, strata::subview(x, strata::range(3, 7), strata::everything));
  const auto of_const = strata::create_mirror(typename A::const_type(x));

  EXPECT_EQ(whole(2, 1), 1);
  EXPECT_EQ(whole(3, 1), 2);
  EXPECT_EQ(whole(6, 1), 2);
  EXPECT_EQ(whole(7, 1), 1);
  EXPECT_EQ(part(0, 1), 2);
  EXPECT_EQ(part(3, 2), 1);
  static_assert(!std::is_const_v<typename decltype(of_const)::element_type>);
}

TYPED_TEST(Mirror, OfANullViewIsNull) {
  const MDArray<int, TypeParam, rank<1>> null;

  EXPECT_FALSE(strata::create_mirror(null));
  EXPECT_FALSE(strata::create_mirror_view(null));
  EXPECT_FALSE(strata::create_mirror_and_copy(null));
}

// From every device to every device.
template <class From, class To>
void expect_mirrored() {
  const auto x = create<MDArray<int, From, rank<2>>>("x", 4, 5);
  const auto source = strata::create_mirror(x);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 5; ++j) source(i, j) = 10 * i + j;
  strata::deep_copy(x, source);

  const auto there = strata::create_mirror_and_copy(To(), x);
  const auto empty = strata::create_mirror(To(), x);

  static_assert(std::is_same_v<typename decltype(there)::device_type, To>);
  static_assert(std::is_same_v<typename decltype(there)::layout_type, typename decltype(x)::layout_type>);
  constexpr bool same = std::is_same_v<typename From::memory_space, typename To::memory_space>;
  EXPECT_EQ(static_cast<const void*>(there.data()) == static_cast<const void*>(x.data()), same);
  EXPECT_STREQ(there.label(), "x");
  const auto host = strata_tests::on_host(there);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 5; ++j) EXPECT_EQ(host(i, j), 10 * i + j);
  EXPECT_EQ(strata_tests::on_host(empty)(3, 4), 0);
  EXPECT_NE(static_cast<const void*>(empty.data()), static_cast<const void*>(x.data()));
}

TYPED_TEST(Mirror, OnADeviceIsACopyInItsMemoryOrTheArrayItself) {
  strata::KernelDevices::for_each([]<class Other>(const Other&) { expect_mirrored<TypeParam, Other>(); });
}

TYPED_TEST(Mirror, OnAnotherInstanceIsACopyThere) {
  const int last = TypeParam::count() - 1;
  const auto x = create<MDArray<int, TypeParam, rank<1>>>("x", 4);
  strata::deep_copy(x, 3);

  const auto there = strata::create_mirror_and_copy(TypeParam(last), x);

  EXPECT_EQ(there.allocation().get()->space.instance, TypeParam::memory_space::host_accessible ? 0 : last);
  EXPECT_EQ(strata_tests::on_host(there)(3), 3);
  const MDArray<int, TypeParam, rank<1>> null;
  EXPECT_FALSE(strata::create_mirror_and_copy(TypeParam(last), null));
}

}  // namespace
