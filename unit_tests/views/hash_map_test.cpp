// The hash map: many threads insert and find, on every device.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <map>
#include <vector>

#include "algorithms/arrays.hpp"
#include "test_devices.hpp"

namespace {

using strata::create;
using strata::HashMap;
using strata::index_t;
using strata_tests::values_of;
using strata_tests::Vector;

struct Edge {  // 12 bytes
  std::int32_t from, to, kind;
};
struct Face {  // 16 bytes
  std::uint64_t low, high;
};
enum class Colour : std::int8_t { Red = -1 };

// Numbers to keys and back: different numbers give different keys, and one of them is all bits set.
template <class Key>
struct KeyOf {
  STRATA_FUNCTION static Key of(index_t i) { return static_cast<Key>(i - 1); }
  STRATA_FUNCTION static index_t number(Key key) { return static_cast<index_t>(static_cast<Key>(key + 1)); }
};
template <>
struct KeyOf<Edge> {
  STRATA_FUNCTION static Edge of(index_t i) {
    return {static_cast<std::int32_t>(i % 7 - 1), static_cast<std::int32_t>(i / 7 - 1), -1};
  }
  STRATA_FUNCTION static index_t number(const Edge& e) { return (e.to + 1) * 7 + e.from + 1; }
};
template <>
struct KeyOf<Face> {  // often one half has all bits set, once both
  STRATA_FUNCTION static Face of(index_t i) {
    const auto n = static_cast<std::uint64_t>(i);
    return {n % 3 == 0 ? ~std::uint64_t{0} : n, ~(n - n % 3 + (n == 1 ? 1 : n == 2 ? 2 : 0))};
  }
  STRATA_FUNCTION static index_t number(const Face& f) {
    const auto n = static_cast<index_t>(~f.high);
    return f.low == ~std::uint64_t{0} ? n : static_cast<index_t>(f.low);
  }
};

template <class D>
class HashMaps : public ::testing::Test {};
TYPED_TEST_SUITE(HashMaps, strata_tests::TestDevices, strata_tests::DeviceName);

// Every key is inserted `times` times by items far apart and near; counts[] of outcomes.
template <class Map, class Counts>
struct InsertAll {
  Map map;
  Counts counts;
  index_t keys;
  STRATA_FUNCTION void operator()(auto i) const {
    const index_t item = i;
    const index_t number = item / 2 % keys;
    const auto result = map.insert(KeyOf<typename Map::key_type>::of(number));
    strata::atomic_fetch_inc(&counts(static_cast<index_t>(result.outcome)));
    if (!result.full()) strata::atomic_fetch_add(&map.value(result.slot), number + 1);
  }
};

template <class D, class Key>
void expect_exact(index_t keys, index_t times) {
  const auto map = create<HashMap<Key, index_t, D>>("map", keys);
  const auto counts = create<Vector<index_t, D>>("counts", 3);

  strata::parallel_for(strata::on(D{}), strata::range(keys * times).dynamic(16),
                       InsertAll<HashMap<Key, index_t, D>, Vector<index_t, D>>{map, counts, keys});

  EXPECT_EQ(values_of(counts), (std::vector<index_t>{keys, keys * (times - 1), 0}));
  EXPECT_EQ(map.size(), keys);
  EXPECT_EQ(map.failed(), 0);
  const auto host = strata::create_mirror_and_copy(map);
  std::map<index_t, index_t> found;
  for (index_t slot = 0; slot < host.slots(); ++slot) {
    if (!host.occupied(slot)) continue;
    const index_t number = KeyOf<Key>::number(host.key(slot));
    EXPECT_TRUE(found.emplace(number, host.value(slot)).second) << number << " has two slots";
    EXPECT_EQ(host.find(host.key(slot)), slot);
  }
  ASSERT_EQ(static_cast<index_t>(found.size()), keys);
  for (const auto& [number, sum] : found) EXPECT_EQ(sum, (number + 1) * times) << number;
  for (index_t i = keys; i < keys + 20; ++i) EXPECT_FALSE(host.contains(KeyOf<Key>::of(i))) << i;
}

TYPED_TEST(HashMaps, EveryKeyIsInsertedOnceByManyThreads) {
  expect_exact<TypeParam, std::int32_t>(1000, 6);
  expect_exact<TypeParam, std::uint64_t>(3000, 4);
  expect_exact<TypeParam, index_t>(1, 5000);
  expect_exact<TypeParam, std::int8_t>(100, 40);
  expect_exact<TypeParam, std::uint16_t>(3000, 2);
  expect_exact<TypeParam, Edge>(2000, 4);
  expect_exact<TypeParam, Face>(2000, 4);
}

template <class Map, class Slots>
struct FindAll {
  Map map;
  Slots slots;
  STRATA_FUNCTION void operator()(auto i) const { slots(i) = map.find(i * 3); }
};
template <class Map>
struct InsertMultiples {
  Map map;
  STRATA_FUNCTION void operator()(auto i) const { map.insert(i * 6, static_cast<double>(index_t(i)) / 2); }
};

TYPED_TEST(HashMaps, KernelsFindWhatEarlierKernelsInserted) {
  using Map = HashMap<index_t, double, TypeParam>;
  const Map map = create<Map>("map", 500);
  const auto slots = create<Vector<index_t, TypeParam>>("slots", 1000);

  strata::parallel_for(strata::on(TypeParam{}), 500, InsertMultiples<Map>{map});
  strata::parallel_for(strata::on(TypeParam{}), 1000, FindAll<Map, Vector<index_t, TypeParam>>{map, slots});

  const auto found = values_of(slots);
  const auto host = strata::create_mirror_and_copy(map);
  for (index_t i = 0; i < 1000; ++i) {
    const index_t slot = found[static_cast<std::size_t>(i)];
    if (i % 2 != 0) {
      EXPECT_EQ(slot, -1) << i;
      continue;
    }
    ASSERT_GE(slot, 0) << i;
    EXPECT_EQ(host.key(slot), i * 3);
    EXPECT_EQ(host.value(slot), static_cast<double>(i / 2) / 2);
  }
}

template <class Map, class Winner>
struct InsertOwnIndex {
  Map map;
  Winner winner;
  STRATA_FUNCTION void operator()(index_t i) const {
    if (map.insert(Colour::Red, i).inserted()) winner(0) = i;
  }
};

TYPED_TEST(HashMaps, AmongRivalsTheValueOfTheOneThatInsertedStays) {
  using Map = HashMap<Colour, index_t, TypeParam>;
  const Map map = create<Map>("map", 10);
  const auto winner = create<Vector<index_t, TypeParam>>("winner", 1);

  strata::parallel_for(strata::on(TypeParam{}), strata::range(5000).dynamic(4),
                       InsertOwnIndex<Map, Vector<index_t, TypeParam>>{map, winner});

  const auto host = strata::create_mirror_and_copy(map);
  const index_t slot = host.find(Colour::Red);
  ASSERT_GE(slot, 0);
  EXPECT_EQ(host.value(slot), values_of(winner)[0]);
  EXPECT_EQ(map.size(), 1);
}

TYPED_TEST(HashMaps, AFullMapSaysSoAndRehashMakesRoom) {
  using Map = HashMap<std::uint32_t, index_t, TypeParam>;
  Map map = create<Map>("small", 20);
  const Map before = map;
  const auto counts = create<Vector<index_t, TypeParam>>("counts", 3);
  const auto insert = [&] {
    strata::parallel_for(strata::on(TypeParam{}), 600,
                         InsertAll<Map, Vector<index_t, TypeParam>>{map, counts, 300});
  };

  insert();

  const index_t slots = map.slots();  // all taken: 32 and that of the key of all bits
  EXPECT_EQ(map.capacity(), 24);
  EXPECT_EQ(slots, 33);
  EXPECT_EQ(map.size(), slots);
  EXPECT_EQ(map.failed(), 2 * (300 - slots));
  EXPECT_EQ(values_of(counts), (std::vector<index_t>{slots, slots, 2 * (300 - slots)}));

  map.rehash(300);

  EXPECT_EQ(map.size(), slots);
  EXPECT_EQ(map.failed(), 0);
  EXPECT_EQ(before.slots(), slots) << "other handles keep the old slots";
  insert();
  EXPECT_EQ(map.size(), 300);
  EXPECT_EQ(map.failed(), 0);
  const auto host = strata::create_mirror_and_copy(map);
  index_t twice = 0;
  for (index_t number = 0; number < 300; ++number) {
    const index_t slot = host.find(KeyOf<std::uint32_t>::of(number));
    ASSERT_GE(slot, 0) << number;
    if (host.value(slot) == 4 * (number + 1)) ++twice;
    else EXPECT_EQ(host.value(slot), 2 * (number + 1));
  }
  EXPECT_EQ(twice, slots) << "values moved with their keys";
}

TYPED_TEST(HashMaps, ClearedMapsAndCopies) {
  using Map = HashMap<index_t, double, TypeParam>;
  const Map map = create<Map>("map", 500), copy = create<Map>("copy", 500);
  const auto host = create<HashMap<index_t, double, strata::Serial>>("host", 500);
  strata::parallel_for(strata::on(TypeParam{}), 500, InsertMultiples<Map>{map});

  strata::deep_copy(host, map);
  strata::deep_copy(copy, host);
  map.clear();

  EXPECT_EQ(map.size(), 0);
  EXPECT_EQ(copy.size(), 500);
  EXPECT_EQ(host.size(), 500);
  EXPECT_EQ(host.value(host.find(6)), 0.5);
  EXPECT_THROW(strata::deep_copy(create<Map>("other", 5000), map), strata::ShapeMismatch);
}

TYPED_TEST(HashMaps, CopiesHaveTheValueOfNewKeys) {
  using Map = HashMap<index_t, double, TypeParam>;
  using OnHost = HashMap<index_t, double, strata::Serial>;
  const Map map = create<Map>("map", 500), copy = create<Map>("copy", 500), before = map;
  const auto first_value = [](const OnHost& host, index_t key) { return host.value(host.insert(key).slot); };
  const auto host = create<OnHost>("host", 500), other = create<OnHost>("other", 500);
  host.clear(1.5);

  map.clear(2.5);
  strata::deep_copy(copy, before);
  copy.clear();
  strata::deep_copy(host, copy);
  strata::deep_copy(other, before);

  EXPECT_EQ(first_value(host, 3), 2.5);
  EXPECT_TRUE(host.erase(3));
  EXPECT_EQ(first_value(host, 3), 2.5);
  EXPECT_EQ(first_value(other, -1), 2.5) << "that has a slot of its own";
  auto larger = other;
  larger.rehash(2000);
  EXPECT_EQ(larger.size(), 1);
  EXPECT_EQ(first_value(larger, 4), 2.5);
  EXPECT_EQ(first_value(create_mirror_and_copy(map), 5), 2.5);
}

TEST(HashMap, TellsWhatDoesNotFit) {
  using Map = HashMap<int, int, strata::Serial>;
  Map map = create<Map>("faces", 6), null;
  for (int i = 0; i < 8; ++i) map.insert(i);

  EXPECT_THROW(map.rehash(5), strata::ExtentError);
  EXPECT_EQ(map.size(), 8);
  EXPECT_THROW(null.rehash(5), strata::ExtentError);
  EXPECT_THROW(static_cast<void>(create<Map>("faces", -1)), strata::ExtentError);
  EXPECT_TRUE(null.insert(1).full());
  EXPECT_FALSE(null.contains(1));
  EXPECT_EQ(null.size(), 0);
  EXPECT_EQ(null.slots(), 0);
}

TEST(HashMap, FillsEveryPlaceItPromises) {
  for (const index_t capacity : {6, 7, 100, 1000, 100'000}) {
    const auto map = create<HashMap<std::uint64_t, int, strata::Serial>>("map", capacity);
    EXPECT_GE(map.capacity(), capacity);

    index_t full = 0;
    for (index_t i = 0; i < map.capacity(); ++i)
      full += map.insert(static_cast<std::uint64_t>(i) << 32).full();

    EXPECT_EQ(full, 0) << capacity;
  }
}

// ---- erasing, sets, own hashes, operations

template <class Map, class Removed>
struct EraseEven {
  Map map;
  Removed removed;
  STRATA_FUNCTION void operator()(auto i) const {
    const index_t n = index_t(i) / 3;  // three threads want the same key
    if (n % 2 == 0 && map.erase(KeyOf<typename Map::key_type>::of(n))) strata::atomic_fetch_inc(&removed(0));
  }
};
template <class Map>
struct AddEach {
  Map map;
  index_t keys;
  STRATA_FUNCTION void operator()(auto i) const {
    map.insert(KeyOf<typename Map::key_type>::of(index_t(i) % keys), 1, strata::ScatterSum{});
  }
};

template <class D, class Key>
void expect_erases() {
  constexpr index_t keys = 300;
  auto map = create<HashMap<Key, int, D>>("map", keys);
  const auto removed = create<Vector<int, D>>("removed", 1);
  using Map = decltype(map);

  strata::parallel_for(strata::on(D{}), 4 * keys, AddEach<Map>{map, keys});
  strata::parallel_for(strata::on(D{}), 3 * keys, EraseEven<Map, Vector<int, D>>{map, removed});

  EXPECT_EQ(values_of(removed)[0], keys / 2);
  EXPECT_EQ(map.size(), keys / 2);
  const auto host = create_mirror_and_copy(map);
  for (index_t n = 0; n < keys; ++n) EXPECT_EQ(host.contains(KeyOf<Key>::of(n)), n % 2 == 1) << n;

  // Inserted again they begin anew; the others go on.
  strata::parallel_for(strata::on(D{}), keys, AddEach<Map>{map, keys});
  map.rehash(keys);
  EXPECT_EQ(map.size(), keys);
  const auto again = create_mirror_and_copy(map);
  for (index_t n = 0; n < keys; ++n)
    EXPECT_EQ(again.value(again.find(KeyOf<Key>::of(n))), n % 2 == 1 ? 5 : 1);
}
TYPED_TEST(HashMaps, ErasedKeysAreGoneUntilTheyAreInsertedAgain) {
  expect_erases<TypeParam, index_t>();
  expect_erases<TypeParam, Edge>();
}

TYPED_TEST(HashMaps, RehashGivesTheSlotsOfErasedKeysBack) {
  auto map = create<HashMap<index_t, int, TypeParam>>("map", 12);
  const index_t slots = map.slots();
  const auto host = create_mirror_and_copy(map);
  for (index_t round = 0; round < 20; ++round) {
    for (index_t n = 0; n < 6; ++n) EXPECT_TRUE(host.insert(100 * round + n).inserted());
    for (index_t n = 0; n < 6; ++n) EXPECT_TRUE(host.erase(100 * round + n));
    strata::deep_copy(map, host);
    EXPECT_EQ(map.size(), 0);
    map.rehash(12);
    EXPECT_EQ(map.slots(), slots);
    strata::deep_copy(host, map);
  }
  EXPECT_EQ(map.failed(), 0);
}

template <class Set>
struct InsertInto {
  Set set;
  STRATA_FUNCTION void operator()(auto i) const { set.insert(index_t(i) % 40 - 1); }
};
TYPED_TEST(HashMaps, SetsHaveKeysOnly) {
  auto set = create<strata::HashSet<index_t, TypeParam>>("set", 50);
  static_assert(decltype(set)::is_set);

  strata::parallel_for(strata::on(TypeParam{}), 1000, InsertInto<decltype(set)>{set});
  set.rehash(100);

  EXPECT_EQ(set.size(), 40);
  const auto host = create_mirror_and_copy(set);
  EXPECT_TRUE(host.contains(-1));
  EXPECT_TRUE(host.contains(38));
  EXPECT_FALSE(host.contains(39));
  EXPECT_TRUE(host.erase(-1));
  EXPECT_FALSE(host.erase(-1));
  set.clear();
  EXPECT_EQ(set.size(), 0);
}

// Points of a grid of spacing 1, whatever their fractions.
struct Point {
  float x, y;
};
struct HashCell {
  STRATA_FUNCTION std::uint64_t operator()(const Point& p) const {
    return static_cast<std::uint64_t>(static_cast<int>(p.x)) * 1000 +
           static_cast<std::uint64_t>(static_cast<int>(p.y));
  }
};
struct EqualCell {
  STRATA_FUNCTION bool operator()(const Point& a, const Point& b) const {
    return static_cast<int>(a.x) == static_cast<int>(b.x) && static_cast<int>(a.y) == static_cast<int>(b.y);
  }
};
template <class Map>
struct BinPoints {
  Map map;
  STRATA_FUNCTION void operator()(auto i) const {
    const index_t n = i;
    const Point p{static_cast<float>(n % 50) / 7.0F, static_cast<float>(n % 31) / 7.0F};
    map.insert(p, static_cast<int>(n), strata::ScatterMax{});
  }
};
TYPED_TEST(HashMaps, KeysMayHaveAHashAndAnEqualityOfTheirOwn) {
  auto map = create<HashMap<Point, int, TypeParam, HashCell, EqualCell>>("cells", 100);
  map.clear(-5);

  strata::parallel_for(strata::on(TypeParam{}), 5000, BinPoints<decltype(map)>{map});

  std::map<std::pair<int, int>, int> expected;
  for (int n = 0; n < 5000; ++n) {
    int& most = expected[{static_cast<int>(static_cast<float>(n % 50) / 7.0F),
                          static_cast<int>(static_cast<float>(n % 31) / 7.0F)}];
    most = std::max(most, n);
  }
  EXPECT_EQ(map.size(), static_cast<index_t>(expected.size()));
  const auto host = create_mirror_and_copy(map);
  for (const auto& [cell, most] : expected) {
    const index_t slot =
        host.find({static_cast<float>(cell.first) + 0.4F, static_cast<float>(cell.second) + 0.1F});
    ASSERT_GE(slot, 0);
    EXPECT_EQ(host.value(slot), most);
  }
  EXPECT_EQ(host.value(host.insert(Point{99, 99}).slot), -5);  // the first value of a new key
}

}  // namespace
