// Serial: one thread, the caller's, in order.
// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <thread>
#include <vector>

#include "test_devices.hpp"

namespace {

using namespace strata;

TEST(Serial, KernelsRunOnTheCallingThreadInOrder) {
  std::vector<index_t> seen;
  bool elsewhere = false;
  const auto caller = std::this_thread::get_id();

  parallel_for(on(Serial{}), range(3, 1000), [&](index_t i) {
    seen.push_back(i);
    elsewhere = elsewhere || std::this_thread::get_id() != caller;
  });

  EXPECT_FALSE(elsewhere);
  ASSERT_EQ(seen.size(), 997u);
  for (std::size_t k = 0; k < seen.size(); ++k) ASSERT_EQ(seen[k], static_cast<index_t>(k) + 3);
}

TEST(Serial, ExceptionEndsTheLaunchAtItsItem) {
  int calls = 0;

  EXPECT_THROW(parallel_for(on(Serial{}), 100,
                            [&](index_t i) {
                              ++calls;
                              if (i == 41) throw std::runtime_error("item 41");
                            }),
               std::runtime_error);

  EXPECT_EQ(calls, 42);
}

TEST(Serial, LaunchesNest) {
  std::vector<int> counts(10);

  parallel_for(on(Serial{}), 10, [&](index_t i) {
    parallel_for(on(Serial{}), i, [&, i](index_t) { ++counts[static_cast<std::size_t>(i)]; });
  });

  for (int i = 0; i < 10; ++i) EXPECT_EQ(counts[static_cast<std::size_t>(i)], i);
}

TEST(Serial, ThereIsOneInstanceWithOneThread) {
  EXPECT_EQ(Serial::count(), 1);
  EXPECT_EQ(Serial::concurrency(), 1);
  EXPECT_THROW(Serial(1), NoSuchDevice);
  EXPECT_TRUE(Serial(0) == Host{}) << "the paper's name of it";
}

}  // namespace
