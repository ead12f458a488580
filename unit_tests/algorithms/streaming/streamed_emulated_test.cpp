// Streamed launches on emulated devices: budgets, what is refused, corners, random problems.
// SPDX-License-Identifier: Apache-2.0
#include "streamed_emulated.hpp"

#include <random>
#include <string>
#include <thread>
#include <vector>

#include <strata/algorithms/streaming/streamed_iterate.hpp>
#include <strata/algorithms/streaming/streamed_iterate_reduce.hpp>
#include <strata/algorithms/streaming/streamed_reduce.hpp>
#include <strata/algorithms/streaming/streamed_sequence.hpp>
#include <strata/core/error.hpp>

#include "core/random.hpp"

namespace {

using namespace stream_test;

TEST_F(StreamedEmulated, MemoryStaysWithinTheBudget) {
  const index_t n = 100000;
  for (const index_t budget : {16384, 50000, 1 << 18}) {
    const CoherentArray<double, rank<1>> x("x", n), y("y", n), u("u", n);
    fill(x);
    fill(u);
    const index_t before = emulated::peak(0);
    EXPECT_LE(before, budget);
    const StreamReport map = launch(streamed(Emulated{0}, budget), n, Axpy{1}, in(x), inout(y));
    EXPECT_LE(emulated::peak(0), budget);
    EXPECT_LE(map.device_bytes, budget);
    streamed_iterate(streamed(Emulated{0}, budget), 5, Step1{1, 1}, state(u, halo(1, 1)));
    EXPECT_LE(emulated::peak(0), budget);
    double sum = 0;
    launch_reduce(streamed(Emulated{0}, budget), n, Add{}, Sum(sum), in(x));
    EXPECT_LE(emulated::peak(0), budget);
    EXPECT_GT(emulated::peak(0), budget / 3) << "most of the budget is used";
    wait(Emulated{0});
  }
}
TEST_F(StreamedEmulated, WorkItemsBeyondTheRowsAreAnError) {
  const CoherentArray<double, rank<1>> x("x", 1000), y("y", 999);
  fill(x);
  fill(y);
  const auto before = values(x);
  const auto where = streamed(Emulated{0}, 1 << 16);
  EXPECT_THROW(launch(where, 1001, Axpy{1}, in(x), inout(x)), Error);
  EXPECT_THROW(launch(where, 1000, Axpy{1}, in(y), inout(x)), ShapeMismatch);
  EXPECT_THROW(launch(where, range(-1, 10), Axpy{1}, in(y), inout(x)), ShapeMismatch);
  double sum = 0;
  EXPECT_THROW(launch_reduce(where, index_t{1} << 40, Add{}, Sum(sum), in(x)), ShapeMismatch);
  EXPECT_EQ(values(x), before);
  launch(where, 999, Axpy{1}, in(y), inout(x));
}
TEST_F(StreamedEmulated, HalosThatCannotBeAreErrors) {
  const index_t n = 100, most = index_t{1} << 47;
  const CoherentArray<double, rank<1>> u("u", n), x("x", n), y("y", n);
  fill(u);
  const auto before = values(u);
  const auto where = streamed(Emulated{0}, 1 << 16);
  EXPECT_THROW(streamed_iterate(where, 2, Step1{0, 1}, state(u, halo(-1, 1))), Error);
  EXPECT_THROW(streamed_iterate(where, range(1, 50), 2, Step1{0, 1}, state(u, halo(1, -1))), Error);
  EXPECT_THROW(launch(where, range(1, 50), Copy{}, in(x, halo(-1, 0)), out(y)), Error);
  EXPECT_THROW(streamed_iterate(where, n, 2, Step1{0, 1}, state(u, halo(n + 1, 1, edge::cyclic))), Error);
  EXPECT_THROW(streamed_iterate(where, 2, Step1{0, 1}, state(u, halo(INT64_MAX, INT64_MAX))), Error);
  EXPECT_EQ(values(u), before);
  // All rows, and no work items where none is given.
  streamed_iterate(where, 2, Step1{0, 1}, state(u, halo(most, most)));
  EXPECT_EQ(values(u), before);
  streamed_iterate(where, range(3, 5), 2, Leave1{{0}}, state(u, halo(most, most)));
  EXPECT_NE(values(u), before);
}
// From some work item on they end before they begin.
struct InvertedRows {
  index_t from;
  ResidentRows operator()(ResidentRows work) const {
    return work.end > from ? ResidentRows{work.end, work.begin} : work;
  }
};
TEST_F(StreamedEmulated, RegionsThatCannotBeAreRefusedWhereverTheyAre) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto pick = [&](index_t low, index_t high) {
      return low + static_cast<index_t>(random() % static_cast<unsigned long>(high - low + 1));
    };
    const index_t n = pick(10, 3000), budget = 8 * pick(1500, 20000);
    const CoherentArray<double, rank<1>> x("x", n), y("y", n), u("u", n);
    for (const auto* array : {&x, &y, &u}) fill(*array);
    const auto before_y = values(y), before_u = values(u);
    const auto where = streamed(Emulated{0}, budget);
    const auto use = [&](index_t place, const auto& region) {
      double sum = 0;
      if (place == 0) launch(where, n, Copy{}, in(x, region), out(y));
      if (place == 1) launch_reduce(where, n, Add{}, Sum(sum), in(x, region));
      if (place == 2)
        streamed_iterate(where, range(1, n - 1), 3, Step1With{}, state(u, halo(1, 1)), in(x, region));
      if (place == 3)
        launch(streamed(across(Emulated{0}, Emulated{1}), budget), n, Copy{}, in(x, region), out(y));
      if (place == 4) {
        Sequence steps("steps", where);
        steps.loop("copy", n, Copy{}, in(x, region), out(y));
        steps.run(2);
      }
    };
    const index_t place = pick(0, 5), left = pick(-3, n), right = left < 0 ? pick(0, 3) : pick(-300, -1);
    const bool is_halo = place == 5 || pick(0, 1) == 0;
    const std::string told = message_of<ShapeMismatch>([&] {
      if (place == 5)
        streamed_iterate(where, range(1, n - 1), 3, Step1{0, 0}, state(u, Halo<>{left, right, {}}));
      else if (is_halo) use(place, Halo<>{left, right, {}});
      else use(place, rows(InvertedRows{pick(1, n - 2)}));
    });
    EXPECT_NE(told.find(is_halo ? "halo(" : "rows(f) of the array \"x\""), std::string::npos) << told;
    ASSERT_EQ(values(y), before_y);
    ASSERT_EQ(values(u), before_u);
  }
}
TEST_F(StreamedEmulated, LaunchesWithoutALabelAreNamedByTheirArrays) {
  const CoherentArray<double, rank<2>, LayoutRight> x("x", 100, 1000), y("y", 100, 1000), z("z", 100, 1000);
  const auto small = streamed(Emulated{0}, 10000);
  EXPECT_EQ(message_of<Error>([&] {
              launch(small, 100, Triad{}, in(x), in(y), out(z));
            }).find("streaming over \"x\", \"y\", \"z\": a budget of"),
            0u);
  EXPECT_EQ(message_of<Error>([&] {
              launch(small.named("mine"), 100, Triad{}, in(x), in(y), out(z));
            }).find("streaming \"mine\": a budget of"),
            0u);
}
TEST_F(StreamedEmulated, TooSmallABudgetIsAnErrorBeforeAnythingIsDone) {
  const CoherentArray<double, rank<2>, LayoutRight> x("x", 100, 1000), y("y", 100, 1000), z("z", 100, 1000);
  EXPECT_THROW(launch(streamed(Emulated{0}, 10000), 100, Triad{}, in(x), in(y), out(z)), OutOfMemory);
}

struct AllButRow {
  index_t row;
  STRATA_FUNCTION void operator()(auto i, auto y) const {
    if (index_t(i) != row) y(i) = 1;
  }
};
TEST_F(StreamedEmulated, WhatIsDeclaredOutAndNotWrittenIsFound) {
#if defined(STRATA_CHECKED) && STRATA_CHECKED
  const index_t n = 2000;
  const auto expect_found = [&](const auto& run) {
    const CoherentArray<double, rank<1>> y("y", n);
    try {
      run(y);
      ADD_FAILURE() << "nothing was found";
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("element (777) of \"y\" was declared out and nobody wrote it"), std::string::npos)
          << text;
    }
  };
  expect_found([&](const auto& y) { launch(streamed(Emulated{0}, 1 << 13), n, AllButRow{777}, out(y)); });
  expect_found([&](const auto& y) {
    launch(streamed(across(Emulated{0}, Emulated{1}), 1 << 13), n, AllButRow{777}, out(y));
  });
  expect_found([&](const auto& y) {
    Sequence steps("steps", streamed(Emulated{0}, 1 << 14));
    steps.loop("loop", n, AllButRow{777}, out(y));
    steps.run(2);
  });
#else
  GTEST_SKIP() << "of checked builds";
#endif
}
TEST_F(StreamedEmulated, RangesThatLeaveOutWhatIsOutAreRefused) {
  const CoherentArray<double, rank<2>, LayoutRight> y("y", 200, 5);
  const auto kernel = [](index_t i, index_t j, auto a) { a(i, j) = 1; };
  EXPECT_THROW(launch(streamed(Emulated{0}, 1 << 14), mdrange({0, 1}, {200, 5}), kernel, out(y)),
               ShapeMismatch);
  Sequence steps("steps", streamed(Emulated{0}, 1 << 14));
  EXPECT_THROW(steps.loop("loop", mdrange({0, 1}, {200, 5}), kernel, out(y)), ShapeMismatch);
  EXPECT_NO_THROW(launch(streamed(Emulated{0}, 1 << 14), mdrange({0, 1}, {200, 5}), kernel, inout(y)));
}

TEST_F(StreamedEmulated, ResultsOfStepsAreWithinTheBudget) {
  const index_t n = 20000;
  const CoherentArray<double, rank<1>> u("u", n);
  std::vector<SixteenSums::value_type> sums;
  for (const index_t budget : {100000, 200000, 1 << 20}) {
    if (strata_tests::is_sanitized && budget != 200000) continue;  // ten seconds each
    fill(u);
    EXPECT_LE(emulated::peak(0), budget);
    streamed_iterate_reduce(streamed(Emulated{0}, budget), 300, SixteenSums{}, sums, state(u, halo(1, 1)));
    EXPECT_EQ(sums.size(), 300U);
    EXPECT_LE(emulated::peak(0), budget);
    EXPECT_GT(emulated::peak(0), budget / 3) << "most of the budget is used";
    wait(Emulated{0});
  }
}

struct RingWith {
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next, const auto& k) const {
    next(i) = 0.5 * old(i) + k(i) * (old(i - 1) + old(i + 1));
  }
};
TEST_F(StreamedEmulated, ARingBesideAnArrayWithoutEdges) {
  const index_t n = 300;
  const int steps = 9;
  CoherentArray<double, rank<1>> a("a", n), b("b", n), k("k", n);
  for (const auto* array : {&a, &b, &k}) fill(*array);
  for (int s = 0; s < steps; ++s) {
    launch(on(Serial{}), n, RingWith{}, in(a, halo(1, 1, edge::cyclic)), inout(b), in(k));
    std::swap(a, b);
  }
  for (const StreamScheduler scheduler : all_schedulers) {
    const CoherentArray<double, rank<1>> u("u", n);
    fill(u);
    auto where = streamed(Emulated{0}, 1 << 18).scheduler(scheduler);
    if (scheduler != StreamScheduler::Automatic) where = where.chunk(40).steps_per_pass(4);
    streamed_iterate(where, n, steps, RingWith{}, state(u, halo(1, 1, edge::cyclic)), in(k));
    EXPECT_EQ(values(u), values(a)) << name_of(scheduler);
  }
  const CoherentArray<double, rank<1>> u("u", n), longer("longer", n + 1);
  EXPECT_THROW(streamed_iterate(streamed(Emulated{0}, 1 << 18), n, 2, RingWith{},
                                state(u, halo(1, 1, edge::cyclic)), in(longer)),
               ShapeMismatch);
}
TEST_F(StreamedEmulated, ARingThatNearlyFits) {
  const index_t n = 500;
  for (const int steps : {50, 124, 200}) {
    CoherentArray<double, rank<1>> a("a", n), b("b", n), u("u", n);
    for (const auto* array : {&a, &b, &u}) fill(*array);
    in_core(Serial{}, range(0, n), steps, Step1{1, 1}, a, b, halo(1, 1, edge::cyclic));
    for (const index_t budget : {2 * 8 * n + 1024, 4 * 8 * n, 8 * 8 * n, 40 * 8 * n}) {
      fill(u);
      streamed_iterate(streamed(Emulated{0}, budget), n, steps, Step1{1, 1},
                       state(u, halo(1, 1, edge::cyclic)));
      ASSERT_EQ(values(u), values(a)) << steps << " steps, " << budget;
    }
  }
}
TEST_F(StreamedEmulated, AnArrayAsAWholeAndBySlicesIsAnError) {
  const CoherentArray<double, rank<1>> x("x", 100);
  EXPECT_THROW(launch(streamed(Emulated{0}, 1 << 18), 100, Axpy{1}, in(x, everything), inout(x)),
               AccessConflict);
  EXPECT_THROW(launch(streamed(Emulated{0}, 1 << 18), 100, Axpy{1}, in(x), inout(x, everything)),
               AccessConflict);
}
TEST_F(StreamedEmulated, TwoThreadsThatTakeArraysInOtherOrders) {
  const index_t n = 2000;
  const CoherentArray<double, rank<1>> x("x", n), y("y", n);
  fill(x);
  fill(y);
  std::thread other([&] {
    for (int k = 0; k < 20; ++k) launch(streamed(Emulated{1}, 1 << 16), n, Axpy{1e-3}, in(y), inout(x));
  });
  for (int k = 0; k < 20; ++k) launch(streamed(Emulated{0}, 1 << 16), n, Axpy{1e-3}, in(x), inout(y));
  other.join();
  EXPECT_GT(values(x)[7], start_value(7));
}

// Against Serial in core.
TEST_F(StreamedEmulated, RandomStepsEqualSerial) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int low, int high) {
      return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
    };
    const int left = pick(0, 3), right = pick(0, 3), steps = pick(1, 9);
    const index_t n = pick(left + right + 1, random() % 8 == 0 ? 6000 : 700);
    CoherentArray<double, rank<1>> a("a", n), b("b", n), u("u", n);
    for (const auto* array : {&a, &b, &u}) fill(*array);
    Range work = range(left, n - right);
    if (random() % 2 == 0) {  // that begins and ends anywhere
      work.first = pick(left, static_cast<int>(n) - right - 1);
      work.last = pick(static_cast<int>(work.first) + 1, static_cast<int>(n) - right);
    }
    in_core(Serial{}, work, steps, Step1{left, right}, a, b, halo(left, right));
    const index_t budget = 8 * pick(600, 20000);
    auto where = streamed(Emulated{0}, budget);
    if (random() % 2 == 0) where = where.steps_per_pass(pick(1, 4));
    if (random() % 2 == 0) where = where.scheduler(static_cast<StreamScheduler>(pick(0, 4)));
    if (random() % 3 == 0) where = where.slots(pick(2, 4));
    try {
      const StreamReport report =
          streamed_iterate(where, work, steps, Step1{left, right}, state(u, halo(left, right)));
      EXPECT_LE(report.device_bytes, budget);
      EXPECT_LE(emulated::peak(0), machine().capacity);
    } catch (const OutOfMemory&) {
      EXPECT_LT(budget, 40000) << "seed " << seed;  // so many rows for halos of all steps in so little
      continue;
    }
    ASSERT_EQ(values(u), values(a)) << "seed " << seed;
  }
}

}  // namespace
