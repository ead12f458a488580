// Streamed launches on emulated devices where memory, a copy or a kernel fails: what arrays and results are
// then.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <strata/algorithms/streaming/streamed_iterate.hpp>
#include <strata/algorithms/streaming/streamed_iterate_reduce.hpp>
#include <strata/core/error.hpp>

#include "core/random.hpp"
#include "streamed_emulated.hpp"

namespace {

using namespace stream_test;

class StreamedFailures : public StreamedEmulated {};

TEST_F(StreamedFailures, AnyAllocationCopyOrKernelMayFailOnce) {
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

TEST_F(StreamedFailures, AFailureInTheFirstPassOfTwoCopiesChangesNothing) {
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

TEST_F(StreamedFailures, WhereAStepThatReducesFailsResultsAreAsBefore) {
  const index_t n = 4000;
  const CoherentArray<double, rank<1>> done("done", n);
  fill(done);
  std::vector<SixteenSums::value_type> all_sums;
  streamed_iterate_reduce(streamed(Emulated{0}, 1 << 17), 12, SixteenSums{}, all_sums,
                          state(done, halo(1, 1)));
  const auto after = values(done);
  bool lost_results = false;
  for (const emulated::Fault fault :
       {emulated::Fault::Allocation, emulated::Fault::Copy, emulated::Fault::Kernel}) {
    int failures = 0;
    for (int k = 1; k < 1000; k += strata_tests::faults_apart) {
      const CoherentArray<double, rank<1>> u("u", n);
      fill(u);
      const auto before = values(u);
      std::vector<SixteenSums::value_type> sums(3);
      bool failed = false;
      emulated::fail(fault, k);
      try {
        streamed_iterate_reduce(streamed(Emulated{0}, 1 << 17).chunk(512).steps_per_pass(2), 12,
                                SixteenSums{}, sums, state(u, halo(1, 1)));
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

TEST_F(StreamedFailures, WhereThereIsNoMemoryWhatIsWrittenStays) {
  const index_t n = 1000;
  const CoherentArray<double, rank<1>> x("x", n), y("y", n);
  fill(x);
  launch(on(Emulated{0}), n, Axpy{1}, in(x), inout(y));  // the newest values are on the device
  emulated::fail(emulated::Fault::Allocation, 2);
  EXPECT_THROW(launch(streamed(Emulated{1}, 1 << 18), n, Copy{}, in(x), out(y)), OutOfMemory);
  emulated::clear_faults();
  EXPECT_EQ(values(y), values(x));
}

TEST_F(StreamedFailures, SeamsThatWentHomeAreToldAsLost) {
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

}  // namespace
