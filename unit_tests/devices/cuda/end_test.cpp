// The end of a program whose GPU met an error: what is printed, and the status. Each statement runs in a
// process of its own, as nothing more can be done on a GPU after a sticky error.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <exception>

#include <gtest/gtest.h>

#include <strata/strata.hpp>

namespace {

using namespace strata;

struct WriteNowhere {
  STRATA_FUNCTION void operator()(index_t, auto x) const { *(x.data() + (index_t{1} << 50)) = 1; }
};

// A kernel writes where no memory is; then the program waits, or ends.
[[noreturn]] void fail_and_end(bool wait_for_it) {
  std::exit(main_guard(0, nullptr, [&] {
    const auto x = create<MDArray<double, Cuda, rank<1>>>("x", 1);
    const Queue<Cuda> queue;
    parallel_for("step", on(queue), 1, with(WriteNowhere{}, x));
    if (!wait_for_it) return;
    try {
      queue.wait();
    } catch (const std::exception&) {
      std::fprintf(stderr, "caught\n");
    }
  }));
}

TEST(CudaEndDeathTest, ErrorThatNobodyWaitedForIsPrintedOnceAndGivesTheStatusOne) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");

  EXPECT_EXIT(fail_and_end(false), ::testing::ExitedWithCode(1),
              "^strata: error: work on Cuda\\{0\\} failed, which nobody waited for: [^\n]*illegal memory");
}

TEST(CudaEndDeathTest, ErrorThatSomebodyWaitedForIsNotPrinted) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");

  EXPECT_EXIT(fail_and_end(true), ::testing::ExitedWithCode(0), "^caught\n$");
}

}  // namespace
