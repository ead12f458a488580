// parallel_reduce: the bits of floating-point sums, which are those of one tree on every device.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <strata/core/reduction_tree.hpp>
#include <strata/devices/chunk.hpp>
#include <strata/devices/host/execution.hpp>

#include "core/random.hpp"
#include "parallel_reduce_suite.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

TYPED_TEST_SUITE(ParallelReduce, TestDevices, DeviceName);

// The tree of core/reduction_tree.hpp, written as plainly as possible: leaves are items, blocks of 512 items
// by global index, as many lanes as fit 1 KiB, halving joins; then pairs of blocks by number, level by level.
template <class T, class Add, class Join>
std::optional<T> tree_reduce(index_t begin, index_t end, const T& identity, const Add& add,
                             const Join& join) {
  std::size_t lanes = 64;
  while (lanes > 1 && lanes * sizeof(T) > 1024) lanes /= 2;
  std::map<index_t, T> level;
  for (index_t i = begin; i < end;) {
    const index_t block = static_cast<index_t>(std::floor(static_cast<double>(i) / 512));
    const index_t block_end = std::min(end, (block + 1) * 512), first = i;
    std::vector<std::optional<T>> lane(lanes);
    for (; i < block_end; ++i) {
      auto& mine = lane[static_cast<std::size_t>(i - first) % lanes];
      if (!mine) mine = identity;
      add(i, *mine);
    }
    for (std::size_t half = lanes / 2; half > 0; half /= 2)
      for (std::size_t l = 0; l < half; ++l)
        if (lane[l] && lane[l + half]) join(*lane[l], *lane[l + half]);
    level.emplace(block, *lane[0]);
  }
  while (level.size() > 1) {
    // Blocks below and above zero have no common parent but the root.
    const bool at_root = level.size() == 2 && level.begin()->first == -1 && level.rbegin()->first == 0;
    if (at_root) {
      join(level.begin()->second, level.rbegin()->second);
      return level.begin()->second;
    }
    std::map<index_t, T> parents;
    for (const auto& [number, value] : level) {
      const index_t parent = (number - (number & 1)) / 2;
      const auto [place, is_new] = parents.emplace(parent, value);
      if (!is_new) join(place->second, value);
    }
    level = parents;
  }
  if (level.empty()) return std::nullopt;
  return level.begin()->second;
}

template <class F>
double tree_sum(index_t begin, index_t end, const F& f) {
  return tree_reduce(
             begin, end, 0.0, [&](index_t i, double& s) { s += f(i); }, [](double& a, double b) { a += b; })
      .value_or(0.0);
}

constexpr index_t tree_sizes[] = {0, 1, 63, 64, 65, 511, 512, 513, 1000, 4097, 100003};
constexpr index_t tree_begins[] = {0, 5, -700};

TEST(ReductionTree, MixedNumbersTellOrdersOfSummationApart) {
  double in_order = 0;
  for (index_t i = 0; i < 1000; ++i) in_order += mixed_number(i);

  EXPECT_NE(in_order, tree_sum(0, 1000, mixed_number));
}

template <class D, class Index>
double sum_on(const D& device, index_t begin, index_t end, const Vector<double, D>& x) {
  double sum = -1;
  parallel_reduce(
      on(device), range(begin, end), [=] STRATA_FUNCTION(Index i, double& s) { s += x(index_t(i) - begin); },
      Sum(sum));
  return sum;
}

TYPED_TEST(ParallelReduce, SumsOfDoublesHaveTheBitsOfTheTree) {
  using D = TypeParam;
  for (const index_t begin : tree_begins) {
    for (const index_t n : tree_sizes) {
      const auto x = make_vector<double, D>(n, [&](index_t i) { return mixed_number(i + begin); });
      const double expected = tree_sum(begin, begin + n, mixed_number);

      const double by_int = sum_on<D, index_t>(D{}, begin, begin + n, x);
      const double by_lane = sum_on<D, typename D::index_type>(D{}, begin, begin + n, x);

      EXPECT_TRUE(same_bits(by_int, expected))
          << begin << ", " << n << ": " << by_int << ", not " << expected;
      EXPECT_TRUE(same_bits(by_lane, expected))
          << begin << ", " << n << ": " << by_lane << ", not " << expected;
    }
  }
}

// A value that tells every order of joins apart.
template <int Words>
struct Order {
  std::uint64_t hash[Words];
};
template <class D, int Words>
struct HashItems {
  using device_type = D;
  using value_type = Order<Words>;
  STRATA_FUNCTION void operator()(index_t i, value_type& order) const {
    for (int w = 0; w < Words; ++w) order.hash[w] = order.hash[w] * 31 + static_cast<std::uint64_t>(i + w);
  }
  STRATA_FUNCTION static void init(value_type& order) {
    for (int w = 0; w < Words; ++w) order.hash[w] = 1;
  }
  STRATA_FUNCTION static void join(value_type& a, const value_type& b) {
    for (int w = 0; w < Words; ++w) a.hash[w] = a.hash[w] * 6364136223846793005u + b.hash[w];
  }
};

// Enough for all levels of a GPU's blocks. Serial's order is that of the plain tree: see the smaller ones.
template <class D, int Words>
void expect_order_of_many() {
  constexpr index_t many = 30'000'007;
  for (const index_t begin : {index_t{0}, index_t{-700}}) {
    const auto expected = parallel_reduce(range(begin, begin + many), HashItems<Serial, Words>());

    const auto order = parallel_reduce(range(begin, begin + many), HashItems<D, Words>());

    for (int w = 0; w < Words; ++w) EXPECT_EQ(order.hash[w], expected.hash[w]) << begin << ", word " << w;
  }
}
TYPED_TEST(ParallelReduce, ManyItemsAreJoinedInTheOrderOfTheTree) {
  expect_order_of_many<TypeParam, 1>();
  expect_order_of_many<TypeParam, 3>();
}

// The same where each item also counts its calls in an array: GPUs let two warps share a node then. The items
// of two dimensions are numbered as in a row.
template <class D, int Words>
struct HashAndCount : HashItems<D, Words> {
  using typename HashItems<D, Words>::value_type;
  index_t begin = 0, row = 0;
  STRATA_FUNCTION void operator()(index_t i, auto calls, value_type& order) const {
    calls(i - begin) += 1;
    HashItems<D, Words>::operator()(i, order);
  }
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto calls, value_type& order) const {
    calls(i * row + j) += 1;
    HashItems<D, Words>::operator()(i* row + j, order);
  }
};
// And where an item's loads and stores are two steps.
template <class D, int Words>
struct HashInTwoSteps : HashItems<D, Words>, detail::InTwoSteps {
  using typename HashItems<D, Words>::value_type;
  Vector<int, D> calls;
  index_t begin = 0;
  STRATA_FUNCTION int fetch(index_t i) const { return calls(i - begin); }
  STRATA_FUNCTION void finish(index_t i, int fetched, value_type& order) const {
    calls(i - begin) = fetched + 1;
    HashItems<D, Words>::operator()(i, order);
  }
  STRATA_FUNCTION void operator()(index_t i, value_type& order) const { finish(i, fetch(i), order); }
};

template <int Words>
void expect_same_order(const Order<Words>& found, const Order<Words>& expected, const std::string& what) {
  for (int w = 0; w < Words; ++w) EXPECT_EQ(found.hash[w], expected.hash[w]) << what << ", word " << w;
}
template <class D, class Work, class K, int Words>
void expect_written(const Work& work, const K& kernel, const Vector<int, D>& calls,
                    const Order<Words>& expected, const std::string& what) {
  Order<Words> order{};
  deep_copy(calls, 0);
  parallel_reduce(work, kernel, order);
  expect_same_order(order, expected, what);
  const auto host = create_mirror_and_copy(calls);
  for (index_t i = 0; i < host.extent(0); ++i)
    if (host(i) != 1) FAIL() << what << ": " << host(i) << " calls of item " << i;
}

template <class D, int Words>
void expect_order_of_writers(Random& random, const std::vector<index_t>& sizes) {
  for (const index_t n : sizes) {
    const index_t begin = random(-2000, 2000);
    const std::string what =
        std::to_string(Words) + " words, [" + std::to_string(begin) + ", " + std::to_string(begin + n) + ")";
    const auto expected = parallel_reduce(range(begin, begin + n), HashItems<Serial, Words>());
    const auto calls = create<Vector<int, D>>("calls", n);
    HashAndCount<D, Words> counting;
    counting.begin = begin;
    HashInTwoSteps<D, Words> in_two_steps;
    in_two_steps.calls = calls;
    in_two_steps.begin = begin;
    const auto work = range(begin, begin + n);

    expect_written(work, with(counting, calls), calls, expected, what);
    if constexpr (!runs_on_host_threads<D>) {  // hosts have no use for bounds
      expect_written(launch_bounds<32>(work), with(counting, calls), calls, expected, what + ", 32 threads");
      expect_written(launch_bounds<64>(work), with(counting, calls), calls, expected, what + ", 64 threads");
    }
    expect_written(launch_bounds<256, 4>(work), in_two_steps, calls, expected, what + ", in two steps");
  }
}
template <class D, int Words>
void expect_order_of_rows(Random& random) {
  for (int trial = 0; trial < 6; ++trial) {
    const index_t rows = random(1, 60), row = trial % 2 == 0 ? random(1, 40) : random(1, 1500);
    const std::string what =
        std::to_string(Words) + " words, " + std::to_string(rows) + " rows of " + std::to_string(row);
    HashAndCount<Serial, Words> on_host;
    HashAndCount<D, Words> counting;
    counting.row = on_host.row = row;
    const auto host_calls = make_vector<int, Serial>(rows * row, [](index_t) { return 0; });
    const auto calls = make_vector<int, D>(rows * row, [](index_t) { return 0; });
    Order<Words> expected{};
    parallel_reduce(mdrange({rows, row}), with(on_host, host_calls), expected);

    expect_written(mdrange({rows, row}), with(counting, calls), calls, expected, what);
  }
}
TYPED_TEST(ParallelReduce, KernelsThatWriteCallEachItemOnceInTheOrderOfTheTree) {
  Random random;
  const auto sizes = [&] {
    std::vector<index_t> drawn{random(1, 300'000)};
    for (int trial = 1; trial < 6; ++trial) drawn.push_back(random(1, 9000));
    return drawn;
  };
  expect_order_of_writers<TypeParam, 1>(random, sizes());
  expect_order_of_writers<TypeParam, 3>(random, sizes());
  expect_order_of_rows<TypeParam, 2>(random);
  if constexpr (!runs_on_host_threads<TypeParam>) {  // where sizes decide which threads share values
    expect_order_of_writers<TypeParam, 2>(random, sizes());
    expect_order_of_rows<TypeParam, 1>(random);
  }
}

// GPUs have other kernels and blocks for small ranges and large ones. These are the limits of an H200 in
// blocks of the tree: one group of warps, one cluster, all nodes at once by two warps each or by one, and two
// warps again from 8 rounds on; and several nodes for each group of warps.
TYPED_TEST(ParallelReduce, ManyItemsThatWriteAreCalledOnceInTheOrderOfTheTree) {
  constexpr index_t limits[] = {8, 16, 64, 128, 2112, 4224, 8448, 16896, 33792};
  constexpr bool is_gpu = !runs_on_host_threads<TypeParam>;
  Random random;
  const auto sizes = [&] {
    std::vector<index_t> drawn;
    for (const index_t limit : limits)
      if (is_gpu || limit < 4000) drawn.push_back(limit * 512 + random(-600, 600));
    for (int trial = 0; trial < (is_gpu ? 4 : 0); ++trial) drawn.push_back(random(9'000'000, 60'000'000));
    return drawn;
  };

  expect_order_of_writers<TypeParam, 1>(random, sizes());
  expect_order_of_writers<TypeParam, 3>(random, is_gpu ? sizes() : std::vector{random(8'700'000, 9'000'000)});
  if constexpr (is_gpu) expect_order_of_writers<TypeParam, 2>(random, sizes());
}

template <class D, int Doubles>
void expect_struct_bits() {
  for (const index_t n : tree_sizes) {
    const auto x = make_vector<double, D>(n, mixed_number);
    using T = typename SumOfVectors<D, Doubles>::value_type;

    const T sum = parallel_reduce(range(0, n), SumOfVectors<D, Doubles>{x});

    const auto expected = tree_reduce(
        0, n, T{},
        [](index_t i, T& s) {
          for (int k = 0; k < Doubles; ++k) s.v[k] += mixed_number(i) * static_cast<double>(k + 1);
        },
        [](T& a, const T& b) {
          for (int k = 0; k < Doubles; ++k) a.v[k] += b.v[k];
        });
    // Factors that are powers of two keep their bits also where multiply-adds are contracted.
    for (int k = 0; k < Doubles; k = 2 * k + 1) {
      EXPECT_TRUE(same_bits(sum.v[k], expected.value_or(T{}).v[k])) << Doubles << " doubles, n = " << n;
    }
  }
}

TYPED_TEST(ParallelReduce, SumsOfStructsHaveTheBitsOfTheTree) {
  expect_struct_bits<TypeParam, 3>();
  expect_struct_bits<TypeParam, 20>();
  expect_struct_bits<TypeParam, 300>();
}

// Several numbers, which hosts keep apart from those of other lanes (devices/host/lane_values.hpp).
struct Mixed {
  double sum;
  std::uint64_t order;
  float largest;
  int count;

  STRATA_FUNCTION void add(index_t i, double x) {
    sum += x;
    order = order * 31 + static_cast<std::uint64_t>(i);
    if (static_cast<float>(x) > largest) largest = static_cast<float>(x);
    ++count;
  }
  STRATA_FUNCTION void join(const Mixed& other) {
    sum += other.sum;
    order = order * 6364136223846793005u + other.order;
    if (other.largest > largest) largest = other.largest;
    count += other.count;
  }
};
template <class D, class Index>
struct MixedItems {
  using device_type = D;
  using value_type = Mixed;
  Vector<double, D> x;
  index_t begin;
  STRATA_FUNCTION void operator()(Index i, Mixed& mixed) const {
    mixed.add(index_t(i), x(index_t(i) - begin));
  }
  STRATA_FUNCTION static void init(Mixed& mixed) { mixed = {0, 1, -1, 0}; }
  STRATA_FUNCTION static void join(Mixed& mixed, const Mixed& other) { mixed.join(other); }
};
template <class D, class Index>
void expect_mixed(const D& device, index_t begin, const Vector<double, D>& x, const Mixed& expected) {
  const index_t end = begin + x.extent(0);

  const Mixed mixed = parallel_reduce(on(device), range(begin, end), MixedItems<D, Index>{x, begin});

  const std::string what = std::to_string(begin) + " to " + std::to_string(end);
  EXPECT_TRUE(same_bits(mixed.sum, expected.sum)) << what;
  EXPECT_EQ(mixed.order, expected.order) << what;
  EXPECT_EQ(mixed.largest, expected.largest) << what;
  EXPECT_EQ(mixed.count, expected.count) << what;
}
TYPED_TEST(ParallelReduce, StructsOfNumbersOfSeveralTypesHaveTheBitsOfTheTree) {
  using D = TypeParam;
  Random random;
  for (int trial = 0; trial < 12; ++trial) {
    const index_t begin = trial % 3 == 0 ? 8 * random(-200, 200) : random(-2000, 2000);
    const index_t n = trial % 4 == 3 ? random(1, 80) : random(1, 6000);
    const auto x = make_vector<double, D>(n, [&](index_t i) { return mixed_number(i + begin); });
    const Mixed identity{0, 1, -1, 0};
    const Mixed expected =
        tree_reduce(
            begin, begin + n, identity, [](index_t i, Mixed& mixed) { mixed.add(i, mixed_number(i)); },
            [](Mixed& a, const Mixed& b) { a.join(b); })
            .value_or(identity);

    expect_mixed<D, index_t>(D{}, begin, x, expected);
    expect_mixed<D, typename D::index_type>(D{}, begin, x, expected);
  }
}

// A host device with a given number of workers whose pieces run one by one, the last first.
struct InReverse {
  static inline int workers = 1;
  using memory_space = HostSpace;
  using layout = LayoutRight;
  using index_type = detail::HostIndex;
  using size_type = index_t;
  using execution = detail::HostExecution;
  static constexpr char name[] = "InReverse";

  constexpr InReverse() = default;
  explicit InReverse(int) {}
  static constexpr int count() { return 1; }
  constexpr int index() const { return 0; }
  detail::DeviceInstance& backend() const { return Serial{}.backend(); }

  static detail::Runner runner() {
    const auto run = [](const void*, const detail::ChunkRange& r, detail::ChunkFunction function) {
      const detail::ChunkPlan plan(r, workers);
      for (auto k = plan.count(); k-- > 0;)
        function(plan.begin(k), plan.end(k), static_cast<int>(k) % workers);
    };
    return {run, nullptr, workers};
  }
  static const detail::HostKind& host() {
    static constexpr detail::HostKind kind{
        name, runner, []() -> detail::DeviceInstance& { return Serial{}.backend(); }, [] { return workers; }};
    return kind;
  }
};

void expect_bits_with_workers(int workers) {
  using D = InReverse;
  D::workers = workers;
  for (const index_t begin : tree_begins) {
    for (const index_t n : tree_sizes) {
      const auto x = make_vector<double, Serial>(n, [&](index_t i) { return mixed_number(i + begin); });
      const double expected = sum_on<Serial, Serial::index_type>(Serial{}, begin, begin + n, x);

      const double sum = sum_on<D, typename D::index_type>(D{}, begin, begin + n, x);

      EXPECT_TRUE(same_bits(sum, expected)) << workers << " workers, " << begin << ", " << n;
    }
  }
}

TEST(ReductionTree, SumsHaveTheSameBitsWithAnyNumberOfThreads) {
  for (const int workers : {1, 2, 3, 7, 64}) expect_bits_with_workers(workers);
}

// The same launch on every device of the build; products are contracted alike, for one compiler makes all.
TEST(ReductionTree, DotProductsHaveTheSameBitsOnAllHostDevices) {
  for (const index_t n : tree_sizes) {
    const auto serial = [&] {
      const auto x = make_vector<double, Serial>(n, mixed_number);
      return parallel_reduce(n, Dot<Serial>{x, x});
    }();

    strata_tests::for_each_device([&]<class D>(const D& device) {
      const auto x = make_vector<double, D>(n, mixed_number);
      const double sum = parallel_reduce(on(device), n, Dot<D>{x, x});
      EXPECT_TRUE(same_bits(sum, serial))
          << device.backend().device_name() << ", n = " << n << ": " << sum << ", not " << serial;
    });
  }
}

TYPED_TEST(ParallelReduce, SumsKeepInfinitiesNansAndSignedZeros) {
  using D = TypeParam;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto sum_with = [](index_t at, double value, double other) {
    const auto x = make_vector<double, D>(1000, [=](index_t i) { return i == at ? value : other; });
    return sum_on<D, typename D::index_type>(D{}, 0, 1000, x);
  };

  EXPECT_EQ(sum_with(999, infinity, 1), infinity);
  EXPECT_EQ(sum_with(3, -infinity, 1), -infinity);
  EXPECT_TRUE(std::isnan(sum_with(600, infinity, -infinity)));
  EXPECT_TRUE(std::isnan(sum_with(0, std::nan(""), 1)));
  EXPECT_TRUE(std::isnan(sum_with(999, std::nan(""), infinity)));
  // A sum begins at +0.0, so that zeros of either sign give +0.0.
  EXPECT_TRUE(same_bits(sum_with(0, -0.0, -0.0), 0.0));
  EXPECT_EQ(sum_with(0, 1e308, 1e308), infinity);
}

TYPED_TEST(ParallelReduce, ExtremaOfFloatsBeginAtInfinity) {
  using D = TypeParam;
  double least = 0, most = 0;
  float none = 0;

  parallel_reduce(
      on(D{}), 0, [] STRATA_FUNCTION(int, double& v, double& w) { v = w = 0; }, Min(least), Max(most));
  parallel_reduce(
      on(D{}), 3, [] STRATA_FUNCTION(int, float&) {}, Max(none));

  EXPECT_EQ(least, std::numeric_limits<double>::infinity());
  EXPECT_EQ(most, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(none, -std::numeric_limits<float>::infinity());
}

}  // namespace
