// launch_reduce and launch_scan over coherent arrays: the bits are those of one device, however the work is
// split.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "algorithms/arrays.hpp"
#include "core/random.hpp"
#include "views/coherent/executor_fixture.hpp"

namespace {

using namespace coherent_testing;
using strata_tests::mixed_number;

class CoherentReduce : public CoherentTest {};

struct SumRow {
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const { sum += x(i); }
};
// Weighted by the index, on which the value depends then.
struct SumPlane {
  STRATA_FUNCTION void operator()(auto i, auto j, auto x, double& sum) const {
    sum += x(i, j) * static_cast<double>(static_cast<index_t>(i) + 3 * static_cast<index_t>(j));
  }
};
struct LeastOf {
  STRATA_FUNCTION void operator()(auto i, auto x, ValueLocation<double>& least) const {
    const index_t at = static_cast<index_t>(i);
    if (x(at) < least.value || (x(at) == least.value && at < least.location)) least = {x(at), at};
  }
};
struct Extremes {
  double sum, square;
};
struct Moments {
  using value_type = Extremes;
  STRATA_FUNCTION static void init(Extremes& v) { v = {0, 0}; }
  STRATA_FUNCTION static void join(Extremes& v, const Extremes& o) {
    v.sum += o.sum;
    v.square += o.square;
  }
  STRATA_FUNCTION void operator()(auto i, auto x, Extremes& v) const {
    v.sum += x(i);
    v.square += x(i) * x(i);
  }
};
struct TotalOf {
  using value_type = double;
  STRATA_FUNCTION static void init(double& v) { v = 0; }
  STRATA_FUNCTION static void join(double& v, const double& o) { v += o; }
  STRATA_FUNCTION void operator()(auto i, auto x, double& v) const { v += x(i); }
};
struct StoreScaled {
  double by;
  STRATA_FUNCTION void operator()(const double& value, auto result, auto last) const {
    result(0) = by * value;
    last(0) += 1;
  }
};
struct Prefix {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, double& sum, bool final) const {
    sum += x(i);
    if (final) y(i) = sum;
  }
};

CoherentArray<double, rank<1>> mixed(index_t n) {
  const CoherentArray<double, rank<1>> x("x", n);
  const auto view = x.write();
  for (index_t i = 0; i < n; ++i) view(i) = mixed_number(i);
  return x;
}
::testing::AssertionResult same_bits(double a, double b) {
  if (std::memcmp(&a, &b, sizeof(double)) == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << a << " and " << b << " differ by " << a - b;
}

constexpr index_t sizes[] = {0, 1, 2, 511, 512, 513, 1023, 1024, 1025, 4095, 4097, 100000};

TEST_F(CoherentReduce, BitsAreThoseOfSerialOnAnyNumberOfDevices) {
  for (const index_t n : sizes) {
    SCOPED_TRACE(n);
    const auto x = mixed(n);
    double expected = -1;
    launch_reduce(on(Serial{}), n, SumRow{}, Sum(expected), in(x));
    for (const int count : {1, 2, 3, 4, 8}) {
      SCOPED_TRACE(count);
      double sum = -1;
      launch_reduce(across(emulated_devices(count)), n, SumRow{}, Sum(sum), in(x));
      EXPECT_TRUE(same_bits(sum, expected));
    }
    double sum = -1;
    launch_reduce(on(Emulated{3}), n, SumRow{}, Sum(sum), in(x));
    EXPECT_TRUE(same_bits(sum, expected));
    const Queue<Emulated> queue(Emulated{2});
    launch_reduce(on(queue).named("named"), n, SumRow{}, Sum(sum = -1), in(x));
    EXPECT_TRUE(same_bits(sum, expected));
  }
}

TEST_F(CoherentReduce, BitsDoNotDependOnWeightsNorOnKindsOfDevices) {
  for (const index_t n : {513, 5000, 100001}) {
    SCOPED_TRACE(n);
    const auto x = mixed(n);
    double expected = -1, sum = -1;
    launch_reduce(on(Serial{}), range(7, n), SumRow{}, Sum(expected), in(x));
    const auto expect = [&](const auto& where) {
      launch_reduce(where, range(7, n), SumRow{}, Sum(sum = -1), in(x));
      EXPECT_TRUE(same_bits(sum, expected));
    };
    expect(across(Emulated{0}, Emulated{1}, Emulated{2}).weighted({1, 5, 2}));
    expect(across(Emulated{0}, Emulated{1}, Emulated{2}).weighted({0, 1, 0}));
    expect(across(Emulated{5}, Threads{}, Serial{}));
    expect(across(Serial{}, Emulated{1}).weighted({3, 1}));
    expect(across(Threads{}));
    expect(on(Threads{}));
    Balance balance;
    for (int k = 0; k < 3; ++k) expect(across(Emulated{0}, Emulated{4}).adaptive(balance));
  }
}

TEST_F(CoherentReduce, BoxesHaveTheirRowsForBlocks) {
  for (const index_t rows : {1, 7, 64, 129}) {
    SCOPED_TRACE(rows);
    const CoherentArray<double, rank<2>> x("x", rows, 37);
    {
      const auto view = x.write();
      for (index_t i = 0; i < rows; ++i)
        for (index_t j = 0; j < 37; ++j) view(i, j) = mixed_number(100 * i + j);
    }
    double expected = -1;
    launch_reduce(on(Serial{}), mdrange({0, 0}, {rows, 37}), SumPlane{}, Sum(expected), in(x));
    for (const int count : {1, 2, 5, 8}) {
      double sum = -1;
      launch_reduce(across(emulated_devices(count)), mdrange({0, 0}, {rows, 37}), SumPlane{}, Sum(sum),
                    in(x));
      EXPECT_TRUE(same_bits(sum, expected)) << count;
    }
  }
}

TEST_F(CoherentReduce, NamedReducersHaveTheirLocations) {
  const index_t n = 3000;
  const CoherentArray<double, rank<1>> x("x", n);
  {
    const auto view = x.write();
    for (index_t i = 0; i < n; ++i) view(i) = static_cast<double>((i * 7919) % 1009);
  }
  ValueLocation<double> least{};
  launch_reduce(across(emulated_devices(4)), range(5, n), LeastOf{}, MinLoc(least), in(x));
  EXPECT_EQ(least.value, 0);
  EXPECT_EQ(least.location, 1009);
}

TEST_F(CoherentReduce, FunctorsReduceIntoHostVariables) {
  const auto x = mixed(5000);
  Extremes expected{}, split{}, mixed_kinds{};
  launch_reduce(on(Serial{}), 5000, Moments{}, expected, in(x));
  launch_reduce(across(emulated_devices(3)), 5000, Moments{}, split, in(x));
  launch_reduce(across(Emulated{0}, Threads{}), 5000, Moments{}, mixed_kinds, in(x));
  EXPECT_TRUE(same_bits(split.sum, expected.sum) && same_bits(split.square, expected.square));
  EXPECT_TRUE(same_bits(mixed_kinds.sum, expected.sum) && same_bits(mixed_kinds.square, expected.square));
}

TEST_F(CoherentReduce, ResultsMayStayOnADevice) {
  const index_t n = 10000;
  const auto x = mixed(n);
  double expected = 0;
  launch_reduce(on(Serial{}), n, TotalOf{}, expected, in(x));
  const auto expect = [&](const auto& where) {
    const CoherentArray<double, rank<0>> total("total"), named("named");
    launch_reduce(where, n, TotalOf{}, total, in(x));
    launch_reduce(where, n, SumRow{}, Sum(named), in(x));
    EXPECT_TRUE(same_bits(total(), expected));
    EXPECT_TRUE(same_bits(*named.read(), expected));
  };
  expect(on(Serial{}));
  expect(on(Threads{}));
  expect(on(Emulated{1}));
  expect(across(emulated_devices(1)));
  expect(across(emulated_devices(5)));
  expect(across(Threads{}, Emulated{2}));
}

TEST_F(CoherentReduce, FinalizeRunsOnceWithItsAccesses) {
  const index_t n = 10000;
  const auto x = mixed(n);
  double expected = 0;
  launch_reduce(on(Serial{}), n, TotalOf{}, expected, in(x));
  const CoherentArray<double, rank<1>> result("result", 1), calls("calls", 1);
  double wanted_calls = 0;
  const auto expect = [&](const auto& where) {
    launch_reduce(where, n, TotalOf{},
                  finalize(StoreScaled{2}, out(result, everything), inout(calls, everything)), in(x));
    EXPECT_TRUE(same_bits(result(0), 2 * expected));
    EXPECT_EQ(calls(0), ++wanted_calls);
  };
  expect(on(Serial{}));
  expect(on(Emulated{0}));
  expect(across(emulated_devices(4)));
  expect(across(Threads{}, Emulated{2}, Serial{}));
}

struct SumOfIndices {
  STRATA_FUNCTION void operator()(auto i, auto, double& sum) const {
    sum += 1 / (0.5 + static_cast<double>(static_cast<index_t>(i)));
  }
};
TEST_F(CoherentReduce, RangesMayBeginBelowZero) {
  const CoherentArray<double, rank<1>> x("x", 1);
  double expected = 0, sum = 0;
  launch_reduce(on(Serial{}), range(-3000, 5000), SumOfIndices{}, Sum(expected), in(x, everything));
  for (const int count : {1, 2, 5}) {
    launch_reduce(across(emulated_devices(count)), range(-3000, 5000), SumOfIndices{}, Sum(sum),
                  in(x, everything));
    EXPECT_TRUE(same_bits(sum, expected));
  }
}

// Devices join values of blocks, in rising numbers of levels; hosts join those of groups.
void expect_bits_of_many(int trials, index_t least, index_t most) {
  strata_tests::Random draw;
  const CoherentArray<double, rank<1>> x("x", 1);
  for (int trial = 0; trial < trials; ++trial) {
    const index_t begin = draw(0, 1) == 0 ? 0 : draw(-most, most), n = draw(least, most);
    SCOPED_TRACE(std::to_string(n) + " items from " + std::to_string(begin));
    const Range work = range(begin, begin + n);
    double expected = 0, sum = -1;
    launch_reduce(on(Serial{}), work, SumOfIndices{}, Sum(expected), in(x, everything));
    const auto expect = [&](const auto& where) {
      const CoherentArray<double, rank<0>> kept("kept");
      launch_reduce(where, work, SumOfIndices{}, Sum(kept), in(x, everything));
      EXPECT_TRUE(same_bits(*kept.read(), expected));
    };
    const int devices = static_cast<int>(draw(2, 8));
    std::vector<double> weights(static_cast<std::size_t>(devices));
    for (double& weight : weights) weight = static_cast<double>(draw(0, 9));
    weights[0] = std::max(weights[0], 1.0);
    expect(across(emulated_devices(devices)).weighted(weights));
    expect(across(emulated_devices(devices)));
    expect(across(Threads{}, Emulated{2}));
    launch_reduce(across(emulated_devices(devices)), work, SumOfIndices{}, Sum(sum), in(x, everything));
    EXPECT_TRUE(same_bits(sum, expected));
    const auto one_value = [](index_t i, double& value) { SumOfIndices{}(i, 0, value); };
    parallel_reduce(on(Threads{}), work, one_value, Sum(sum = -1));
    EXPECT_TRUE(same_bits(sum, expected));
  }
}
TEST_F(CoherentReduce, BitsOfManyItemsAreThoseOfSerial) {
  expect_bits_of_many(strata_tests::trials(6) + 1, 1, 400'000);
}
TEST_F(CoherentReduce, BitsOfMoreThanTenMillionItemsAreThoseOfSerialSlow) {
  expect_bits_of_many(5, 10'000'000, 40'000'000);
}

TEST_F(CoherentReduce, NothingIsReducedToTheNeutralValue) {
  const auto x = mixed(10);
  double sum = -1;
  launch_reduce(across(emulated_devices(3)), 0, SumRow{}, Sum(sum), in(x));
  EXPECT_EQ(sum, 0);
  const CoherentArray<double, rank<0>> value("value");
  value() = 5;
  launch_reduce(across(emulated_devices(3)), range(4, 4), TotalOf{}, value, in(x));
  EXPECT_EQ(value(), 0);
}

TEST_F(CoherentReduce, ScansGoFromDeviceToDevice) {
  for (const index_t n : sizes) {
    SCOPED_TRACE(n);
    const auto x = mixed(n);
    const CoherentArray<double, rank<1>> y("y", n), z("z", n);
    double expected = -1;
    launch_scan(on(Serial{}), n, Prefix{}, Sum(expected), in(x), out(y));
    const auto y_values = values(y);
    const auto expect = [&](const auto& where) {
      double total = -1;
      launch_scan(where, n, Prefix{}, Sum(total), in(x), out(z));
      EXPECT_TRUE(same_bits(total, expected));
      const auto z_values = values(z);
      index_t wrong = 0;
      for (std::size_t i = 0; i < y_values.size(); ++i) wrong += !same_bits(y_values[i], z_values[i]);
      EXPECT_EQ(wrong, 0);
    };
    expect(on(Emulated{0}));
    for (const int count : {1, 2, 3, 8}) expect(across(emulated_devices(count)));
    expect(across(Threads{}, Emulated{1}).weighted({1, 2}));
  }
}

TEST_F(CoherentReduce, ValuesAreCurrentWhoeverWroteThem) {
  const CoherentArray<double, rank<1>> x("x", 4000);
  for (int round = 0; round < 5; ++round) {
    launch(across(Emulated{round}, Emulated{round + 1}), 4000, AddTo{1}, inout(x));
    double sum = 0;
    launch_reduce(across(Emulated{7 - round}, Emulated{round}, Threads{}), 4000, SumRow{}, Sum(sum), in(x));
    EXPECT_EQ(sum, 4000.0 * (round + 1));
  }
}

// ---- several results of one pass

struct Figures {
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum, ValueLocation<double>& least,
                                  MinMaxLocation<double>& both) const {
    const index_t at = static_cast<index_t>(i);
    const double v = x(at);
    sum += v;
    if (v < least.value) least = {v, at};
    if (v < both.min) both.min = v, both.min_location = at;
    if (v > both.max) both.max = v, both.max_location = at;
  }
};

TEST_F(CoherentReduce, SeveralReducersTakeOnePassAtAnyPlace) {
  for (const index_t n : {1, 513, 100000}) {
    const auto x = mixed(n);
    double one = 0;
    ValueLocation<double> least{};
    launch_reduce(on(Serial{}), n, SumRow{}, Sum(one), in(x));
    launch_reduce(on(Serial{}), n, LeastOf{}, MinLoc(least), in(x));
    const auto expect = [&](double sum, const ValueLocation<double>& found,
                            const MinMaxLocation<double>& both) {
      EXPECT_NEAR(sum, one, 1e-12 * std::abs(one));
      EXPECT_EQ(found.location, least.location);
      EXPECT_EQ(both.min_location, least.location);
      EXPECT_EQ(both.min, least.value);
      EXPECT_GE(both.max, both.min);
    };

    double sum = 0;
    ValueLocation<double> found{};
    MinMaxLocation<double> both{};
    launch_reduce(on(Serial{}), n, Figures{}, Sum(sum), MinLoc(found), MinMaxLoc(both), in(x));
    expect(sum, found, both);
    const double first = sum;

    sum = 0, found = {}, both = {};
    launch_reduce(across(Emulated(0), Emulated(1)), n, Figures{}, Sum(sum), MinLoc(found), MinMaxLoc(both),
                  in(x));
    expect(sum, found, both);
    EXPECT_TRUE(same_bits(sum, first));

    const CoherentArray<double, rank<0>> value("value");
    const CoherentArray<ValueLocation<double>, rank<0>> where("where");
    const CoherentArray<MinMaxLocation<double>, rank<0>> range("range");
    launch_reduce(across(Emulated(0), Emulated(1)), n, Figures{}, Sum(value), MinLoc(where), MinMaxLoc(range),
                  in(x));
    expect(value.read()(), where.read()(), range.read()());
    EXPECT_TRUE(same_bits(value.read()(), first));
  }
}

}  // namespace
