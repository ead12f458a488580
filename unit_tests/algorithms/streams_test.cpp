// Kernels that stream over a few arrays of rank 1: devices may give a thread several items, and read ahead
// what a launch declares as `in`.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "arrays.hpp"
#include "core/random.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class StreamsTest : public ::testing::Test {};
TYPED_TEST_SUITE(StreamsTest, TestDevices, DeviceName);

struct AddOne {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const {
    y(i) = static_cast<typename decltype(y)::value_type>(x(i) + 1);
  }
};
struct CountVisit {
  STRATA_FUNCTION void operator()(auto i, auto visits) const { visits(i) += 1; }
};

// Enough items to fill any GPU several times, and none of the sizes divides; hosts need fewer.
template <class D>
inline constexpr index_t many = runs_on_host_threads<D> ? 40'037 : 4'000'037;

template <class T, class D>
void expect_sums(index_t n, index_t begin) {
  const auto x = make_vector<T, D>(n, [](index_t i) { return static_cast<T>(i % 100); });
  const auto y = make_vector<T, D>(n, [](index_t) { return T(0); });

  launch(on(D{}), range(begin, n), AddOne{}, in(x), out(y));

  const auto found = values_of(y);
  index_t wrong = 0;
  for (index_t i = 0; i < n; ++i)
    wrong += found[static_cast<std::size_t>(i)] != static_cast<T>(i < begin ? 0 : i % 100 + 1);
  EXPECT_EQ(wrong, 0) << n << " items of " << sizeof(T) << " bytes from " << begin;
}

TYPED_TEST(StreamsTest, HaveEveryItemDoneOnceWhateverTheSizeOfElements) {
  using D = TypeParam;
  for (const index_t n : {index_t{1}, index_t{1000}, many<D>}) {
    expect_sums<std::int8_t, D>(n, 0);
    expect_sums<float, D>(n, n / 3);
    expect_sums<double, D>(n, n / 2);
  }
  const auto visits = make_vector<int, D>(many<D>, [](index_t) { return 0; });

  parallel_for(range(7, many<D> - 7), with(CountVisit{}, visits));

  const auto found = values_of(visits);
  index_t wrong = 0;
  for (index_t i = 0; i < many<D>; ++i)
    wrong += found[static_cast<std::size_t>(i)] != (i >= 7 && i < many<D> - 7 ? 1 : 0);
  EXPECT_EQ(wrong, 0);
}

TYPED_TEST(StreamsTest, KeepToTheBlocksThatAreAskedFor) {
  using D = TypeParam;
  const auto visits = make_vector<int, D>(many<D>, [](index_t) { return 0; });

  parallel_for(block_size(96, range(1, many<D>)), with(CountVisit{}, visits));
  parallel_for(launch_bounds<64>(range(0, many<D>)), with(CountVisit{}, visits));

  const auto found = values_of(visits);
  index_t wrong = found[0] != 1;
  for (index_t i = 1; i < many<D>; ++i) wrong += found[static_cast<std::size_t>(i)] != 2;
  EXPECT_EQ(wrong, 0);
}

// What the kernel is handed for `in` reads by value, and knows where it came from.
struct TakesReadOnly {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const {
    static_assert(std::is_same_v<decltype(x(i)), double>);
    static_assert(std::is_same_v<decltype(y(i)), double&>);
    y(i) = x(i);
  }
};
struct SumOf {
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const {
    static_assert(std::is_same_v<decltype(x(i)), double>);
    sum += x(i);
  }
};
struct CopyMask {
  STRATA_FUNCTION void operator()(auto i, auto mask, auto z, auto y) const { y(i) = mask(i) ? z(i) : -z(i); }
};
TYPED_TEST(StreamsTest, ReadElementsOfAnyTypeThroughReadOnlyViews) {
  using D = TypeParam;
  const auto mask = create<MDArray<bool, D, rank<1>>>("mask", 3000);
  const auto z = create<MDArray<complex<float>, D, rank<1>>>("z", 3000), y = create<decltype(z)>("y", 3000);
  deep_copy(mask, true);
  deep_copy(z, complex<float>(1, 2));

  launch(on(D{}), 3000, CopyMask{}, in(unmanaged(mask)), in(z), out(y));

  EXPECT_EQ(values_of(y), std::vector<complex<float>>(3000, complex<float>(1, 2)));
}

TYPED_TEST(StreamsTest, ReadWhatIsDeclaredThroughReadOnlyViews) {
  using D = TypeParam;
  const auto x = make_vector<double, D>(1000, [](index_t i) { return 0.5 * static_cast<double>(i); });
  const auto y = make_vector<double, D>(1000, [](index_t) { return 0.0; });
  double sum = 0;

  launch(on(D{}), 1000, TakesReadOnly{}, in(x), inout(y));
  launch_reduce(on(D{}), 1000, SumOf{}, Sum(sum), in(y));

  EXPECT_EQ(values_of(y), values_of(x));
  EXPECT_EQ(sum, 0.5 * 999 * 500);
}

// Launches follow each other without a wait, so that devices may begin one before the last is over: short
// ones and ones that fill a GPU several times, which read, through a cache, what any thread of those before
// wrote.
struct MixFrom {
  index_t n, distance;
  STRATA_FUNCTION void operator()(index_t i, auto x, auto y) const {
    y(i) = 3 * y(i) + x(i + distance < n ? i + distance : i + distance - n);
  }
};
TYPED_TEST(StreamsTest, SeeWhatAllLaunchesBeforeWrote) {
  using D = TypeParam;
  Random draw;
  for (int trial = 0; trial < trials(6) + 1; ++trial) {
    const index_t n = runs_on_host_threads<D> ? draw(1, 5000) : draw(1, 2'000'000);
    const auto number = [](index_t i) { return static_cast<std::uint32_t>(i); };
    const auto a = make_vector<std::uint32_t, D>(n, number), b = make_vector<std::uint32_t, D>(n, number);
    std::vector<std::uint32_t> expected_a = values_of(a), expected_b = values_of(b);
    for (int step = 0; step < 25; ++step) {
      const bool is_short = draw(0, 1) == 1, is_to_a = draw(0, 2) == 0;
      const index_t first = draw(0, n - 1), last = draw(first, is_short ? std::min(n, first + 300) : n);
      const MixFrom mix{n, draw(0, n - 1)};

      if (is_to_a) parallel_for(range(first, last), with(mix, read_only(b), a));
      else parallel_for(range(first, last), with(mix, read_only(a), b));

      const auto& x = is_to_a ? expected_b : expected_a;
      auto& y = is_to_a ? expected_a : expected_b;
      for (index_t i = first; i < last; ++i)
        y[static_cast<std::size_t>(i)] =
            3 * y[static_cast<std::size_t>(i)] + x[static_cast<std::size_t>((i + mix.distance) % n)];
    }
    ASSERT_EQ(values_of(a), expected_a) << n;
    ASSERT_EQ(values_of(b), expected_b) << n;
  }
}

}  // namespace
