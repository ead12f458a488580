// Plans of sequences carried out in random orders against the loops one after the other: with windows whose
// rows are moved, and with buffers that wrap round.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
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
using detail::streaming::StreamLoop;
using detail::streaming::StreamOptions;
using detail::streaming::StreamPass;
using detail::streaming::StreamPlan;
using detail::streaming::StreamProblem;
using strata::AccessMode;

constexpr index_t plenty = index_t{1} << 40;

class Random {
 public:
  explicit Random(unsigned seed) : random_(seed) {}
  index_t pick(index_t low, index_t high) {
    return low + static_cast<index_t>(random_() % static_cast<unsigned long>(high - low + 1));
  }
  bool one_in(index_t n) { return pick(1, n) == 1; }
  unsigned number() { return static_cast<unsigned>(random_()); }

 private:
  std::mt19937 random_;
};

// Rows of one kind that belong to items of another: neither begin nor end falls.
std::function<ResidentRows(ResidentRows)> random_rows(Random& random, index_t items, index_t rows) {
  std::vector<index_t> begin, end;
  index_t low = 0, high = 0;
  for (index_t i = 0; i < items; ++i) {
    const index_t about = (i + 1) * rows / std::max<index_t>(items, 1);
    low = std::max(low, about - random.pick(1, 6));
    high = std::max({high, low, about + random.pick(-2, 4)});
    begin.push_back(std::min(low, rows));
    end.push_back(std::min(high, rows));
  }
  return [begin, end](ResidentRows work) {
    return ResidentRows{begin[static_cast<std::size_t>(work.begin)],
                        end[static_cast<std::size_t>(work.end - 1)]};
  };
}

// Loops over elements and nodes, each with arrays of its own and rows of the others.
StreamProblem random_sequence(Random& random) {
  StreamProblem problem;
  problem.label = "random";
  const index_t rows[2] = {random.pick(1, 90), random.pick(1, 90)};
  if (random.one_in(4)) problem.align = 4;
  std::vector<int> kind_of;
  for (index_t a = 0, count = random.pick(1, 5); a < count; ++a) {
    kind_of.push_back(static_cast<int>(random.pick(0, 1)));
    StreamArray array;
    array.label = "array";
    array.rows = rows[kind_of.back()];
    array.row_bytes = 8 * random.pick(1, 3);
    array.align = random.one_in(3) ? index_t{1} << random.pick(1, 3) : 1;
    array.mode = AccessMode::InOut;
    array.regular = false;
    if (a > 0 && random.one_in(4)) {  // a table, of a length of its own
      array.use = StreamArray::Use::Whole;
      array.mode = AccessMode::In;
      array.rows = 1;
      array.align = 1;
    }
    problem.arrays.push_back(array);
  }
  const auto is_whole = [&](int a) {
    return problem.arrays[static_cast<std::size_t>(a)].use == StreamArray::Use::Whole;
  };
  for (index_t k = 0, count = random.pick(1, 4); k < count; ++k) {
    StreamLoop loop;
    // Of a kind that some array has, so that something is written.
    int written = static_cast<int>(random.pick(0, static_cast<index_t>(kind_of.size()) - 1));
    while (is_whole(written)) --written;
    const int kind = kind_of[static_cast<std::size_t>(written)];
    loop.work = {random.one_in(4) ? random.pick(0, std::min<index_t>(rows[kind], 3)) : 0, rows[kind]};
    if (random.one_in(4)) loop.work.end = std::max(loop.work.begin, rows[kind] - random.pick(0, 3));
    for (int a = 0; a < static_cast<int>(kind_of.size()); ++a) {
      if (a != written && random.one_in(3)) continue;
      const bool own = kind_of[static_cast<std::size_t>(a)] == kind;
      StreamLoop::Use use{a, AccessMode::In, {}};
      if (is_whole(a)) {
        loop.uses.push_back(use);
        continue;
      }
      if (a == written || (own && random.one_in(3)))
        use.mode = random.one_in(2) ? AccessMode::InOut : AccessMode::Out;
      else if (!own || random.one_in(2))
        use.rows_of = random_rows(random, rows[kind], rows[kind_of[static_cast<std::size_t>(a)]]);
      loop.uses.push_back(use);
    }
    problem.loops.push_back(loop);
  }
  problem.first_loop = static_cast<int>(random.pick(0, static_cast<index_t>(problem.loops.size()) - 1));
  problem.work = problem.loops[static_cast<std::size_t>(problem.first_loop)].work;
  problem.steps = static_cast<int>(random.pick(1, 14));
  // Made anew by the first loop of each step: nobody needs it behind a run.
  const StreamLoop& first = problem.loops[static_cast<std::size_t>(problem.first_loop)];
  for (const StreamLoop::Use& use : first.uses) {
    StreamArray& array = problem.arrays[static_cast<std::size_t>(use.array)];
    if (use.mode == AccessMode::Out && first.work.begin == 0 && first.work.end == array.rows)
      array.temporary = random.one_in(2);
  }
  return problem;
}

// How many plans of a kind were tried.
struct Tried {
  int wrapping = 0, windows = 0, temporary = 0, several_passes = 0, in_pieces = 0, tables = 0;
};

void check_sequence(unsigned seed, Tried& tried) {
  Random random(seed);
  const StreamProblem problem = random_sequence(random);
  StreamOptions options;
  options.steps_per_pass = static_cast<int>(random.pick(1, 5));
  options.slots = static_cast<int>(random.pick(2, 8));
  options.chunk = random.pick(1, 30);
  options.pieces = static_cast<int>(random.pick(0, 3));
  detail::streaming::StreamRates rates{50e9, 50e9, 90e9, 4e12, 1e-5, 3e-6};
  if (random.one_in(2)) rates.repeat_granule = 8 * random.pick(1, 40);
  index_t budget = plenty;
  if (random.one_in(3)) {
    options = {};  // as the model likes it
    budget = random.pick(2000, 12000);
  }
  StreamPlan plan;
  try {
    plan = detail::streaming::make_plan(problem, budget, rates, options);
  } catch (const strata::OutOfMemory& error) {
    ASSERT_NE(budget, plenty) << "seed " << seed << ": " << error.what();
    return;
  }
  ++(plan.wraps() ? tried.wrapping : tried.windows);
  tried.several_passes += plan.passes > 1;
  tried.in_pieces += plan.pieces > 1;
  for (const StreamArray& array : problem.arrays) {
    tried.temporary += array.temporary;
    tried.tables += array.use == StreamArray::Use::Whole;
  }
  const std::string what = "seed " + std::to_string(seed) + ": " + detail::streaming::describe(problem, plan);
  ASSERT_LE(plan.device_bytes, budget) << what;
  if (rates.repeat_granule > 0 && budget == plenty) {
    ASSERT_TRUE(plan.wraps()) << what;
    ASSERT_EQ(plan.bytes.moved, 0) << what;
  }

  Arrays expected;
  for (const StreamArray& array : problem.arrays) {
    expected.values.emplace_back();
    for (index_t r = 0; r < array.rows; ++r) expected.values.back().push_back(random.number());
  }
  Arrays got = expected;
  reference(problem, expected);
  carry_out_together({problem}, {plan}, got, random.number());
  for (std::size_t a = 0; a < problem.arrays.size(); ++a)
    if (!problem.arrays[a].temporary) {
      ASSERT_EQ(got.values[a], expected.values[a]) << what << ", array " << a;
    }
}

TEST(SequencePlan, AnySequenceGivesWhatItsLoopsGive) {
  Tried tried;
  const int seeds = strata_tests::trials(6000);
  for (int seed = 0; seed < seeds && !testing::Test::HasFailure(); ++seed)
    check_sequence(static_cast<unsigned>(seed), tried);
  for (const int count :
       {tried.wrapping, tried.windows, tried.temporary, tried.several_passes, tried.in_pieces, tried.tables})
    EXPECT_GT(count, seeds / 12);
}
TEST(SequencePlan, AnySequenceGivesWhatItsLoopsGiveSlow) {
  Tried tried;
  for (unsigned seed = 6000; seed < 300000 && !testing::Test::HasFailure(); ++seed)
    check_sequence(seed, tried);
}

// Elements that read nodes around them, and nodes that read elements.
StreamProblem bar(index_t rows) {
  StreamProblem problem;
  problem.label = "bar";
  for (const char* const label : {"stress", "force", "x"}) {
    StreamArray array;
    array.label = label;
    array.rows = rows;
    array.row_bytes = 64;
    array.mode = AccessMode::InOut;
    array.regular = false;
    problem.arrays.push_back(array);
  }
  const auto around = [](ResidentRows work) { return ResidentRows{work.begin - 10, work.end + 10}; };
  const ResidentRows work{0, rows};
  problem.loops = {
      {"elements", work, {{2, AccessMode::In, around}, {0, AccessMode::InOut, {}}, {1, AccessMode::Out, {}}}},
      {"nodes", work, {{1, AccessMode::In, around}, {2, AccessMode::InOut, {}}}}};
  problem.work = work;
  problem.steps = 200;
  return problem;
}

TEST(SequencePlan, BuffersThatWrapRoundHoldMoreSteps) {
  const StreamProblem problem = bar(3000);
  detail::streaming::StreamRates rates{50e9, 50e9, 90e9, 4e12, 1e-6, 1e-7};
  const auto steps_that_fit = [&](index_t budget) {
    int fit = 0, most = 64;  // by bisection
    while (fit + 1 < most) {
      StreamOptions options;
      options.steps_per_pass = (fit + most) / 2;
      try {
        static_cast<void>(detail::streaming::make_plan(problem, budget, rates, options));
        fit = (fit + most) / 2;
      } catch (const strata::OutOfMemory&) {
        most = (fit + most) / 2;
      }
    }
    return fit;
  };
  constexpr index_t budget = index_t{200} << 10;
  const int with_windows = steps_that_fit(budget);
  rates.repeat_granule = 4096;
  const int wrapping = steps_that_fit(budget);

  EXPECT_GE(with_windows, 4);
  EXPECT_GE(wrapping, with_windows * 8 / 5);
}

// What goes home is held for a chunk that comes, one that is computed and one that goes; what only comes for
// two; what does neither for one. In pieces a chunk comes where another one's pieces have gone.
TEST(SequencePlan, RowsAreHeldAsLongAsTheyAreNeeded) {
  StreamProblem problem = bar(100000);
  const std::size_t stress = 0, force = 1, mass = problem.arrays.size();
  problem.arrays[force].temporary = true;
  problem.arrays.push_back(problem.arrays[stress]);
  problem.arrays[mass].label = "mass";
  problem.arrays[mass].mode = AccessMode::In;
  problem.loops[0].uses.push_back({static_cast<int>(mass), AccessMode::In, {}});
  detail::streaming::StreamRates rates{50e9, 50e9, 90e9, 4e12, 1e-6, 1e-7, false, 64};
  StreamOptions options;
  options.chunk = 3000;
  options.steps_per_pass = 4;
  options.slots = 3;
  const StreamPlan whole = detail::streaming::make_plan(problem, plenty, rates, options);
  options.pieces = 3;
  options.slots = 5;
  const StreamPlan in_pieces = detail::streaming::make_plan(problem, plenty, rates, options);

  const index_t lag = 4 * 20 + 10;  // of four steps, and what the first one reads beyond its rows
  ASSERT_TRUE(whole.wraps());
  EXPECT_NEAR(whole.window_rows[stress], 3 * 3000, lag);
  EXPECT_NEAR(whole.window_rows[mass], 2 * 3000, lag);
  EXPECT_NEAR(whole.window_rows[force], 3000, lag);
  EXPECT_NEAR(in_pieces.window_rows[stress], 7000, lag);
  EXPECT_NEAR(in_pieces.window_rows[mass], 2 * 3000, lag);
  EXPECT_NEAR(in_pieces.window_rows[force], 3000, lag);
  EXPECT_EQ(in_pieces.bytes, whole.bytes);
  EXPECT_EQ(in_pieces.pass.tiles.size(), 3 * whole.pass.tiles.size());
  // As many launches.
  const auto launches = [](const StreamPlan& plan) {
    std::size_t count = 0;
    for (const detail::streaming::StreamTile& tile : plan.pass.tiles) count += tile.launches.size();
    return count;
  };
  EXPECT_EQ(launches(in_pieces), launches(whole));
}

// Loops that leave out rows at the ends wait for each other from step to step, not for all steps before.
TEST(SequencePlan, ManyStepsAPassArePlannedInNoTime) {
  StreamProblem problem = bar(20000);
  problem.loops[1].work = {1, 19999};
  problem.loops[0].work = {1, 19999};
  problem.work = problem.loops[0].work;
  problem.steps = 20000;
  const auto begin = std::chrono::steady_clock::now();

  const StreamPass pass =
      detail::streaming::sequence_pass(problem, 20000, 20000, detail::streaming::wrapping);

  EXPECT_FALSE(pass.tiles.empty());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20))
      << "quadratic it takes minutes";
}

TEST(SequencePlan, WhatFitsIsPlannedWithoutASearchForSlices) {
  StreamProblem problem = bar(3000);  // of 576 KB
  problem.steps = 4000;
  const detail::streaming::StreamRates rates{50e9, 50e9, 90e9, 4e12, 1e-6, 1e-7, false, 4096};
  // In processor time, as other programs may run beside.
  const auto planned = [&](index_t budget, std::size_t& tiles) {
    const std::clock_t begin = std::clock();
    tiles = detail::streaming::make_plan(problem, budget, rates, {}).pass.tiles.size();
    return std::clock() - begin;
  };
  std::size_t tiles = 0, tiles_of_less = 0;
  const auto fits = planned(1 << 20, tiles), searched = planned(1 << 19, tiles_of_less);

  EXPECT_EQ(tiles, 1U);
  EXPECT_GT(tiles_of_less, 1U);
  EXPECT_LT(3 * fits, searched);
}

// Of 32 steps no pass has 23, and the next one 9: as few as make no more passes, and all where they fit.
TEST(SequencePlan, PassesAreOfOneLength) {
  StreamProblem problem = bar(200000);  // of 38 MB
  const detail::streaming::StreamRates rates{5e9, 5e9, 9e9, 4e12, 1e-6, 1e-7, false, 4096};
  for (const int steps : {8, 13, 23, 32, 100}) {
    problem.steps = 2 * steps;
    int most_passes = 0;
    for (const index_t budget : {index_t{3} << 14, index_t{1} << 16, index_t{1} << 18, index_t{1} << 24}) {
      const StreamPlan plan = detail::streaming::make_plan(problem, budget, rates, {});
      const int a_pass = plan.pass.steps / 2, one_less = std::max(a_pass - 1, 1);
      EXPECT_EQ(plan.pass.steps % 2, 0) << steps;
      EXPECT_EQ(plan.passes, (steps + a_pass - 1) / a_pass) << steps;
      EXPECT_TRUE(a_pass == 1 || (steps + one_less - 1) / one_less > plan.passes) << steps << ", " << a_pass;
      EXPECT_TRUE(budget < index_t{1} << 24 || plan.passes == 1) << steps;
      most_passes = std::max(most_passes, plan.passes);
    }
    EXPECT_GE(most_passes, steps > 8 ? 2 : 1) << steps;
  }
}

TEST(SequencePlan, BuffersAreMultiplesOfWhatTheDeviceRepeats) {
  const StreamProblem problem = bar(100000);
  const detail::streaming::StreamRates rates{50e9, 50e9, 90e9, 4e12, 1e-6, 1e-7, false, 4096};
  StreamOptions options;
  options.steps_per_pass = 3;
  options.chunk = 40;

  const StreamPlan plan = detail::streaming::make_plan(problem, plenty, rates, options);

  ASSERT_TRUE(plan.wraps());
  index_t bytes = 0;
  for (std::size_t a = 0; a < problem.arrays.size(); ++a) {
    const index_t buffer =
        detail::streaming::buffer_bytes(problem.arrays[a], plan.window_rows[a], plan.repeat_granule);
    EXPECT_EQ(buffer % 4096, 0);
    EXPECT_GT((plan.window_rows[a] + 1) * 64, buffer) << "room is left";
    bytes += buffer;
  }
  EXPECT_EQ(plan.device_bytes, bytes);
}

}  // namespace
