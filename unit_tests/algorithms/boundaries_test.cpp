// Ranges and arrays around 2^31 and 2^32, and far beyond: indices are 64-bit all the way into the kernel.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "core/random.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class Boundaries : public ::testing::Test {};
TYPED_TEST_SUITE(Boundaries, TestDevices, DeviceName);

constexpr index_t two_31 = index_t{1} << 31;
constexpr index_t two_32 = index_t{1} << 32;
constexpr index_t two_40 = index_t{1} << 40;

constexpr Range edges[] = {range(two_31 - 1, two_31),       range(two_31 - 5, two_31 + 7),
                           range(two_31 + 1, two_31 + 2),   range(two_32 - 513, two_32 + 513),
                           range(-two_31 - 7, -two_31 + 5), range(two_40, two_40 + 1000),
                           range(-two_40 - 9, -two_40),     range(two_32 - 3, two_32 + 1021)};

struct AddIndex {
  index_t first;
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(index_t(i) - first) += index_t(i); }
};

TYPED_TEST(Boundaries, LaunchesReachIndicesThatNeedMoreThan32Bits) {
  using D = TypeParam;
  for (const Range& r : edges) {
    const auto by_integer = create<Vector<index_t, D>>("by integer", r.size());
    const auto by_any = create<Vector<index_t, D>>("by any", r.size());

    parallel_for(on(D{}), r, [=] STRATA_FUNCTION(index_t i) { by_integer(i - r.first) += i; });
    parallel_for(r.dynamic(7), with(AddIndex{r.first}, by_any));

    std::vector<index_t> expected;
    for (index_t i = r.first; i < r.last; ++i) expected.push_back(i);
    EXPECT_EQ(values_of(by_integer), expected) << r.first;
    EXPECT_EQ(values_of(by_any), expected) << r.first;
  }
}

struct SumIndices {
  index_t first;
  STRATA_FUNCTION void operator()(auto i, auto prefix, index_t& sum, bool final) const {
    sum += index_t(i);
    if (final) prefix(index_t(i) - first) = sum;
  }
};

TYPED_TEST(Boundaries, ReductionsAndScansReachIndicesThatNeedMoreThan32Bits) {
  using D = TypeParam;
  for (const Range& r : edges) {
    index_t sum = -1, count = -1, total = -1;
    ValueLocation<index_t> last{};
    const auto prefix = create<Vector<index_t, D>>("prefix", r.size());

    parallel_reduce(
        on(D{}), r,
        [] STRATA_FUNCTION(index_t i, index_t & s, index_t & c, ValueLocation<index_t> & l) {
          s += i;
          ++c;
          if (i > l.value) l = {i, i};
        },
        Sum(sum), Sum(count), MaxLoc(last));
    parallel_scan(r, with(SumIndices{r.first}, prefix), Sum(total));

    index_t expected = 0;
    std::vector<index_t> prefixes;
    for (index_t i = r.first; i < r.last; ++i) prefixes.push_back(expected += i);
    EXPECT_EQ(sum, expected) << r.first;
    EXPECT_EQ(count, r.size());
    EXPECT_EQ(last.location, r.last - 1);
    EXPECT_EQ(total, expected) << r.first;
    EXPECT_EQ(values_of(prefix), prefixes) << r.first;
  }
}

TYPED_TEST(Boundaries, MultiDimensionalRangesReachIndicesThatNeedMoreThan32Bits) {
  using D = TypeParam;
  const auto x = create<MDArray<index_t, D, rank<2>>>("x", 3, 20);

  parallel_for(on(D{}), mdrange({two_40, two_31 - 10}, {two_40 + 3, two_31 + 10}, {2, 8}),
               [=] STRATA_FUNCTION(index_t i, index_t j) { x(i - two_40, j - two_31 + 10) = i ^ j; });

  wait(D{});
  const auto result = on_host(x);
  for (index_t i = 0; i < 3; ++i)
    for (index_t j = 0; j < 20; ++j) ASSERT_EQ(result(i, j), (two_40 + i) ^ (two_31 - 10 + j));
}

// A value that tells every order of joins apart, and counts items.
struct Order {
  std::uint64_t hash;
  index_t count;
};
template <class D>
struct HashIndices {
  using device_type = D;
  using value_type = Order;
  STRATA_FUNCTION void operator()(index_t i, Order& order) const { add(bits(i), order); }
  STRATA_FUNCTION void operator()(index_t i, index_t j, Order& order) const {
    add(bits(i) ^ (3 * bits(j)), order);
  }
  STRATA_FUNCTION void operator()(index_t i, index_t j, index_t k, Order& order) const {
    add(bits(i) ^ (3 * bits(j)) ^ (5 * bits(k)), order);
  }
  STRATA_FUNCTION static std::uint64_t bits(index_t i) { return static_cast<std::uint64_t>(i); }
  STRATA_FUNCTION static void add(std::uint64_t item, Order& order) {
    order.hash = order.hash * 31 + item;
    ++order.count;
  }
  STRATA_FUNCTION static void init(Order& order) { order = {1, 0}; }
  STRATA_FUNCTION static void join(Order& a, const Order& b) {
    a.hash = a.hash * 6364136223846793005u + b.hash;
    a.count += b.count;
  }
};

// `n` indices that begin at INT64_MIN or end at INT64_MAX, or a few before or after.
Range near_an_end(Random& random, index_t n) {
  const index_t off = random(0, 1) == 0 ? 0 : random(0, 700);
  return random(0, 2) == 0 ? range(INT64_MIN + off, INT64_MIN + off + n)
                           : range(INT64_MAX - off - n, INT64_MAX - off);
}
// Or around another number at which pairs of rows, of powers of two, have no common parent.
Range rows_anywhere(Random& random, index_t n) {
  if (random(0, 2) > 0) return near_an_end(random, n);
  const index_t power = random(0, 62), from = random(0, 2) == 0 ? 0 : index_t{1} << power;
  const index_t first = (random(0, 1) == 0 ? from : -from) - random(0, n);
  return range(first, first + n);
}
std::string text_of(const Range& r) {
  return std::string("[").append(std::to_string(r.first)) + ", +" + std::to_string(r.size()) + ")";
}

template <class D, class Work>
void expect_order_of_serial(const Work& work, index_t items, const std::string& what) {
  const Order expected = parallel_reduce(work, HashIndices<Serial>());

  const Order found = parallel_reduce(work, HashIndices<D>());

  EXPECT_EQ(expected.count, items) << what;
  EXPECT_EQ(found.count, items) << what;
  EXPECT_EQ(found.hash, expected.hash) << what;
}

TYPED_TEST(Boundaries, ReductionsNearTheEndsOf64BitsHaveAllItemsInTheOrderOfTheTree) {
  Random random;
  for (int trial = 0; trial < trials(60); ++trial) {
    const Range i = rows_anywhere(random, random(1, trial % 2 == 0 ? 5 : 20'000));

    expect_order_of_serial<TypeParam>(i, i.size(), text_of(i));
  }
}

// Rows of one block of the tree, and of several.
TYPED_TEST(Boundaries, ReductionsOfBoxesNearTheEndsOf64BitsHaveAllItemsInTheOrderOfTheTree) {
  Random random;
  for (int trial = 0; trial < trials(60); ++trial) {
    const index_t most_rows = trial % 3 == 0 ? 3 : trial % 3 == 1 ? 40 : 400;
    const Range i = rows_anywhere(random, random(1, most_rows));
    const Range j = near_an_end(random, random(1, most_rows < 400 && trial % 2 == 0 ? 1500 : 3));
    const Range k = near_an_end(random, random(1, 3));
    const std::string what = text_of(i) + " x " + text_of(j) + " x " + text_of(k);

    expect_order_of_serial<TypeParam>(mdrange({i.first, j.first}, {i.last, j.last}), i.size() * j.size(),
                                      what);
    expect_order_of_serial<TypeParam>(mdrange({i.first, j.first, k.first}, {i.last, j.last, k.last}),
                                      i.size() * j.size() * k.size(), what);
  }
}

struct CountVisit {
  index_t first_row, first, row;
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(index_t(i) - first_row) += 1; }
  STRATA_FUNCTION void operator()(auto i, auto j, auto x) const {
    x((index_t(i) - first_row) * row + (index_t(j) - first)) += 1;
  }
};
struct CountUpTo {
  index_t first;
  STRATA_FUNCTION void operator()(auto i, auto prefix, double& sum, bool final) const {
    sum += 1;
    if (final) prefix(index_t(i) - first) = sum;
  }
};

TYPED_TEST(Boundaries, LoopsNearTheEndsOf64BitsVisitEachItemOnce) {
  using D = TypeParam;
  Random random;
  for (int trial = 0; trial < trials(30); ++trial) {
    const Range i = near_an_end(random, random(1, trial % 2 == 0 ? 20 : 2000));
    const Range j = near_an_end(random, random(1, 20));
    const auto by_any = create<Vector<index_t, D>>("by any", i.size());
    const auto by_integer = create<Vector<index_t, D>>("by integer", i.size());
    const auto in_box = create<Vector<index_t, D>>("in a box", i.size() * j.size());
    const auto prefix = create<Vector<double, D>>("prefix", i.size());
    double total = -1;

    parallel_for(trial % 3 == 0 ? i.dynamic(7) : i, with(CountVisit{i.first, 0, 1}, by_any));
    parallel_for(on(D{}), i, [=] STRATA_FUNCTION(index_t item) { by_integer(item - i.first) += 1; });
    parallel_for(mdrange({i.first, j.first}, {i.last, j.last}),
                 with(CountVisit{i.first, j.first, j.size()}, in_box));
    parallel_scan(i, with(CountUpTo{i.first}, prefix), Sum(total));

    EXPECT_EQ(values_of(by_any), std::vector<index_t>(static_cast<std::size_t>(i.size()), 1)) << text_of(i);
    EXPECT_EQ(values_of(by_integer), std::vector<index_t>(static_cast<std::size_t>(i.size()), 1))
        << text_of(i);
    EXPECT_EQ(values_of(in_box), std::vector<index_t>(static_cast<std::size_t>(i.size() * j.size()), 1))
        << text_of(i) << " x " << text_of(j);
    EXPECT_EQ(total, static_cast<double>(i.size())) << text_of(i);
    const auto prefixes = values_of(prefix);
    for (std::size_t k = 0; k < prefixes.size(); ++k)
      ASSERT_EQ(prefixes[k], static_cast<double>(k + 1)) << text_of(i);
  }
}

// Counted by blocks: the sum of all indices shows a missing one.
TEST(SlowBoundaries, ReductionsOverMoreThan2To31ItemsCountEachOnce) {
  for (const index_t n : {two_31 - 1, two_31, two_31 + 1}) {
    std::uint64_t sum = 0;
    index_t count = 0;

    parallel_reduce(
        on(Threads{}), n,
        [](auto i, std::uint64_t& s, index_t& c) {
          s += static_cast<std::uint64_t>(index_t(i));
          ++c;
        },
        Sum(sum), Sum(count));

    EXPECT_EQ(count, n);
    EXPECT_EQ(sum, static_cast<std::uint64_t>(n) / 2 * static_cast<std::uint64_t>(n - 1) +
                       (n % 2 != 0 ? static_cast<std::uint64_t>(n - 1) / 2 : 0));
  }
}

constexpr index_t five_billion = 5'000'000'000;

// Bytes that the machine can give without swapping; 0 where that is not known.
index_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("MemAvailable:")) return std::stoll(line.substr(13)) * 1024;
  return 0;
}

STRATA_FUNCTION std::uint8_t byte_at(index_t i) {
  return static_cast<std::uint8_t>(mix(static_cast<std::uint64_t>(i)));
}
struct SetByte {
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) = byte_at(index_t(i)); }
};
struct AddThree {
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) = static_cast<std::uint8_t>(x(i) + 3); }
};
struct SumBytes {
  STRATA_FUNCTION void operator()(auto i, auto x, index_t& sum) const { sum += x(i); }
};

TYPED_TEST(Boundaries, SlowArraysOfFiveBillionBytesAreReachedAtEveryEdge) {
  using D = TypeParam;
  if (available_bytes() < five_billion + (index_t{2} << 30))
    GTEST_SKIP() << "needs 7 GB of free memory, there are " << available_bytes() / 1'000'000 << " MB";
  const auto x = [] {
    try {
      return create<MDArray<std::uint8_t, D, rank<1>>>("five billion", five_billion, uninitialized);
    } catch (const OutOfMemory&) {
      return MDArray<std::uint8_t, D, rank<1>>();
    }
  }();
  if (!x) GTEST_SKIP() << "the device has no room for 5 GB";
  const Range windows[] = {range(0, 1000), range(two_31 - 1000, two_31 + 1000),
                           range(two_32 - 1000, two_32 + 1000), range(five_billion - 1000, five_billion)};

  for (const Range& w : windows) parallel_for(w, with(SetByte{}, x));

  EXPECT_EQ(x.extent(0), five_billion);
  for (const Range& w : windows) {
    const auto window = create<Vector<std::uint8_t, D>>("window", w.size());
    deep_copy(window, subview(x, w));
    const auto values = values_of(window);
    for (index_t i = w.first; i < w.last; ++i)
      ASSERT_EQ(values[static_cast<std::size_t>(i - w.first)], byte_at(i)) << i;
  }
}

TYPED_TEST(Boundaries, SlowFiveBillionBytesAreFilledAndSummed) {
  using D = TypeParam;
  if (available_bytes() < five_billion + (index_t{2} << 30))
    GTEST_SKIP() << "needs 7 GB of free memory, there are " << available_bytes() / 1'000'000 << " MB";
  const auto x = [] {
    try {
      return create<MDArray<std::uint8_t, D, rank<1>>>("five billion", five_billion);
    } catch (const OutOfMemory&) {
      return MDArray<std::uint8_t, D, rank<1>>();
    }
  }();
  if (!x) GTEST_SKIP() << "the device has no room for 5 GB";
  index_t sum = -1;

  parallel_for(five_billion, with(AddThree{}, x));
  parallel_reduce(five_billion, with(SumBytes{}, x), Sum(sum));

  EXPECT_EQ(sum, 3 * five_billion);
}

}  // namespace
