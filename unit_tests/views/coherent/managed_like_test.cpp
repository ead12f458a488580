// managed_like and to_managed: extents, layouts and values of what they are made like.
// SPDX-License-Identifier: Apache-2.0
#include <strata/core/layout_left.hpp>
#include <strata/views/coherent/managed_like.hpp>
#include <strata/views/create.hpp>
#include <strata/views/mdarray.hpp>

#include "messages.hpp"
#include "views/coherent/executor_fixture.hpp"

namespace {

using namespace coherent_testing;
using strata_tests::message_of;

struct AddToRow {
  STRATA_FUNCTION void operator()(auto i, const auto& x) const {
    for (index_t j = 0; j < x.extent(1); ++j) x(i, j) += 1;
  }
};

class ManagedLike : public CoherentTest {};

TEST_F(ManagedLike, HasTheExtentsAndTheLayoutOfAnArrayAndNoValues) {
  const CoherentArray<double, rank<2>> tiles("tiles", 21, 5);
  const CoherentArray<int, rank<0>> value("value");

  const auto like = managed_like("like", tiles, main_in(Emulated{0}));
  static_assert(std::is_same_v<decltype(like), decltype(tiles)>);
  EXPECT_STREQ(like.label(), "like");
  EXPECT_EQ(like.memory_mode(), MemoryMode::Managed);
  EXPECT_EQ(like.extent(0), 21);
  EXPECT_EQ(like.extent(1), 5);
  EXPECT_EQ(like.mapping()(13, 2), tiles.mapping()(13, 2));
  EXPECT_TRUE(like.where(like.domain()).front().memories.empty());
  EXPECT_EQ(managed_like("value", value).size(), 1);
}
TEST_F(ManagedLike, OfAViewItIsACoherentArrayOfItsLayout) {
  const auto left = create<MDArrayIn<LayoutLeft, float, Emulated, rank<2>>>("left", 3, 4);
  const View<const float, Emulated, decltype(left)::extents_type, LayoutLeft> shown = left;
  const auto like = managed_like("like", shown);
  static_assert(
      std::is_same_v<std::remove_const_t<decltype(like)>, CoherentArray<float, rank<2>, LayoutLeft>>);
  EXPECT_EQ(like.extent(1), 4);
}

// Ones that differ, on a device.
template <class Layout, class D>
void expect_values(const D& device) {
  SCOPED_TRACE(device.backend().device_name());
  const auto x = create<MDArrayIn<Layout, std::int64_t, D, rank<2>>>("x", 37, 11, on(device));
  const auto host = create_mirror(x);
  for (index_t i = 0; i < 37; ++i)
    for (index_t j = 0; j < 11; ++j) host(i, j) = 100 * i + j;
  deep_copy(x, host);

  const auto managed = to_managed("managed", x, main_in(Emulated{0}));
  EXPECT_EQ(managed.memory_mode(), MemoryMode::Managed);
  launch(on(Emulated{1}), 37, AddToRow{}, inout(managed));
  const auto seen = managed.read();
  for (index_t i = 0; i < 37; ++i)
    for (index_t j = 0; j < 11; ++j) ASSERT_EQ(seen(i, j), 100 * i + j + 1);
  // It is a copy.
  deep_copy(host, x);
  EXPECT_EQ(host(36, 10), 3610);
}
TEST_F(ManagedLike, HasTheValuesOfAViewOnAnyDevice) {
  expect_values<LayoutRight>(Serial{});
  expect_values<LayoutLeft>(Serial{});
  expect_values<LayoutRight>(Threads{});
  expect_values<LayoutRight>(Emulated{0});
  expect_values<LayoutLeft>(Emulated{1});
  expect_values<LayoutTiled<8>>(Emulated{1});
}
TEST_F(ManagedLike, OfNothing) {
  const auto none = create<MDArray<int, Serial, rank<1>>>("none", 0);
  EXPECT_EQ(to_managed("managed", none).size(), 0);
  EXPECT_NE(message_of<Error>([] { managed_like("like", CoherentArray<int, rank<1>>()); }).find("no array"),
            std::string::npos);
}
// What no card has room for is refused before it is asked for.
TEST_F(ManagedLike, MoreThanADeviceHasIsOutOfMemory) {
  const index_t n = (emulated::config().capacity >> 2) + 1;
  const CoherentArray<int, rank<1>> large("large", n, uninitialized);
  EXPECT_NE(
      message_of<OutOfMemory>([&] { managed_like("like", large, main_in(Emulated{0})); }).find("\"like\""),
      std::string::npos);
}

}  // namespace
