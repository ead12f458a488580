// SPDX-License-Identifier: Apache-2.0
#include "common/timing.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace perf {

namespace {

double sorted_quantile(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1))];
}

}  // namespace

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Statistics statistics(std::vector<double> seconds) {
  if (seconds.empty()) return {};
  std::sort(seconds.begin(), seconds.end());
  return {sorted_quantile(seconds, 0.5), seconds.front(), sorted_quantile(seconds, 0.9)};
}

int Race::add(std::function<void()> call) {
  entries_.push_back({std::move(call), 1, {}, {}});
  return static_cast<int>(entries_.size()) - 1;
}

void Race::run(int reps, double limit) {
  const auto sample = [](const Entry& entry) {
    const double begin = now();
    for (int c = 0; c < entry.calls; ++c) entry.call();
    return (now() - begin) / entry.calls;
  };
  bool any_short = false;
  for (Entry& entry : entries_) {
    entry.call();
    // Calls are repeated within a sample until it is long enough for the clock.
    for (double seconds = sample(entry); seconds * entry.calls < shortest_; seconds = sample(entry))
      entry.calls *= 2;
    entry.samples.clear();
    any_short = any_short || sample(entry) < short_call;
  }
  const double begin = now();
  for (int r = 0; r < reps && (r < 3 || now() - begin < limit); ++r)
    for (Entry& entry : entries_) {
      // After the competitor before: it may have emptied the caches, of data and of code.
      if (any_short) entry.call();
      entry.samples.push_back(sample(entry));
    }
  for (Entry& entry : entries_) entry.result = statistics(entry.samples);
}

double Race::speedup(int a, int b) const {
  const auto& fast = entries_[static_cast<std::size_t>(a)].samples;
  const auto& slow = entries_[static_cast<std::size_t>(b)].samples;
  std::vector<double> ratios;
  for (std::size_t r = 0; r < fast.size(); ++r) ratios.push_back(slow[r] / fast[r]);
  return statistics(ratios).median;
}

}  // namespace perf
