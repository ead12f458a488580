// Sums over boxes whose last index is the fastest, of kernels that only read: their items lie along two lines
// of that index at most where the box is long enough (box_nodes.hpp). The order is that of Serial.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <strata/devices/serial/device.hpp>
#include <strata/strata.hpp>

#include "core/random.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

// A value that tells in which order items were added and values joined.
template <int Words>
struct Order {
  std::uint64_t hash[Words];
};

template <int Words>
struct HashElements {
  using value_type = Order<Words>;
  STRATA_FUNCTION static void add(std::uint64_t element, value_type& order) {
    for (int w = 0; w < Words; ++w)
      order.hash[w] = order.hash[w] * 31 + element + static_cast<std::uint64_t>(w);
  }
  STRATA_FUNCTION void operator()(index_t i, index_t j, index_t k, auto x, value_type& order) const {
    add(x(i, j, k) + 3 * x(i, j + 1, k), order);
  }
  STRATA_FUNCTION static void init(value_type& order) {
    for (int w = 0; w < Words; ++w) order.hash[w] = 1;
  }
  STRATA_FUNCTION static void join(value_type& a, const value_type& b) {
    for (int w = 0; w < Words; ++w) a.hash[w] = a.hash[w] * 6364136223846793005u + b.hash[w];
  }
};

struct NumberElements {
  STRATA_FUNCTION void operator()(index_t i, auto x) const {
    auto item = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15;
    x.data()[i] = item ^ item >> 31;
  }
};

// The last extent decides which items have one line, two, or more.
template <int Words, int Rank>
void expect_order_of_serial(Random& random) {
  const index_t last[] = {2,   31,  32,  33,  34,  96,  97,  98,  192, 193, 194, 224, 225,
                          226, 448, 449, 450, 480, 481, 482, 510, 511, 512, 513, 700, 1500};
  std::array<index_t, Rank> extents, lower, upper;
  std::string what = std::to_string(Words) + " words,";
  index_t left = random(1000, 60'000);
  for (int r = Rank - 1; r >= 0; --r) {
    const index_t most = std::max<index_t>(1, left / (r > 1 ? 3 : 1));
    const index_t items = r == Rank - 1 ? last[random(0, std::size(last) - 1)]
                          : r == 0      ? left
                                        : random(1, most);
    left = std::max<index_t>(1, left / items);
    lower[r] = random(0, 3);
    upper[r] = lower[r] + std::max<index_t>(1, items);
    extents[r] = upper[r] + random(1, 3);
    what += " [" + std::to_string(lower[r]) + ", " + std::to_string(upper[r]) + ")";
  }
  SCOPED_TRACE(what);
  [&]<std::size_t... R>(std::index_sequence<R...>) {
    const auto on_host =
        create<MDArrayIn<LayoutRight, std::uint64_t, Serial, rank<Rank>>>("on host", extents[R]...);
    const auto x = create<MDArrayIn<LayoutRight, std::uint64_t, Cuda, rank<Rank>>>("x", extents[R]...);
    parallel_for(on(Serial{}), static_cast<index_t>(on_host.size()), with(NumberElements{}, on_host));
    deep_copy(x, on_host);
    const auto box = mdrange({lower[R]...}, {upper[R]...});
    Order<Words> expected{}, order{};
    parallel_reduce(box, with(HashElements<Words>{}, on_host), expected);

    parallel_reduce(box, with(HashElements<Words>{}, x), order);

    for (int w = 0; w < Words; ++w) ASSERT_EQ(order.hash[w], expected.hash[w]) << "word " << w;
  }
  (std::make_index_sequence<Rank>());
}

TEST(CudaBoxLines, AreReadInTheOrderOfTheTree) {
  Random random;
  for (int draw = 0; draw < 150; ++draw) {
    expect_order_of_serial<1, 3>(random);
    expect_order_of_serial<4, 3>(random);  // of many bytes: with fewer lanes
    if (HasFatalFailure()) return;
  }
}

struct SumAndLeast {
  STRATA_FUNCTION void operator()(index_t i, index_t j, index_t k, auto x, double& sum, double& least) const {
    const double value = x(i, j, k) - 0.25 * x(i, j, k + 1);
    sum += value;
    least = value < least ? value : least;
  }
};
TEST(CudaBoxLines, HaveTheBitsOfSerialForSeveralReducers) {
  Random random;
  for (const index_t last : {40, 300, 490, 1000}) {
    const index_t n = 20'000 / last + 2;
    const auto on_host = create<MDArrayIn<LayoutRight, double, Serial, rank<3>>>("on host", n, 5, last + 2);
    for (index_t i = 0; i < static_cast<index_t>(on_host.size()); ++i)
      on_host.data()[i] = 1.0 / static_cast<double>(random(1, 1'000'000));
    const auto x = create<MDArrayIn<LayoutRight, double, Cuda, rank<3>>>("x", n, 5, last + 2);
    deep_copy(x, on_host);
    const auto box = mdrange({1, 0, 1}, {n, 5, last + 1});
    double expected_sum = 0, expected_least = 0, sum = 0, least = 0;
    parallel_reduce(box, with(SumAndLeast{}, on_host), Sum(expected_sum), Min(expected_least));

    parallel_reduce(box, with(SumAndLeast{}, x), Sum(sum), Min(least));

    EXPECT_EQ(sum, expected_sum) << last;
    EXPECT_EQ(least, expected_least) << last;
  }
}

}  // namespace
