// complex: conversions, and arithmetic and functions against long double.
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include <strata/core/complex.hpp>

#include "random.hpp"

namespace {

using strata::complex;
using strata::index_t;
using Wide = std::complex<long double>;

template <class T>
class ComplexOf : public ::testing::Test {
 protected:
  using Number = complex<T>;
  using Bounds = std::numeric_limits<T>;
  static constexpr T infinity = Bounds::infinity();

  static Wide wide(Number z) { return {z.real(), z.imag()}; }

  /// Whether `found` differs from `exact` by at most `units` last places of the larger part.
  static ::testing::AssertionResult is_near(Number found, Wide exact, double units) {
    const long double size = std::max(std::abs(exact.real()), std::abs(exact.imag()));
    const long double error =
        std::max(std::abs(found.real() - exact.real()), std::abs(found.imag() - exact.imag()));
    const long double allowed = units * std::max<long double>(size * Bounds::epsilon(), Bounds::denorm_min());
    if (error <= allowed) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure()
           << std::hexfloat << found.real() << ", " << found.imag() << " instead of " << exact << ": "
           << std::defaultfloat << double(error / allowed * units) << " units";
  }

  // Between 2^first and 2^last in magnitude, of either sign.
  static T number(strata_tests::Random& random, int first, int last) {
    const auto fraction = static_cast<T>(random(1 << 23, (1 << 24) - 1)) / (1 << 23);
    const T magnitude = std::ldexp(fraction, static_cast<int>(random(first, last - 1)));
    return random(0, 1) == 1 ? -magnitude : magnitude;
  }
  static Number point(strata_tests::Random& random, int first, int last) {
    return {number(random, first, last), number(random, first, last)};
  }
  static bool is_in_range(Wide z) {
    const auto good = [](long double x) {
      return std::abs(x) <= Bounds::max() / 2 && std::abs(x) >= Bounds::min();
    };
    return good(z.real()) && good(z.imag());
  }
};
using Reals = ::testing::Types<float, double>;
struct RealName {
  template <class T>
  static std::string GetName(int) {
    return sizeof(T) == 4 ? "float" : "double";
  }
};
TYPED_TEST_SUITE(ComplexOf, Reals, RealName);

TYPED_TEST(ComplexOf, IsAlignedToItsSizeAndTriviallyCopyable) {
  using Z = complex<TypeParam>;

  EXPECT_EQ(sizeof(Z), 2 * sizeof(TypeParam));
  EXPECT_EQ(alignof(Z), sizeof(Z));
  EXPECT_TRUE(std::is_trivially_copyable_v<Z> && std::is_standard_layout_v<Z>);
}

TYPED_TEST(ComplexOf, LiesInMemoryAsStdComplexDoes) {
  const complex<TypeParam> z(3, -4);

  const auto s = std::bit_cast<std::complex<TypeParam>>(z);

  EXPECT_EQ(s, std::complex<TypeParam>(3, -4));
}

TYPED_TEST(ComplexOf, ConvertsImplicitlyFromRealsAndToAndFromStdComplexOfOnePrecision) {
  using Z = complex<TypeParam>;
  using S = std::complex<TypeParam>;
  using Other = std::conditional_t<sizeof(TypeParam) == 4, double, float>;
  Z from_real = 2, from_std = S(1, 5);
  S to_std = Z(7, 8), assigned;

  assigned = from_std;
  from_std += S(1, 1);

  EXPECT_EQ(from_real, Z(2, 0));
  EXPECT_EQ(from_std, Z(2, 6));
  EXPECT_EQ(to_std, S(7, 8));
  EXPECT_EQ(assigned, S(1, 5));
  EXPECT_FALSE((std::is_convertible_v<complex<Other>, Z> || std::is_convertible_v<std::complex<Other>, Z> ||
                std::is_convertible_v<Z, std::complex<Other>>));
  EXPECT_EQ(Z(complex<Other>(1, 2)), Z(1, 2));
  EXPECT_EQ(Z(std::complex<Other>(1, 2)), Z(1, 2));
}

TYPED_TEST(ComplexOf, IsZeroWhenMadeFromNothing) {
  complex<TypeParam> z;

  EXPECT_EQ(z, 0);
}

TYPED_TEST(ComplexOf, MixesWithRealNumbersOnEitherSide) {
  using Z = complex<TypeParam>;
  const Z z(3, -4);
  Z w = z;

  w += 1;  // 4 - 4i
  w *= 2;  // 8 - 8i
  w -= 4;  // 4 - 8i
  w /= 4;  // 1 - 2i

  EXPECT_EQ(w, Z(1, -2));
  EXPECT_EQ(z + 1, Z(4, -4));
  EXPECT_EQ(1 + z, Z(4, -4));
  EXPECT_EQ(z - 1, Z(2, -4));
  EXPECT_EQ(1 - z, Z(-2, 4));
  EXPECT_EQ(z * 0.5, Z(1.5, -2));
  EXPECT_EQ(2 * z, Z(6, -8));
  EXPECT_EQ(z / 2, Z(1.5, -2));
  EXPECT_EQ(50 / z, Z(6, 8));
  EXPECT_EQ(+z, z);
  EXPECT_EQ(-z, Z(-3, 4));
  EXPECT_TRUE(z != 3 && Z(3) == 3 && 3 == Z(3));
}

TYPED_TEST(ComplexOf, PartsAreReadAndSetByThemselves) {
  complex<TypeParam> z(3, -4);

  z.real(5);
  z.imag(12);

  EXPECT_EQ(real(z), 5);
  EXPECT_EQ(imag(z), 12);
  EXPECT_EQ(norm(z), 169);
  EXPECT_EQ(abs(z), 13);
  EXPECT_EQ(conj(z), (complex<TypeParam>(5, -12)));
}

TYPED_TEST(ComplexOf, MayBeAConstant) {
  using Z = complex<TypeParam>;
  constexpr Z i(0, 1), z = (1 + i) / (1 - i) - i * i;

  EXPECT_EQ(z, Z(1, 1));
}

TYPED_TEST(ComplexOf, SumsAndProductsAreThoseOfLongDoubleUpToRounding) {
  strata_tests::Random random;
  for (int k = 0; k < 100'000; ++k) {
    const auto z = this->point(random, -20, 20), w = this->point(random, -20, 20);

    ASSERT_TRUE(this->is_near(z + w, this->wide(z) + this->wide(w), 1));
    ASSERT_TRUE(this->is_near(z - w, this->wide(z) - this->wide(w), 1));
    ASSERT_TRUE(this->is_near(z * w, this->wide(z) * this->wide(w), 4));
  }
}

TYPED_TEST(ComplexOf, QuotientsNeitherOverflowNorUnderflowOnTheWay) {
  using Limits = std::numeric_limits<TypeParam>;
  strata_tests::Random random;
  int checked = 0;
  for (int k = 0; k < 150'000; ++k) {
    const auto z = this->point(random, Limits::min_exponent - 1, Limits::max_exponent);
    const auto w = this->point(random, Limits::min_exponent - 1, Limits::max_exponent);
    const Wide expected = this->wide(z) / this->wide(w);
    if (!this->is_in_range(expected)) continue;
    ++checked;

    ASSERT_TRUE(this->is_near(z / w, expected, 8)) << this->wide(z) << " / " << this->wide(w);
  }
  EXPECT_GT(checked, 10'000);
}

// McLaren's and Kahan's examples, and those of Baudin and Smith at which older methods fail.
TYPED_TEST(ComplexOf, HardQuotientsAreRight) {
  using Z = complex<TypeParam>;
  using Limits = std::numeric_limits<TypeParam>;
  const TypeParam big = Limits::max(), little = Limits::min(), least = Limits::denorm_min();
  const TypeParam far = std::ldexp(TypeParam(1), Limits::max_exponent - 1);
  const struct {
    Z z, w;
  } cases[] = {
      {{1, 1}, {1, far}},
      {{1, 1}, {1 / far, 1 / far}},
      {{far, 1 / far}, {far / 2, 1 / far}},
      {{big, big}, {big, big}},
      {{little, little}, {2, -1}},
      {{little, little}, {little, little}},
      {{least, least}, {least, 0}},
      {{big, least}, {1, 0}},
      {{1, least}, {1, 0}},
      {{3, 4}, {0, -2}},
      {{big, 1}, {big, little}},
      {{little, big}, {far, far}},
      {{1, 0}, {little, big / 4}},
      {{big / 4, 0}, {big / 2, big}},
  };
  for (const auto& c : cases)
    EXPECT_TRUE(this->is_near(c.z / c.w, this->wide(c.z) / this->wide(c.w), 4))
        << this->wide(c.z) << " / " << this->wide(c.w);
}

TYPED_TEST(ComplexOf, TheSmallerPartOfAQuotientSurvivesARatioThatUnderflows) {
  using Z = complex<TypeParam>;
  const auto power = [](double part) {
    return std::ldexp(TypeParam(1), static_cast<int>(part * std::numeric_limits<TypeParam>::max_exponent));
  };
  const TypeParam b = power(0.9), c = power(0.6), d = power(-0.6);

  const Z q = Z(0, b) / Z(c, d);

  EXPECT_EQ(q, Z(b / c / c * d, b / c));
}

TYPED_TEST(ComplexOf, QuotientsByZeroAreInfiniteAndByInfinityZero) {
  using Z = complex<TypeParam>;
  const TypeParam inf = this->infinity;

  const Z by_zero = Z(1, -2) / Z(0, 0), by_infinity = Z(1, -2) / Z(inf, -inf), far = Z(inf, 1) / Z(1, 1);
  const Z unknown = Z(0, 0) / Z(0, 0);

  EXPECT_TRUE(std::isinf(by_zero.real()) && std::isinf(by_zero.imag()) && by_zero.imag() < 0);
  EXPECT_EQ(by_infinity, 0);
  EXPECT_TRUE(std::isinf(far.real()) || std::isinf(far.imag()));
  EXPECT_TRUE(std::isnan(unknown.real()) && std::isnan(unknown.imag()));
}

TYPED_TEST(ComplexOf, MagnitudesNeitherOverflowNorUnderflowOnTheWay) {
  using Z = complex<TypeParam>;
  using Limits = std::numeric_limits<TypeParam>;
  const TypeParam far = std::ldexp(TypeParam(1), Limits::max_exponent - 4);

  EXPECT_EQ(abs(Z(3 * far, -4 * far)), 5 * far);
  EXPECT_EQ(abs(Z(3 * Limits::denorm_min(), 4 * Limits::denorm_min())), 5 * Limits::denorm_min());
  EXPECT_EQ(abs(Z(this->infinity, Limits::quiet_NaN())), this->infinity);
}

TYPED_TEST(ComplexOf, MagnitudeAndAngleGiveTheNumberBack) {
  strata_tests::Random random;
  for (int k = 0; k < 20'000; ++k) {
    const auto z = this->point(random, -10, 10);

    ASSERT_TRUE(this->is_near(strata::polar(abs(z), arg(z)), this->wide(z), 8));
  }
  EXPECT_EQ(arg(complex<TypeParam>(-1, 0)), static_cast<TypeParam>(std::numbers::pi));
  EXPECT_LT(arg(complex<TypeParam>(-1, TypeParam(-0.0))), 0);
}

TYPED_TEST(ComplexOf, ExponentialsAreThoseOfLongDoubleUpToRounding) {
  using Z = complex<TypeParam>;
  strata_tests::Random random;
  for (int k = 0; k < 20'000; ++k) {
    const auto z = this->point(random, -10, 5);

    ASSERT_TRUE(this->is_near(exp(z), std::exp(this->wide(z)), 4)) << this->wide(z);
  }
  EXPECT_EQ(exp(Z(0, 0)), 1);
  EXPECT_EQ(exp(Z(this->infinity, 0)), this->infinity);
  EXPECT_EQ(exp(Z(-this->infinity, 1)), 0);
  EXPECT_EQ(exp(Z(-this->infinity, this->infinity)), 0);
  const auto far = exp(Z(this->infinity, this->infinity));
  EXPECT_TRUE(std::isinf(far.real()) && std::isnan(far.imag()));
}

TYPED_TEST(ComplexOf, ExponentialsAreFiniteWhereOnlyTheirMagnitudeIsNot) {
  using Limits = std::numeric_limits<TypeParam>;
  const TypeParam x = std::log(Limits::max()) * (1 + 2 * Limits::epsilon());

  const auto z = exp(complex<TypeParam>(x, TypeParam(0.8)));

  EXPECT_TRUE(this->is_near(z, std::exp(Wide(x, TypeParam(0.8))), 4)) << z.real() << " " << z.imag();
}

TYPED_TEST(ComplexOf, RootsAreThoseOfLongDoubleUpToRounding) {
  using Limits = std::numeric_limits<TypeParam>;
  strata_tests::Random random;
  for (int k = 0; k < 100'000; ++k) {
    const auto z = this->point(random, Limits::min_exponent - 10, Limits::max_exponent);

    ASSERT_TRUE(this->is_near(sqrt(z), std::sqrt(this->wide(z)), 4)) << this->wide(z);
  }
}

TYPED_TEST(ComplexOf, RootsTakeTheSideOfTheCutThatTheSignSays) {
  using Z = complex<TypeParam>;
  const Z above = sqrt(Z(-4, 0)), below = sqrt(Z(-4, TypeParam(-0.0))), zero = sqrt(Z(0, TypeParam(-0.0)));

  EXPECT_EQ(above, Z(0, 2));
  EXPECT_EQ(below, Z(0, -2));
  EXPECT_TRUE(zero == 0 && std::signbit(zero.imag()));
  EXPECT_EQ(sqrt(Z(this->infinity, 1)), this->infinity);
  EXPECT_EQ(sqrt(Z(-this->infinity, 1)), Z(0, this->infinity));
  EXPECT_EQ(sqrt(Z(1, -this->infinity)), Z(this->infinity, -this->infinity));
  EXPECT_TRUE(this->is_near(sqrt(Z(TestFixture::Bounds::max(), TestFixture::Bounds::max())),
                            std::sqrt(Wide(TestFixture::Bounds::max(), TestFixture::Bounds::max())), 4));
}

}  // namespace
