// Streamed launches on every device: the same bits as in core.
// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <vector>

#include <strata/core/error.hpp>

#include "stream_kernels.hpp"

namespace {

using namespace stream_test;

template <class D>
class StreamedLaunch : public ::testing::Test {};
TYPED_TEST_SUITE(StreamedLaunch, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(StreamedLaunch, MapOfAnySizeInAnySlices) {
  for (const index_t n : {1, 7, 1000, 4099})
    for (const index_t chunk : {1, 100, 513, 5000}) {
      if (n / chunk > 200) continue;
      const CoherentArray<double, rank<1>> x("x", n), y("y", n);
      fill(x);
      fill(y);
      const StreamReport report =
          launch(streamed(TypeParam{}, 1 << 20).chunk(chunk), n, Axpy{2}, in(x), inout(y));
      const auto got = values(y);
      for (index_t i = 0; i < n; ++i)
        ASSERT_EQ(got[static_cast<std::size_t>(i)], start_value(i) + 2 * start_value(i)) << n << " " << chunk;
      EXPECT_EQ(report.bytes_to_device, 16 * n);
      EXPECT_EQ(report.bytes_to_host, 8 * n);
      EXPECT_EQ(report.slices, (n + chunk - 1) / chunk);
      EXPECT_FALSE(report.explain().empty());
    }
}
TYPED_TEST(StreamedLaunch, WithinABudgetOfAFewRows) {
  const index_t n = 20000;
  const CoherentArray<double, rank<1>> x("x", n), y("y", n);
  fill(x);
  const StreamReport report = launch(streamed(TypeParam{}, 16384), n, Axpy{3}, in(x), inout(y));
  EXPECT_LE(report.device_bytes, 16384);
  EXPECT_GT(report.slices, 50);
  const auto got = values(y);
  for (index_t i = 0; i < n; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i)], 3 * start_value(i));
}
TYPED_TEST(StreamedLaunch, RowsInTiles) {
  const CoherentArray<float, rank<2>> x("x", 101, 5), y("y", 101, 5), z("z", 101, 5);
  fill(x);
  fill(y);
  launch(streamed(TypeParam{}, 1 << 20).chunk(24), 101, Triad{}, in(x), in(y), out(z));
  const auto a = values(x), b = values(y), got = values(z);
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], static_cast<float>(static_cast<double>(a[i]) + 0.5 * static_cast<double>(b[i])));
}
TYPED_TEST(StreamedLaunch, HalosOfReadRowsStayOnTheDevice) {
  const index_t n = 1000;
  const CoherentArray<int, rank<1>> x("x", n), y("y", n);
  {
    const auto all = x.write();
    for (index_t i = 0; i < n; ++i) all(i) = static_cast<int>(i * i % 97);
  }
  const StreamReport report = launch(streamed(TypeParam{}, 1 << 20).chunk(64), range(2, n - 1), Neighbours{},
                                     in(x, halo(2, 1)), out(y));
  const auto a = values(x), got = values(y);
  for (std::size_t i = 2; i < 999; ++i) ASSERT_EQ(got[i], a[i - 2] + 2 * a[i] + 3 * a[i + 1]);
  EXPECT_EQ(got[0], 0);
  EXPECT_EQ(got[999], 0);
  EXPECT_EQ(report.bytes_to_device, 4 * n);  // each row once
}
TYPED_TEST(StreamedLaunch, CyclicDuplicateAndPadEdges) {
  const index_t n = 300;
  const CoherentArray<double, rank<1>> x("x", n), y("y", n);
  fill(x);
  const auto a = values(x);
  const auto at = [&](index_t i) { return a[static_cast<std::size_t>(i)]; };
  launch(streamed(TypeParam{}, 1 << 20).chunk(64), n, Neighbours{}, in(x, halo(2, 1, edge::cyclic)), out(y));
  auto got = values(y);
  for (index_t i = 0; i < n; ++i)
    ASSERT_EQ(got[static_cast<std::size_t>(i)], at((i + n - 2) % n) + 2 * at(i) + 3 * at((i + 1) % n)) << i;
  launch(streamed(TypeParam{}, 1 << 20).chunk(64), n, Neighbours{}, in(x, halo(2, 1, edge::duplicate)),
         out(y));
  got = values(y);
  for (index_t i = 0; i < n; ++i)
    ASSERT_EQ(got[static_cast<std::size_t>(i)],
              at(std::max<index_t>(i - 2, 0)) + 2 * at(i) + 3 * at(std::min(i + 1, n - 1)));
  launch(streamed(TypeParam{}, 1 << 20).chunk(64), n, Neighbours{}, in(x, halo(2, 1, edge::pad(5.0))),
         out(y));
  got = values(y);
  EXPECT_EQ(got[0], 5 + 2 * at(0) + 3 * at(1));
  EXPECT_EQ(got[299], at(297) + 2 * at(299) + 15);
}
TYPED_TEST(StreamedLaunch, RowsOfAFunctionAndATableForAll) {
  const index_t n = 500;
  const CoherentArray<double, rank<1>> x("x", 2 * n), table("table", 5), y("y", n);
  fill(x);
  fill(table);
  launch(streamed(TypeParam{}, 1 << 20).chunk(37), n, SumOfPair{}, in(x, rows(PairsOfRows{})),
         in(table, everything), out(y));
  const auto a = values(x), t = values(table), got = values(y);
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], a[2 * i] + a[2 * i + 1] + t[i % 5]);
}
TYPED_TEST(StreamedLaunch, OverlappingRowsOfAFunctionAreCopiedOnce) {
  const index_t n = 1000;
  const CoherentArray<double, rank<1>> x("x", n / 2 + 3), y("y", n);
  fill(x);
  const StreamReport report =
      launch(streamed(TypeParam{}, 1 << 20).chunk(50), n, BandSum{}, in(x, rows(BandRows{})), out(y));
  const auto a = values(x), got = values(y);
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], a[i / 2] + 2 * a[i / 2 + 1] + 4 * a[i / 2 + 2] + 8 * a[i / 2 + 3]);
  EXPECT_EQ(report.bytes_to_device, 8 * (n / 2 + 3));
}
TYPED_TEST(StreamedLaunch, ValuesThatADeviceHasComeHomeFirst) {
  const index_t n = 1000;
  const CoherentArray<double, rank<1>> x("x", n), y("y", n);
  fill(x);
  launch(on(TypeParam{}), n, Axpy{1}, in(x), inout(y));  // y = x, on the device
  launch(streamed(TypeParam{}, 1 << 20), n, Axpy{2}, in(x), inout(y));
  launch(on(TypeParam{}), n, Axpy{4}, in(x), inout(y));
  const auto got = values(y);
  for (index_t i = 0; i < n; ++i) {
    const double v = start_value(i);
    ASSERT_EQ(got[static_cast<std::size_t>(i)], (v + 2 * v) + 4 * v);
  }
}
TYPED_TEST(StreamedLaunch, EmptyRangeDoesNothing) {
  const CoherentArray<double, rank<1>> x("x", 10), y("y", 10);
  const StreamReport report = launch(streamed(TypeParam{}, 1 << 20), 0, Axpy{1}, in(x), inout(y));
  EXPECT_EQ(report.slices, 0);
  EXPECT_EQ(report.bytes_to_device, 0);
}
TYPED_TEST(StreamedLaunch, OneArrayTwiceIsAnErrorWhereItIsWritten) {
  const CoherentArray<double, rank<1>> x("x", 10);
  EXPECT_THROW(launch(streamed(TypeParam{}, 1 << 20), 10, Axpy{1}, in(x), inout(x)), AccessConflict);
}
TYPED_TEST(StreamedLaunch, PlanWithoutRun) {
  const CoherentArray<double, rank<1>> x("x", 100), y("y", 100);
  fill(x);
  const StreamReport report = launch(streamed(TypeParam{}, 1 << 20).dry_run(), 100, Axpy{1}, in(x), inout(y));
  EXPECT_GT(report.slices, 0);
  EXPECT_EQ(values(y)[5], 0);
}

TYPED_TEST(StreamedLaunch, SumsHaveTheBitsOfCore) {
  for (const index_t n : {1, 511, 512, 70000}) {
    const CoherentArray<double, rank<1>> x("x", n);
    fill(x);
    double expected = -1;
    launch_reduce(on(TypeParam{}), n, Add{}, Sum(expected), in(x));
    for (const index_t chunk : {0, 512, 5120}) {
      double sum = -1;
      auto where = streamed(TypeParam{}, 1 << 20);
      if (chunk > 0) where = where.chunk(chunk);
      launch_reduce(where, n, Add{}, Sum(sum), in(x));
      EXPECT_EQ(sum, expected) << n << " " << chunk;
    }
    double by_functor = -1;
    launch_reduce(streamed(TypeParam{}, 1 << 16), n, SumFunctor{}, by_functor, in(x));
    EXPECT_EQ(by_functor, expected);
    const CoherentArray<double, rank<0>> value("value");
    launch_reduce(streamed(TypeParam{}, 1 << 16), n, SumFunctor{}, value, in(x));
    EXPECT_EQ(*value.read(), expected);
    const CoherentArray<double, rank<0>> half("half");
    launch_reduce(streamed(TypeParam{}, 1 << 16), n, SumFunctor{}, finalize(Halve{}, out(half, everything)),
                  in(x));
    EXPECT_EQ(*half.read(), expected / 2);
  }
}
TYPED_TEST(StreamedLaunch, SumsOverSeveralIndices) {
  const CoherentArray<double, rank<2>, LayoutRight> x("x", 300, 17);
  fill(x);
  double expected = 0, sum = -1;
  launch_reduce(on(TypeParam{}), mdrange({300, 17}), AddRow{}, Sum(expected), in(x));
  launch_reduce(streamed(TypeParam{}, 1 << 16).chunk(16), mdrange({300, 17}), AddRow{}, Sum(sum), in(x));
  EXPECT_EQ(sum, expected);
}
TYPED_TEST(StreamedLaunch, SumOfNothing) {
  const CoherentArray<double, rank<1>> x("x", 10);
  double sum = 7;
  launch_reduce(streamed(TypeParam{}, 1 << 16), 0, Add{}, Sum(sum), in(x));
  EXPECT_EQ(sum, 0);
}
TYPED_TEST(StreamedLaunch, ScansHaveTheBitsOfCore) {
  for (const index_t n : {1, 600, 8192, 20000, 50000}) {
    const CoherentArray<double, rank<1>> x("x", n), expected("expected", n), y("y", n);
    fill(x);
    double total = 0, got = 0;
    launch_scan(on(TypeParam{}), n, Prefix{}, Sum(total), in(x), out(expected));
    launch_scan(streamed(TypeParam{}, 1 << 19), n, Prefix{}, Sum(got), in(x), out(y));
    EXPECT_EQ(got, total);
    EXPECT_EQ(values(y), values(expected));
  }
}
TYPED_TEST(StreamedLaunch, ABudgetWithoutRoomForATileOfAScanIsAnErrorThatSaysHowManyRows) {
  const CoherentArray<double, rank<1>> x("x", 20000), y("y", 20000);
  fill(x);
  double total = 0;
  try {
    launch_scan(streamed(TypeParam{}, 1 << 16), 20000, Prefix{}, Sum(total), in(x), out(y));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("smallest slices, multiples of 8192 rows"), std::string::npos)
        << error.what();
  }
}

template <class D>
class StreamedSteps : public ::testing::Test {};
TYPED_TEST_SUITE(StreamedSteps, strata_tests::TestDevices, strata_tests::DeviceName);

// All schedulers against the same steps in core.
template <class Device, class L, int Rank, class R, class K, class H, class Make>
void expect_bits_of_core(const R& work, int steps, int steps_per_pass, index_t chunk, const K& kernel,
                         const H& region, const Make& make) {
  using Array = CoherentArray<double, rank<Rank>, L>;
  Array a = make("a"), b = make("b");
  fill(a);
  fill(b);
  in_core(Device{}, work, steps, kernel, a, b, region);
  const auto expected = values(a);
  for (const StreamScheduler scheduler : all_schedulers) {
    const Array u = make("u");
    fill(u);
    auto where = streamed(Device{}, 1 << 22);
    if (scheduler != StreamScheduler::Automatic)
      where = where.scheduler(scheduler).chunk(chunk).steps_per_pass(steps_per_pass);
    streamed_iterate(where, work, steps, kernel, state(u, region));
    ASSERT_EQ(values(u), expected) << name_of(scheduler) << ", " << steps << " steps, " << steps_per_pass
                                   << " a pass, chunk " << chunk;
  }
}

TYPED_TEST(StreamedSteps, Rank1WithHalosOfOneToThree) {
  const index_t n = 333;
  const auto make = [&](const char* label) { return CoherentArray<double, rank<1>>(label, n); };
  for (const int h : {1, 2, 3})
    expect_bits_of_core<TypeParam, LayoutRight, 1>(range(h, n - h), 7, 3, 50, Step1{h, h}, halo(h, h), make);
}
TYPED_TEST(StreamedSteps, HalosThatDiffer) {
  const index_t n = 200;
  const auto make = [&](const char* label) { return CoherentArray<double, rank<1>>(label, n); };
  expect_bits_of_core<TypeParam, LayoutRight, 1>(range(2, n), 6, 4, 40, Step1{2, 0}, halo(2, 0), make);
  expect_bits_of_core<TypeParam, LayoutRight, 1>(range(1, n - 3), 5, 2, 40, Step1{1, 3}, halo(1, 3), make);
}
TYPED_TEST(StreamedSteps, Edges) {
  const index_t n = 150;
  const auto make = [&](const char* label) { return CoherentArray<double, rank<1>>(label, n); };
  expect_bits_of_core<TypeParam, LayoutRight, 1>(range(0, n), 7, 3, 30, Step1{1, 1}, halo(1, 1, edge::cyclic),
                                                 make);
  expect_bits_of_core<TypeParam, LayoutRight, 1>(range(0, n), 7, 3, 30, Step1{1, 1},
                                                 halo(1, 1, edge::duplicate), make);
  expect_bits_of_core<TypeParam, LayoutRight, 1>(range(0, n), 7, 3, 30, Step1{1, 1},
                                                 halo(1, 1, edge::pad(2.5)), make);
}
TYPED_TEST(StreamedSteps, TwoDimensions) {
  const auto make = [&](const char* label) {
    return CoherentArray<double, rank<2>, LayoutRight>(label, 61, 9);
  };
  expect_bits_of_core<TypeParam, LayoutRight, 2>(mdrange({1, 1}, {60, 8}), 5, 2, 11, Step2{}, halo(1, 1),
                                                 make);
  expect_bits_of_core<TypeParam, LayoutRight, 2>(mdrange({61, 9}), 5, 2, 11, Step2{},
                                                 halo(1, 1, edge::cyclic), make);
}
TYPED_TEST(StreamedSteps, ThreeAndFourDimensions) {
  const auto three = [&](const char* label) {
    return CoherentArray<double, rank<3>, LayoutRight>(label, 31, 5, 6);
  };
  expect_bits_of_core<TypeParam, LayoutRight, 3>(mdrange({1, 1, 1}, {30, 4, 5}), 4, 3, 8, Step3{}, halo(1, 1),
                                                 three);
  const auto four = [&](const char* label) {
    return CoherentArray<double, rank<4>, LayoutRight>(label, 21, 3, 4, 2);
  };
  expect_bits_of_core<TypeParam, LayoutRight, 4>(mdrange({1, 0, 0, 0}, {20, 3, 4, 2}), 4, 2, 7, Step4{},
                                                 halo(1, 1), four);
}
TYPED_TEST(StreamedSteps, TilesOfTheDefaultLayoutAndElementsThatStay) {
  const auto make = [&](const char* label) { return CoherentArray<double, rank<2>>(label, 75, 6); };
  expect_bits_of_core<TypeParam, LayoutTiled<8>, 2>(range(1, 74), 6, 4, 16, RowStep{}, halo(1, 1), make);
}
TYPED_TEST(StreamedSteps, SeveralFieldsAndCoefficients) {
  const index_t n = 220;
  const int steps = 9;
  CoherentArray<double, rank<1>> a("a", n), b("b", n), k("k", n);
  fill(a);
  fill(b);
  fill(k);
  for (int s = 0; s < steps; ++s) {
    launch(on(TypeParam{}), range(1, n - 1), Step1With{}, in(a, halo(1, 1)), inout(b), in(k, halo(0, 1)));
    std::swap(a, b);
  }
  CoherentArray<double, rank<1>> u0("u0", n), u1("u1", n), v0("v0", n), v1("v1", n);
  for (const auto* array : {&u0, &u1, &v0, &v1}) fill(*array);
  for (int s = 0; s < steps; ++s) {
    launch(on(TypeParam{}), range(1, n - 1), TwoFields{}, in(u0, halo(1, 0)), inout(u1), in(v0, halo(0, 1)),
           inout(v1));
    std::swap(u0, u1);
    std::swap(v0, v1);
  }
  for (const StreamScheduler scheduler : all_schedulers) {
    const CoherentArray<double, rank<1>> x("x", n), u("u", n), v("v", n);
    fill(x);
    fill(u);
    fill(v);
    auto where = streamed(TypeParam{}, 1 << 20).scheduler(scheduler);
    if (scheduler != StreamScheduler::Automatic) where = where.chunk(32).steps_per_pass(4);
    streamed_iterate(where, steps, Step1With{}, state(x, halo(1, 1)), in(k, halo(0, 1)));
    EXPECT_EQ(values(x), values(a)) << name_of(scheduler);
    streamed_iterate(where, range(1, n - 1), steps, TwoFields{}, state(u, halo(1, 0)), state(v, halo(0, 1)));
    EXPECT_EQ(values(u), values(u0)) << name_of(scheduler);
    EXPECT_EQ(values(v), values(v0)) << name_of(scheduler);
  }
}
TYPED_TEST(StreamedSteps, NoStepsChangeNothing) {
  const CoherentArray<double, rank<1>> u("u", 50);
  fill(u);
  const auto before = values(u);
  streamed_iterate(streamed(TypeParam{}, 1 << 20), 0, Step1{1, 1}, state(u, halo(1, 1)));
  EXPECT_EQ(values(u), before);
  EXPECT_THROW(streamed_iterate(streamed(TypeParam{}, 1 << 20), -1, Step1{1, 1}, state(u, halo(1, 1))),
               Error);
}
TYPED_TEST(StreamedSteps, StatesOfDifferentLengthAreAnError) {
  const CoherentArray<double, rank<1>> u("u", 50), v("v", 51);
  EXPECT_THROW(streamed_iterate(streamed(TypeParam{}, 1 << 20), range(1, 49), 2, TwoFields{},
                                state(u, halo(1, 0)), state(v, halo(0, 1))),
               ShapeMismatch);
}

// What the kernel leaves out by its place, and the range at both ends.
template <class D, class Array, class R, class K>
void expect_left_out_kept(const R& work, const K& kernel, Array a, Array b, const Array& u) {
  constexpr int steps = 5;
  fill(u);
  const std::vector<double> start = values(u);
  fill(a);
  in_core(D{}, work, steps, kernel, a, b, halo(1, 1));
  const std::vector<double> expected = values(a);
  for (const StreamScheduler scheduler : all_schedulers) {
    fill(u);
    const auto where = streamed(D{}, 1 << 18).scheduler(scheduler);
    streamed_iterate(where, work, steps, kernel, state(u, halo(1, 1)));
    const std::vector<double> got = values(u);
    index_t kept = 0;
    for (std::size_t n = 0; n < got.size(); ++n) {
      ASSERT_NEAR(got[n], expected[n], 1e-14) << name_of(scheduler) << ", element " << n;
      kept += got[n] == start[n] ? 1 : 0;
    }
    EXPECT_GT(kept, static_cast<index_t>(got.size()) / 3) << name_of(scheduler);
  }
}
TYPED_TEST(StreamedLaunch, StepsKeepWhatTheyLeaveOut) {
  using Line = CoherentArray<double, rank<1>>;
  using Plane = CoherentArray<double, rank<2>>;
  const Line line("u", 40'000);
  const Plane plane("u", 3000, 30);

  expect_left_out_kept<TypeParam>(range(17'000, 39'990), Leave1{{1}}, Line("a", 40'000), Line("b", 40'000),
                                  line);
  expect_left_out_kept<TypeParam>(mdrange({1500, 2}, {2990, 27}), Leave2{{1}}, Plane("a", 3000, 30),
                                  Plane("b", 3000, 30), plane);
}

}  // namespace
