// Reductions and scans of values of any size, over ranges that begin anywhere, with items that add nothing.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "core/random.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class ValueSizes : public ::testing::Test {};
TYPED_TEST_SUITE(ValueSizes, TestDevices, DeviceName);

// Near zero, on both sides, or far from it.
index_t any_begin(Random& draw) {
  switch (draw(0, 2)) {
    case 0:
      return 0;
    case 1:
      return draw(-20'000, 20'000);
    default:
      return draw(-(index_t{1} << 40), index_t{1} << 40);
  }
}
// Of all orders of magnitude up to `most`.
index_t any_count(Random& draw, index_t most) {
  index_t limit = most;
  for (index_t halvings = draw(0, 20); halvings > 0 && limit > 1; --halvings) limit /= 2;
  return draw(1, limit);
}

STRATA_FUNCTION std::uint64_t hash_of(index_t i) {
  return (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u;
}

// ---- reductions: sums of bytes, as many as asked for; an item adds to two of them, or to none

struct ByteSums {
  using value_type = unsigned char[];
  index_t value_count;
  index_t left_out;  // every so many items add nothing; 0: all add

  STRATA_FUNCTION void operator()(index_t i, unsigned char* sums) const {
    if (left_out > 0 && i % left_out == 0) return;
    const std::uint64_t hash = hash_of(i), count = static_cast<std::uint64_t>(value_count);
    sums[(hash >> 20) % count] = static_cast<unsigned char>(sums[(hash >> 20) % count] + 1);
    sums[(hash >> 40) % count] = static_cast<unsigned char>(sums[(hash >> 40) % count] + (hash & 255));
  }
  STRATA_FUNCTION void operator()(index_t i, index_t j, unsigned char* sums) const {
    (*this)(1000 * i + j, sums);
  }
  STRATA_FUNCTION void init(unsigned char* sums) const {
    for (index_t k = 0; k < value_count; ++k) sums[k] = 0;
  }
  STRATA_FUNCTION void join(unsigned char* sums, const unsigned char* more) const {
    for (index_t k = 0; k < value_count; ++k) sums[k] = static_cast<unsigned char>(sums[k] + more[k]);
  }
};

TYPED_TEST(ValueSizes, OfReductionsAreAnyFromAByteToAMebibyte) {
  using D = TypeParam;
  constexpr index_t most = !runs_on_host_threads<D> ? 1000 : index_t{1} << 20;
  Random draw;
  for (int trial = 0; trial < trials(60); ++trial) {
    const ByteSums kernel{any_count(draw, most), draw(0, 1) == 0 ? 0 : draw(1, 7)};
    const auto bytes = static_cast<std::size_t>(kernel.value_count);
    // A mebibyte is joined a few times only.
    const index_t begin = any_begin(draw), n = draw(0, kernel.value_count > 50'000 ? 2000 : 9000);
    const index_t rows = draw(0, 40), columns = n / 40, first = draw(-100, 100);
    std::vector<unsigned char> sums(bytes, 1), of_box(bytes, 1), expected(bytes, 0),
        expected_of_box(bytes, 0);

    parallel_reduce(on(D{}), range(begin, begin + n), kernel, sums.data());
    parallel_reduce(on(D{}), mdrange({begin, first}, {begin + rows, first + columns}), kernel, of_box.data());

    for (index_t i = begin; i < begin + n; ++i) kernel(i, expected.data());
    for (index_t i = begin; i < begin + rows; ++i)
      for (index_t j = first; j < first + columns; ++j) kernel(i, j, expected_of_box.data());
    const std::string what = std::to_string(bytes) + " bytes, " + std::to_string(n) + " items from " +
                             std::to_string(begin) + ", every " + std::to_string(kernel.left_out) +
                             "th left out";
    ASSERT_EQ(sums, expected) << what;
    ASSERT_EQ(of_box, expected_of_box) << what << "; " << rows << " rows of " << columns << " from " << first;
  }
}

// ---- scans: affine maps v -> a v + b, modulo 2^64, which do not commute

template <int Maps>
struct ManyMaps {
  std::uint64_t a[Maps], b[Maps];
};
struct Ends {
  std::uint64_t first, last;
  friend bool operator==(const Ends&, const Ends&) = default;
};
template <int Maps>
struct ComposeMaps {
  using value_type = ManyMaps<Maps>;
  index_t begin, left_out;

  STRATA_FUNCTION void operator()(index_t i, auto prefixes, value_type& maps, bool final) const {
    if (left_out == 0 || i % left_out != 0)
      for (int k = 0; k < Maps; ++k) {
        const std::uint64_t hash = hash_of(i + k), a = 2 * hash + 1;
        maps.a[k] *= a;
        maps.b[k] = a * maps.b[k] + (hash >> 7);
      }
    if (final) prefixes(i - begin) = Ends{maps.b[0], maps.b[Maps - 1]};
  }
  STRATA_FUNCTION static void init(value_type& maps) {
    for (int k = 0; k < Maps; ++k) maps.a[k] = 1, maps.b[k] = 0;
  }
  STRATA_FUNCTION static void join(value_type& maps, const value_type& more) {
    for (int k = 0; k < Maps; ++k) {
      maps.b[k] = more.a[k] * maps.b[k] + more.b[k];
      maps.a[k] *= more.a[k];
    }
  }
};

template <class D, int Maps>
void expect_scans(index_t most, int count) {
  Random draw;
  for (int trial = 0; trial < count; ++trial) {
    const ComposeMaps<Maps> kernel{any_begin(draw), draw(0, 1) == 0 ? 0 : draw(1, 20)};
    const index_t n = draw(0, most);
    const auto prefixes = create<Vector<Ends, D>>("prefixes", n);
    auto total = std::make_unique<ManyMaps<Maps>>(), maps = std::make_unique<ManyMaps<Maps>>();
    const auto expected = create<Vector<Ends, Serial>>("expected", n);

    parallel_scan(on(D{}), range(kernel.begin, kernel.begin + n), with(kernel, prefixes), *total);

    kernel.init(*maps);
    for (index_t i = kernel.begin; i < kernel.begin + n; ++i) kernel(i, expected, *maps, true);
    const std::string what = std::to_string(n) + " items from " + std::to_string(kernel.begin) + ", every " +
                             std::to_string(kernel.left_out) + "th left out";
    ASSERT_EQ(values_of(prefixes), values_of(expected)) << what;
    ASSERT_TRUE(std::equal(total->b, total->b + Maps, maps->b)) << what;
  }
}
TYPED_TEST(ValueSizes, OfScansAreAnyBeyondAKibibyte) {
  expect_scans<TypeParam, 80>(20'000, trials(6) + 1);
  if constexpr (runs_on_host_threads<TypeParam>) expect_scans<TypeParam, 3000>(600, trials(6) + 1);
}

}  // namespace
