// parallel_reduce over boxes: each item is called once, in the order of the tree, wherever boxes begin,
// whatever their shapes and whichever index is the fastest in memory.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

#include "arrays.hpp"
#include "core/random.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

// A value that tells in which order items were added and values joined.
template <int Words, class Word = std::uint64_t>
struct Order {
  Word hash[Words];
};

struct Tag {};

// Counts calls in an array, whose indices begin at 0, and makes the value of an item's indices.
template <int Words, int Rank, class Word = std::uint64_t>
struct HashPoints {
  using value_type = Order<Words, Word>;
  std::array<index_t, 4> lower;

  template <std::size_t... R>
  STRATA_FUNCTION void add(std::index_sequence<R...>, const index_t (&i)[Rank], const auto& calls,
                           value_type& order) const {
    calls((i[R] - lower[R])...) += 1;
    std::uint64_t item = 0;
    for (const index_t at : i) item = item * 1000003 + static_cast<std::uint64_t>(at);
    item ^= item >> 31;  // else indices of equal distances give numbers of equal distances
    item *= 0x9e3779b97f4a7c15;
    item ^= item >> 31;
    for (int w = 0; w < Words; ++w)
      order.hash[w] = static_cast<Word>(order.hash[w] * 31 + item + static_cast<std::uint64_t>(w));
  }
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto calls, value_type& order) const {
    add(std::make_index_sequence<Rank>(), {i, j}, calls, order);
  }
  STRATA_FUNCTION void operator()(index_t i, index_t j, index_t k, auto calls, value_type& order) const {
    add(std::make_index_sequence<Rank>(), {i, j, k}, calls, order);
  }
  STRATA_FUNCTION void operator()(index_t i, index_t j, index_t k, index_t l, auto calls,
                                  value_type& order) const {
    add(std::make_index_sequence<Rank>(), {i, j, k, l}, calls, order);
  }
  STRATA_FUNCTION void operator()(Tag, index_t i, index_t j, auto calls, value_type& order) const {
    (*this)(i, j, calls, order);
  }
  STRATA_FUNCTION static void init(value_type& order) {
    for (int w = 0; w < Words; ++w) order.hash[w] = 1;
  }
  STRATA_FUNCTION static void join(value_type& a, const value_type& b) {
    for (int w = 0; w < Words; ++w) a.hash[w] = a.hash[w] * 6364136223846793005u + b.hash[w];
  }
};

// The same where init and join are of the object: what they do depends on a number known at run time.
template <int Words, int Rank, class Word>
struct HashPointsBy : HashPoints<Words, Rank, Word> {
  using typename HashPoints<Words, Rank, Word>::value_type;
  std::uint64_t factor;

  STRATA_FUNCTION void init(value_type& order) const {
    for (int w = 0; w < Words; ++w) order.hash[w] = static_cast<Word>(factor);
  }
  STRATA_FUNCTION void join(value_type& a, const value_type& b) const {
    for (int w = 0; w < Words; ++w) a.hash[w] = static_cast<Word>(a.hash[w] * factor + b.hash[w]);
  }
};
template <class V>
struct StoreOrder {
  using device_type = typename V::device_type;
  V where;
  STRATA_FUNCTION void operator()(const typename V::value_type& order) const { where(0) = order; }
};

// Extents of a box of about so many items; those of a row that GPUs treat differently: few, and at the ends
// of blocks of the tree.
template <int Rank>
std::array<index_t, Rank> draw_extents(Random& random, index_t items) {
  std::array<index_t, Rank> extents;
  const index_t few[] = {1,   2,   3,   7,   8,   9,   31,  32,  33,  63,  64,  65,  96,  97,
                         192, 193, 224, 225, 448, 449, 480, 481, 482, 510, 511, 512, 513, 1021};
  index_t left = items;
  for (int r = Rank - 1; r > 0; --r) {
    const index_t most = std::max<index_t>(1, left / (r == 1 ? 40 : 80));
    extents[r] = std::min(most, random(0, 1) == 0 ? few[random(0, std::size(few) - 1)] : random(1, most));
    left /= extents[r];
  }
  extents[0] = left + random(1, 40);
  return extents;
}

template <class C>
std::int64_t not_called(const C& calls, int times) {
  std::int64_t wrong = 0;
  const auto found = create_mirror_and_copy(calls);
  for (index_t k = 0; k < static_cast<index_t>(found.size()); ++k) wrong += found.data()[k] != times;
  return wrong;
}

template <class D, class L, int Words, int Rank>
void expect_box(Random& random, const std::array<index_t, Rank>& extents) {
  HashPoints<Words, Rank> kernel{};
  std::array<index_t, Rank> upper;
  std::string what = std::to_string(Words) + " words,";
  for (int r = 0; r < Rank; ++r) {
    kernel.lower[r] = random(0, 3) == 0 ? random(-5, 5) * (index_t{1} << 40) : random(-70, 70);
    upper[r] = kernel.lower[r] + extents[r];
    what += " [" + std::to_string(kernel.lower[r]) + ", " + std::to_string(upper[r]) + ")";
  }
  SCOPED_TRACE(what);
  [&]<std::size_t... R>(std::index_sequence<R...>) {
    const auto box = mdrange({kernel.lower[R]...}, {upper[R]...});
    const auto on_host = create<MDArray<int, Serial, rank<Rank>>>("on host", extents[R]...);
    const auto calls = create<MDArrayIn<L, int, D, rank<Rank>>>("calls", extents[R]...);
    Order<Words> expected{}, order{};
    parallel_reduce(box, with(kernel, on_host), expected);

    parallel_reduce(box, with(kernel, calls), order);

    for (int w = 0; w < Words; ++w) ASSERT_EQ(order.hash[w], expected.hash[w]) << "word " << w;
    ASSERT_EQ(not_called(calls, 1), 0) << "items not called once";
  }
  (std::make_index_sequence<Rank>());
}

template <class D>
class BoxSums : public ::testing::Test {};
TYPED_TEST_SUITE(BoxSums, TestDevices, DeviceName);

TYPED_TEST(BoxSums, OfBoxesWithoutItemsAreTheIdentity) {
  const auto no_columns = create<MDArray<int, TypeParam, rank<2>>>("no columns", 300'000, 0);
  const auto no_rows = create<MDArray<int, TypeParam, rank<2>>>("no rows", 0, 300'000);
  for (const auto& calls : {no_columns, no_rows}) {
    Order<1> order{};

    parallel_reduce(mdrange({calls.extent(0), calls.extent(1)}), with(HashPoints<1, 2>{}, calls), order);

    EXPECT_EQ(order.hash[0], 1u);
  }
}

TYPED_TEST(BoxSums, CallEachItemOnceInTheOrderOfTheTree) {
  using D = TypeParam;
  Random random;
  // From 2^18 items or 2^13 blocks of the tree on GPUs have another way.
  const index_t most = std::string(D::name) == "Cuda" ? 2'000'000 : 20'000;
  const auto items = [&] { return random(most / 20, most); };
  for (int draw = 0; draw < trials(6) + 1; ++draw) {
    expect_box<D, LayoutLeft, 1, 2>(random, draw_extents<2>(random, items()));
    expect_box<D, LayoutLeft, 2, 3>(random, draw_extents<3>(random, items()));
    expect_box<D, LayoutLeft, 1, 4>(random, draw_extents<4>(random, items()));
    expect_box<D, LayoutRight, 1, 4>(random, draw_extents<4>(random, items()));
    if (this->HasFatalFailure()) return;
  }
}

// Of so many blocks of the tree, in rows of one and of two, blocks of a GPU have four groups of warps.
TYPED_TEST(BoxSums, CallEachOfManyItemsOnceInTheOrderOfTheTree) {
  using D = TypeParam;
  Random random;
  const index_t part = std::string(D::name) == "Cuda" ? 1 : 100;
  expect_box<D, LayoutLeft, 1, 2>(random, {300'007 / part, 33});
  expect_box<D, LayoutLeft, 2, 3>(random, {40'009 / part, 3, 171});
}

// Values of 12 bytes, joined by an object; the result goes to the host, to a functor, and there again by a
// graph.
TYPED_TEST(BoxSums, HaveTheSameValueWhereverItGoesAndWithHints) {
  using D = TypeParam;
  using Kernel = HashPointsBy<3, 2, std::uint32_t>;
  using Value = typename Kernel::value_type;
  Random random;
  const index_t most = std::string(D::name) == "Cuda" ? 2'000'000 : 20'000;
  for (int draw = 0; draw < trials(4) + 1; ++draw) {
    const auto extents = draw_extents<2>(random, random(most / 20, most));
    const auto factor = static_cast<std::uint64_t>(random(3, 1'000'000));
    const Kernel kernel{{{random(-70, 70), random(-70, 70)}}, factor};
    const auto box = mdrange({kernel.lower[0], kernel.lower[1]},
                             {kernel.lower[0] + extents[0], kernel.lower[1] + extents[1]});
    SCOPED_TRACE(std::to_string(extents[0]) + " x " + std::to_string(extents[1]) + ", factor " +
                 std::to_string(factor));
    const auto on_host = create<MDArray<int, Serial, rank<2>>>("on host", extents[0], extents[1]);
    const auto calls = create<MDArrayIn<LayoutLeft, int, D, rank<2>>>("calls", extents[0], extents[1]);
    const auto stored = create<Vector<Value, D>>("stored", 1);
    const Queue<D> queue;
    Value expected{}, order{};
    parallel_reduce(box, with(kernel, on_host), expected);
    const auto same = [&](const Value& value) {
      return std::equal(std::begin(value.hash), std::end(value.hash), std::begin(expected.hash));
    };
    const auto was_stored = [&] { return same(create_mirror_and_copy(stored)(0)); };
    const StoreOrder<std::remove_const_t<decltype(stored)>> store{stored};

    parallel_reduce(box, with(kernel, calls), order);
    EXPECT_TRUE(same(order));
    parallel_reduce(tagged<Tag>(launch_bounds<256>(box)), with(kernel, calls), order);
    EXPECT_TRUE(same(order)) << "with launch bounds";
    parallel_reduce(last_index_fastest(block_size(64, box)), with(kernel, calls), order);
    EXPECT_TRUE(same(order)) << "with the last index fastest";
    parallel_reduce(box, with(kernel, calls), store);
    EXPECT_TRUE(was_stored()) << "by a functor";
    deep_copy(stored, Value{});
    const Graph<D> graph =
        record(queue, [&] { parallel_reduce(on(queue), box, with(kernel, calls), store); });
    EXPECT_FALSE(was_stored());
    for (int k = 0; k < 2; ++k) graph.launch(queue);
    queue.wait();
    EXPECT_TRUE(was_stored()) << "by a graph";

    EXPECT_EQ(not_called(calls, 6), 0) << "items not called once by each";
  }
}

struct AddAndFind {
  STRATA_FUNCTION void operator()(auto i, auto j, auto x, double& sum, double& most) const {
    sum += x(i, j);
    most = x(i, j) > most ? x(i, j) : most;
  }
};
TYPED_TEST(BoxSums, OfSeveralReducersHaveTheBitsOfSerial) {
  const auto on_host = create<MDArray<double, Serial, rank<2>>>("on host", 5000, 70);
  for (index_t i = 0; i < 5000; ++i)
    for (index_t j = 0; j < 70; ++j) on_host(i, j) = mixed_number(70 * i + j);
  const auto x = create<MDArrayIn<LayoutLeft, double, TypeParam, rank<2>>>("x", 5000, 70);
  deep_copy(x, on_host);
  const auto box = mdrange({3, 1}, {4998, 70});
  double expected_sum = 0, expected_most = 0, sum = 0, most = 0;
  parallel_reduce(box, with(AddAndFind{}, on_host), Sum(expected_sum), Max(expected_most));

  parallel_reduce(box, with(AddAndFind{}, x), Sum(sum), Max(most));

  EXPECT_TRUE(same_bits(sum, expected_sum)) << sum << " " << expected_sum;
  EXPECT_EQ(most, expected_most);
}

}  // namespace
