// mdrange: ranges of rank 2 to 6, in tiles, over which parallel_for and parallel_reduce call kernels with one
// index a dimension.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "core/random.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class MDRangeTest : public ::testing::Test {};
TYPED_TEST_SUITE(MDRangeTest, TestDevices, DeviceName);

// The position of an index in its box, the right-most index fastest.
template <int Rank>
struct Box {
  index_t lower[Rank];
  index_t upper[Rank];

  index_t extent(int r) const { return upper[r] > lower[r] ? upper[r] - lower[r] : 0; }
  index_t size() const {
    index_t n = 1;
    for (int r = 0; r < Rank; ++r) n *= extent(r);
    return n;
  }
  STRATA_FUNCTION index_t position(const index_t (&i)[Rank]) const {
    index_t p = 0;
    for (int r = 0; r < Rank; ++r) p = p * (upper[r] - lower[r]) + (i[r] - lower[r]);
    return p;
  }
};

// A number that tells every index of a small box from every other.
template <int Rank>
STRATA_FUNCTION index_t code_of(const index_t (&i)[Rank]) {
  index_t code = 0;
  for (int r = 0; r < Rank; ++r) code = code * 101 + (i[r] + 50);
  return code;
}

template <int Rank, class D>
struct AddCode {
  using device_type = D;
  Vector<index_t, D> x;
  Box<Rank> box;

  template <class... I>
  STRATA_FUNCTION void operator()(I... i) const requires(sizeof...(I) == Rank) {
    const index_t at[Rank] = {static_cast<index_t>(i)...};
    x(box.position(at)) += code_of(at);
  }
};

// Calls f(index) for every index of the box, in order.
template <int Rank, class F>
void for_each_in_order(const Box<Rank>& box, const F& f) {
  if (box.size() == 0) return;
  index_t at[Rank];
  for (int r = 0; r < Rank; ++r) at[r] = box.lower[r];
  for (index_t n = box.size(); n > 0; --n) {
    f(at);
    for (int r = Rank - 1; r >= 0 && ++at[r] == box.upper[r]; --r) at[r] = box.lower[r];
  }
}

template <int Rank>
std::string name_of(const MDRange<Rank>& range) {
  std::string name = range.is_dynamic ? "dynamic" : "static";
  for (int r = 0; r < Rank; ++r)
    name += " [" + std::to_string(range.lower[r]) + ", " + std::to_string(range.upper[r]) + ") by " +
            std::to_string(range.tile[r]);
  return name;
}

/// `work` is the range, or that with hints.
template <class D, int Rank, class W>
void expect_covered(const MDRange<Rank>& range, const W& work) {
  Box<Rank> box;
  for (int r = 0; r < Rank; ++r) {
    box.lower[r] = range.lower[r];
    box.upper[r] = range.upper[r];
  }
  const auto x = create<Vector<index_t, D>>("x", box.size());

  parallel_for(work, AddCode<Rank, D>{x, box});

  std::vector<index_t> expected;
  for_each_in_order(box, [&](const index_t(&i)[Rank]) { expected.push_back(code_of(i)); });
  ASSERT_EQ(values_of(x), expected) << name_of(range);
}
template <class D, int Rank>
void expect_covered(const MDRange<Rank>& range) {
  expect_covered<D>(range, range);
}

TYPED_TEST(MDRangeTest, CallsEveryIndexOnceInRank2) {
  for (const auto& range :
       {mdrange({1, 1}), mdrange({7, 9}), mdrange({513, 3}), mdrange({3, 513}), mdrange({-3, 5}, {4, 12}),
        mdrange({0, 0}, {10, 10}, {3, 4}), mdrange({-7, -9}, {8, 14}, {5, 8}),
        mdrange({2, 2}, {9, 9}, {100, 100}), mdrange({0, 0}, {17, 31}, {0, 6}),
        mdrange({0, 0}, {17, 31}, {6, 0}), mdrange({0, 0}, {8, 64}, {8, 64})}) {
    expect_covered<TypeParam>(range);
    expect_covered<TypeParam>(range.dynamic());
  }
}

TYPED_TEST(MDRangeTest, CallsEveryIndexOnceInRanks3To6) {
  expect_covered<TypeParam>(mdrange({5, 7, 11}));
  expect_covered<TypeParam>(mdrange({-1, 2, -3}, {4, 9, 8}, {2, 3, 4}));
  expect_covered<TypeParam>(mdrange({3, 4, 5, 6}));
  expect_covered<TypeParam>(mdrange({0, -1, 1, 2}, {3, 4, 5, 6}, {2, 2, 3, 3}).dynamic());
  expect_covered<TypeParam>(mdrange({2, 3, 4, 3, 2}));
  expect_covered<TypeParam>(mdrange({-2, 0, 1, 0, 5}, {1, 3, 4, 3, 8}, {2, 2, 2, 2, 2}));
  expect_covered<TypeParam>(mdrange({2, 3, 2, 3, 2, 3}));
  expect_covered<TypeParam>(mdrange({1, -1, 1, -1, 1, -1}, {3, 2, 3, 2, 3, 2}, {1, 2, 3, 1, 2, 0}).dynamic());
}

// Rows that begin in the middle of a line of memory, short and long ones.
TYPED_TEST(MDRangeTest, CallsEveryIndexOnceOfRowsThatBeginAnywhere) {
  Random draw;
  for (int trial = 0; trial < trials(40); ++trial) {
    const index_t row = draw(0, 70), rows = draw(0, 70), width = draw(100, 300), height = draw(1, 5);
    const index_t tile = draw(0, 2) == 0 ? draw(1, 200) : 0;
    const bool first = draw(0, 1) == 0;  // which dimension is long
    const auto range = first ? mdrange({row, rows}, {row + width, rows + height}, {tile, 0})
                             : mdrange({rows, row}, {rows + height, row + width}, {0, tile});
    const auto plate = mdrange({rows, row, row}, {rows + 2, row + height, row + width});
    expect_covered<TypeParam>(range);
    expect_covered<TypeParam>(range, marching(range));
    expect_covered<TypeParam>(plate);
    expect_covered<TypeParam>(plate, marching(plate));
  }
}

// In how many calls the element of an index was visited.
template <int Rank, class D>
struct CountVisits {
  using device_type = D;
  Vector<int, D> visits;
  Box<Rank> box;

  template <class... I>
  STRATA_FUNCTION void operator()(I... i) const requires(sizeof...(I) == Rank) {
    const index_t at[Rank] = {static_cast<index_t>(i)...};
    atomic_fetch_add(&visits(box.position(at)), 1);
  }
};
struct CountOthers {
  STRATA_FUNCTION void operator()(index_t i, auto visits, index_t& others) const {
    if (visits(i) != 1) ++others;
  }
};
template <class D, int Rank>
void expect_visited_once(const MDRange<Rank>& range) {
  Box<Rank> box;
  for (int r = 0; r < Rank; ++r) box.lower[r] = range.lower[r], box.upper[r] = range.upper[r];
  const auto visits = create<Vector<int, D>>("visits", box.size());

  parallel_for(range, CountVisits<Rank, D>{visits, box});

  index_t others = -1;
  parallel_reduce(box.size(), with(CountOthers{}, visits), Sum(others));
  ASSERT_EQ(others, 0) << name_of(range);
}

// So large that a thread of a GPU has several items; smaller elsewhere.
TYPED_TEST(MDRangeTest, CallsEveryIndexOnceOfLargeBoxes) {
  using D = TypeParam;
  constexpr bool is_gpu = is_asynchronous<D> && !std::is_same_v<D, Emulated>;
  Random draw;
  for (int trial = 0; trial < trials(20) + 1; ++trial) {
    const index_t items = draw(1, is_gpu ? 40'000'000 : 40'000);
    index_t lower[5], extent[5];
    const int rank = static_cast<int>(draw(2, 5));
    index_t left = items;
    for (int r = 0; r < rank; ++r) {
      const bool last = r + 1 == rank;
      lower[r] = draw(-3, 40);
      extent[r] = last ? left : draw(0, 1) == 0 ? draw(1, 7) : draw(1, left < 700 ? left : 700);
      if (extent[r] > left) extent[r] = left;
      left /= extent[r];
    }
    if (draw(0, 1) == 0) std::swap(extent[0], extent[rank - 1]);
    const auto upper = [&](int r) { return lower[r] + extent[r]; };
    if (rank == 2) expect_visited_once<D>(mdrange({lower[0], lower[1]}, {upper(0), upper(1)}));
    if (rank == 3)
      expect_visited_once<D>(mdrange({lower[0], lower[1], lower[2]}, {upper(0), upper(1), upper(2)}));
    if (rank == 4)
      expect_visited_once<D>(
          mdrange({lower[0], lower[1], lower[2], lower[3]}, {upper(0), upper(1), upper(2), upper(3)}));
    if (rank == 5)
      expect_visited_once<D>(mdrange({lower[0], lower[1], lower[2], lower[3], lower[4]},
                                     {upper(0), upper(1), upper(2), upper(3), upper(4)}));
  }
}

TYPED_TEST(MDRangeTest, CallsNothingWhereADimensionIsEmpty) {
  for (const auto& range : {mdrange({0, 5}), mdrange({5, 0}), mdrange({3, 3}, {3, 9}),
                            mdrange({4, 0}, {2, 5}), mdrange({0, 9}, {5, 2}, {2, 2}), mdrange({-5, -4})})
    expect_covered<TypeParam>(range);
  expect_covered<TypeParam>(mdrange({3, 0, 3}));
  expect_covered<TypeParam>(mdrange({3, 3, 3, 3, 3, 0}));
}

template <class D>
struct ByInt {
  using device_type = D;
  MDArray<int, D, rank<2>> x;
  STRATA_FUNCTION void operator()(int i, int j) const { x(i, j) = 100 * i + j; }
};

struct Transpose {
  STRATA_FUNCTION void operator()(auto i, auto j, auto x, auto y) const { y(j, i) = x(i, j); }
};

struct Here {};
struct AddTagged {
  STRATA_FUNCTION void operator()(Here, index_t i, index_t j, auto x) const { x(i, j) += 1; }
};

TYPED_TEST(MDRangeTest, CallsFunctorsWithViewsLambdasAndTags) {
  using D = TypeParam;
  const auto x = create<MDArray<int, D, rank<2>>>("x", 13, 37);
  const auto y = create<MDArray<int, D, rank<2>>>("y", 37, 13);
  const auto z = create<MDArray<int, D, rank<2>>>("z", 37, 13);

  parallel_for(mdrange({13, 37}), ByInt<D>{x});
  parallel_for(mdrange({0, 0}, {13, 37}, {4, 8}), with(Transpose{}, x, y));
  parallel_for("tagged", tagged<Here>(mdrange({1, 2}, {37, 13})), with(AddTagged{}, y));
  parallel_for(on(D{}), mdrange({37, 13}), [=] STRATA_FUNCTION(int i, int j) { z(i, j) = 2 * y(i, j); });

  wait(D{});
  const auto result = on_host(z);
  for (int i = 0; i < 37; ++i)
    for (int j = 0; j < 13; ++j) ASSERT_EQ(result(i, j), 2 * (100 * j + i + (i >= 1 && j >= 2 ? 1 : 0)));
}

// ---- reductions

template <int Rank, class = std::make_index_sequence<Rank>>
struct SumAndGreatest;
template <int Rank, std::size_t... R>
struct SumAndGreatest<Rank, std::index_sequence<R...>> {
  STRATA_FUNCTION void operator()(std::enable_if_t<R + 1 != 0, index_t>... i, index_t& s, index_t& g) const {
    const index_t at[Rank] = {i...};
    const index_t code = code_of(at);
    s += code;
    g = code > g ? code : g;
  }
};

template <class D, int Rank>
void expect_sums(const MDRange<Rank>& range) {
  Box<Rank> box;
  for (int r = 0; r < Rank; ++r) {
    box.lower[r] = range.lower[r];
    box.upper[r] = range.upper[r];
  }
  index_t sum = -1, greatest = -1;

  parallel_reduce(on(D{}), range, SumAndGreatest<Rank>{}, Sum(sum), Max(greatest));

  index_t expected_sum = 0, expected_greatest = std::numeric_limits<index_t>::lowest();
  for_each_in_order(box, [&](const index_t(&i)[Rank]) {
    expected_sum += code_of(i);
    expected_greatest = std::max(expected_greatest, code_of(i));
  });
  EXPECT_EQ(sum, expected_sum) << name_of(range);
  EXPECT_EQ(greatest, expected_greatest) << name_of(range);
}

TYPED_TEST(MDRangeTest, ReducesIntegersLikeASequentialLoop) {
  expect_sums<TypeParam>(mdrange({1, 1}));
  expect_sums<TypeParam>(mdrange({-3, 5}, {40, 612}));
  expect_sums<TypeParam>(mdrange({0, 0}, {1, 100}, {1, 7}));
  expect_sums<TypeParam>(mdrange({3, 0}, {3, 100}));
  expect_sums<TypeParam>(mdrange({7, 0}));
  expect_sums<TypeParam>(mdrange({0, -20, 0}, {3, 20, 50}, {2, 2, 2}).dynamic());
  expect_sums<TypeParam>(mdrange({3, 4, 5, 6}));
  expect_sums<TypeParam>(mdrange({2, 3, 4, 3, 2}));
  expect_sums<TypeParam>(mdrange({2, 3, 2, 3, 2, 3}));
}

// The tree of a reduction over a box: each row, by the left-most index, in blocks of 512 items counted from
// its first one; in a block 64 lanes joined by halves; blocks joined in pairs by number, then rows alike.
double join_pairs(std::vector<std::pair<index_t, double>> nodes) {
  while (nodes.size() > 1) {
    if (nodes.size() == 2 && nodes[0].first == -1 && nodes[1].first == 0)
      return nodes[0].second + nodes[1].second;
    std::vector<std::pair<index_t, double>> parents;
    for (const auto& [number, value] : nodes) {
      if (!parents.empty() && parents.back().first == number >> 1) parents.back().second += value;
      else parents.push_back({number >> 1, value});
    }
    nodes = parents;
  }
  return nodes.empty() ? 0 : nodes[0].second;
}

double sum_of_row(const std::vector<double>& items) {
  std::vector<std::pair<index_t, double>> blocks;
  for (std::size_t first = 0; first < items.size(); first += 512) {
    double lane[64] = {};
    for (std::size_t k = first; k < std::min(first + 512, items.size()); ++k)
      lane[(k - first) % 64] += items[k];
    for (int half = 32; half > 0; half /= 2)
      for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
    blocks.push_back({static_cast<index_t>(blocks.size()), lane[0]});
  }
  return join_pairs(blocks);
}

TYPED_TEST(MDRangeTest, SumsOfDoublesHaveTheBitsOfTheTreeWhateverTheTiles) {
  using D = TypeParam;
  const MDRange<3> ranges[] = {mdrange({1, 1, 1}), mdrange({9, 7, 13}), mdrange({-3, 0, 2}, {4, 30, 45}),
                               mdrange({0, 0, 0}, {37, 8, 64}, {4, 4, 4}),
                               mdrange({5, 1, 1}, {70, 3, 700}).dynamic()};
  for (const MDRange<3>& range : ranges) {
    const auto number = [](index_t i, index_t j, index_t k) {
      return mixed_number((i * 1009 + j) * 1013 + k);
    };
    const auto x = create<MDArray<double, D, rank<3>>>("x", range.upper[0] - range.lower[0], range.upper[1],
                                                       range.upper[2]);
    const auto host = create_mirror(x);
    std::vector<std::pair<index_t, double>> rows;
    for (index_t i = range.lower[0]; i < range.upper[0]; ++i) {
      std::vector<double> items;
      for (index_t j = range.lower[1]; j < range.upper[1]; ++j)
        for (index_t k = range.lower[2]; k < range.upper[2]; ++k) {
          host(i - range.lower[0], j, k) = number(i, j, k);
          items.push_back(number(i, j, k));
        }
      rows.push_back({i, sum_of_row(items)});
    }
    deep_copy(x, host);
    double sum = -1;

    const index_t first = range.lower[0];
    parallel_reduce(
        on(D{}), range,
        [=] STRATA_FUNCTION(index_t i, index_t j, index_t k, double& s) { s += x(i - first, j, k); },
        Sum(sum));

    EXPECT_TRUE(same_bits(sum, join_pairs(rows)))
        << name_of(range) << ": " << sum << " and " << join_pairs(rows);
  }
}

// ---- lambdas that take any index

#ifndef __CUDACC__

template <class D>
class MDRangeOnHostThreads : public ::testing::Test {};
TYPED_TEST_SUITE(MDRangeOnHostThreads, HostThreadDevices, DeviceName);

TYPED_TEST(MDRangeOnHostThreads, CallsLambdasThatTakeAnyIndex) {
  using D = TypeParam;
  const auto x = create<MDArray<int, D, rank<2>>>("x", 37, 13);

  parallel_for(on(D{}), mdrange({37, 13}), [=](auto i, auto j) { x(i, j) = static_cast<int>(100 * i + j); });

  wait(D{});
  const auto result = on_host(x);
  for (int i = 0; i < 37; ++i)
    for (int j = 0; j < 13; ++j) ASSERT_EQ(result(i, j), 100 * i + j);
}

#endif

}  // namespace
