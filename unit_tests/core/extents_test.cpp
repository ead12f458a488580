// Extents: ranks 0 to 8, any mix of run-time and compile-time extents, what is refused, and the product.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include <strata/core/error.hpp>
#include <strata/core/extents.hpp>

namespace {

using strata::checked_size;
using strata::dynamic;
using strata::DynamicRank;
using strata::ExtentError;
using strata::Extents;
using strata::index_t;
using strata::RankExtents;

// The message of the ExtentError that `f` throws; empty where it throws none.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const ExtentError& e) {
    return e.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Extents, RankZeroHasOneElementAndNoExtents) {
  const Extents<> none;

  EXPECT_EQ(none.rank(), 0);
  EXPECT_EQ(checked_size(none), 1);
  EXPECT_TRUE(std::is_empty_v<Extents<>>);
}

TEST(Extents, OnlyRunTimeExtentsAreStored) {
  EXPECT_EQ(sizeof(Extents<dynamic, 3, 8>), sizeof(index_t));
  EXPECT_EQ(sizeof(Extents<dynamic, 3, dynamic>), 2 * sizeof(index_t));
  EXPECT_TRUE((std::is_empty_v<Extents<4, 5>>));
}

TEST(Extents, AnyMixAnswersWithTheGivenAndTheFixedExtents) {
  const Extents<dynamic, 3, dynamic, 8> mixed(5, 7);
  const Extents<2, dynamic> last(9);
  const Extents<4, 5> fixed;

  EXPECT_EQ(mixed.extent(0), 5);
  EXPECT_EQ(mixed.extent(1), 3);
  EXPECT_EQ(mixed.extent(2), 7);
  EXPECT_EQ(mixed.extent(3), 8);
  EXPECT_EQ(last.extent(0), 2);
  EXPECT_EQ(last.extent(1), 9);
  EXPECT_EQ(fixed.extent(0) * fixed.extent(1), 20);
  EXPECT_EQ(mixed.static_extent(0), dynamic);
  EXPECT_EQ(mixed.static_extent(1), 3);
}

TEST(Extents, AllExtentsMayBeGivenWhereTheyAgreeWithTheFixedOnes) {
  const Extents<dynamic, 3, dynamic> all(5, 3, 7);

  EXPECT_EQ(all, (Extents<dynamic, 3, dynamic>(5, 7)));
  EXPECT_EQ((Extents<4, 5>(4, 5)), (Extents<4, 5>()));
}

TEST(Extents, AContradictionOfAFixedExtentIsRefusedWithDimensionAndValue) {
  const std::string text = error_of([] { (void)Extents<dynamic, 3>(5, 4); });

  EXPECT_TRUE(contains(text, "extent 1 is 4")) << text;
  EXPECT_TRUE(contains(text, "contradicts")) << text;
}

TEST(Extents, NegativeExtentsAreRefusedWithDimensionAndValue) {
  const std::string fixed_rank = error_of([] { (void)RankExtents<3>(1, -2, 3); });
  const std::string dynamic_rank = error_of([] { (void)DynamicRank<8>(1, 2, -7); });

  EXPECT_TRUE(contains(fixed_rank, "extent 1 is -2")) << fixed_rank;
  EXPECT_TRUE(contains(dynamic_rank, "extent 2 is -7")) << dynamic_rank;
}

TEST(Extents, AWrongNumberOfExtentsIsRefused) {
  const index_t given[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

  EXPECT_THROW((Extents<dynamic, 3, dynamic>(given, 1)), ExtentError);
  EXPECT_THROW((DynamicRank<2>(given, 3)), ExtentError);
  EXPECT_THROW((DynamicRank<8>(given, 9)), ExtentError);
  static_assert(!std::is_constructible_v<RankExtents<3>, int, int>);
  static_assert(!std::is_constructible_v<DynamicRank<2>, int, int, int>);
}

TEST(Extents, AllRanksUpToEightWorkWithAnyExtents) {
  const index_t given[] = {2, 3, 4, 5, 6, 7, 8, 9};
  const auto check = [&]<int R>(std::integral_constant<int, R>) {
    const RankExtents<R> fixed(given, R);
    const DynamicRank<8> free(given, R);
    index_t product = 1;
    for (int r = 0; r < R; ++r) {
      EXPECT_EQ(fixed.extent(r), given[r]);
      EXPECT_EQ(free.extent(r), given[r]);
      product *= given[r];
    }
    EXPECT_EQ(fixed.rank(), R);
    EXPECT_EQ(free.rank(), R);
    EXPECT_EQ(checked_size(fixed), product);
    EXPECT_EQ(checked_size(free), product);
    for (int r = R; r < 8; ++r) EXPECT_EQ(free.extent(r), 1);
  };

  [&]<int... R>(std::integer_sequence<int, R...>) { (check(std::integral_constant<int, R>()), ...); }
  (std::make_integer_sequence<int, 9>());
}

TEST(Extents, DynamicRanksAreEqualOnlyWhenRankAndExtentsAre) {
  EXPECT_EQ(DynamicRank<8>(2, 3), DynamicRank<8>(2, 3));
  EXPECT_FALSE(DynamicRank<8>(2, 3) == DynamicRank<8>(3, 2));
  EXPECT_FALSE(DynamicRank<8>(2) == DynamicRank<8>(2, 1));
  EXPECT_EQ(DynamicRank<8>().rank(), 0);
}

TEST(Extents, AProductThatDoesNotFitIsRefusedAndOneThatJustFitsIsNot) {
  const index_t big = index_t{1} << 32;

  EXPECT_EQ(checked_size(RankExtents<2>(big, (index_t{1} << 31) - 1)), INT64_MAX - big + 1);
  const std::string text = error_of([&] { checked_size(RankExtents<2>(big, index_t{1} << 31)); });
  EXPECT_TRUE(contains(text, "(4294967296, 2147483648)")) << text;
  EXPECT_TRUE(contains(text, "64-bit")) << text;
  EXPECT_EQ(checked_size(RankExtents<1>(INT64_MAX)), INT64_MAX);
}

TEST(Extents, ALimitOf32BitsIsHeldExactly) {
  EXPECT_EQ(checked_size(RankExtents<1>(INT32_MAX), INT32_MAX), INT32_MAX);
  EXPECT_THROW(checked_size(RankExtents<1>(index_t{INT32_MAX} + 1), INT32_MAX), ExtentError);
  EXPECT_THROW(checked_size(RankExtents<2>(65536, 32768), INT32_MAX), ExtentError);
}

TEST(Extents, AnEmptyArrayHasSizeZeroWhateverItsOtherExtents) {
  const index_t big = INT64_MAX;

  EXPECT_EQ(checked_size(RankExtents<3>(big, 0, big)), 0);
  EXPECT_EQ(checked_size(RankExtents<3>(0, big, big)), 0);
  EXPECT_EQ(checked_size(RankExtents<3>(big, big, 0)), 0);
}

TEST(Extents, WorkAtCompileTime) {
  constexpr Extents<dynamic, 3> e(7);
  static_assert(e.extent(0) == 7 && e.extent(1) == 3 && checked_size(e) == 21);
  static_assert(Extents<>::rank() == 0);
  static_assert(strata::is_extents_v<DynamicRank<2>> && !strata::is_extents_v<int>);
  SUCCEED();
}

}  // namespace
