// Streamed launches on emulated devices: budgets, bytes, virtual time, failures, random problems.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <strata/algorithms/streaming/streamed_iterate.hpp>
#include <strata/algorithms/streaming/streamed_iterate_reduce.hpp>
#include <strata/algorithms/streaming/streamed_reduce.hpp>
#include <strata/core/error.hpp>

#include "core/random.hpp"
#include "sequence_fixture.hpp"
#include "stream_kernels.hpp"

namespace {

using namespace stream_test;

// Copies of 1 GB/s each way, and kernels of 10 ns a row.
emulated::Config machine() {
  return {.count = 2,
          .capacity = index_t{1} << 24,
          .threads = 2,
          .host_to_device_bandwidth = 1e9,
          .device_to_host_bandwidth = 1e9,
          .host_link_total = 0,
          .peer_bandwidth = 0,
          .memory_bandwidth = 1e12,
          .copy_latency = 1e-6,
          .launch_latency = 1e-6,
          .seconds_per_item = 1e-8,
          .host_submit_cost = 0};
}

class StreamedEmulated : public ::testing::Test {
 protected:
  void SetUp() override { emulated::configure(machine()); }
  void TearDown() override {
    emulated::clear_faults();
    emulated::keep_trace(false);
    EXPECT_NO_THROW(wait(Emulated{0}));
    EXPECT_EQ(emulated::used(0), 0) << "memory was lost";
    emulated::configure(emulated::default_config());
  }
};

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

// The operations of an engine, by their beginning.
std::vector<emulated::Operation> operations(const std::string& engine) {
  std::vector<emulated::Operation> all;
  for (const emulated::Operation& operation : emulated::trace())
    if (operation.engine == engine) all.push_back(operation);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  return all;
}
double busy(const std::vector<emulated::Operation>& all) {
  double seconds = 0;
  for (const emulated::Operation& operation : all) seconds += operation.end - operation.start;
  return seconds;
}

TEST_F(StreamedEmulated, CopiesOfOneSliceOverlapTheKernelOfAnother) {
  const index_t n = 1 << 20;  // 8 ms up for each of 2 arrays, 8 ms down, 10 ms of kernels
  const CoherentArray<double, rank<1>> x("x", n), y("y", n);
  emulated::reset_time();
  emulated::keep_trace(true);
  const StreamReport report =
      launch(streamed(Emulated{0}, 1 << 22).chunk(n / 32), n, Axpy{1}, in(x), inout(y));
  const auto up = operations("upload 0"), down = operations("download 0"), kernels = operations("compute 0");
  ASSERT_EQ(kernels.size(), 32u);
  ASSERT_EQ(down.size(), 32u);
  // While a slice in the middle is computed, the next one comes in and the one before goes out.
  const auto overlaps = [](const std::vector<emulated::Operation>& all, const emulated::Operation& kernel) {
    return std::any_of(all.begin(), all.end(), [&](const emulated::Operation& copy) {
      return copy.start < kernel.end && kernel.start < copy.end;
    });
  };
  for (std::size_t k = 4; k < 28; ++k) {
    EXPECT_TRUE(overlaps(up, kernels[k])) << k;
    EXPECT_TRUE(overlaps(down, kernels[k])) << k;
  }
  // The time is that of the uploads, and of one slice's kernel and download behind the last of them.
  const double seconds = down.back().end - up.front().start;
  EXPECT_LT(seconds, busy(up) + 2 * (busy(kernels) + busy(down)) / 32);
  // As predicted, once the kernel's cost is known.
  const StreamReport again =
      launch(streamed(Emulated{0}, 1 << 22).chunk(n / 32).dry_run(), n, Axpy{1}, in(x), inout(y));
  EXPECT_NEAR(again.predicted_seconds, seconds, 0.05 * seconds);
  EXPECT_EQ(report.bytes_to_device, 16 * n);
}
// Of a sequence a launch has a time of its own, and its rows theirs: with both the model knows what slices of
// another size take.
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
TEST_F(StreamedEmulated, SlicesOfAnotherSizeTakeWhatIsPredicted) {
#if defined(STRATA_CHECKED) && STRATA_CHECKED
  GTEST_SKIP() << "checked builds mark what is to be written before each kernel, and look behind it";
#endif
  emulated::Config config = machine();
  config.launch_latency = 1e-4;
  emulated::configure(config);
  const sequence_test::Mesh mesh(30000, 30000, 20, 7);
  const sequence_test::Arrays arrays(mesh);
  const auto run_in = [&](index_t chunk) {
    Sequence steps("sized", streamed(Emulated{0}, 1 << 23).chunk(chunk).steps_per_pass(4));
    sequence_test::add_loops(steps, mesh, arrays);
    emulated::reset_time();
    emulated::keep_trace(true);
    const StreamReport report = steps.run(8);
    double end = 0;
    for (const char* const engine : {"upload 0", "compute 0", "download 0"})
      end = std::max(end, operations(engine).back().end);
    emulated::keep_trace(false);
    return std::pair(report.predicted_seconds, end);
  };
  run_in(3000);
  for (const index_t chunk : {3000, 1000, 6000}) {
    const auto [predicted, took] = run_in(chunk);
    EXPECT_NEAR(predicted, took, 0.1 * took) << chunk;
  }
}
TEST_F(StreamedEmulated, StepsOfAPassHideTheCopies) {
  const index_t n = 1 << 18;  // 2.1 ms each way; a step 2.6 ms
  const int steps = 24;
  const CoherentArray<double, rank<1>> u("u", n);
  const auto seconds = [&](int steps_per_pass) {
    emulated::reset_time();
    emulated::keep_trace(true);
    streamed_iterate(streamed(Emulated{0}, 1 << 21)
                         .scheduler(StreamScheduler::Carry)
                         .chunk(n / 32)
                         .steps_per_pass(steps_per_pass),
                     steps, Step1{1, 1}, state(u, halo(1, 1)));
    double last = 0;
    for (const emulated::Operation& operation : emulated::trace()) last = std::max(last, operation.end);
    return last;
  };
  const double in_core = steps * static_cast<double>(n) * 1e-8;
  EXPECT_LT(seconds(8), 1.12 * in_core);
}

TEST_F(StreamedEmulated, BytesAreThoseOfTheSchedulers) {
  const index_t n = 2048, chunk = 128, h = 1, t = 4;
  const auto run = [&](StreamScheduler scheduler) {
    const CoherentArray<double, rank<1>> u("u", n);
    return streamed_iterate(
        streamed(Emulated{0}, 1 << 20).scheduler(scheduler).chunk(chunk).steps_per_pass(t), n, 3 * t,
        Step1{1, 1}, state(u, halo(h, h, edge::cyclic)));
  };
  const index_t tiles = n / chunk;
  const StreamReport naive = run(StreamScheduler::Naive);
  EXPECT_EQ(naive.passes, 3 * t);
  EXPECT_EQ(naive.bytes_to_device, 3 * t * 8 * (n + tiles * 2 * h));
  EXPECT_EQ(naive.bytes_to_host, 3 * t * 8 * n);
  const StreamReport overlap = run(StreamScheduler::Overlap);
  EXPECT_EQ(overlap.bytes_to_device, 3 * 8 * (n + tiles * 2 * t * h));
  EXPECT_EQ(overlap.bytes_to_host, 3 * 8 * n);
  const StreamReport even_odd = run(StreamScheduler::EvenOdd);
  EXPECT_EQ(even_odd.bytes_to_device, 3 * 8 * (n + tiles * (2 * t * h + h)));
  EXPECT_EQ(even_odd.bytes_to_host, 3 * 8 * (n + tiles * (2 * t * h - h)));
  const CoherentArray<double, rank<1>> u("u", n);
  const StreamReport carry = streamed_iterate(
      streamed(Emulated{0}, 1 << 20).scheduler(StreamScheduler::Carry).chunk(chunk).steps_per_pass(t), 3 * t,
      Step1{1, 1}, state(u, halo(h, h)));
  EXPECT_EQ(carry.bytes_to_device, 3 * 8 * n);
  EXPECT_EQ(carry.bytes_to_host, 3 * 8 * n);
}

// ---- failures

TEST_F(StreamedEmulated, AnyAllocationCopyOrKernelMayFailOnce) {
  const index_t n = 4000;
  for (const emulated::Fault fault :
       {emulated::Fault::Allocation, emulated::Fault::Copy, emulated::Fault::Kernel}) {
    int failures = 0;
    for (int k = 1; k < 200; ++k) {
      const CoherentArray<double, rank<1>> x("x", n), y("y", n);
      fill(x);
      fill(y);
      emulated::fail(fault, k);
      bool failed = false;
      try {
        launch(streamed(Emulated{0}, 1 << 20).chunk(500), n, Axpy{1}, in(x), inout(y));
      } catch (const DataLost& error) {
        failed = true;
        EXPECT_NE(std::string(error.what()).find("In part old and in part new are now the values of \"y\":"),
                  std::string::npos)
            << error.what();
      } catch (const OutOfMemory&) {
        failed = true;
        EXPECT_EQ(fault, emulated::Fault::Allocation);
        EXPECT_EQ(values(y), values(x)) << "nothing was begun";
      }
      emulated::clear_faults();
      if (!failed) break;
      ++failures;
      // The device and the arrays go on.
      fill(y);
      launch(streamed(Emulated{0}, 1 << 20), n, Axpy{1}, in(x), inout(y));
      EXPECT_EQ(values(y)[7], 2 * start_value(7));
    }
    EXPECT_GE(failures, fault == emulated::Fault::Allocation ? 6 : 8) << "faults were met";
    EXPECT_LT(failures, 150);
  }
}
TEST_F(StreamedEmulated, AFailureInTheFirstPassOfTwoCopiesChangesNothing) {
  const index_t n = 1000;
  const CoherentArray<double, rank<1>> u("u", n);
  fill(u);
  const auto before = values(u);
  emulated::fail(emulated::Fault::Kernel, 5);
  try {
    streamed_iterate(
        streamed(Emulated{0}, 1 << 20).scheduler(StreamScheduler::Overlap).chunk(100).steps_per_pass(2), 8,
        Step1{1, 1}, state(u, halo(1, 1)));
    FAIL() << "a kernel failed";
  } catch (const DataLost& error) {
    FAIL() << error.what();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("No array was changed"), std::string::npos) << error.what();
  }
  emulated::clear_faults();
  EXPECT_EQ(values(u), before);
}

struct ManySums {
  struct value_type {
    double of[16];
    friend bool operator==(const value_type&, const value_type&) = default;
  };
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next, value_type& sums) const {
    Step1{1, 1}(i, old, next);
    double power = 1;
    for (double& sum : sums.of) sum += power *= next(i);
  }
  STRATA_FUNCTION static void init(value_type& sums) { sums = {}; }
  STRATA_FUNCTION static void join(value_type& sums, const value_type& other) {
    for (int k = 0; k < 16; ++k) sums.of[k] += other.of[k];
  }
};
TEST_F(StreamedEmulated, ResultsOfStepsAreWithinTheBudget) {
  const index_t n = 20000;
  const CoherentArray<double, rank<1>> u("u", n);
  std::vector<ManySums::value_type> sums;
  for (const index_t budget : {100000, 200000, 1 << 20}) {
    if (strata_tests::is_sanitized && budget != 200000) continue;  // ten seconds each
    fill(u);
    EXPECT_LE(emulated::peak(0), budget);
    streamed_iterate_reduce(streamed(Emulated{0}, budget), 300, ManySums{}, sums, state(u, halo(1, 1)));
    EXPECT_EQ(sums.size(), 300U);
    EXPECT_LE(emulated::peak(0), budget);
    EXPECT_GT(emulated::peak(0), budget / 3) << "most of the budget is used";
    wait(Emulated{0});
  }
}
TEST_F(StreamedEmulated, WhereAStepThatReducesFailsResultsAreAsBefore) {
  const index_t n = 4000;
  const CoherentArray<double, rank<1>> done("done", n);
  fill(done);
  std::vector<ManySums::value_type> all_sums;
  streamed_iterate_reduce(streamed(Emulated{0}, 1 << 17), 12, ManySums{}, all_sums, state(done, halo(1, 1)));
  const auto after = values(done);
  bool lost_results = false;
  for (const emulated::Fault fault :
       {emulated::Fault::Allocation, emulated::Fault::Copy, emulated::Fault::Kernel}) {
    int failures = 0;
    for (int k = 1; k < 1000; k += strata_tests::faults_apart) {
      const CoherentArray<double, rank<1>> u("u", n);
      fill(u);
      const auto before = values(u);
      std::vector<ManySums::value_type> sums(3);
      bool failed = false;
      emulated::fail(fault, k);
      try {
        streamed_iterate_reduce(streamed(Emulated{0}, 1 << 17).chunk(512).steps_per_pass(2), 12, ManySums{},
                                sums, state(u, halo(1, 1)));
      } catch (const OutOfMemory&) {
        failed = true;
        EXPECT_EQ(values(u), before) << "nothing was begun";
      } catch (const DataLost& error) {
        failed = true;
        EXPECT_NE(std::string(error.what()).find("\"u\""), std::string::npos) << error.what();
      } catch (const Error& error) {
        failed = true;
        const bool are_lost =
            std::string(error.what()).find("results of the last ones are lost") != std::string::npos;
        lost_results = lost_results || are_lost;
        EXPECT_EQ(values(u), are_lost ? after : before) << error.what();
      }
      emulated::clear_faults();
      EXPECT_EQ(sums.size(), failed ? 3U : 12U) << k;
      if (!failed) break;
      ++failures;
    }
    EXPECT_GE(failures, strata_tests::is_sanitized ? 2 : 5) << "faults were met";
  }
  EXPECT_TRUE(lost_results);
}

// ---- corners

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
TEST_F(StreamedEmulated, WhereThereIsNoMemoryWhatIsWrittenStays) {
  const index_t n = 1000;
  const CoherentArray<double, rank<1>> x("x", n), y("y", n);
  fill(x);
  launch(on(Emulated{0}), n, Axpy{1}, in(x), inout(y));  // the newest values are on the device
  emulated::fail(emulated::Fault::Allocation, 2);
  EXPECT_THROW(launch(streamed(Emulated{1}, 1 << 18), n, Copy{}, in(x), out(y)), OutOfMemory);
  emulated::clear_faults();
  EXPECT_EQ(values(y), values(x));
}
TEST_F(StreamedEmulated, SeamsThatWentHomeAreToldAsLost) {
  const index_t n = 1000;
  int lost = 0;
  for (int k = 1; k < 40; ++k) {
    const CoherentArray<double, rank<1>> u("u", n);
    fill(u);
    const auto before = values(u);
    emulated::fail(emulated::Fault::Kernel, k);
    try {
      streamed_iterate(
          streamed(Emulated{0}, 1 << 20).scheduler(StreamScheduler::EvenOdd).chunk(100).steps_per_pass(2), 2,
          Step1{1, 1}, state(u, halo(1, 1)));
    } catch (const DataLost&) {
      ++lost;
      continue;
    } catch (const Error&) {
      EXPECT_EQ(values(u), before) << k;
    }
    emulated::clear_faults();
  }
  EXPECT_GT(lost, 5);
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

// ---- random problems against Serial in core

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
