// inclusive_scan and exclusive_scan of coherent arrays: prefixes and totals by plain loops.
// SPDX-License-Identifier: Apache-2.0
#include "places.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using strata_tests::number;

template <class D>
class SkeletonScan : public SkeletonTest {};
TYPED_TEST_SUITE(SkeletonScan, TestDevices, DeviceName);

struct ComposeMaps {
  STRATA_FUNCTION std::uint32_t operator()(std::uint32_t first, std::uint32_t next) const {
    const std::uint32_t a = next >> 16, b = next & 0xffff;
    return (a * (first >> 16)) << 16 | ((a * (first & 0xffff) + b) & 0xffff);
  }
};
struct Plus {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};

// Prefixes one after the other; `value` begins at the start and ends as the total.
template <class T, class Op>
std::vector<T> prefixes(const std::vector<T>& x, T& value, bool inclusive, const Op& op) {
  std::vector<T> result;
  for (const T& element : x) {
    if (!inclusive) result.push_back(value);
    value = op(value, element);
    if (inclusive) result.push_back(value);
  }
  return result;
}

TYPED_TEST(SkeletonScan, PrefixesAreSummedFromTheStart) {
  for_each_place<TypeParam>([](const auto& where) {
    for (const index_t n : some_sizes) {
      const auto x = make_numbers<std::int64_t, 1>("x", {n});
      const CoherentArray<std::int64_t, rank<1>> y("y", n), z("z", n), w("w", n);

      const std::int64_t total_y = skeletons::inclusive_scan(where, x, y, Sum);
      const std::int64_t total_z = skeletons::exclusive_scan(where, x, z, Sum, 70);
      const std::int64_t total_w = skeletons::exclusive_scan(where, x, w, Sum);

      std::int64_t by_hand_y = 0, by_hand_z = 70, by_hand_w = 0;
      ASSERT_EQ(values_of(y), prefixes(values_of(x), by_hand_y, true, Plus{})) << n;
      ASSERT_EQ(values_of(z), prefixes(values_of(x), by_hand_z, false, Plus{})) << n;
      ASSERT_EQ(values_of(w), prefixes(values_of(x), by_hand_w, false, Plus{})) << n;
      ASSERT_EQ(total_y, by_hand_y) << n;
      ASSERT_EQ(total_z, by_hand_z) << n;
      ASSERT_EQ(total_w, by_hand_w) << n;
    }
  });
}

TYPED_TEST(SkeletonScan, AUsersOperationJoinsInOrderAlsoInPlace) {
  for_each_place<TypeParam>([](const auto& where) {
    for (const index_t n : some_sizes) {
      const auto x = make_numbers<std::uint32_t, 1>("x", {n}), y = make_numbers<std::uint32_t, 1>("y", {n});
      const std::vector<std::uint32_t> old = values_of(x);

      skeletons::inclusive_scan(where, x, x, ComposeMaps{}, 5u << 16 | 3u);
      const std::uint32_t total = skeletons::exclusive_scan(where, y, y, ComposeMaps{}, 1u << 16);

      std::uint32_t by_hand_x = 5u << 16 | 3u, by_hand_y = 1u << 16;
      ASSERT_EQ(values_of(x), prefixes(old, by_hand_x, true, ComposeMaps{})) << n;
      ASSERT_EQ(values_of(y), prefixes(old, by_hand_y, false, ComposeMaps{})) << n;
      ASSERT_EQ(total, by_hand_y) << n;
    }
  });
}

TYPED_TEST(SkeletonScan, DifferentLengthsAreAnErrorThatNamesBothArrays) {
  const CoherentArray<int, rank<1>> x("source", 9), y("target", 10);

  EXPECT_TRUE(
      contains(message_of<ShapeMismatch>([&] { skeletons::inclusive_scan(on(TypeParam{}), x, y, Sum); }),
               {"inclusive_scan", "source", "target"}));
}

}  // namespace
