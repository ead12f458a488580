// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <complex>
#include <cstdint>
#include <tuple>

#include <gtest/gtest.h>

#include <strata/devices/host/lane_values.hpp>

namespace strata_tests {
struct Tuple {
  double low, width;
};
}  // namespace strata_tests
template <>
struct std::tuple_size<strata_tests::Tuple> : std::integral_constant<std::size_t, 2> {};

namespace {

using strata::detail::count_numbers;
using strata::detail::LaneValues;
using strata_tests::Tuple;

struct Pair {
  double a;
  float b;
};
struct Six {
  unsigned a;
  std::int64_t b;
  int c;
  std::uint64_t d;
  float e;
  double f = 1;
};
struct One {
  double a;
};
struct Seven {
  int a, b, c, d, e, f, g;
};
struct WithArray {
  double a[2];
  double b;
};
struct WithStruct {
  Pair pair;
  int c;
};
struct WithBase : One {
  double b;
};
struct WithConstructor {
  WithConstructor(double x, double y) : a(x), b(y) {}
  double a, b;
};
struct WithPointer {
  double a;
  double* b;
};
struct WithDestructor {
  double a, b;
  ~WithDestructor() {}  // NOLINT(modernize-use-equals-default)
};
union Either {
  double a;
  float b;
};
struct Small {
  double a;
  bool b;
};
struct PointerAtLast {
  double a, b;
  double* c;
};
struct ComplexAtLast {
  double a, b;
  std::complex<double> c;
};
struct OneInArray {
  double a[1];
  double b;
};
struct OneInArrayAtLast {
  double a, b;
  double c[1];
};
struct OneInStruct {
  One one;
  double b;
};
struct Empty {};
struct EmptyAtLast {
  double a, b;
  Empty c;
};
struct WithUnion {
  union {
    double d;
    std::uint64_t u;
  };
  int k;
};
struct NoDefault {
  explicit NoDefault(int) {}
};
struct NoDefaultAtLast {
  double a, b;
  NoDefault c = NoDefault(1);
};
enum class Color : int { Red };
struct WithEnum {
  double a;
  Color b;
};
struct WithReference {
  double a;
  const double& b;
};

TEST(LaneValues, CountTheMembersOfStructsOfNumbersOnly) {
  EXPECT_EQ(count_numbers<Small>(), 0);
  EXPECT_EQ(count_numbers<PointerAtLast>(), 0);
  EXPECT_EQ(count_numbers<ComplexAtLast>(), 0);
  EXPECT_EQ(count_numbers<OneInArray>(), 0);
  EXPECT_EQ(count_numbers<OneInArrayAtLast>(), 0);
  EXPECT_EQ(count_numbers<OneInStruct>(), 0);
  EXPECT_EQ(count_numbers<EmptyAtLast>(), 0);
  EXPECT_EQ(count_numbers<WithUnion>(), 0);
  EXPECT_EQ(count_numbers<NoDefaultAtLast>(), 0);
  EXPECT_EQ(count_numbers<Tuple>(), 0);
  EXPECT_EQ(count_numbers<Pair>(), 2);
  EXPECT_EQ(count_numbers<Six>(), 6);
  EXPECT_EQ(count_numbers<double>(), 0);
  EXPECT_EQ(count_numbers<One>(), 0);
  EXPECT_EQ(count_numbers<Seven>(), 0);
  EXPECT_EQ(count_numbers<WithArray>(), 0);
  EXPECT_EQ(count_numbers<WithStruct>(), 0);
  EXPECT_EQ(count_numbers<WithBase>(), 0);
  EXPECT_EQ(count_numbers<WithConstructor>(), 0);
  EXPECT_EQ(count_numbers<WithPointer>(), 0);
  EXPECT_EQ(count_numbers<WithDestructor>(), 0);
  EXPECT_EQ(count_numbers<Either>(), 0);
  EXPECT_EQ(count_numbers<WithEnum>(), 0);
  EXPECT_EQ(count_numbers<WithReference>(), 0);
  EXPECT_EQ((count_numbers<std::array<double, 2>>()), 0);
  EXPECT_EQ(count_numbers<std::complex<double>>(), 0);
}

TEST(LaneValues, KeepWhatEachLaneWasGiven) {
  LaneValues<Six, 4> lanes;
  for (int l = 0; l < 4; ++l)
    lanes.set(l, {static_cast<unsigned>(l), l % 2 - 5, 10 * l, 100u + static_cast<unsigned>(l),
                  0.5f * static_cast<float>(l), -l * 1.25});

  lanes.use(2, [](Six& six) { six.d += 7; });

  for (int l = 0; l < 4; ++l) {
    const Six six = lanes.get(l);
    EXPECT_EQ(six.a, static_cast<unsigned>(l));
    EXPECT_EQ(six.b, l % 2 - 5);
    EXPECT_EQ(six.c, 10 * l);
    EXPECT_EQ(six.d, 100u + static_cast<unsigned>(l) + (l == 2 ? 7u : 0u));
    EXPECT_EQ(six.e, 0.5f * static_cast<float>(l));
    EXPECT_EQ(six.f, -l * 1.25);
  }
}

TEST(LaneValues, OfOtherTypesAreUsedInPlace) {
  LaneValues<WithArray, 2> lanes;
  lanes.set(0, WithArray{{1, 2}, 3});
  lanes.set(1, WithArray{{4, 5}, 6});

  lanes.use(1, [](WithArray& value) { value.a[1] = 9; });

  EXPECT_EQ(lanes.get(0).a[1], 2);
  EXPECT_EQ(lanes.get(1).a[1], 9);
  EXPECT_EQ(lanes.get(1).b, 6);
}

}  // namespace
