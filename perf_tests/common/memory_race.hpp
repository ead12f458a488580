// A race of ways to move data to and from a device: like Race (timing.hpp), but for work that needs an
// untimed preparation before each sample, and has two times.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "common/memory_patterns.hpp"
#include "common/timing.hpp"

namespace perf {

/// Which of the times of a sample.
enum class Until { Done, Verified };

class MemoryRace {
 public:
  /// Adds a competitor; returns its number. `is_warm`: it has done it before.
  int add(MemoryWay way, bool is_warm = false);
  /// Each that is not warm does it once without counting, and all once more; then each once in each of
  /// `rounds` rounds, where one takes less than a millisecond after another time that does not count. The
  /// order within a round is drawn, so that what one leaves in caches and in the driver meets no other one
  /// each time. Ends early after `limit` seconds, but not before the third round.
  void run(int rounds, double limit);

  Statistics time(int competitor, Until until) const;
  /// How many times as fast `a` is as `b`: the median over the rounds of the ratio within a round.
  double speedup(int a, int b, Until until) const;

 private:
  struct Entry {
    MemoryWay way;
    bool is_warm;
    std::vector<PatternTimes> samples;
  };
  const std::vector<PatternTimes>& samples(int competitor) const {
    return entries_[static_cast<std::size_t>(competitor)].samples;
  }
  std::vector<Entry> entries_;
};

}  // namespace perf
