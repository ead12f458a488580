// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include <strata/views/coherent/plan/fifo.hpp>

#include "views/coherent/plan/machine.hpp"
#include "views/coherent/plan/random_boxes.hpp"

namespace {

using strata::detail::Fifo;
using strata_tests::Random;

TEST(Fifo, HasWhatADequeHas) {
  Random random;
  Fifo<int> fifo;
  std::deque<int> deque;
  for (int step = 0; step < 2000; ++step) {
    if (random(0, 2) != 0) {
      fifo.add() = step;
      deque.push_back(step);
    } else {
      const auto count = static_cast<std::size_t>(random(0, static_cast<int>(deque.size())));
      fifo.drop_front(count);
      deque.erase(deque.begin(), deque.begin() + static_cast<std::ptrdiff_t>(count));
    }
    ASSERT_EQ(fifo.size(), deque.size());
    ASSERT_EQ(fifo.empty(), deque.empty());
    ASSERT_TRUE(std::equal(fifo.begin(), fifo.end(), deque.begin(), deque.end()));
    if (deque.empty()) continue;
    EXPECT_EQ(fifo.front(), deque.front());
    EXPECT_EQ(fifo.back(), deque.back());
  }
}

TEST(Fifo, HoldsNothingOfWhatWasDropped) {
  const auto held = std::make_shared<int>(1);
  Fifo<std::shared_ptr<int>> fifo;
  for (int k = 0; k < 3; ++k) fifo.add() = held;

  fifo.drop_front(2);

  EXPECT_EQ(held.use_count(), 2);
  const Fifo<std::shared_ptr<int>> moved = std::move(fifo);
  EXPECT_EQ(moved.size(), 1U);
  EXPECT_TRUE(fifo.empty());
}

}  // namespace
