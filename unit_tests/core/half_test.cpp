// half_t and bfloat16_t: every bit pattern, and rounding against a reference that rounds in double.
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <strata/core/half.hpp>

#include "random.hpp"

namespace {

using namespace strata;

template <class H>
class ShortFloats : public ::testing::Test {
 protected:
  using FormatLimits = std::numeric_limits<H>;

  /// The number of the format nearest to `x`, with double's own rounding to an integer number of last bits.
  static double nearest(double x) {
    if (x == 0 || std::isnan(x) || std::isinf(x)) return x;
    const int exponent = std::max(std::ilogb(x) + 1, FormatLimits::min_exponent);
    const int last_bit = exponent - FormatLimits::digits;
    const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -last_bit)), last_bit);
    if (std::abs(rounded) >= std::ldexp(1.0, FormatLimits::max_exponent)) return std::copysign(INFINITY, x);
    return rounded;
  }
  static ::testing::AssertionResult is_nearest(H found, double x) {
    const double expected = nearest(x), value = double(float(found));
    const bool equal = std::isnan(expected)
                           ? std::isnan(value)
                           : value == expected && std::signbit(value) == std::signbit(expected);
    if (equal) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure()
           << std::hexfloat << x << " became " << value << " instead of " << expected;
  }

  /// Each number of the format and the tie above it, with what lies just beside these.
  template <class F>
  static void for_each_edge(const F& f) {
    for (unsigned bits = 0; bits <= H(INFINITY).bits(); ++bits) {
      const double value = float(H::from_bits(static_cast<std::uint16_t>(bits)));
      const double next = bits < FormatLimits::max().bits()
                              ? double(float(H::from_bits(static_cast<std::uint16_t>(bits + 1))))
                              : std::ldexp(1.0, FormatLimits::max_exponent);
      for (const double x : {value, value + (next - value) / 2})
        for (const double sign : {1.0, -1.0}) f(sign * x);
    }
  }

  static float random_float(strata_tests::Random& random) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(random(0, 0xffffffff)));
  }
};
struct FormatName {
  template <class H>
  static std::string GetName(int) {
    return std::is_same_v<H, half_t> ? "half_t" : "bfloat16_t";
  }
};
using Formats = ::testing::Types<half_t, bfloat16_t>;
TYPED_TEST_SUITE(ShortFloats, Formats, FormatName);

TYPED_TEST(ShortFloats, TakeTwoBytesAndAreTrivial) {
  EXPECT_EQ(sizeof(TypeParam), 2);
  EXPECT_EQ(alignof(TypeParam), 2);
  EXPECT_TRUE(std::is_trivial_v<TypeParam> && std::is_standard_layout_v<TypeParam>);
}

TYPED_TEST(ShortFloats, ConvertImplicitlyToFloatOnly) {
  EXPECT_TRUE((std::is_convertible_v<TypeParam, float>));
  EXPECT_FALSE((std::is_convertible_v<float, TypeParam>));
  EXPECT_FALSE((std::is_convertible_v<half_t, bfloat16_t>) || (std::is_convertible_v<bfloat16_t, half_t>));
  EXPECT_TRUE((std::is_same_v<decltype(TypeParam() * 1.0F), float>));
  EXPECT_TRUE((std::is_same_v<decltype(TypeParam() * TypeParam()), TypeParam>));
  EXPECT_TRUE((std::is_same_v<decltype(half_t() * bfloat16_t()), float>));
}

TYPED_TEST(ShortFloats, EveryBitPatternSurvivesAFloatAndADouble) {
  for (unsigned bits = 0; bits <= 0xffff; ++bits) {
    const auto x = TypeParam::from_bits(static_cast<std::uint16_t>(bits));
    const float wide = x;

    const TypeParam from_float(wide), from_double(static_cast<double>(wide));

    if (std::isnan(wide)) {
      ASSERT_TRUE(std::isnan(float(from_float)) && std::isnan(float(from_double))) << bits;
      ASSERT_EQ(std::signbit(float(from_float)), bits >= 0x8000) << bits;
    } else {
      ASSERT_EQ(from_float.bits(), bits);
      ASSERT_EQ(from_double.bits(), bits);
    }
  }
}

TYPED_TEST(ShortFloats, BitsMeanSignExponentAndFraction) {
  using Limits = typename TestFixture::FormatLimits;
  constexpr int fraction_bits = Limits::digits - 1;
  for (unsigned bits = 0; bits < 0x8000; ++bits) {
    const int exponent = static_cast<int>(bits >> fraction_bits);
    const int fraction = static_cast<int>(bits & ((1U << fraction_bits) - 1));
    const float value = TypeParam::from_bits(static_cast<std::uint16_t>(bits));
    const float negative = TypeParam::from_bits(static_cast<std::uint16_t>(bits | 0x8000));

    if (exponent == (0x7fff >> fraction_bits)) {
      ASSERT_EQ(std::isinf(value), fraction == 0);
      ASSERT_EQ(std::isnan(value), fraction != 0);
    } else {
      const int lead = exponent > 0 ? 1 << fraction_bits : 0;
      const int scale = std::max(exponent, 1) - 1 + Limits::min_exponent - 1 - fraction_bits;
      ASSERT_EQ(double(value), std::ldexp(lead + fraction, scale)) << bits;
      ASSERT_EQ(negative, -value);
      ASSERT_TRUE(std::signbit(negative));
    }
  }
}

TYPED_TEST(ShortFloats, FloatsAtAndBesideEveryTieGoToTheNearest) {
  this->for_each_edge([](double x) {
    const auto f = static_cast<float>(x);  // exact, infinite for the last
    for (const float y : {f, std::nextafter(f, -INFINITY), std::nextafter(f, INFINITY)})
      ASSERT_TRUE(TestFixture::is_nearest(TypeParam(y), y));
  });
}

TYPED_TEST(ShortFloats, DoublesAtAndBesideEveryTieGoToTheNearest) {
  this->for_each_edge([](double x) {
    for (const double y : {x, std::nextafter(x, -INFINITY), std::nextafter(x, INFINITY)})
      ASSERT_TRUE(TestFixture::is_nearest(TypeParam(y), y));
  });
}

TYPED_TEST(ShortFloats, LimitsOfFloatAndDoubleGoToTheNearest) {
  using F = std::numeric_limits<float>;
  using D = std::numeric_limits<double>;
  for (const double x :
       {0.0, double(F::min()), double(F::max()), double(F::denorm_min()), D::min(), D::max(), D::denorm_min(),
        D::infinity(), D::quiet_NaN(), std::nextafter(double(F::max()), INFINITY)})
    for (const double y : {x, -x}) {
      EXPECT_TRUE(TestFixture::is_nearest(TypeParam(y), y));
      if (std::abs(y) <= F::max() || std::isinf(y) || std::isnan(y)) {
        EXPECT_TRUE(TestFixture::is_nearest(TypeParam(static_cast<float>(y)), static_cast<float>(y)));
      }
    }
}

TYPED_TEST(ShortFloats, RandomFloatsAndDoublesGoToTheNearest) {
  strata_tests::Random random;
  for (int k = 0; k < 2'000'000; ++k) {
    const float f = TestFixture::random_float(random);
    // Doubles of the format's range: random ones would nearly all overflow.
    const double d = std::ldexp(static_cast<double>(random(-(index_t{1} << 53), index_t{1} << 53)),
                                static_cast<int>(random(-53 - 150, -53 + 130)));

    ASSERT_TRUE(TestFixture::is_nearest(TypeParam(f), f));
    ASSERT_TRUE(TestFixture::is_nearest(TypeParam(d), d));
  }
}

TYPED_TEST(ShortFloats, IntegersAreRoundedOnce) {
  EXPECT_EQ(TypeParam(-3), -3.0F);
  EXPECT_EQ(TypeParam(true), 1.0F);
  EXPECT_EQ(TypeParam(65504U), this->nearest(65504));
  EXPECT_TRUE(std::isinf(float(half_t(1 << 20))));
  // A tie of bfloat16_t and one more, which a double cannot hold.
  constexpr std::int64_t tie = (std::int64_t{1} << 62) + (std::int64_t{1} << 54);
  EXPECT_EQ(bfloat16_t(tie), 0x1p62F);
  EXPECT_EQ(bfloat16_t(tie + 1), 0x1.02p62F);
  EXPECT_EQ(bfloat16_t(-tie - 1), -0x1.02p62F);
  EXPECT_EQ(bfloat16_t(std::numeric_limits<std::int64_t>::min()), -0x1p63F);
  EXPECT_EQ(bfloat16_t(std::numeric_limits<std::uint64_t>::max()), 0x1p64F);
}

TYPED_TEST(ShortFloats, SumsDifferencesProductsAndQuotientsAreCorrectlyRounded) {
  strata_tests::Random random;
  for (int k = 0; k < 1'000'000; ++k) {
    const auto a = TypeParam::from_bits(static_cast<std::uint16_t>(random(0, 0xffff)));
    const auto b = TypeParam::from_bits(static_cast<std::uint16_t>(random(0, 0xffff)));
    if (std::isnan(float(a)) || std::isnan(float(b))) continue;
    const double x = float(a), y = float(b);

    // Exact in double, but for the quotient, whose rounding there is as innocent as in float.
    if (std::abs(x) < 1e4 * std::abs(y) && std::abs(y) < 1e4 * std::abs(x)) {
      ASSERT_TRUE(TestFixture::is_nearest(a + b, x + y));
      ASSERT_TRUE(TestFixture::is_nearest(a - b, x - y));
    }
    ASSERT_TRUE(TestFixture::is_nearest(a * b, x * y)) << x << " * " << y;
    ASSERT_TRUE(TestFixture::is_nearest(a / b, x / y)) << x << " / " << y;
  }
}

TYPED_TEST(ShortFloats, UpdatesByAFloatOrDoubleAreRoundedOnce) {
  TypeParam x(1), y(1), z(2);
  const float little = float(std::numeric_limits<TypeParam>::epsilon()) / 2;  // a tie with 1

  x += little + 0x1p-23F;
  y += static_cast<double>(little) + 0x1p-50;
  z *= z;
  z /= 8;
  z -= TypeParam(1);

  EXPECT_EQ(x, 1 + 2 * little);
  EXPECT_EQ(y, 1 + 2 * little);
  EXPECT_EQ(z, -0.5F);
}

TYPED_TEST(ShortFloats, CompareAsFloats) {
  const TypeParam one(1), two(2), zero(0), nan = std::numeric_limits<TypeParam>::quiet_NaN();

  EXPECT_TRUE(one < two && two > one && one <= one && one != two && one == 1 && 1.5 > one);
  EXPECT_TRUE(-zero == zero && (-zero).bits() == 0x8000 && -(-two) == two);
  EXPECT_FALSE(nan == nan || nan < one || nan >= one);
}

TYPED_TEST(ShortFloats, LimitsAreThoseOfTheFormat) {
  using Limits = typename TestFixture::FormatLimits;

  EXPECT_EQ(float(Limits::epsilon()), std::ldexp(1.0F, 1 - Limits::digits));
  EXPECT_EQ(float(Limits::min()), std::ldexp(1.0F, Limits::min_exponent - 1));
  EXPECT_EQ(float(Limits::denorm_min()), std::ldexp(1.0F, Limits::min_exponent - Limits::digits));
  EXPECT_EQ(float(Limits::max()), std::ldexp(2 - float(Limits::epsilon()), Limits::max_exponent - 1));
  EXPECT_EQ(float(Limits::lowest()), -float(Limits::max()));
  EXPECT_EQ(float(Limits::round_error()), 0.5F);
  EXPECT_TRUE(std::isinf(float(Limits::infinity())) && std::isnan(float(Limits::quiet_NaN())));
  EXPECT_EQ(Limits::digits10, static_cast<int>(std::floor((Limits::digits - 1) * std::log10(2.0))));
  EXPECT_EQ(Limits::max_digits10, static_cast<int>(std::ceil(Limits::digits * std::log10(2.0) + 1)));
  EXPECT_EQ(Limits::max_exponent10, static_cast<int>(std::floor(std::log10(float(Limits::max())))));
  EXPECT_EQ(Limits::min_exponent10, static_cast<int>(std::ceil(std::log10(float(Limits::min())))));
}

TYPED_TEST(ShortFloats, MayBeConstants) {
  constexpr TypeParam x(1.5F), y = x + x * TypeParam(2);
  constexpr bool less = x < y;

  EXPECT_TRUE(less);
  EXPECT_EQ(y, 4.5F);
}

// Where the processor converts, this is what other processors would do.
TEST(Half, ArithmeticOnBitsDoesWhatTheProcessorDoes) {
  strata_tests::Random random;
  for (unsigned bits = 0; bits <= 0xffff; ++bits) {
    const auto h = static_cast<std::uint16_t>(bits);
    const float found = detail::Binary16::float_by_arithmetic(h), expected = detail::Binary16::to_float(h);
    if (std::isnan(expected)) ASSERT_TRUE(std::isnan(found));
    else ASSERT_EQ(std::bit_cast<std::uint32_t>(found), std::bit_cast<std::uint32_t>(expected));
  }
  for (int k = 0; k < 4'000'000; ++k) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(random(0, 0xffffffff)));
    int exponent = 0;
    const auto fraction = std::frexp(x, &exponent);
    const auto near_one = std::ldexp(fraction, static_cast<int>(random(-26, 17)));
    for (const float y : {x, near_one})
      ASSERT_EQ(detail::Binary16::bits_by_arithmetic(y), detail::Binary16::from_float(y))
          << std::hexfloat << y;
  }
}

}  // namespace
