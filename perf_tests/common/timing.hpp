// Timing on machines that do other things as well: many samples of each case, medians with their spread, and
// cases that are to be compared take turns, so that a disturbance meets them all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace perf {

/// Seconds of one call.
struct Statistics {
  double median = 0;
  double min = 0;
  double p90 = 0;
};
Statistics statistics(std::vector<double> seconds);

/// Seconds since some fixed point.
double now();

/// Calls of less than a millisecond, in seconds: where one of a race is, each sample follows a call that is
/// not timed.
inline constexpr double short_call = 1e-3;

/// Competitors whose samples are taken in turn.
class Race {
 public:
  /// `shortest`: what one sample takes at least, in seconds; shorter calls are repeated within a sample.
  explicit Race(double shortest = 50e-6) : shortest_(shortest) {}

  /// Adds a competitor; returns its number.
  int add(std::function<void()> call);
  /// Each is called once to warm up, then sampled `reps` times, where one is short after a call that does not
  /// count; ends early after `limit` seconds, but not before the third round.
  void run(int reps, double limit = 30);

  const Statistics& operator[](int competitor) const {
    return entries_[static_cast<std::size_t>(competitor)].result;
  }
  /// How many times as fast `a` is as `b`: the median over the rounds of the ratio within a round, which
  /// disturbances that outlast a round do not move.
  double speedup(int a, int b) const;

 private:
  struct Entry {
    std::function<void()> call;
    int calls = 1;
    std::vector<double> samples;
    Statistics result;
  };
  double shortest_;
  std::vector<Entry> entries_;
};

}  // namespace perf
