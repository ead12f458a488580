// Conversions on a host: every pair of kinds against static_cast, in loops of every length, over strides,
// tiles and transposes, whole and cut between threads.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <strata/core/conversion.hpp>
#include <strata/core/half.hpp>

namespace {

using namespace strata;
using namespace strata::detail;

using Numbers = std::tuple<bool, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                           std::uint32_t, std::int64_t, std::uint64_t, float, double, half_t, bfloat16_t>;

template <std::size_t... K>
constexpr bool kinds_are_in_order(std::index_sequence<K...>) {
  return ((number_kind<std::tuple_element_t<K, Numbers>>() == static_cast<NumberKind>(K) &&
           bytes_of(static_cast<NumberKind>(K)) == sizeof(std::tuple_element_t<K, Numbers>)) &&
          ...);
}
static_assert(std::tuple_size_v<Numbers> == number_kinds);
static_assert(kinds_are_in_order(std::make_index_sequence<number_kinds>()));
static_assert(number_kind<long>() == number_kind<long long>());
static_assert(can_convert<complex<float>, complex<double>>() && !can_convert<double, complex<double>>() &&
              !can_convert<double, long double>());

LayoutDescriptor line(index_t n, index_t stride = 1) {
  LayoutDescriptor d{};
  d.rank = 1;
  d.extent[0] = n;
  d.stride[0] = stride;
  d.span = (n - 1) * stride + 1;
  return d;
}

// Values that all kinds but bool hold, and fractions for floating-point numbers.
template <class T>
T value(index_t k) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(k % 100);
  else return static_cast<T>(static_cast<float>(k % 100) + 0.25F * static_cast<float>(k % 4));
}

template <class To, class From>
void expect_static_cast(index_t n) {
  std::vector<From> from(static_cast<std::size_t>(n));
  std::vector<unsigned char> raw(static_cast<std::size_t>(n) * sizeof(To) + 1, 0xee);
  std::vector<char> bytes(static_cast<std::size_t>(n) * sizeof(From));
  for (index_t k = 0; k < n; ++k) {
    const From x = value<From>(k);
    std::memcpy(bytes.data() + static_cast<std::size_t>(k) * sizeof(From), &x, sizeof x);
  }

  convert_on_host(raw.data(), line(n), bytes.data(), line(n), conversion<To, From>());

  for (index_t k = 0; k < n; ++k) {
    const To expected = static_cast<To>(value<From>(k));
    EXPECT_EQ(std::memcmp(raw.data() + static_cast<std::size_t>(k) * sizeof(To), &expected, sizeof(To)), 0)
        << "kinds " << static_cast<int>(number_kind<To>()) << " from "
        << static_cast<int>(number_kind<From>()) << ", number " << k << " of " << n;
  }
  EXPECT_EQ(raw.back(), 0xee);
}
template <class From, class... To>
void expect_from(std::type_identity<std::tuple<To...>>) {
  for (const index_t n : {1, 7, 133}) (expect_static_cast<To, From>(n), ...);
}
template <class... From>
void expect_all(std::type_identity<std::tuple<From...>> all) {
  (expect_from<From>(all), ...);
}

TEST(Conversion, EveryPairOfKindsIsThatOfStaticCast) { expect_all(std::type_identity<Numbers>()); }

// Two threads, which take alternate thirds of the range.
void run_on_two_threads(const void*, index_t n, ChunkRunner::Chunk chunk, const void* context) {
  const index_t third = n / 3;
  std::thread other([&] { chunk(context, third, 2 * third); });
  chunk(context, 0, third);
  chunk(context, 2 * third, n);
  other.join();
}

// Element by element through offset_of.
void expect_elements(const LayoutDescriptor& dst, const LayoutDescriptor& src, const ChunkRunner& runner) {
  const OffsetBounds to = offset_bounds(dst), from = offset_bounds(src);
  std::vector<float> y(static_cast<std::size_t>(to.highest - to.lowest + 1), -1.0F);
  std::vector<double> x(static_cast<std::size_t>(from.highest - from.lowest + 1));
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<double>(k);
  float* const y0 = y.data() - to.lowest;
  const double* const x0 = x.data() - from.lowest;

  convert_on_host(y0, dst, x0, src, conversion<float, double>(), runner);

  index_t index[max_rank + 1] = {}, wrong = 0, written = 0;
  for (index_t k = element_count(dst); k > 0; --k) {
    wrong += y0[offset_of(dst, index)] != static_cast<float>(x0[offset_of(src, index)]);
    for (int r = dst.rank - 1; r >= 0 && ++index[r] == dst.extent[r]; --r) index[r] = 0;
  }
  for (const float v : y) written += v >= 0;
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(written, element_count(dst));  // nothing beside the array
}

LayoutDescriptor matrix(index_t n0, index_t n1, index_t s0, index_t s1) {
  LayoutDescriptor d{};
  d.rank = 2;
  d.extent[0] = n0;
  d.extent[1] = n1;
  d.stride[0] = s0;
  d.stride[1] = s1;
  d.span = n0 * n1;
  return d;
}

TEST(Conversion, StridesTilesTransposesAndLayoutsOfUsersAreConvertedElementByElement) {
  for (const ChunkRunner& runner : {ChunkRunner{}, ChunkRunner{run_on_two_threads, nullptr}}) {
    // On two threads what is large enough to be shared.
    const std::vector<index_t> heights =
        runner.run == nullptr ? std::vector<index_t>{3, 130} : std::vector<index_t>{440};
    for (const index_t n : heights) {
      const auto right = matrix(n, 301, 301, 1), left = matrix(n, 301, 1, n), padded = matrix(n, 301, 307, 1),
                 turned = matrix(n, 301, -301, 1), spread = matrix(n, 301, 2, 2 * n);
      LayoutDescriptor tiled = matrix(n, 301, 1, 4);
      tiled.tile_log2 = 2;
      tiled.tile_stride = 4 * 301;
      LayoutDescriptor own = right;
      own.offset = [](const void*, const index_t* i) { return i[0] * 301 + i[1]; };
      for (const LayoutDescriptor& a : {right, left, padded, turned, spread, tiled, own})
        for (const LayoutDescriptor& b : {right, left, turned, spread, tiled, own})
          expect_elements(a, b, runner);
    }
    expect_elements(line(300000), line(300000, 3), runner);
    expect_elements(line(300000, 2), line(300000), runner);
  }
}

TEST(Conversion, OfComplexNumbersIsThatOfTheirParts) {
  const double x[] = {1.5, -2.5, 3, 4, 5, 6};
  float y[6] = {};

  convert_on_host(y, line(2, 1), x, line(2, 2), conversion<complex<float>, complex<double>>());

  EXPECT_EQ(y[0], 1.5F);
  EXPECT_EQ(y[1], -2.5F);
  EXPECT_EQ(y[2], 5.0F);  // two elements further
  EXPECT_EQ(y[3], 6.0F);
  EXPECT_EQ(y[4], 0.0F);
}

TEST(Conversion, RangesThatReachIntoEachOtherOverlap) {
  double x[8] = {};
  constexpr Conversion how = conversion<float, double>();
  const auto* const raw = reinterpret_cast<const char*>(x);

  EXPECT_TRUE(conversion_overlaps(raw + 28, line(2), x, line(4), how));
  EXPECT_FALSE(conversion_overlaps(raw + 32, line(2), x, line(4), how));
  EXPECT_TRUE(conversion_overlaps(x, line(3), raw + 8, line(1), how));
  EXPECT_FALSE(conversion_overlaps(x, line(2), raw + 8, line(1), how));
  EXPECT_FALSE(conversion_overlaps(x, line(0), x, line(0), how));
}

}  // namespace
