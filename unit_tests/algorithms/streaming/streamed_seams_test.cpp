// Steps over several devices that take their neighbours' rows from device to device: bits, bytes, budgets,
// virtual time, failures.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <strata/algorithms/streaming/streamed_iterate.hpp>
#include <strata/algorithms/streaming/streamed_reduce.hpp>
#include <strata/core/bytes.hpp>
#include <strata/core/error.hpp>

#include "core/random.hpp"
#include "four_devices.hpp"
#include "stream_kernels.hpp"

namespace {

using namespace stream_test;

class StreamedSeams : public FourDevices {};

// ---- results

TEST_F(StreamedSeams, RandomStepsEqualSerial) {
  int with_seams = 0, cyclic_ones = 0, mixed_ones = 0, short_parts = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int low, int high) {
      return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
    };
    const int left = pick(0, 3), right = pick(0, 3), steps = pick(2, 12), count = pick(2, 4);
    const index_t n = random() % 3 == 0 ? pick(left + right + 1, 40) : pick(40, 700);
    const bool cyclic = random() % 3 == 0, mixed = random() % 5 == 0;
    CoherentArray<double, rank<1>> a("a", n), b("b", n), u("u", n);
    for (const auto* array : {&a, &b, &u}) fill(*array);
    const index_t budget = 8 * pick(2000, 40000);
    const StreamScheduler scheduler =
        std::vector{StreamScheduler::Automatic, StreamScheduler::Naive, StreamScheduler::Overlap,
                    StreamScheduler::Carry}[static_cast<std::size_t>(pick(0, 3))];
    std::vector<double> weights;
    for (int k = 0; k < count; ++k) weights.push_back(pick(1, 9));
    const auto iterate = [&](const auto& devices) {
      auto where = streamed(devices, budget).scheduler(scheduler).steps_per_pass(pick(1, 5));
      if (random() % 3 == 0) where = where.slots(pick(2, 4));
      if (random() % 2 == 0) where = where.chunk(pick(1, 40));
      if (cyclic)
        return streamed_iterate(where, n, steps, Step1{left, right},
                                state(u, halo(left, right, edge::cyclic)));
      return streamed_iterate(where, range(left, n - right), steps, Step1{left, right},
                              state(u, halo(left, right)));
    };
    if (cyclic) in_core(Serial{}, n, steps, Step1{left, right}, a, b, halo(left, right, edge::cyclic));
    else in_core(Serial{}, range(left, n - right), steps, Step1{left, right}, a, b, halo(left, right));
    try {
      const StreamReport report =
          mixed ? iterate(across(Emulated{2}, Emulated{1}, Serial{}, Emulated{0}).weighted({1, 2, 1, 3}))
                : iterate(across(devices(count)).weighted(weights));
      EXPECT_LE(report.device_bytes, budget);
      if (report.bytes_between_devices > 0) {
        ++with_seams;
        cyclic_ones += cyclic;
        mixed_ones += mixed;
        short_parts += n < count * report.steps_per_pass * std::max(left, right);
      }
    } catch (const OutOfMemory&) {
      EXPECT_LT(budget, 60000) << "seed " << seed;
      continue;
    }
    ASSERT_EQ(values(u), values(a)) << "seed " << seed;
  }
  EXPECT_GT(with_seams, 100);
  EXPECT_GT(cyclic_ones, 25);
  EXPECT_GT(mixed_ones, 12);
  EXPECT_GT(short_parts, 3);
}
TEST_F(StreamedSeams, TwoFieldsCoefficientsAndTilesOfRows) {
  const index_t n = 900, steps = 7;
  const auto where = streamed(across(devices(3)), 1 << 18).chunk(64).steps_per_pass(3);
  const CoherentArray<double, rank<1>> u("u", n), v("v", n), w("w", n), k("k", n);
  CoherentArray<double, rank<1>> u0("u0", n), v0("v0", n), u1("u1", n), v1("v1", n), a("a", n), b("b", n);
  for (const auto& array : {u, v, w, k, u0, v0, u1, v1, a, b}) fill(array);
  for (int step = 0; step < steps; ++step) {
    launch(on(Serial{}), range(1, n - 1), TwoFields{}, in(u0, halo(1, 0)), inout(u1), in(v0, halo(0, 1)),
           inout(v1));
    launch(on(Serial{}), range(1, n - 1), Step1With{}, in(a, halo(1, 1)), inout(b), in(k, halo(0, 1)));
    std::swap(u0, u1);
    std::swap(v0, v1);
    std::swap(a, b);
  }

  const StreamReport fields = streamed_iterate(where, range(1, n - 1), steps, TwoFields{},
                                               state(u, halo(1, 0)), state(v, halo(0, 1)));
  const StreamReport coefficients =
      streamed_iterate(where, steps, Step1With{}, state(w, halo(1, 1)), in(k, halo(0, 1)));

  EXPECT_EQ(values(u), values(u0));
  EXPECT_EQ(values(v), values(v0));
  EXPECT_EQ(values(w), values(a));
  // Two seams; a pass of 3 steps and one of one behind the first pass. The coefficients come from the host.
  const index_t rows = 2 * 2 * (3 + 1);
  EXPECT_EQ(coefficients.bytes_between_devices, 8 * rows);
  EXPECT_EQ(fields.bytes_between_devices, 2 * 8 * rows);

  // Rows in tiles of 8, of which kernels leave elements out. The 9 rows that are kept fill their memory to
  // both ends, and what lies one row beside it is another's.
  CoherentArray<double, rank<2>> p("p", 203, 705), q("q", 203, 705);
  const CoherentArray<double, rank<2>> r("r", 203, 705);
  for (const auto& array : {p, q, r}) fill(array);
  in_core(Serial{}, range(1, 202), 27, RowStep{}, p, q, halo(1, 1));
  for (const StreamScheduler scheduler : {StreamScheduler::Carry, StreamScheduler::Overlap}) {
    fill(r);
    const StreamReport tiles = streamed_iterate(
        streamed(across(devices(3)), 1 << 23).scheduler(scheduler).chunk(24).steps_per_pass(9), 27, RowStep{},
        state(r, halo(1, 1)));
    EXPECT_EQ(values(r), values(p)) << name_of(scheduler);
    EXPECT_EQ(tiles.bytes_between_devices, 705 * 8 * 2 * 2 * (9 + 9));
  }
}

// ---- bytes, memory and time

TEST_F(StreamedSeams, RowsOfNeighboursComeFromTheHostInTheFirstPassOnly) {
  const index_t n = 4096, chunk = 128, h = 2, t = 4;
  const int passes = 5, count = 4;
  const auto run = [&](StreamScheduler scheduler, const auto& region, index_t first) {
    const CoherentArray<double, rank<1>> u("u", n);
    return streamed_iterate(
        streamed(across(devices(count)), 1 << 20).scheduler(scheduler).chunk(chunk).steps_per_pass(t),
        range(first, n - first), passes * t, Step1{h, h}, state(u, region));
  };

  const StreamReport ring = run(StreamScheduler::Carry, halo(h, h, edge::cyclic), 0);
  const StreamReport line = run(StreamScheduler::Carry, halo(h, h), h);
  const StreamReport overlap = run(StreamScheduler::Overlap, halo(h, h, edge::cyclic), 0);

  const index_t a_seam = 8 * 2 * t * h, all = passes * 8 * n;
  EXPECT_EQ(ring.passes, passes);
  EXPECT_EQ(ring.bytes_to_device, all + count * a_seam);
  EXPECT_EQ(ring.bytes_between_devices, (passes - 1) * count * a_seam);
  EXPECT_EQ(ring.bytes_to_host, all);
  EXPECT_EQ(line.bytes_to_device, all + (count - 1) * a_seam);
  EXPECT_EQ(line.bytes_between_devices, (passes - 1) * (count - 1) * a_seam);
  EXPECT_EQ(line.bytes_to_host, all);
  // Halos between the slices of a part come from the host.
  const index_t slices = n / chunk;
  EXPECT_EQ(overlap.bytes_to_device, all + (passes * slices - (passes - 1) * count) * a_seam);
  EXPECT_EQ(overlap.bytes_between_devices, (passes - 1) * count * a_seam);
  // The plans say the same as what was done, and people are told.
  const std::string planned = "from other devices " + string_from_bytes((passes - 1) * a_seam);
  EXPECT_NE(ring.explain().find(planned), std::string::npos) << ring.explain();
  EXPECT_NE(ring.explain().find(" from device to device"), std::string::npos) << ring.explain();
}
TEST_F(StreamedSeams, WithoutAWayBetweenDevicesTheHostHasTheRows) {
  emulated::configure(four_devices(0));
  const index_t n = 4096, t = 4;
  const CoherentArray<double, rank<1>> u("u", n);
  fill(u);
  CoherentArray<double, rank<1>> a("a", n), b("b", n);
  for (const auto& array : {a, b}) fill(array);
  const auto where = streamed(across(devices(2)), 1 << 20).chunk(256).steps_per_pass(t);

  const StreamReport apart = streamed_iterate(where, 3 * t, Step1{1, 1}, state(u, halo(1, 1)));

  in_core(Serial{}, range(1, n - 1), 3 * t, Step1{1, 1}, a, b, halo(1, 1));
  EXPECT_EQ(values(u), values(a));
  EXPECT_EQ(apart.bytes_between_devices, 0);
  EXPECT_GE(apart.bytes_to_device, 3 * 8 * (n + 2 * t));
  EXPECT_EQ(apart.explain().find("devices"), std::string::npos) << apart.explain();
}
TEST_F(StreamedSeams, OnePassNeedsNothingOfOthers) {
  const index_t n = 4096;
  const CoherentArray<double, rank<1>> u("u", n);
  const StreamReport report = streamed_iterate(streamed(across(devices(2)), 1 << 20).steps_per_pass(4), 4,
                                               Step1{1, 1}, state(u, halo(1, 1)));
  EXPECT_EQ(report.passes, 1);
  EXPECT_EQ(report.bytes_between_devices, 0);
}
TEST_F(StreamedSeams, BudgetsHoldWhatIsKeptForOthers) {
  const index_t n = 20000;
  int runs = 0, with_seams = 0;
  for (index_t budget = 30000; budget < 200000; budget += strata_tests::is_sanitized ? 60033 : 20011)
    for (const int t : {0, 1, 8, 40}) {
      const CoherentArray<double, rank<1>> u("u", n);
      fill(u);
      auto where = streamed(across(devices(3)), budget);
      if (t > 0) where = where.steps_per_pass(t);

      const StreamReport report = streamed_iterate(where, 54, Step1{1, 2}, state(u, halo(1, 2)));

      EXPECT_LE(report.device_bytes, budget);
      index_t peak = 0;
      for (int k = 0; k < 3; ++k) {
        peak = std::max(peak, emulated::peak(k));
        wait(Emulated{k});
      }
      EXPECT_LE(peak, budget) << t << " steps";
      EXPECT_EQ(peak, report.device_bytes) << t << " steps";
      ++runs;
      with_seams += report.bytes_between_devices > 0;
      emulated::configure(four_devices());
    }
  EXPECT_GT(with_seams, runs / 2);
}
TEST_F(StreamedSeams, WhereThereIsNoRoomForThemTheHostHasTheRows) {
  const index_t n = 4000, t = 16;
  const CoherentArray<double, rank<1>> u("u", n);
  const auto bytes = [&](index_t budget) {
    return streamed_iterate(streamed(across(devices(2)), budget)
                                .scheduler(StreamScheduler::Carry)
                                .chunk(64)
                                .slots(3)
                                .steps_per_pass(t)
                                .dry_run(),
                            8 * t, Step1{1, 1}, state(u, halo(1, 1)))
        .device_bytes;
  };

  const index_t with = bytes(1 << 20), without = bytes(with - 1);

  EXPECT_EQ(with - without, 2 * 512);  // 16 rows of 8 bytes in a granule, twice
  EXPECT_EQ(bytes(with), with);
  EXPECT_EQ(bytes(without), without);
  EXPECT_THROW(bytes(without - 1), OutOfMemory);
}
TEST_F(StreamedSeams, CopiesGoFromDeviceToDevice) {
  const index_t n = 1 << 14, t = 8;
  const CoherentArray<double, rank<1>> u("u", n);
  emulated::reset_time();
  emulated::keep_trace(true);

  streamed_iterate(streamed(across(devices(2)), 1 << 20).chunk(1024).steps_per_pass(t), 3 * t, Step1{1, 1},
                   state(u, halo(1, 1)));

  std::size_t up = 0, down = 0;
  for (const emulated::Operation& operation : emulated::trace()) {
    if (operation.engine == "peer 0 1") up += operation.bytes;
    if (operation.engine == "peer 1 0") down += operation.bytes;
  }
  EXPECT_EQ(up, 2 * 8 * static_cast<std::size_t>(t));
  EXPECT_EQ(down, up);
}

// ---- failures

TEST_F(StreamedSeams, AnyAllocationCopyOrKernelMayFail) {
  const index_t n = 1000, t = 2;
  const auto where =
      streamed(across(devices(3)), 1 << 20).scheduler(StreamScheduler::Carry).chunk(100).steps_per_pass(t);
  CoherentArray<double, rank<1>> a("a", n), b("b", n);
  for (const auto& array : {a, b}) fill(array);
  in_core(Serial{}, range(1, n - 1), 4 * t, Step1{1, 1}, a, b, halo(1, 1));
  for (const emulated::Fault fault :
       {emulated::Fault::Allocation, emulated::Fault::Copy, emulated::Fault::Kernel}) {
    int failures = 0, between = 0;
    for (int k = 1; k < 500; k += strata_tests::faults_apart) {
      const CoherentArray<double, rank<1>> u("u", n);
      fill(u);
      const auto before = values(u);
      emulated::fail(fault, k);
      bool failed = false;
      try {
        streamed_iterate(where, 4 * t, Step1{1, 1}, state(u, halo(1, 1)));
      } catch (const DataLost& error) {
        failed = true;
        const std::string text = error.what();
        EXPECT_NE(text.find("the values of \"u\""), std::string::npos) << text;
        EXPECT_NE(text.find("failed on Emulated "), std::string::npos) << text;
        for (const auto& [from, to] : {std::pair{0, 1}, {1, 0}, {1, 2}, {2, 1}})
          between += text.find("copy of \"u\" in Emulated{" + std::to_string(from) +
                               "} to \"u\" in Emulated{" + std::to_string(to) + "}") != std::string::npos;
      } catch (const Error&) {
        failed = true;
        EXPECT_EQ(values(u), before) << "nothing was begun";
      }
      emulated::clear_faults();
      if (!failed) {
        EXPECT_EQ(values(u), values(a));
        break;
      }
      ++failures;
      // The devices and the array go on.
      fill(u);
      streamed_iterate(where, 4 * t, Step1{1, 1}, state(u, halo(1, 1)));
      ASSERT_EQ(values(u), values(a)) << k;
    }
    EXPECT_GE(failures, (fault == emulated::Fault::Allocation ? 26 : 80) / strata_tests::faults_apart)
        << "faults were met";
    EXPECT_LT(failures, 499);
    if (fault == emulated::Fault::Copy) {
      EXPECT_GE(between, 3 / strata_tests::faults_apart) << "of 12, where threads take turns as they like";
    }
  }
}

// ---- all kinds of devices of which there are several

template <class D>
class StreamedSeamsOf : public ::testing::Test {};
TYPED_TEST_SUITE(StreamedSeamsOf, strata_tests::TestDevices, strata_tests::DeviceName);

template <int H>
struct Average {  // exact on all devices
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next) const {
    next(i) = 0.5 * (old(i - H) + old(i + H));
  }
};
template <int H>
struct RowAverage {
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next) const {
    for (index_t j = 1; j < old.extent(1); ++j) next(i, j) = 0.5 * (old(i - H, j) + old(i + H, j - 1));
  }
};

TYPED_TEST(StreamedSeamsOf, NeighboursGiveEachOtherTheirRows) {
  if (TypeParam::count() < 2) GTEST_SKIP() << "there are fewer than two";
  std::vector<TypeParam> all;
  for (int k = 0; k < std::min(TypeParam::count(), 4); ++k) all.push_back(TypeParam{k});
  bool joined = true;
  for (std::size_t k = 1; k < all.size(); ++k)
    joined = joined && all[k].backend().copy_cost(all[k - 1].backend()).bytes_per_second > 0 &&
             all[k - 1].backend().copy_cost(all[k].backend()).bytes_per_second > 0;
  constexpr int h = 3, steps = 50, t = 7;
  const index_t n = 100000;
  CoherentArray<double, rank<1>> a("a", n), b("b", n);
  CoherentArray<double, rank<2>> p("p", 3001, 50), q("q", 3001, 50);
  for (const auto& array : {a, b}) fill(array);
  for (const auto& array : {p, q}) fill(array);
  in_core(Serial{}, range(h, n - h), steps, Average<h>{}, a, b, halo(h, h));
  in_core(Serial{}, range(h, 3001 - h), steps, RowAverage<h>{}, p, q, halo(h, h));
  for (const StreamScheduler scheduler :
       {StreamScheduler::Carry, StreamScheduler::Overlap, StreamScheduler::Naive})
    for (int repeat = 0; repeat < (strata_tests::is_sanitized ? 1 : 3); ++repeat) {
      const CoherentArray<double, rank<1>> u("u", n);
      const CoherentArray<double, rank<2>> v("v", 3001, 50);
      fill(u);
      fill(v);
      const auto where = streamed(across(all), 1 << 22).scheduler(scheduler).steps_per_pass(t);

      const StreamReport line =
          streamed_iterate(where.chunk(5000), steps, Average<h>{}, state(u, halo(h, h)));
      const StreamReport rows =
          streamed_iterate(where.chunk(200), steps, RowAverage<h>{}, state(v, halo(h, h)));

      ASSERT_EQ(values(u), values(a)) << name_of(scheduler);
      ASSERT_EQ(values(v), values(p)) << name_of(scheduler);
      const index_t seams = static_cast<index_t>(all.size()) - 1;
      const index_t steps_behind = steps - (scheduler == StreamScheduler::Naive ? 1 : t);
      EXPECT_EQ(line.bytes_between_devices, joined ? 8 * seams * 2 * steps_behind * h : 0);
      EXPECT_EQ(rows.bytes_between_devices > 0, joined);
    }
}
TYPED_TEST(StreamedSeamsOf, RingsOfDevices) {
  if (TypeParam::count() < 2) GTEST_SKIP() << "there are fewer than two";
  constexpr int h = 2, steps = 40;
  const index_t n = 60000;
  CoherentArray<double, rank<1>> a("a", n), b("b", n);
  for (const auto& array : {a, b}) fill(array);
  in_core(Serial{}, n, steps, Average<h>{}, a, b, halo(h, h, edge::cyclic));
  for (const int t : {1, 4, 40}) {
    const CoherentArray<double, rank<1>> u("u", n);
    fill(u);

    const StreamReport report =
        streamed_iterate(streamed(across(TypeParam{0}, TypeParam{1}), 1 << 20).steps_per_pass(t), n, steps,
                         Average<h>{}, state(u, halo(h, h, edge::cyclic)));

    EXPECT_EQ(values(u), values(a)) << t;
    const auto reaches = [](int to, int from) {
      return TypeParam(to).backend().copy_cost(TypeParam(from).backend()).bytes_per_second > 0;
    };
    EXPECT_EQ(report.bytes_between_devices > 0, t < steps && reaches(0, 1) && reaches(1, 0)) << t;
  }
}

}  // namespace
