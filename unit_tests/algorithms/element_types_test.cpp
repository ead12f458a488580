// Arrays, loops and conversions of complex numbers, halfs and bfloat16s.
// SPDX-License-Identifier: Apache-2.0
#include "element_types.hpp"

#include <cmath>
#include <limits>
#include <vector>

namespace {

using namespace strata;
using namespace strata_tests;

TYPED_TEST_SUITE(ElementTypes, TestDevices, DeviceName);

// ---- arrays

TYPED_TEST(ElementTypes, ArraysAreZeroFilledCopiedAndCutIntoSubviews) {
  using D = TypeParam;
  this->for_each_type([](auto type) {
    using T = decltype(type);
    const auto x = create<MDArray<T, D, strata::rank<2>>>("x", 33, 5);
    const auto mirror = create_mirror_view(x);

    deep_copy(mirror, x);
    for (index_t i = 0; i < 33; ++i)
      for (index_t j = 0; j < 5; ++j) ASSERT_EQ(mirror(i, j), T(0));
    deep_copy(x, small_element<T>(5));
    deep_copy(subview(x, everything, 3), small_element<T>(1));
    deep_copy(subview(x, range(10, 20), 2), subview(x, range(10, 20), 3));
    deep_copy(mirror, x);

    for (index_t i = 0; i < 33; ++i)
      for (index_t j = 0; j < 5; ++j)
        ASSERT_EQ(mirror(i, j), small_element<T>(j == 3 || (j == 2 && i >= 10 && i < 20) ? 1 : 5))
            << i << ", " << j;
  });
}

// ---- kernels and what they carry

struct ShortAxpy {
  float a;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += a * x(i); }
};

TYPED_TEST(ElementTypes, AxpyOfHalfsIsComputedInFloatAndRoundedOnce) {
  using D = TypeParam;
  const auto value = [](index_t i) { return static_cast<float>(small_integer(i)) / 37; };
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<half_t, D>(n, value);
    const auto y = make_vector<half_t, D>(n, [&](index_t i) { return value(i + 77777); });
    const auto z = make_vector<bfloat16_t, D>(n, value);
    const auto w = make_vector<bfloat16_t, D>(n, [&](index_t i) { return value(i + 77777); });

    parallel_for(n, with(ShortAxpy{0.25F}, x, y));
    parallel_for(n, with(ShortAxpy{0.25F}, z, w));

    const auto ys = values_of(y);
    const auto ws = values_of(w);
    for (index_t i = 0; i < n; ++i) {
      // A power of two times a number, plus a number: exact but for one rounding, contracted or not.
      ASSERT_EQ(ys[static_cast<std::size_t>(i)], half_t(0.25F * half_t(value(i)) + half_t(value(i + 77777))));
      ASSERT_EQ(ws[static_cast<std::size_t>(i)],
                bfloat16_t(0.25F * bfloat16_t(value(i)) + bfloat16_t(value(i + 77777))));
    }
  }
}

// Members of all sizes, so that a compiler for the host and one for a GPU that disagree about their places
// are found out.
struct CarriesAllTypes {
  char before;
  Complex z;
  half_t h;
  ComplexFloat f;
  char between;
  bfloat16_t b;
  Complex last;

  STRATA_FUNCTION void operator()(auto i, auto x) const {
    const double sizes = double(sizeof(Complex)) + 100 * double(alignof(Complex)) +
                         10000 * double(alignof(ComplexFloat)) + 1000000 * double(sizeof(half_t));
    x(i) = i == 0 ? z + last + Complex(f) + double(float(h)) * double(float(b)) + before + between
                  : Complex(sizes);
  }
};

TYPED_TEST(ElementTypes, KernelsCarryThemAsMembers) {
  using D = TypeParam;
  const auto x = create<Vector<Complex, D>>("x", 2);

  parallel_for(2, with(CarriesAllTypes{1, {2, 3}, half_t(1.5), {4, 5}, 2, bfloat16_t(-8), {10, 20}}, x));

  EXPECT_EQ(values_of(x), (std::vector<Complex>{{7, 28}, 2081616}));
}

struct ComplexFunctions {
  template <class I, class Z, class W>
  STRATA_FUNCTION void operator()(I i, const Z& x, const W& y) const {
    using T = typename W::value_type;
    const auto w = x(i);
    T s = exp(w / 8);
    s += sqrt(w) * abs(w);
    s -= strata::polar(norm(w), arg(w));
    s *= conj(w) / (w + T(0.5, 1));
    y(i) = s / 3;
  }
};

TYPED_TEST(ElementTypes, FunctionsOfComplexNumbersAgreeWithTheHost) {
  using D = TypeParam;
  const auto check = [](auto type, double tolerance) {
    using T = decltype(type);
    const auto x = make_vector<T, D>(1021, small_element<T>), y = make_vector<T, D>(1021, small_element<T>);
    const auto host_x = make_vector<T, Serial>(1021, small_element<T>),
               host_y = make_vector<T, Serial>(1021, small_element<T>);

    parallel_for(1021, with(ComplexFunctions{}, x, y));
    parallel_for(1021, with(ComplexFunctions{}, host_x, host_y));

    const auto found = values_of(y), expected = values_of(host_y);
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_LE(abs(found[i] - expected[i]), tolerance * (1 + abs(expected[i]))) << i;
  };
  check(ComplexFloat(), 1e-4);
  check(Complex(), 1e-13);
}

struct Quotients {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) = x(i) / x((index_t(i) + 1) % 6); }
};

TYPED_TEST(ElementTypes, QuotientsNeitherOverflowNorUnderflowOnTheWay) {
  using D = TypeParam;
  const auto x = make_vector<Complex, D>(6, [](index_t i) {
    const double size[] = {0x1p1020, 0x1p1000, 0x1p-1, 0x1p-1021, 0x1p-1000, 0x1p-20};
    return Complex(size[i], -size[i]);
  });
  const auto y = create<Vector<Complex, D>>("y", 6);

  parallel_for(6, with(Quotients{}, x, y));

  const auto found = values_of(y);
  EXPECT_EQ(found[0], 0x1p20);
  EXPECT_EQ(found[1], 0x1p1001);
  EXPECT_EQ(found[2], 0x1p1020);
  EXPECT_EQ(found[3], 0x1p-21);
  EXPECT_EQ(found[4], 0x1p-980);
  EXPECT_EQ(found[5], 0x1p-1040);
}

// ---- conversions on the device

struct Widen {
  STRATA_FUNCTION void operator()(auto i, auto bits, auto h, auto b) const {
    h(i) = half_t::from_bits(static_cast<std::uint16_t>(bits(i)));
    b(i) = bfloat16_t::from_bits(static_cast<std::uint16_t>(bits(i)));
  }
};

TYPED_TEST(ElementTypes, EveryBitPatternConvertsToFloatAsOnTheHost) {
  using D = TypeParam;
  const auto bits = make_vector<std::uint32_t, D>(0x10000, [](index_t i) { return i; });
  const auto h = create<Vector<float, D>>("h", 0x10000), b = create<Vector<float, D>>("b", 0x10000);

  parallel_for(0x10000, with(Widen{}, bits, h, b));

  const auto hs = values_of(h), bs = values_of(b);
  for (std::size_t k = 0; k < 0x10000; ++k) {
    const float half_value = half_t::from_bits(static_cast<std::uint16_t>(k));
    const float bfloat_value = bfloat16_t::from_bits(static_cast<std::uint16_t>(k));
    ASSERT_TRUE(std::isnan(half_value) ? std::isnan(hs[k]) : same_bits(hs[k], half_value)) << k;
    ASSERT_TRUE(std::isnan(bfloat_value) ? std::isnan(bs[k]) : same_bits(bs[k], bfloat_value)) << k;
  }
}

template <class H>
struct Narrow {
  STRATA_FUNCTION void operator()(auto i, auto x, auto d, auto from_float, auto from_double) const {
    from_float(i) = H(x(i));
    from_double(i) = H(d(i));
  }
};

// Each number of a format and each tie, on the spot and just beside it.
template <class H>
std::vector<double> edges() {
  std::vector<double> all;
  for (unsigned k = 0; k < H(INFINITY).bits(); ++k) {
    const double value = float(H::from_bits(static_cast<std::uint16_t>(k)));
    const float next = H::from_bits(static_cast<std::uint16_t>(k + 1));
    const double tie = std::isinf(next) ? value * (1 + float(std::numeric_limits<H>::epsilon()) / 4)
                                        : (value + double(next)) / 2;
    for (const double x : {value, tie})
      for (const double y : {x, std::nextafter(x, 0.0), std::nextafter(x, 1e300)})
        for (const double z : {y, -y}) all.push_back(z);
  }
  for (const double x : {1e300, -1e300, 1e-300, -1e-300, HUGE_VAL, -HUGE_VAL, std::nan("")}) all.push_back(x);
  return all;
}

template <class H, class D>
void expect_narrowing_as_on_the_host() {
  const std::vector<double> x = edges<H>();
  const auto n = static_cast<index_t>(x.size());
  const auto at = [&](index_t i) { return x[static_cast<std::size_t>(i)]; };
  const auto as_float = [&](index_t i) {  // the floats just beside come from the doubles, cut off
    const double v = at(i);
    return std::abs(v) > 3e38 && !std::isinf(v) ? 3e38F : static_cast<float>(v);
  };
  const auto floats = make_vector<float, D>(n, as_float);
  const auto doubles = make_vector<double, D>(n, at);
  const auto from_float = create<Vector<H, D>>("from float", n),
             from_double = create<Vector<H, D>>("from double", n);

  parallel_for(n, with(Narrow<H>{}, floats, doubles, from_float, from_double));

  const auto f = values_of(from_float), d = values_of(from_double);
  const auto same = [](H a, H b) {
    return a.bits() == b.bits() || (std::isnan(float(a)) && std::isnan(float(b)));
  };
  for (index_t i = 0; i < n; ++i) {
    ASSERT_TRUE(same(f[static_cast<std::size_t>(i)], H(as_float(i)))) << std::hexfloat << as_float(i);
    ASSERT_TRUE(same(d[static_cast<std::size_t>(i)], H(at(i)))) << std::hexfloat << at(i);
  }
}

TYPED_TEST(ElementTypes, FloatsAndDoublesAreRoundedToHalfsAsOnTheHost) {
  expect_narrowing_as_on_the_host<half_t, TypeParam>();
}

TYPED_TEST(ElementTypes, FloatsAndDoublesAreRoundedToBfloat16sAsOnTheHost) {
  expect_narrowing_as_on_the_host<bfloat16_t, TypeParam>();
}

}  // namespace
