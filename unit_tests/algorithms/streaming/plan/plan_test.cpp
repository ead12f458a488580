// Stream plans carried out in random orders against the reference, and what they copy against the formulas of
// the study of schedulers.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <strata/core/error.hpp>

#include "core/random.hpp"
#include "plan_interpreter.hpp"

namespace {

using namespace plan_test;
using detail::streaming::StreamArray;
using detail::streaming::StreamOptions;
using detail::streaming::StreamPass;
using detail::streaming::StreamPlan;
using detail::streaming::StreamProblem;
using strata::AccessMode;
using strata::StreamScheduler;

constexpr detail::streaming::StreamRates rates{50e9, 50e9, 90e9, 4e12, 1e-5, 3e-6};

StreamArray state(index_t rows, index_t left, index_t right, bool cyclic = false) {
  StreamArray array;
  array.label = "u";
  array.use = StreamArray::Use::State;
  array.rows = rows;
  array.row_bytes = 8;
  array.left = left;
  array.right = right;
  array.cyclic = cyclic;
  return array;
}
StreamArray coefficients(index_t rows, index_t left, index_t right, bool cyclic) {
  StreamArray array;
  array.label = "k";
  array.rows = rows;
  array.row_bytes = 4;
  array.cyclic = cyclic;
  array.rows_of = [left, right](ResidentRows work) {
    return ResidentRows{work.begin - left, work.end + right};
  };
  return array;
}

Arrays random_arrays(const StreamProblem& problem, std::mt19937& random) {
  Arrays arrays;
  for (const StreamArray& array : problem.arrays) {
    arrays.values.emplace_back();
    for (index_t r = 0; r < array.rows; ++r) arrays.values.back().push_back(random());
  }
  return arrays;
}

void check(const StreamProblem& problem, const StreamPlan& plan, std::mt19937& random,
           const std::string& what) {
  Arrays expected = random_arrays(problem, random), got = expected;
  reference(problem, expected);
  const index_t updates = carry_out_together({problem}, {plan}, got, static_cast<unsigned>(random()));
  for (std::size_t a = 0; a < problem.arrays.size(); ++a)
    ASSERT_EQ(got.values[a], expected.values[a]) << what << ", array " << a;
  // Only Overlap computes a row twice, and rings what lies beyond their ends.
  index_t states = 0;
  bool cyclic = false;
  for (const StreamArray& array : problem.arrays) {
    states += array.use == StreamArray::Use::State;
    cyclic = cyclic || array.cyclic;
  }
  const index_t useful = (problem.work.end - problem.work.begin) * problem.steps * states;
  const bool once = (plan.scheduler == StreamScheduler::EvenOdd && plan.pass.tiles.size() > 1) ||
                    (plan.scheduler == StreamScheduler::Carry && !cyclic);
  EXPECT_GE(updates, useful) << what;
  EXPECT_TRUE(!once || updates == useful) << what;
}

// A problem of any shape.
StreamProblem random_problem(std::mt19937& random) {
  const auto pick = [&](index_t low, index_t high) {
    return low + static_cast<index_t>(random() % static_cast<unsigned long>(high - low + 1));
  };
  StreamProblem problem;
  problem.label = "random";
  const index_t n = pick(1, 120);
  const bool cyclic = random() % 3 == 0;
  const int fields = static_cast<int>(pick(1, 2));
  for (int f = 0; f < fields; ++f) problem.arrays.push_back(state(n, pick(0, 3), pick(0, 3), cyclic));
  if (random() % 2 == 0) problem.arrays.push_back(coefficients(n, pick(0, 2), pick(0, 2), cyclic));
  problem.arrays[0].keeps = random() % 4 == 0;
  problem.work = {0, n};
  if (!cyclic) {
    const index_t outside = random() % 2 == 0 ? std::min<index_t>(n, 4) : n;  // few rows, or any
    problem.work.begin = pick(0, outside);
    problem.work.end = std::max(problem.work.begin, n - pick(0, outside));
  }
  problem.steps = static_cast<int>(pick(1, 12));
  if (random() % 5 == 0) problem.align = 4;
  return problem;
}

void check_random(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](index_t low, index_t high) {
    return low + static_cast<index_t>(random() % static_cast<unsigned long>(high - low + 1));
  };
  const StreamProblem problem = random_problem(random);
  StreamOptions options;
  options.scheduler = static_cast<StreamScheduler>(pick(1, 4));
  options.steps_per_pass = static_cast<int>(pick(1, 5));
  options.slots = static_cast<int>(pick(2, 4));
  options.chunk = pick(1, 30);
  if (options.scheduler == StreamScheduler::EvenOdd) {
    index_t halo = 1;
    for (const StreamArray& array : problem.arrays) halo = std::max({halo, array.left, array.right});
    options.chunk += halo * options.steps_per_pass;
  }
  const StreamPlan plan = detail::streaming::make_plan(problem, index_t{1} << 40, rates, options);
  check(problem, plan, random,
        "seed " + std::to_string(seed) + ": " + strata::name_of(plan.scheduler) + ", " +
            std::to_string(problem.arrays[0].rows) + " rows, " + std::to_string(problem.steps) + " steps, " +
            std::to_string(plan.pass.steps) + " a pass, chunk " + std::to_string(plan.chunk) +
            (problem.arrays[0].cyclic ? ", cyclic" : ""));
}

// Seeds that no other run has had; those of failures are in their messages.
void check_drawn(void (*check)(unsigned seed)) {
  unsigned seed = std::random_device()();
  for (int trial = 0; trial < strata_tests::trials(6000) && !testing::Test::HasFailure(); ++trial)
    check(seed++);
}

TEST(StreamPlans, AnyProblemGivesWhatTheStepsGive) { check_drawn(check_random); }
TEST(StreamPlans, AnyProblemGivesWhatTheStepsGiveSlow) {
  for (unsigned seed = 0; seed < 1000000 && !testing::Test::HasFailure(); ++seed) check_random(seed);
}

// The rows cut into parts of any length, one a device, in slices of their own.
void check_random_parts(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](index_t low, index_t high) {
    return low + static_cast<index_t>(random() % static_cast<unsigned long>(high - low + 1));
  };
  const StreamProblem problem = random_problem(random);
  const index_t n = problem.arrays[0].rows;
  std::vector<index_t> cuts{0, n};
  for (index_t devices = pick(1, 4); devices > 1; --devices)
    cuts.push_back(pick(0, n) / problem.align * problem.align);
  std::sort(cuts.begin(), cuts.end());
  StreamOptions options;
  options.scheduler = std::array{StreamScheduler::Naive, StreamScheduler::Overlap,
                                 StreamScheduler::Carry}[static_cast<std::size_t>(pick(0, 2))];
  options.steps_per_pass = static_cast<int>(pick(1, 5));
  std::vector<StreamProblem> problems;
  std::vector<StreamPlan> plans;
  for (std::size_t d = 0; d + 1 < cuts.size(); ++d) {
    if (cuts[d] == cuts[d + 1]) continue;
    problems.push_back(problem);
    problems.back().part = {cuts[d], cuts[d + 1]};
    options.slots = static_cast<int>(pick(2, 4));
    options.chunk = pick(1, 30);
    plans.push_back(detail::streaming::make_plan(problems.back(), index_t{1} << 40, rates, options));
    const bool all = cuts[d] == 0 && cuts[d + 1] == n;
    EXPECT_EQ(plans.back().pass.in_place,
              all && !problem.arrays[0].cyclic && options.scheduler == StreamScheduler::Carry);
  }
  Arrays expected = random_arrays(problem, random), got = expected;
  reference(problem, expected);
  carry_out_together(problems, plans, got, static_cast<unsigned>(random()));
  for (std::size_t a = 0; a < problem.arrays.size(); ++a)
    ASSERT_EQ(got.values[a], expected.values[a])
        << "seed " << seed << ": " << plans.size() << " devices, " << strata::name_of(options.scheduler)
        << ", " << n << " rows, " << problem.steps << " steps, " << options.steps_per_pass << " a pass"
        << (problem.arrays[0].cyclic ? ", cyclic" : "") << ", array " << a;
}

TEST(StreamPlans, PartsOfSeveralDevicesGiveWhatTheStepsGive) { check_drawn(check_random_parts); }
TEST(StreamPlans, PartsOfSeveralDevicesGiveWhatTheStepsGiveSlow) {
  for (unsigned seed = 0; seed < 1000000 && !testing::Test::HasFailure(); ++seed) check_random_parts(seed);
}
TEST(StreamPlans, PartsReadTheHalosOfAllStepsBeyondTheirEnds) {
  const index_t n = 4096, h = 2, t = 6;
  for (const bool cyclic : {false, true}) {
    StreamProblem problem;
    problem.arrays = {state(n, h, h, cyclic)};
    problem.work = cyclic ? ResidentRows{0, n} : ResidentRows{h, n - h};
    problem.steps = t;
    index_t carry_up = 0, carry_down = 0;
    for (const ResidentRows part : {ResidentRows{0, 1000}, ResidentRows{1000, 3000}, ResidentRows{3000, n}}) {
      problem.part = part;
      const detail::streaming::StreamBytes bytes =
          detail::streaming::bytes_of(problem, detail::streaming::carry_pass(problem, 100, t));
      carry_up += bytes.up;
      carry_down += bytes.down;
    }
    const index_t seams = cyclic ? 3 : 2;
    EXPECT_EQ(carry_up, 8 * (n + seams * 2 * t * h));
    EXPECT_EQ(carry_down, 8 * n);
  }
}
TEST(StreamPlans, EvenOddIsForAllRows) {
  StreamProblem problem;
  problem.arrays = {state(1000, 1, 1)};
  problem.work = {0, 1000};
  problem.steps = 4;
  problem.part = {0, 500};
  EXPECT_THROW(static_cast<void>(detail::streaming::even_odd_pass(problem, 100, 4)), strata::Error);
}

// Rows that are copied, against the formulas of the study: of whole tiles, at the ends of the array less.
struct Formula {
  StreamScheduler scheduler;
  index_t h, chunk, steps, tiles;
};

StreamProblem stencil_problem(index_t rows, index_t h, int steps, bool cyclic) {
  StreamProblem problem;
  problem.label = "formula";
  problem.arrays = {state(rows, h, h, cyclic)};
  problem.work = cyclic ? ResidentRows{0, rows} : ResidentRows{h, rows - h};
  problem.steps = steps;
  return problem;
}

TEST(StreamPlans, NaiveCopiesTwoHalosForEachTile) {
  for (const index_t h : {1, 2, 3})
    for (const index_t chunk : {16, 50}) {
      const index_t tiles = 20, n = tiles * chunk;
      const StreamProblem ring = stencil_problem(n, h, 1, true);
      const detail::streaming::StreamBytes bytes =
          detail::streaming::bytes_of(ring, detail::streaming::overlap_pass(ring, chunk, 1));
      EXPECT_EQ(bytes.up, 8 * (n + tiles * 2 * h));  // 1 + 2h/R
      EXPECT_EQ(bytes.down, 8 * n);
    }
}
TEST(StreamPlans, OverlapCopiesTheHalosOfAllStepsForEachTile) {
  for (const index_t h : {1, 2, 3})
    for (const int t : {1, 4, 7}) {
      const index_t tiles = 20, chunk = 64, n = tiles * chunk;
      const StreamProblem ring = stencil_problem(n, h, t, true);
      const detail::streaming::StreamBytes bytes =
          detail::streaming::bytes_of(ring, detail::streaming::overlap_pass(ring, chunk, t));
      EXPECT_EQ(bytes.up, 8 * (n + tiles * 2 * t * h));  // 1 + 2th/R
      EXPECT_EQ(bytes.down, 8 * n);
      // At the ends of an array that is no ring there is nothing beyond.
      const StreamProblem line = stencil_problem(n, h, t, false);
      EXPECT_EQ(detail::streaming::bytes_of(line, detail::streaming::overlap_pass(line, chunk, t)).up,
                8 * (n + (tiles - 1) * 2 * t * h));
    }
}
TEST(StreamPlans, EvenOddCopiesSeams) {
  for (const index_t h : {1, 2, 3})
    for (const int t : {1, 4, 7}) {
      const index_t pairs = 10, chunk = 64, n = pairs * 2 * chunk;
      const StreamProblem ring = stencil_problem(n, h, t, true);
      const StreamPass pass = detail::streaming::even_odd_pass(ring, chunk, t);
      ASSERT_EQ(pass.tiles.size(), static_cast<std::size_t>(2 * pairs));
      const detail::streaming::StreamBytes bytes = detail::streaming::bytes_of(ring, pass);
      EXPECT_EQ(bytes.up, 8 * (n + 2 * pairs * (2 * t * h + h)));    // 1 + (2th + h) / R
      EXPECT_EQ(bytes.down, 8 * (n + 2 * pairs * (2 * t * h - h)));  // 1 + (2th - h) / R
    }
}
TEST(StreamPlans, CarryCopiesEachRowOnce) {
  for (const index_t h : {1, 2, 3})
    for (const int t : {1, 4, 7}) {
      const index_t n = 1280;
      const StreamProblem line = stencil_problem(n, h, t, false);
      const detail::streaming::StreamBytes bytes =
          detail::streaming::bytes_of(line, detail::streaming::carry_pass(line, 64, t));
      EXPECT_EQ(bytes.up, 8 * n);
      EXPECT_EQ(bytes.down, 8 * n);
      EXPECT_TRUE(detail::streaming::carry_pass(line, 64, t).in_place);
    }
}
TEST(StreamPlans, SimulatedRowsOfTheStudy) {
  // h = 1, t = 64, R = 500, 10,000 rows: even/odd 1.245/1.241, overlap 1.243/1.000, carry 1.000/1.000.
  const index_t n = 10000;
  const StreamProblem line = stencil_problem(n, 1, 64, false);
  const auto ratio = [&](index_t bytes) { return static_cast<double>(bytes) / static_cast<double>(8 * n); };
  const detail::streaming::StreamBytes overlap =
      detail::streaming::bytes_of(line, detail::streaming::overlap_pass(line, 500, 64));
  EXPECT_NEAR(ratio(overlap.up), 1.243, 0.0005);
  EXPECT_EQ(ratio(overlap.down), 1);
  const detail::streaming::StreamBytes even_odd =
      detail::streaming::bytes_of(line, detail::streaming::even_odd_pass(line, 500, 64));
  EXPECT_NEAR(ratio(even_odd.up), 1.245, 0.0005);
  EXPECT_NEAR(ratio(even_odd.down), 1.241, 0.0005);
}

TEST(StreamPlans, BudgetIsKept) {
  for (const index_t budget : {4096 * 6, 1 << 16, 1 << 20}) {
    StreamProblem problem = stencil_problem(100000, 1, 50, false);
    const StreamPlan plan = detail::streaming::make_plan(problem, budget, rates, {});
    EXPECT_LE(plan.device_bytes, budget);
    EXPECT_GT(plan.device_bytes, budget / 2);
    std::mt19937 random(3);
    if (budget > 1 << 19) check(problem, plan, random, "budget");
  }
}
TEST(StreamPlans, TooSmallABudgetSaysWhatIsNeeded) {
  StreamProblem problem = stencil_problem(1000, 1, 5, false);
  problem.arrays[0].row_bytes = 1 << 20;
  try {
    static_cast<void>(detail::streaming::make_plan(problem, 1 << 20, rates, {}));
    FAIL() << "a plan that cannot fit";
  } catch (const strata::OutOfMemory& error) {
    EXPECT_NE(std::string(error.what()).find("1 MiB a row"), std::string::npos) << error.what();
  }
}
TEST(StreamPlans, WhatFitsIsCopiedOnce) {
  const StreamProblem problem = stencil_problem(100000, 1, 5000, false);
  const StreamPlan plan = detail::streaming::make_plan(problem, 1 << 24, rates, {});
  EXPECT_EQ(plan.passes, 1);
  EXPECT_EQ(plan.bytes.up, 800000);
  EXPECT_EQ(plan.bytes.down, 800000);
}
TEST(StreamPlans, StepsPerPassAreChosenSoThatKernelsHideCopies) {
  // 4e12 / (2 * 45e9) = 44 steps of 16 bytes take as long as the copies of 8 bytes each way.
  const int steps = strata_tests::is_sanitized ? 500 : 10000;
  const StreamProblem problem = stencil_problem(index_t{1} << 30, 1, steps, false);
  const StreamPlan plan = detail::streaming::make_plan(problem, index_t{1} << 31, rates, {});
  EXPECT_GE(plan.pass.steps, 40);
  const double in_core =
      static_cast<double>(problem.steps) * 16.0 * static_cast<double>(index_t{1} << 30) / rates.memory;
  EXPECT_LT(plan.seconds, in_core * 1.1);
}

}  // namespace
