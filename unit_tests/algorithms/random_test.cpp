// Random numbers: known answers, the same numbers everywhere, and the statistics of fixed seeds.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "algorithms/arrays.hpp"
#include "test_devices.hpp"

namespace {

using strata::create;
using strata::index_t;
using strata::MDArray;
using strata::Normal;
using strata::random;
using strata::RandomBits;
using strata::Uniform;
using strata_tests::values_of;
using strata_tests::Vector;

void expect_philox(RandomBits counter, strata::PhiloxKey key, RandomBits expected) {
  const RandomBits bits = strata::philox4x32_10(counter, key);

  for (int w = 0; w < 4; ++w) EXPECT_EQ(bits.word[w], expected.word[w]) << w;
}

// kat_vectors of Random123 (D. E. Shaw Research), lines "philox4x32 10".
TEST(Philox, GivesThePublishedAnswers) {
  expect_philox({{0, 0, 0, 0}}, {{0, 0}}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  expect_philox({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, {{0xffffffff, 0xffffffff}},
                {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  expect_philox({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xa4093822, 0x299f31d0}},
                {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST(Random, SeedIndexAndDrawAreKeyAndCounter) {
  const RandomBits bits = random(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88).bits();

  EXPECT_EQ(bits.word64(0), 0x94fdcceb'd16cfe09U);
  EXPECT_EQ(bits.word64(1), 0x24126ea1'5001e420U);
}

TEST(Random, IsAFunctionOfConstants) {
  static_assert(random(1, 2, 3).uniform<double>() == random(1, 2, 3).uniform<double>());
  static_assert(random(1, 2, 3).uniform(10, 20) >= 10);
  static_assert(random(1, -2, 3).bits().word[0] != random(1, 2, 3).bits().word[0]);
}

TEST(Random, AStreamIsTheDrawsInOrder) {
  strata::RandomStream stream(7, 5);

  for (std::uint64_t k = 0; k < 10; ++k)
    EXPECT_EQ(stream.next().bits().word64(1), random(7, 5, k).bits().word64(1)) << k;
}

// The launch whose numbers are compared: kinds of numbers by position.
template <class View>
struct DrawAll {
  View x;
  STRATA_FUNCTION void operator()(index_t i) const {
    const std::uint64_t seed = 2024;
    strata::RandomStream stream(seed, i);
    x(i, 0) = stream.next().template uniform<double>();
    x(i, 1) = stream.next().template uniform<float>();
    x(i, 2) = stream.next().uniform(-5, 1'000'000'007);
    x(i, 3) = stream.next().template normal<double>();
    x(i, 4) = stream.next().template normal<float>();
    x(i, 5) = stream.next().uniform(-2.0, 1.5);
  }
};

template <class D>
class RandomNumbers : public ::testing::Test {};
TYPED_TEST_SUITE(RandomNumbers, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(RandomNumbers, AreTheSameOnEveryDeviceWhateverTheSchedule) {
  using Array = MDArray<double, TypeParam, strata::rank<2>>;
  using HostArray = MDArray<double, strata::Serial, strata::rank<2>>;
  const auto x = create<Array>("x", 3000, 6);
  const auto expected = create<HostArray>("expected", 3000, 6);

  strata::parallel_for(strata::on(TypeParam{}), strata::range(3000).dynamic(7), DrawAll<Array>{x});
  strata::parallel_for(strata::on(strata::Serial{}), 3000, DrawAll<HostArray>{expected});

  const auto host = strata_tests::on_host(x);
  for (index_t i = 0; i < 3000; ++i) {
    for (const int exact : {0, 1, 2}) ASSERT_EQ(host(i, exact), expected(i, exact)) << i << ", " << exact;
    ASSERT_NEAR(host(i, 3), expected(i, 3), 1e-14) << i;
    ASSERT_NEAR(host(i, 4), expected(i, 4), 5e-6) << i;
    ASSERT_NEAR(host(i, 5), expected(i, 5), 1e-15) << i;
  }
}

TYPED_TEST(RandomNumbers, FillsGoByIndexWhateverTheLayout) {
  using Plain = MDArray<double, TypeParam, strata::rank<3>>;
  using Tiled = strata::MDArrayIn<strata::LayoutTiled<8>, double, TypeParam, strata::rank<3>>;
  const auto plain = create<Plain>("plain", 21, 5, 4);
  const auto tiled = create<Tiled>("tiled", 21, 5, 4);
  const MDArray<double, TypeParam> any = create<MDArray<double, TypeParam>>("any", 21, 5, 4);
  const auto vector = create<Vector<double, TypeParam>>("vector", 21);
  const auto value = strata::create_value<strata::Value<double, TypeParam>>();
  const Uniform<double> unit;

  strata::fill_random(plain, 9, unit);
  strata::fill_random(tiled, 9, unit);
  strata::fill_random(any, 9, unit);
  strata::fill_random(strata::on(TypeParam{}), vector, 9, unit);
  strata::fill_random(value, 9, unit);

  strata::wait(TypeParam{});
  const auto a = strata_tests::on_host(plain);
  const auto b = strata_tests::on_host(any);
  const auto c = strata_tests::on_host(tiled);
  const auto d = strata_tests::on_host(vector);
  for (index_t i = 0; i < 21; ++i) {
    EXPECT_EQ(d(i), random(9, i).template uniform<double>());
    for (index_t j = 0; j < 5; ++j)
      for (index_t k = 0; k < 4; ++k) {
        const double expected =
            random(9, i, static_cast<std::uint64_t>(j * 4 + k)).template uniform<double>();
        ASSERT_EQ(a(i, j, k), expected);
        ASSERT_EQ(b(i, j, k), expected);
        ASSERT_EQ(c(i, j, k), expected);
      }
  }
  EXPECT_EQ(strata_tests::value_of(value), random(9, 0).template uniform<double>());
}

TYPED_TEST(RandomNumbers, FillsTakeIntegersAndDistributionsOfOnesOwn) {
  const auto dice = create<Vector<int, TypeParam>>("dice", 600);
  const auto heights = create<Vector<float, TypeParam>>("heights", 600);

  strata::fill_random(dice, 1, Uniform<int>{1, 7});
  strata::fill_random(heights, 1, Normal<float>{170, 10});

  const auto thrown = values_of(dice);
  const auto drawn = values_of(heights);
  std::vector<int> seen(7, 0);
  double sum = 0;
  for (std::size_t i = 0; i < 600; ++i) {
    ASSERT_TRUE(thrown[i] >= 1 && thrown[i] < 7);
    ++seen[static_cast<std::size_t>(thrown[i])];
    sum += drawn[i];
  }
  for (int face = 1; face < 7; ++face) EXPECT_NEAR(seen[static_cast<std::size_t>(face)], 100, 45) << face;
  EXPECT_NEAR(sum / 600, 170, 2);
}

// Sums over `n` indices under one seed: mean, variance and the correlation of neighbours of f(draw).
struct Moments {
  double mean, variance, neighbours;
};
template <class F>
Moments moments(index_t n, bool by_index, const F& f) {
  double sum = 0, squares = 0, products = 0, before = 0;
  for (index_t i = 0; i < n; ++i) {
    const double x = f(by_index ? random(42, i) : random(42, 7, static_cast<std::uint64_t>(i)));
    sum += x;
    squares += x * x;
    products += x * before;
    before = x;
  }
  const double count = static_cast<double>(n), mean = sum / count;
  return {mean, squares / count - mean * mean, products / count - mean * mean};
}

// Bounds are five standard errors.
template <class T>
void expect_uniform_moments(bool by_index) {
  const index_t n = 400'000;

  const Moments m = moments(n, by_index, [](const strata::RandomDraw& d) { return d.uniform<T>(); });

  const double root = std::sqrt(static_cast<double>(n));
  EXPECT_NEAR(m.mean, 0.5, 5 * std::sqrt(1. / 12) / root);
  EXPECT_NEAR(m.variance, 1. / 12, 5 * std::sqrt(1. / 180) / root);
  EXPECT_NEAR(m.neighbours, 0, 5 * (1. / 12) / root);
}

template <class T>
void expect_normal_moments(bool by_index) {
  const index_t n = 400'000;
  double third = 0, fourth = 0;

  const Moments m = moments(n, by_index, [&](const strata::RandomDraw& d) {
    const double x = d.normal<T>();
    third += x * x * x;
    fourth += x * x * x * x;
    return x;
  });

  const double root = std::sqrt(static_cast<double>(n));
  EXPECT_NEAR(m.mean, 0, 5 / root);
  EXPECT_NEAR(m.variance, 1, 5 * std::sqrt(2.) / root);
  EXPECT_NEAR(m.neighbours, 0, 5 / root);
  EXPECT_NEAR(third / static_cast<double>(n), 0, 5 * std::sqrt(15.) / root);
  EXPECT_NEAR(fourth / static_cast<double>(n), 3, 5 * std::sqrt(96.) / root);
}

TEST(Random, UniformNumbersHaveTheRightMomentsAlongIndicesAndDraws) {
  for (const bool by_index : {false, true}) {
    expect_uniform_moments<double>(by_index);
    expect_uniform_moments<float>(by_index);
  }
}

TEST(Random, NormalNumbersHaveTheRightMomentsAlongIndicesAndDraws) {
  for (const bool by_index : {false, true}) {
    expect_normal_moments<double>(by_index);
    expect_normal_moments<float>(by_index);
  }
}

// The sum over bins of (found - expected)^2 / expected; its mean is bins - 1, its variance 2 (bins - 1).
double chi_square(const std::vector<double>& found, const std::vector<double>& expected) {
  double sum = 0;
  for (std::size_t b = 0; b < found.size(); ++b)
    sum += (found[b] - expected[b]) * (found[b] - expected[b]) / expected[b];
  return sum;
}
void expect_plausible(double chi, std::size_t bins) {
  const double freedom = static_cast<double>(bins - 1);
  EXPECT_NEAR(chi, freedom, 5 * std::sqrt(2 * freedom)) << bins << " bins";
}

TEST(Random, UniformNumbersFillEqualBinsEqually) {
  for (const index_t bins : {2, 10, 97, 1000}) {
    const index_t n = 1000 * bins;
    std::vector<double> reals(static_cast<std::size_t>(bins)), integers = reals, last_bits = reals;
    for (index_t i = 0; i < n; ++i) {
      ++reals[static_cast<std::size_t>(random(5, i).uniform<double>() * static_cast<double>(bins))];
      ++integers[static_cast<std::size_t>(random(6, i, 3).uniform(index_t{0}, bins))];
      ++last_bits[random(5, i).bits().word[3] % static_cast<std::size_t>(bins)];
    }

    const std::vector<double> expected(reals.size(), 1000);
    expect_plausible(chi_square(reals, expected), reals.size());
    expect_plausible(chi_square(integers, expected), reals.size());
    expect_plausible(chi_square(last_bits, expected), reals.size());
  }
}

template <class T>
void expect_normal_bins() {
  const int bins = 40;  // of a tenth of a deviation from -2 to 2, and the two tails
  const index_t n = 300'000;
  std::vector<double> found(bins + 2), expected(bins + 2);
  const auto below = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.)); };
  for (int b = 0; b < bins + 2; ++b) {
    const double low = b == 0 ? -100 : -2.1 + 0.1 * b, high = b == bins + 1 ? 100 : -2 + 0.1 * b;
    expected[static_cast<std::size_t>(b)] = static_cast<double>(n) * (below(high) - below(low));
  }
  for (index_t i = 0; i < n; ++i) {
    const double place = std::floor((static_cast<double>(random(11, i).normal<T>()) + 2) * 10) + 1;
    ++found[static_cast<std::size_t>(place < 0 ? 0 : place > bins + 1 ? bins + 1 : place)];
  }

  expect_plausible(chi_square(found, expected), found.size());
}

TEST(Random, NormalNumbersFollowTheBellCurve) {
  expect_normal_bins<double>();
  expect_normal_bins<float>();
}

TEST(Random, IntegersOfRangesThatDoNotDivideTheirBitsAreNotBiased) {
  // Of three quarters of 64 bits: without a second try the lower half would be twice as likely.
  const std::uint64_t count = std::uint64_t{3} << 62;
  index_t low = 0;
  const index_t n = 300'000;
  for (index_t i = 0; i < n; ++i)
    low += random(3, i).uniform(std::uint64_t{0}, count) < (std::uint64_t{1} << 62);

  EXPECT_NEAR(static_cast<double>(low) / n, 1. / 3, 5 * std::sqrt(2. / 9 / n));
}

TEST(Random, NumbersStayBetweenTheirLimits) {
  for (index_t i = 0; i < 2000; ++i) {
    const auto draw = random(1, i);
    EXPECT_EQ(draw.uniform(7, 8), 7);
    EXPECT_EQ(draw.uniform(7, 7), 7);
    EXPECT_EQ(draw.uniform(7, 3), 7);
    const auto narrow = draw.uniform(1.0F, std::nextafter(1.0F, 2.0F));
    EXPECT_EQ(narrow, 1.0F);
    const double up = draw.uniform(-1e-300, 0.0);
    EXPECT_TRUE(up >= -1e-300 && up < 0);
    const double far = draw.uniform(1e15, 1e15 + 1);
    EXPECT_TRUE(far >= 1e15 && far < 1e15 + 1);
    const auto byte = draw.uniform(std::int8_t{-128}, std::int8_t{127});
    EXPECT_LT(byte, 127);
    const auto wide = draw.uniform(std::numeric_limits<index_t>::min(), std::numeric_limits<index_t>::max());
    EXPECT_LT(wide, std::numeric_limits<index_t>::max());
  }
  EXPECT_EQ(strata::detail::last_below(-1.0, 0.0), -std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(strata::detail::last_below(0.0, 1.0), std::nextafter(1.0, 0.0));
  EXPECT_EQ(strata::detail::last_below(-3.0F, -2.0F), std::nextafter(-2.0F, -3.0F));
}

TEST(Random, TheFarthestNormalNumbersAreFinite) {
  const RandomBits nothing{{0, 0, 0, 0}}, everything{{~0U, ~0U, ~0U, ~0U}};

  EXPECT_NEAR(strata::detail::normal_number<double>(nothing), 9.49, 0.01);
  EXPECT_NEAR(strata::detail::normal_number<float>(nothing), 6.76F, 0.01F);
  EXPECT_TRUE(std::isfinite(strata::detail::normal_number<double>(everything)));
  EXPECT_TRUE(std::isfinite(strata::detail::normal_number<float>(everything)));
}

}  // namespace
