// What streamed launches take of virtual time on emulated devices, and how many bytes they copy.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <strata/algorithms/streaming/streamed_iterate.hpp>

#include "sequence_fixture.hpp"
#include "streamed_emulated.hpp"

namespace {

using namespace stream_test;

class StreamedTime : public StreamedEmulated {};

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

TEST_F(StreamedTime, CopiesOfOneSliceOverlapTheKernelOfAnother) {
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
  EXPECT_NE(again.explain().find("virtual time"), std::string::npos) << again.explain();
  EXPECT_EQ(report.bytes_to_device, 16 * n);
}

// Of a sequence a launch has a time of its own, and its rows theirs: with both the model knows what slices of
// another size take.
TEST_F(StreamedTime, SlicesOfAnotherSizeTakeWhatIsPredicted) {
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

TEST_F(StreamedTime, StepsOfAPassHideTheCopies) {
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

TEST_F(StreamedTime, BytesAreThoseOfTheSchedulers) {
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

}  // namespace
