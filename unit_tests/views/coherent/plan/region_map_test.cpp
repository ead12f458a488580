// RegionMap against a value for every index.
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <strata/views/coherent/plan/region_map.hpp>

#include "views/coherent/plan/machine.hpp"
#include "views/coherent/plan/random_boxes.hpp"

namespace {

using strata::Box;
using strata::index_t;
using strata::detail::RegionMap;
using strata_tests::for_each_index;
using strata_tests::Random;
using strata_tests::random_domain;
using strata_tests::random_part;

TEST(RegionMap, AgreesWithAValueForEveryIndex) {
  Random random;
  for (int round = 0; round < 200; ++round) {
    const int rank = static_cast<int>(random(1, 8));
    const Box domain = random_domain(random, rank, rank == 1 ? 300 : rank == 2 ? 20 : rank == 3 ? 8 : 3);
    RegionMap<int> map(domain, 0);
    std::map<std::vector<index_t>, int> values;
    for_each_index(domain, [&](const auto& at) { values[at] = 0; });
    for (int step = 0; step < 40; ++step) {
      const Box box = random_part(random, domain);
      const int value = static_cast<int>(random(0, 3));
      map.update(box, [&](int before) { return value == 3 ? before + 1 : value; });
      for_each_index(box, [&](const auto& at) { values[at] = value == 3 ? values[at] + 1 : value; });
    }
    const Box query = random_part(random, domain);
    std::set<std::vector<index_t>> seen;
    map.visit(query, [&](const Box& part, int value) {
      EXPECT_TRUE(query.contains(part));
      for_each_index(part, [&](const auto& at) {
        EXPECT_TRUE(seen.insert(at).second) << "twice";
        EXPECT_EQ(value, values[at]);
      });
    });
    EXPECT_EQ(static_cast<index_t>(seen.size()), query.size());
  }
}

TEST(RegionMap, JoinsWhatBecomesEqualAgain) {
  RegionMap<int> map(Box::from_extents({100, 80}), 0);
  for (index_t row = 0; row < 100; ++row) map.assign(Box({row, 10}, {row + 1, 20}), 1);
  EXPECT_EQ(map.size(), 3U);  // the columns before, within and behind
  map.assign(Box({0, 10}, {100, 20}), 0);
  EXPECT_EQ(map.size(), 1U);
}

TEST(RegionMap, ManyPartsBecomeOneAgain) {
  RegionMap<int> map(Box::from_extents({4096}), 0);
  for (index_t i = 0; i < 4096; i += 2) map.assign(Box({i}, {i + 1}), 1);
  EXPECT_EQ(map.size(), 4096U);
  for (index_t i = 1; i < 4096; i += 2) map.assign(Box({i}, {i + 1}), 1);
  EXPECT_EQ(map.size(), 1U);
}

TEST(RegionMap, StopsWhereTheVisitorSaysSo) {
  RegionMap<int> map(Box::from_extents({10}), 0);
  map.assign(Box({3}, {5}), 1);
  int visits = 0;
  EXPECT_FALSE(map.visit(Box({0}, {10}), [&](const Box&, int) { return ++visits < 2; }));
  EXPECT_EQ(visits, 2);
  EXPECT_TRUE(map.visit(Box({0}, {10}), [&](const Box&, int) { return true; }));
}

TEST(RegionMap, OfAnEmptyDomainHasNoParts) {
  RegionMap<int> map(Box::none(2), 0);
  map.assign(Box::none(2), 1);
  EXPECT_EQ(map.size(), 0U);
}

TEST(RegionMap, OfRankZeroHasOneValue) {
  RegionMap<int> map(Box(), 0);
  map.assign(Box(), 7);
  int value = 0;
  map.visit(Box(), [&](const Box&, int v) { value = v; });
  EXPECT_EQ(value, 7);
}

}  // namespace
