// Streamed launches over several devices: the bits of one, budgets, bytes, virtual time, failures.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <stdlib.h>

#include <strata/algorithms/streaming/streamed_iterate.hpp>
#include <strata/algorithms/streaming/streamed_reduce.hpp>
#include <strata/core/error.hpp>
#include <strata/views/coherent/file_array.hpp>

#include "four_devices.hpp"
#include "stream_kernels.hpp"

namespace {

using namespace stream_test;

class StreamedAcrossDevices : public FourDevices {
 protected:
  StreamedAcrossDevices() : FourDevices(0) {}
};

// ---- results

TEST_F(StreamedAcrossDevices, MapsGiveWhatOneDeviceGives) {
  for (int count = 1; count <= 4; ++count)
    for (const index_t n : {1, 3, 1000, 5001}) {
      const CoherentArray<double, rank<1>> x("x", n), y("y", n), expected("expected", n);
      for (const auto* array : {&x, &y, &expected}) fill(*array);
      launch(on(Serial{}), range(0, n), Axpy{3}, in(x), inout(expected));
      const StreamReport report =
          launch(streamed(across(devices(count)), 1 << 18).chunk(300), n, Axpy{3}, in(x), inout(y));
      EXPECT_EQ(values(y), values(expected)) << count << " devices, " << n << " rows";
      EXPECT_LE(report.devices, count);
      EXPECT_TRUE(n < 1000 || report.devices == count);
      EXPECT_EQ(report.bytes_to_device, 16 * n);
      EXPECT_EQ(report.bytes_to_host, 8 * n);
    }
}
TEST_F(StreamedAcrossDevices, HalosRowsOfFunctionsAndTilesOfLayouts) {
  const index_t n = 4000;
  const CoherentArray<double, rank<1>> x("x", n), y("y", n), expected("expected", n), pairs("pairs", 2 * n),
      table("table", 5);
  for (const auto* array : {&x, &y, &expected, &pairs, &table}) fill(*array);
  const auto where =
      streamed(across(Emulated{0}, Serial{}, Emulated{1}).weighted({2, 1, 3}), 1 << 18).chunk(128);
  launch(on(Serial{}), range(2, n - 1), Neighbours{}, in(x, halo(2, 1)), inout(expected));
  const StreamReport report = launch(where, range(2, n - 1), Neighbours{}, in(x, halo(2, 1)), inout(y));
  EXPECT_EQ(values(y), values(expected));
  EXPECT_EQ(report.devices, 3);
  EXPECT_NE(report.explain().find("Serial"), std::string::npos) << report.explain();

  launch(on(Serial{}), n, SumOfPair{}, in(pairs, rows(PairsOfRows{})), in(table, everything), out(expected));
  launch(where, n, SumOfPair{}, in(pairs, rows(PairsOfRows{})), in(table, everything), out(y));
  EXPECT_EQ(values(y), values(expected));

  const CoherentArray<float, rank<2>> a("a", 1003, 5), b("b", 1003, 5), c("c", 1003, 5), d("d", 1003, 5);
  for (const auto* array : {&a, &b, &c, &d}) fill(*array);
  launch(on(Serial{}), range(3, 999), Triad{}, in(a), in(b), out(c));
  launch(where, range(3, 999), Triad{}, in(a), in(b), out(d));
  EXPECT_EQ(values(d), values(c));
}
TEST_F(StreamedAcrossDevices, NothingToDo) {
  const CoherentArray<double, rank<1>> x("x", 10), y("y", 10);
  fill(y);
  const auto before = values(y);
  launch(streamed(across(devices(3)), 1 << 16), 0, Axpy{3}, in(x), inout(y));
  streamed_iterate(streamed(across(devices(3)), 1 << 16), 0, Step1{1, 1}, state(y, halo(1, 1)));
  double sum = 7;
  launch_reduce(streamed(across(devices(3)), 1 << 16), 0, Add{}, Sum(sum), in(x));
  EXPECT_EQ(sum, 0);
  EXPECT_EQ(values(y), before);
}
TEST_F(StreamedAcrossDevices, SumsAndScansHaveTheBitsOfCore) {
  for (int count = 1; count <= 4; ++count)
    for (const index_t n : {1, 500, 20000, 300001}) {
      const CoherentArray<double, rank<1>> x("x", n), y("y", n), expected_y("expected", n);
      fill(x);
      double expected = 0, sum = -1, total = -1;
      launch_reduce(on(Emulated{0}), n, Add{}, Sum(expected), in(x));
      const auto where = streamed(across(devices(count)), 1 << 18);
      for (const index_t chunk : {0, 1024, 5120}) {
        const StreamReport report = launch_reduce(where.chunk(chunk), n, Add{}, Sum(sum), in(x));
        EXPECT_EQ(sum, expected) << count << " devices, " << n << " rows, chunk " << chunk;
        EXPECT_EQ(report.bytes_to_device, 8 * n);
        EXPECT_TRUE(n < 20000 || report.devices == count);
      }
      const CoherentArray<double, rank<0>> value("value"), half("half");
      launch_reduce(where, n, SumFunctor{}, value, in(x));
      launch_reduce(where, n, SumFunctor{}, finalize(Halve{}, out(half, everything)), in(x));
      EXPECT_EQ(*value.read(), expected);
      EXPECT_EQ(*half.read(), expected / 2);

      double expected_total = 0;
      launch_scan(on(Emulated{0}), n, Prefix{}, Sum(expected_total), in(x), out(expected_y));
      launch_scan(streamed(across(devices(count)), 1 << 19), n, Prefix{}, Sum(total), in(x), out(y));
      EXPECT_EQ(total, expected_total);
      EXPECT_EQ(values(y), values(expected_y));
    }
}
TEST_F(StreamedAcrossDevices, SumsOverSeveralIndicesAndWeights) {
  const CoherentArray<double, rank<2>, LayoutRight> x("x", 300, 17);
  fill(x);
  double expected = 0, sum = -1;
  launch_reduce(on(Serial{}), mdrange({300, 17}), AddRow{}, Sum(expected), in(x));
  for (const double weight : {0.0, 0.3, 5.0}) {
    launch_reduce(streamed(across(Emulated{1}, Serial{}).weighted({1, weight}), 1 << 16).chunk(16),
                  mdrange({300, 17}), AddRow{}, Sum(sum), in(x));
    EXPECT_EQ(sum, expected);
  }
}
TEST_F(StreamedAcrossDevices, RandomStepsEqualSerial) {
  int several = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int low, int high) {
      return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
    };
    const int left = pick(0, 3), right = pick(0, 3), steps = pick(1, 9), count = pick(1, 4);
    const index_t n = pick(left + right + 1, 700);
    const bool cyclic = random() % 3 == 0;
    CoherentArray<double, rank<1>> a("a", n), b("b", n), u("u", n);
    for (const auto* array : {&a, &b, &u}) fill(*array);
    Range work = cyclic ? range(0, n) : range(left, n - right);
    if (!cyclic && random() % 2 == 0) {  // that begins and ends anywhere
      work.first = pick(static_cast<int>(work.first), static_cast<int>(work.last) - 1);
      work.last = pick(static_cast<int>(work.first) + 1, static_cast<int>(work.last));
    }
    const index_t budget = 8 * pick(600, 20000);
    const StreamScheduler scheduler =
        std::vector{StreamScheduler::Automatic, StreamScheduler::Naive, StreamScheduler::Overlap,
                    StreamScheduler::Carry}[static_cast<std::size_t>(pick(0, 3))];
    std::vector<double> weights;
    for (int k = 0; k < count; ++k) weights.push_back(pick(1, 4));
    const bool mixed = random() % 3 == 0;
    const auto iterate = [&](const auto& devices) {
      auto where = streamed(devices, budget).scheduler(scheduler);
      if (random() % 2 == 0) where = where.steps_per_pass(pick(1, 4));
      if (random() % 3 == 0) where = where.slots(pick(2, 4));
      if (random() % 2 == 0) where = where.chunk(pick(1, 40));
      if (cyclic)
        return streamed_iterate(where, work, steps, Step1{left, right},
                                state(u, halo(left, right, edge::cyclic)));
      return streamed_iterate(where, work, steps, Step1{left, right}, state(u, halo(left, right)));
    };
    if (cyclic) in_core(Serial{}, work, steps, Step1{left, right}, a, b, halo(left, right, edge::cyclic));
    else in_core(Serial{}, work, steps, Step1{left, right}, a, b, halo(left, right));
    try {
      const StreamReport report =
          mixed ? iterate(across(Emulated{2}, Serial{}, Emulated{0}).weighted({1, 2, 1}))
                : iterate(across(devices(count)).weighted(weights));
      EXPECT_LE(report.device_bytes, budget);
      several += report.devices > 1;
    } catch (const OutOfMemory&) {
      EXPECT_LT(budget, 40000) << "seed " << seed;  // so many rows for halos of all steps in so little
      continue;
    }
    ASSERT_EQ(values(u), values(a)) << "seed " << seed;
  }
  EXPECT_GT(several, 100);
}
TEST_F(StreamedAcrossDevices, TwoFieldsCoefficientsAndTilesOfRows) {
  const index_t n = 900, steps = 7;
  const auto where = streamed(across(devices(3)), 1 << 18).chunk(64).steps_per_pass(3);
  const CoherentArray<double, rank<1>> u("u", n), v("v", n), w("w", n), k("k", n);
  CoherentArray<double, rank<1>> u0("u0", n), v0("v0", n), u1("u1", n), v1("v1", n);
  for (const auto& array : {u, v, w, k, u0, v0, u1, v1}) fill(array);
  streamed_iterate(where, range(1, n - 1), steps, TwoFields{}, state(u, halo(1, 0)), state(v, halo(0, 1)));
  for (int step = 0; step < steps; ++step) {
    launch(on(Serial{}), range(1, n - 1), TwoFields{}, in(u0, halo(1, 0)), inout(u1), in(v0, halo(0, 1)),
           inout(v1));
    std::swap(u0, u1);
    std::swap(v0, v1);
  }
  EXPECT_EQ(values(u), values(u0));
  EXPECT_EQ(values(v), values(v0));

  CoherentArray<double, rank<1>> a("a", n), b("b", n);
  for (const auto* array : {&a, &b}) fill(*array);
  streamed_iterate(where, steps, Step1With{}, state(w, halo(1, 1)), in(k, halo(0, 1)));
  for (int step = 0; step < steps; ++step) {
    launch(on(Serial{}), range(1, n - 1), Step1With{}, in(a, halo(1, 1)), inout(b), in(k, halo(0, 1)));
    std::swap(a, b);
  }
  EXPECT_EQ(values(w), values(a));

  // Rows in tiles, of which kernels leave elements out.
  CoherentArray<double, rank<2>> p("p", 203, 6), q("q", 203, 6);
  const CoherentArray<double, rank<2>> r("r", 203, 6);
  for (const auto& array : {p, q, r}) fill(array);
  in_core(Serial{}, range(1, 202), steps, RowStep{}, p, q, halo(1, 1));
  for (const StreamScheduler scheduler : {StreamScheduler::Carry, StreamScheduler::Overlap}) {
    fill(r);
    streamed_iterate(where.scheduler(scheduler).chunk(10), steps, RowStep{}, state(r, halo(1, 1)));
    EXPECT_EQ(values(r), values(p)) << name_of(scheduler);
  }
}

// ---- memory, bytes and time

TEST_F(StreamedAcrossDevices, EachDeviceKeepsTheBudget) {
  const index_t n = 200000;
  for (const index_t budget : {30000, 1 << 19}) {
    const CoherentArray<double, rank<1>> x("x", n), y("y", n), u("u", n);
    fill(x);
    fill(u);
    const auto where = streamed(across(devices(3)), budget);
    launch(where, n, Axpy{1}, in(x), inout(y));
    streamed_iterate(where, 5, Step1{1, 1}, state(u, halo(1, 1)));
    double sum = 0;
    launch_reduce(where, n, Add{}, Sum(sum), in(x));
    // Slices of scans are tiles of 8192 rows.
    if (budget > 30000) launch_scan(where, n, Prefix{}, Sum(sum), in(x), out(y));
    for (int k = 0; k < 3; ++k) {
      EXPECT_LE(emulated::peak(k), budget) << k;
      EXPECT_GT(emulated::peak(k), budget / 3) << k;
      wait(Emulated{k});
    }
    EXPECT_EQ(emulated::peak(3), 0);
    emulated::configure(four_devices(0));
  }
}
TEST_F(StreamedAcrossDevices, SeamsCostTheHalosOfAllStepsFromBothSides) {
  const index_t n = 4096, chunk = 128, h = 2, t = 4;
  const int passes = 3, count = 4;
  const auto run = [&](StreamScheduler scheduler, const auto& region, index_t first) {
    const CoherentArray<double, rank<1>> u("u", n);
    return streamed_iterate(
        streamed(across(devices(count)), 1 << 20).scheduler(scheduler).chunk(chunk).steps_per_pass(t),
        range(first, n - first), passes * t, Step1{h, h}, state(u, region));
  };
  const StreamReport ring = run(StreamScheduler::Carry, halo(h, h, edge::cyclic), 0);
  EXPECT_EQ(ring.passes, passes);
  EXPECT_EQ(ring.devices, count);
  EXPECT_EQ(ring.bytes_to_device, passes * 8 * (n + count * 2 * t * h));
  EXPECT_EQ(ring.bytes_to_host, passes * 8 * n);
  const StreamReport line = run(StreamScheduler::Carry, halo(h, h), h);
  EXPECT_EQ(line.bytes_to_device, passes * 8 * (n + (count - 1) * 2 * t * h));
  EXPECT_EQ(line.bytes_to_host, passes * 8 * n);
  const index_t tiles = n / chunk;
  const StreamReport overlap = run(StreamScheduler::Overlap, halo(h, h, edge::cyclic), 0);
  EXPECT_EQ(overlap.bytes_to_device, passes * 8 * (n + tiles * 2 * t * h));
  EXPECT_EQ(overlap.bytes_to_host, passes * 8 * n);
}

std::vector<emulated::Operation> kernels_of(int device) {
  std::vector<emulated::Operation> all;
  for (const emulated::Operation& operation : emulated::trace())
    if (operation.engine == "compute " + std::to_string(device)) all.push_back(operation);
  return all;
}
TEST_F(StreamedAcrossDevices, DevicesWorkAtTheSameTime) {
  const index_t n = 1 << 18;
  const CoherentArray<double, rank<1>> x("x", n), y("y", n), u("u", n);
  // Slices that each device is given before the host waits for any: virtual time does not depend on threads
  // then.
  const auto seconds = [&](int count, const auto& run) {
    emulated::reset_time();
    emulated::keep_trace(true);
    run(streamed(across(devices(count)), 1 << 22).chunk(n / count / 6 + 1));
    double last = 0;
    for (const emulated::Operation& operation : emulated::trace()) last = std::max(last, operation.end);
    const auto first = kernels_of(0), second = kernels_of(1);
    index_t together = 0;
    for (const emulated::Operation& one : first)
      together += std::any_of(second.begin(), second.end(), [&](const emulated::Operation& other) {
        return one.start < other.end && other.start < one.end;
      });
    EXPECT_TRUE(count == 1 || together >= static_cast<index_t>(first.size()) - 1) << together;
    return last;
  };
  const auto map = [&](const auto& where) { launch(where, n, Axpy{1}, in(x), inout(y)); };
  const double one = seconds(1, map), two = seconds(2, map), four = seconds(4, map);
  EXPECT_LT(two, 0.55 * one);
  EXPECT_LT(four, 0.3 * one);
  const auto steps = [&](const auto& where) {
    streamed_iterate(where.scheduler(StreamScheduler::Overlap).steps_per_pass(4), 12, Step1{1, 1},
                     state(u, halo(1, 1)));
  };
  EXPECT_LT(seconds(2, steps), 0.55 * seconds(1, steps));
}

// ---- what several devices cannot do

TEST_F(StreamedAcrossDevices, RowsThatTwoDevicesWouldWriteAreAConflict) {
  const index_t n = 1000;
  const CoherentArray<double, rank<1>> x("x", n), y("y", n), v("total", n);
  const auto where = streamed(across(devices(2)), 1 << 18);
  const auto said = [](const auto& run) -> std::string {
    try {
      run();
    } catch (const AccessConflict& error) {
      return error.what();
    }
    return "no conflict";
  };
  const std::string halos =
      said([&] { launch(where, range(2, n - 1), Neighbours{}, in(x), inout(y, halo(2, 1))); });
  EXPECT_NE(halos.find("\"y\" has row 498"), std::string::npos) << halos;
  EXPECT_NE(halos.find("Emulated 0 and Emulated 1"), std::string::npos) << halos;
  const std::string whole = said([&] { launch(where, n, Axpy{1}, in(x), inout(v, everything)); });
  EXPECT_NE(whole.find("\"total\" is written"), std::string::npos) << whole;
  EXPECT_THROW(
      streamed_iterate(where.scheduler(StreamScheduler::EvenOdd), 4, Step1{1, 1}, state(x, halo(1, 1))),
      Error);
  // Nothing is held, and one device may do it.
  fill(v);
  launch(streamed(across(Emulated{1}), 1 << 18), n, Axpy{1}, in(x), inout(v, everything));
}
TEST_F(StreamedAcrossDevices, TooSmallABudgetIsAnErrorBeforeAnythingIsDone) {
  const CoherentArray<double, rank<2>, LayoutRight> x("x", 100, 1000), y("y", 100, 1000), z("z", 100, 1000);
  EXPECT_THROW(launch(streamed(across(devices(2)), 10000), 100, Triad{}, in(x), in(y), out(z)), OutOfMemory);
}

// ---- files

TEST_F(StreamedAcrossDevices, ArraysInFilesAreMappedAndSummed) {
  std::string directory = (std::filesystem::temp_directory_path() / "strata_streamed_across_XXXXXX").string();
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  {
    const index_t n = 300001;
    const auto x = file_array<double, rank<1>>(directory + "/x", n),
               y = file_array<double, rank<1>>(directory + "/y", n),
               u = file_array<double, rank<1>>(directory + "/u", n);
    const CoherentArray<double, rank<1>> start("start", n), expected("expected", n);
    fill(x);
    fill(start);
    const auto where = streamed(across(devices(3)), 1 << 18).chunk(4096);
    launch(where, n, Axpy{2}, in(x), inout(y));
    launch(where, n, Axpy{1}, in(x), inout(y));
    launch(on(Serial{}), n, Axpy{2}, in(start), inout(expected));
    launch(on(Serial{}), n, Axpy{1}, in(start), inout(expected));
    EXPECT_EQ(values(y), values(expected));
    double sum = 0, in_core_sum = 0;
    launch_reduce(where, n, Add{}, Sum(sum), in(y));
    launch_reduce(on(Emulated{0}), n, Add{}, Sum(in_core_sum), in(expected));
    EXPECT_EQ(sum, in_core_sum);
    fill(u);
    EXPECT_THROW(streamed_iterate(where, 3, Step1{1, 1}, state(u, halo(1, 1))), Error);
    EXPECT_EQ(values(u), values(x)) << "nothing was begun";
  }
  std::filesystem::remove_all(directory);
}

// ---- failures

TEST_F(StreamedAcrossDevices, AnyAllocationCopyOrKernelMayFailOnOneDevice) {
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
        launch(streamed(across(devices(2)), 1 << 20).chunk(500), n, Axpy{1}, in(x), inout(y));
      } catch (const DataLost& error) {
        failed = true;
        const std::string text = error.what();
        EXPECT_NE(text.find("In part old and in part new are now the values of \"y\":"), std::string::npos)
            << text;
        EXPECT_NE(text.find("failed on Emulated "), std::string::npos) << text;
        EXPECT_NE(text.find("which had rows ["), std::string::npos) << text;
      } catch (const OutOfMemory&) {
        failed = true;
        EXPECT_EQ(fault, emulated::Fault::Allocation);
        EXPECT_EQ(values(y), values(x)) << "nothing was begun";
      }
      emulated::clear_faults();
      if (!failed) break;
      ++failures;
      // The devices and the arrays go on.
      fill(y);
      launch(streamed(across(devices(2)), 1 << 20), n, Axpy{1}, in(x), inout(y));
      EXPECT_EQ(values(y)[3777], 2 * start_value(3777));
    }
    EXPECT_GE(failures, fault == emulated::Fault::Allocation ? 12 : 8) << "faults were met";
    EXPECT_LT(failures, 150);
  }
}
TEST_F(StreamedAcrossDevices, AFailureStopsTheOthersBeforeTheNextPass) {
  const index_t n = 1000, chunk = 100, passes = 4;
  int unchanged = 0, lost = 0;
  for (int k = 1; k < 60; ++k) {
    const CoherentArray<double, rank<1>> u("u", n);
    fill(u);
    const auto before = values(u);
    emulated::fail(emulated::Fault::Kernel, k);
    const auto where = streamed(across(devices(4)), 1 << 20)
                           .scheduler(StreamScheduler::Overlap)
                           .chunk(chunk)
                           .steps_per_pass(2);
    bool failed = false;
    try {
      streamed_iterate(where, 2 * static_cast<int>(passes), Step1{1, 1}, state(u, halo(1, 1)));
    } catch (const DataLost& error) {
      failed = true;
      ++lost;
      EXPECT_NE(std::string(error.what()).find("the values of \"u\""), std::string::npos) << error.what();
    } catch (const Error& error) {
      failed = true;
      ++unchanged;
      EXPECT_NE(std::string(error.what()).find("No array was changed"), std::string::npos) << error.what();
      EXPECT_EQ(values(u), before);
    }
    emulated::clear_faults();
    EXPECT_TRUE(failed) << k;
    fill(u);  // the array is free, and the devices go on
    streamed_iterate(where, 2, Step1{1, 1}, state(u, halo(1, 1)));
  }
  EXPECT_GE(unchanged, 12);  // of 4 devices with 3 slices of 2 steps in the first pass
  EXPECT_GE(lost, 12);
}
struct Keep {
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next) const { next(i) = old(i); }
};
TEST_F(StreamedAcrossDevices, AFailureStopsHostsToo) {
  const index_t n = 4000;
  const CoherentArray<double, rank<1>> u("u", n);
  fill(u);
  const auto where = streamed(across(Serial{}, Emulated{0}, Emulated{1}), 1 << 16).steps_per_pass(1);
  for (int repeat = 0; repeat < 20; ++repeat) {
    emulated::fail(emulated::Fault::Copy, 3 + 5 * repeat);
    EXPECT_THROW(streamed_iterate(where.chunk(100), 20, Keep{}, state(u, halo(1, 1))), Error) << repeat;
    emulated::clear_faults();
    fill(u);
  }
  streamed_iterate(where, 20, Keep{}, state(u, halo(1, 1)));
  EXPECT_EQ(values(u)[17], start_value(17));
}

// ---- all kinds of devices

template <class D>
class StreamedAcrossKinds : public ::testing::Test {};
TYPED_TEST_SUITE(StreamedAcrossKinds, strata_tests::TestDevices, strata_tests::DeviceName);

struct Count {  // exact on all devices
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next) const {
    next(i) = 0.5 * (old(i - 1) + old(i + 1));
  }
};

TYPED_TEST(StreamedAcrossKinds, ShareTheWorkWithTheHost) {
  const index_t n = 30000;
  const CoherentArray<double, rank<1>> x("x", n), y("y", n);
  CoherentArray<double, rank<1>> a("a", n), b("b", n);
  for (const auto& array : {x, a, b}) {
    const auto view = array.write();
    for (index_t i = 0; i < n; ++i) view(i) = static_cast<double>(i * 7919 % 1009);
  }
  const auto where = streamed(across(TypeParam{}, Threads{}), 1 << 17);
  launch(where, n, Axpy{2}, in(x), inout(y));
  EXPECT_EQ(values(y)[n - 1], 2 * values(x)[n - 1]);
  double sum = 0, expected = 0;
  launch_reduce(on(Serial{}), n, Add{}, Sum(expected), in(x));
  launch_reduce(where, n, Add{}, Sum(sum), in(x));
  EXPECT_EQ(sum, expected);
  streamed_iterate(where.steps_per_pass(4), 10, Count{}, state(x, halo(1, 1)));
  in_core(Serial{}, range(1, n - 1), 10, Count{}, a, b, halo(1, 1));
  EXPECT_EQ(values(x), values(a));
}

}  // namespace
