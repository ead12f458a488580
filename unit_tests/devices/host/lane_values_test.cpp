// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <complex>
#include <cstdint>

#include <gtest/gtest.h>

#include <strata/devices/host/lane_values.hpp>

namespace {

using strata::detail::count_numbers;
using strata::detail::LaneValues;

struct Pair {
  double a;
  float b;
};
struct Six {
  std::int8_t a;
  bool b;
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
    lanes.set(l, {static_cast<std::int8_t>(l), l % 2 == 1, 10 * l, 100u + static_cast<unsigned>(l),
                  0.5f * static_cast<float>(l), -l * 1.25});

  lanes.use(2, [](Six& six) { six.d += 7; });

  for (int l = 0; l < 4; ++l) {
    const Six six = lanes.get(l);
    EXPECT_EQ(six.a, l);
    EXPECT_EQ(six.b, l % 2 == 1);
    EXPECT_EQ(six.c, 10 * l);
    EXPECT_EQ(six.d, 100u + static_cast<unsigned>(l) + (l == 2 ? 7u : 0u));
    EXPECT_EQ(six.e, 0.5f * static_cast<float>(l));
    EXPECT_EQ(six.f, -l * 1.25);
  }
}

TEST(LaneValues, OfOtherTypesAreUsedInPlace) {
  LaneValues<WithArray, 2> lanes;
  lanes.set(0, {{1, 2}, 3});
  lanes.set(1, {{4, 5}, 6});

  lanes.use(1, [](WithArray& value) { value.a[1] = 9; });

  EXPECT_EQ(lanes.get(0).a[1], 2);
  EXPECT_EQ(lanes.get(1).a[1], 9);
  EXPECT_EQ(lanes.get(1).b, 6);
}

}  // namespace
