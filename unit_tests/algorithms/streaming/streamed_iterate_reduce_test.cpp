// Steps that also reduce, on arrays that go through a device in slices: the bits of the same steps in core,
// and of the reduction of each.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <strata/algorithms/streaming/streamed_iterate_reduce.hpp>
#include <strata/core/error.hpp>

#include "core/random.hpp"
#include "stream_kernels.hpp"

namespace {

using namespace stream_test;

// The steps of stream_kernels.hpp with a sum whose bits depend on the order of additions.
struct Sum1 {
  int left, right;
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next, double& sum) const {
    Step1{left, right}(i, old, next);
    sum += next(i) * old(i - left) + 0.3;
  }
};
struct Sum1With {
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next, const auto& k,
                                  double& sum) const {
    Step1With{}(i, old, next, k);
    sum += k(i) * (next(i) - old(i)) * (next(i) - old(i));
  }
};
struct Sum2 {
  STRATA_FUNCTION void operator()(index_t i, index_t j, const auto& old, const auto& next,
                                  double& sum) const {
    Step2{}(i, j, old, next);
    sum += next(i, j) / 3;
  }
};
struct Sum3 {
  STRATA_FUNCTION void operator()(index_t i, index_t j, index_t k, const auto& old, const auto& next,
                                  double& sum) const {
    Step3{}(i, j, k, old, next);
    sum += next(i, j, k) / 3;
  }
};
struct SumOfRow {
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next, double& sum) const {
    RowStep{}(i, old, next);
    sum += next(i, 1) / 3 + next(i, 0);
  }
};
struct SumOfTwo {
  STRATA_FUNCTION void operator()(auto i, const auto& u, const auto& new_u, const auto& v, const auto& new_v,
                                  double& sum) const {
    TwoFields{}(i, u, new_u, v, new_v);
    sum += new_u(i) * new_u(i) + new_v(i) * new_v(i);
  }
};
struct Once {
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next, long& count) const {
    next(i) = old(i) + 1;
    ++count;
  }
};
// By functors: the largest change, for which slices may be cut anywhere; and several sums in a large value.
struct Largest {
  using value_type = double;
  static constexpr bool any_order = true;
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next, double& most) const {
    Step1{1, 1}(i, old, next);
    const double change = next(i) - old(i);
    join(most, change < 0 ? -change : change);
  }
  STRATA_FUNCTION static void init(double& most) { most = -1; }
  STRATA_FUNCTION static void join(double& most, const double& other) { most = other > most ? other : most; }
};
struct Moments {
  double of[32];
  friend bool operator==(const Moments&, const Moments&) = default;
};
struct ManySums {
  using value_type = Moments;
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next, Moments& sums) const {
    Step1{1, 1}(i, old, next);
    double power = 1;
    for (double& sum : sums.of) sum += power *= next(i);
  }
  STRATA_FUNCTION static void init(Moments& sums) {
    for (double& sum : sums.of) sum = 0;
  }
  STRATA_FUNCTION static void join(Moments& sums, const Moments& other) {
    for (int k = 0; k < 32; ++k) sums.of[k] += other.of[k];
  }
};

// The steps in core: `a` has the result. `b` has the same values at first.
template <class D, class R, class K, class Array, class Region>
std::vector<double> sums_in_core(const D& device, const R& work, int steps, const K& kernel, Array& a,
                                 Array& b, const Region& region) {
  std::vector<double> sums;
  for (int step = 0; step < steps; ++step) {
    double sum = -1;
    launch_reduce(on(device), work, kernel, Sum(sum), in(a, region), inout(b));
    sums.push_back(sum);
    std::swap(a, b);
  }
  return sums;
}
template <class K, class T, class D, class R, class Array, class Region>
std::vector<T> results_in_core(const D& device, const R& work, int steps, const K& kernel, Array& a, Array& b,
                               const Region& region) {
  std::vector<T> results;
  for (int step = 0; step < steps; ++step) {
    results.emplace_back();
    launch_reduce(on(device), work, kernel, results.back(), in(a, region), inout(b));
    std::swap(a, b);
  }
  return results;
}

template <class D>
class StreamedStepSums : public ::testing::Test {};
TYPED_TEST_SUITE(StreamedStepSums, strata_tests::TestDevices, strata_tests::DeviceName);

constexpr StreamScheduler schedulers_of_lines[] = {StreamScheduler::Naive, StreamScheduler::Carry,
                                                   StreamScheduler::Overlap, StreamScheduler::Automatic};
constexpr StreamScheduler schedulers_of_rings[] = {StreamScheduler::Naive, StreamScheduler::Automatic};

// All schedulers that reduce against the same steps in core.
template <class Device, class L, int Rank, class R, class K, class H, class Make, std::size_t N>
void expect_bits_of_core(const StreamScheduler (&schedulers)[N], const R& work, int steps, int steps_per_pass,
                         index_t chunk, const K& kernel, const H& region, const Make& make) {
  using Array = CoherentArray<double, rank<Rank>, L>;
  Array a = make("a"), b = make("b");
  fill(a);
  fill(b);
  const std::vector<double> expected_sums = sums_in_core(Device{}, work, steps, kernel, a, b, region);
  const auto expected = values(a);
  for (const StreamScheduler scheduler : schedulers) {
    const Array u = make("u");
    fill(u);
    auto where = streamed(Device{}, 1 << 22);
    if (scheduler != StreamScheduler::Automatic)
      where = where.scheduler(scheduler).chunk(chunk).steps_per_pass(
          scheduler == StreamScheduler::Overlap ? 1 : steps_per_pass);
    std::vector<double> sums{7};
    streamed_iterate_reduce(where, work, steps, kernel, each_step(Sum, sums), state(u, region));
    const std::string what = std::string(name_of(scheduler)) + ", " + std::to_string(steps) + " steps, " +
                             std::to_string(steps_per_pass) + " a pass, chunk " + std::to_string(chunk);
    ASSERT_EQ(values(u), expected) << what;
    ASSERT_EQ(sums, expected_sums) << what;
  }
}

TYPED_TEST(StreamedStepSums, Rank1WithHalosOfOneToThree) {
  for (const index_t n : {100, 4099, 7168})
    for (const index_t chunk : {1, 1500, 100000})
      for (const int h : {1, 2, 3}) {
        const auto make = [&](const char* label) { return CoherentArray<double, rank<1>>(label, n); };
        expect_bits_of_core<TypeParam, LayoutRight, 1>(schedulers_of_lines, range(h, n - h), 7, 3, chunk,
                                                       Sum1{h, h}, halo(h, h), make);
      }
}
TYPED_TEST(StreamedStepSums, HalosAndRangesThatDiffer) {
  const index_t n = 5000;
  const auto make = [&](const char* label) { return CoherentArray<double, rank<1>>(label, n); };
  expect_bits_of_core<TypeParam, LayoutRight, 1>(schedulers_of_lines, range(2, n), 6, 4, 700, Sum1{2, 0},
                                                 halo(2, 0), make);
  expect_bits_of_core<TypeParam, LayoutRight, 1>(schedulers_of_lines, range(600, n - 1037), 5, 2, 700,
                                                 Sum1{1, 3}, halo(1, 3), make);
  expect_bits_of_core<TypeParam, LayoutRight, 1>(schedulers_of_lines, range(1600, 1601), 5, 2, 700,
                                                 Sum1{1, 1}, halo(1, 1), make);
}
TYPED_TEST(StreamedStepSums, Edges) {
  const index_t n = 3001;
  const auto make = [&](const char* label) { return CoherentArray<double, rank<1>>(label, n); };
  expect_bits_of_core<TypeParam, LayoutRight, 1>(schedulers_of_rings, range(0, n), 7, 3, 600, Sum1{1, 1},
                                                 halo(1, 1, edge::cyclic), make);
  expect_bits_of_core<TypeParam, LayoutRight, 1>(schedulers_of_lines, range(0, n), 7, 3, 600, Sum1{1, 1},
                                                 halo(1, 1, edge::duplicate), make);
  expect_bits_of_core<TypeParam, LayoutRight, 1>(schedulers_of_lines, range(0, n), 7, 3, 600, Sum1{1, 1},
                                                 halo(1, 1, edge::pad(2.5)), make);
}
TYPED_TEST(StreamedStepSums, TwoAndThreeDimensions) {
  const auto two = [&](const char* label) {
    return CoherentArray<double, rank<2>, LayoutRight>(label, 61, 9);
  };
  expect_bits_of_core<TypeParam, LayoutRight, 2>(schedulers_of_lines, mdrange({1, 1}, {60, 8}), 5, 2, 11,
                                                 Sum2{}, halo(1, 1), two);
  expect_bits_of_core<TypeParam, LayoutRight, 2>(schedulers_of_rings, mdrange({61, 9}), 5, 2, 11, Sum2{},
                                                 halo(1, 1, edge::cyclic), two);
  const auto three = [&](const char* label) {
    return CoherentArray<double, rank<3>, LayoutRight>(label, 31, 5, 6);
  };
  expect_bits_of_core<TypeParam, LayoutRight, 3>(schedulers_of_lines, mdrange({1, 1, 1}, {30, 4, 5}), 4, 3, 8,
                                                 Sum3{}, halo(1, 1), three);
}
TYPED_TEST(StreamedStepSums, TilesOfTheDefaultLayoutAndElementsThatStay) {
  const auto make = [&](const char* label) { return CoherentArray<double, rank<2>>(label, 1475, 6); };
  expect_bits_of_core<TypeParam, LayoutTiled<8>, 2>(schedulers_of_lines, range(1, 1474), 6, 4, 16, SumOfRow{},
                                                    halo(1, 1), make);
}

TYPED_TEST(StreamedStepSums, SeveralFieldsAndCoefficients) {
  const index_t n = 2200;
  const int steps = 9;
  CoherentArray<double, rank<1>> a("a", n), b("b", n), k("k", n);
  for (const auto* array : {&a, &b, &k}) fill(*array);
  std::vector<double> expected_with, expected_two;
  for (int s = 0; s < steps; ++s) {
    launch_reduce(on(TypeParam{}), range(1, n - 1), Sum1With{}, Sum(expected_with.emplace_back()),
                  in(a, halo(1, 1)), inout(b), in(k, halo(0, 1)));
    std::swap(a, b);
  }
  CoherentArray<double, rank<1>> u0("u0", n), u1("u1", n), v0("v0", n), v1("v1", n);
  for (const auto* array : {&u0, &u1, &v0, &v1}) fill(*array);
  for (int s = 0; s < steps; ++s) {
    launch_reduce(on(TypeParam{}), range(1, n - 1), SumOfTwo{}, Sum(expected_two.emplace_back()),
                  in(u0, halo(1, 0)), inout(u1), in(v0, halo(0, 1)), inout(v1));
    std::swap(u0, u1);
    std::swap(v0, v1);
  }

  for (const StreamScheduler scheduler : schedulers_of_lines) {
    const CoherentArray<double, rank<1>> x("x", n), u("u", n), v("v", n);
    for (const auto* array : {&x, &u, &v}) fill(*array);
    auto where = streamed(TypeParam{}, 1 << 20).scheduler(scheduler);
    if (scheduler != StreamScheduler::Automatic)
      where = where.chunk(512).steps_per_pass(scheduler == StreamScheduler::Overlap ? 1 : 4);
    std::vector<double> sums;
    streamed_iterate_reduce(where, steps, Sum1With{}, each_step(Sum, sums), state(x, halo(1, 1)),
                            in(k, halo(0, 1)));
    EXPECT_EQ(values(x), values(a)) << name_of(scheduler);
    EXPECT_EQ(sums, expected_with) << name_of(scheduler);
    streamed_iterate_reduce(where.named("two"), steps, SumOfTwo{}, each_step(Sum, sums), state(u, halo(1, 0)),
                            state(v, halo(0, 1)));
    EXPECT_EQ(values(u), values(u0)) << name_of(scheduler);
    EXPECT_EQ(values(v), values(v0)) << name_of(scheduler);
    EXPECT_EQ(sums, expected_two) << name_of(scheduler);
  }
}

// Slices of nodes of several blocks, which are fewer launches.
TYPED_TEST(StreamedStepSums, ManyRows) {
  const index_t part = strata_tests::is_sanitized ? 2 : 1;
  const index_t n = (1 << 21) / part + 12345;
  CoherentArray<double, rank<1>> a("a", n), b("b", n), u("u", n);
  for (const auto* array : {&a, &b, &u}) fill(*array);
  const std::vector<double> expected =
      sums_in_core(TypeParam{}, range(1, n - 1), 5, Sum1{1, 1}, a, b, halo(1, 1));
  std::vector<double> sums;
  const StreamReport report = streamed_iterate_reduce(streamed(TypeParam{}, (1 << 23) / part), 5, Sum1{1, 1},
                                                      each_step(Sum, sums), state(u, halo(1, 1)));
  EXPECT_EQ(report.chunk % 1024, 0);
  EXPECT_GT(report.slices, 4);
  EXPECT_EQ(sums, expected);
  EXPECT_EQ(values(u), values(a));
}

TYPED_TEST(StreamedStepSums, EachStepTakesEachPointOnce) {
  const index_t n = 20000;
  const CoherentArray<double, rank<1>> u("u", n), ring("ring", n);
  const auto where = streamed(TypeParam{}, 1 << 18);
  std::vector<long> counts;
  streamed_iterate_reduce(where.named("line"), range(5, n - 9), 20, Once{}, each_step(Sum, counts),
                          state(u, halo(1, 1)));
  EXPECT_EQ(counts, std::vector<long>(20, n - 14));
  streamed_iterate_reduce(where, 20, Once{}, each_step(Sum, counts), state(ring, halo(1, 1, edge::cyclic)));
  EXPECT_EQ(counts, std::vector<long>(20, n));
}

TYPED_TEST(StreamedStepSums, FunctorsWithoutAnOrderAreCutAnywhere) {
  const index_t n = 3000;
  CoherentArray<double, rank<1>> a("a", n), b("b", n);
  fill(a);
  fill(b);
  const std::vector<double> expected =
      results_in_core<Largest, double>(TypeParam{}, range(1, n - 1), 7, Largest{}, a, b, halo(1, 1));
  const CoherentArray<double, rank<1>> u("u", n);
  fill(u);
  std::vector<double> largest;
  const StreamReport report = streamed_iterate_reduce(
      streamed(TypeParam{}, 1 << 20).scheduler(StreamScheduler::Carry).chunk(100).steps_per_pass(3), 7,
      Largest{}, largest, state(u, halo(1, 1)));
  EXPECT_EQ(report.slices, 30 * 3);
  EXPECT_EQ(largest, expected);
  EXPECT_EQ(values(u), values(a));
}

// Results of all steps take twice the budget: those of some passes are on the device at once.
TYPED_TEST(StreamedStepSums, ManyLargeResultsWithinTheBudget) {
  const index_t n = 10000, budget = 200000;
  const int steps = 190;
  CoherentArray<double, rank<1>> a("a", n), b("b", n);
  fill(a);
  fill(b);
  const std::vector<Moments> expected =
      results_in_core<ManySums, Moments>(TypeParam{}, range(1, n - 1), steps, ManySums{}, a, b, halo(1, 1));
  for (const int steps_per_pass : {0, 1, 4}) {
    if (strata_tests::is_sanitized && steps_per_pass == 1) continue;
    const CoherentArray<double, rank<1>> u("u", n);
    fill(u);
    const Queue<TypeParam> queue;  // others than the default one wait for themselves
    auto where = steps_per_pass == 4 ? streamed(queue, budget) : streamed(TypeParam{}, budget);
    if (steps_per_pass > 0) where = where.chunk(512).steps_per_pass(steps_per_pass);
    std::vector<Moments> sums;
    const StreamReport report = streamed_iterate_reduce(where, steps, ManySums{}, sums, state(u, halo(1, 1)));
    EXPECT_GT(report.passes, 1);
    EXPECT_LT(report.device_bytes, budget);
    EXPECT_EQ(sums, expected);
    EXPECT_EQ(values(u), values(a));
  }
}

TYPED_TEST(StreamedStepSums, NothingToDo) {
  const CoherentArray<double, rank<1>> u("u", 50);
  fill(u);
  const auto before = values(u);
  const auto where = streamed(TypeParam{}, 1 << 20);
  std::vector<double> sums{1, 2, 3};
  streamed_iterate_reduce(where.dry_run(), 5, Sum1{1, 1}, each_step(Sum, sums), state(u, halo(1, 1)));
  EXPECT_EQ(sums, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(values(u), before);
  streamed_iterate_reduce(where, 0, Sum1{1, 1}, each_step(Sum, sums), state(u, halo(1, 1)));
  EXPECT_TRUE(sums.empty());
  streamed_iterate_reduce(where, range(7, 7), 3, Sum1{1, 1}, each_step(Sum, sums), state(u, halo(1, 1)));
  EXPECT_EQ(sums, (std::vector<double>{0, 0, 0}));
  std::vector<double> largest;
  streamed_iterate_reduce(where, range(7, 7), 2, Largest{}, largest, state(u, halo(1, 1)));
  EXPECT_EQ(largest, (std::vector<double>{-1, -1}));
  EXPECT_EQ(values(u), before);
}

struct Count {
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next) const { next(i) = old(i) + 1; }
};
TYPED_TEST(StreamedStepSums, LabelsWithoutARange) {
  const CoherentArray<double, rank<1>> u("u", 5000), v("v", 5000);
  fill(u);
  fill(v);
  std::vector<long> counts;
  const auto where = streamed(TypeParam{}, 1 << 20);
  streamed_iterate_reduce(where.named("sums"), 3, Once{}, each_step(Sum, counts), state(u, halo(1, 2)));
  streamed_iterate(where.named("steps"), 3, Count{}, state(v, halo(1, 2)));
  EXPECT_EQ(counts, std::vector<long>(3, 4997));
  EXPECT_EQ(values(u), values(v));
}

// ---- what is refused

TEST(StreamedStepSumErrors, SayWhichSchedulersReduce) {
  const CoherentArray<double, rank<1>> u("u", 5000);
  const auto where = streamed(Serial{}, 1 << 20);
  std::vector<double> sums{5};
  const auto run = [&](StreamScheduler scheduler, const auto& region, int steps_per_pass) {
    streamed_iterate_reduce(where.scheduler(scheduler).steps_per_pass(steps_per_pass).named("mine"), 4,
                            Sum1{1, 1}, each_step(Sum, sums), state(u, region));
  };
  const auto message = [&](StreamScheduler scheduler, const auto& region, int steps_per_pass = 0) {
    return message_of<Error>([&] { run(scheduler, region, steps_per_pass); });
  };
  EXPECT_EQ(
      message(StreamScheduler::EvenOdd, halo(1, 1)),
      "streamed_iterate_reduce \"mine\": the scheduler even_odd cuts the work of a step within blocks of "
      "the reduction, in two turns, and reductions take each row once: ask for carry or naive, or for "
      "none");
  EXPECT_NE(
      message(StreamScheduler::Overlap, halo(1, 1)).find("overlap computes rows near the ends of slices"),
      std::string::npos);
  EXPECT_NE(message(StreamScheduler::Overlap, halo(1, 1), 2).find("ask for carry or naive"),
            std::string::npos);
  EXPECT_NE(message(StreamScheduler::Carry, halo(1, 1, edge::cyclic)).find("of a ring twice"),
            std::string::npos);
  EXPECT_NE(message(StreamScheduler::Carry, halo(1, 1, edge::cyclic)).find("ask for naive, or for none"),
            std::string::npos);
  EXPECT_EQ(sums, std::vector<double>{5});
  EXPECT_NO_THROW(run(StreamScheduler::Overlap, halo(1, 1), 1));
  EXPECT_EQ(sums.size(), 4U);
}
TEST(StreamedStepSumErrors, BudgetsAndSteps) {
  const CoherentArray<double, rank<1>> u("u", 5000);
  std::vector<double> sums{5};
  EXPECT_NE(message_of<OutOfMemory>([&] {
              streamed_iterate_reduce(streamed(Serial{}, 20000).named("mine"), 4, Sum1{1, 1},
                                      each_step(Sum, sums), state(u, halo(1, 1)));
            }).find("does not hold the smallest slices"),
            std::string::npos);
  EXPECT_THROW(streamed_iterate_reduce(streamed(Serial{}, 1 << 20), -1, Sum1{1, 1}, each_step(Sum, sums),
                                       state(u, halo(1, 1))),
               Error);
  EXPECT_EQ(sums, std::vector<double>{5});
}

}  // namespace
