// A race of ways to move data to and from a device: like Race (timing.hpp), but for work that needs an
// untimed preparation before each sample, has two times, and depends on where its arrays happen to lie.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "common/memory_patterns.hpp"
#include "common/timing.hpp"

namespace perf {

/// Which of the times of a sample.
enum class Until { Done, Verified };

class MemoryRace {
 public:
  /// Adds a competitor, by what makes it with arrays of its own; returns its number.
  int add(std::function<MemoryWay()> make);
  /// `sets` times all are made anew, in an order that is drawn: with the pages that it happens to get a way
  /// may be some per cent faster or slower than the same way over others. In a set each does it twice without
  /// counting, then once in each of its share of `rounds` rounds, where one takes less than a millisecond
  /// after another time that does not count. The order within a round is drawn, too, so that what one leaves
  /// in caches and in the driver meets no other one each time. A set ends early after its share of `limit`
  /// seconds, but not before the third round.
  void run(int sets, int rounds, double limit);

  Statistics time(int competitor, Until until) const;
  /// How many times as fast `a` is as `b`: the median over the rounds of the ratio within a round.
  double speedup(int a, int b, Until until) const;

 private:
  struct Entry {
    std::function<MemoryWay()> make;
    MemoryWay way;  // of this set
    std::vector<PatternTimes> samples;
  };
  const std::vector<PatternTimes>& samples(int competitor) const {
    return entries_[static_cast<std::size_t>(competitor)].samples;
  }
  void run_set(int rounds, double limit);

  std::vector<Entry> entries_;
  std::mt19937 draw_;  // the same orders in each run of the program
};

}  // namespace perf
