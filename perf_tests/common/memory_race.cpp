// SPDX-License-Identifier: Apache-2.0
#include "common/memory_race.hpp"

#include <algorithm>
#include <utility>

namespace perf {

namespace {

double seconds(const PatternTimes& times, Until until) {
  return until == Until::Done ? times.done : times.verified;
}

}  // namespace

int MemoryRace::add(std::function<MemoryWay()> make) {
  entries_.push_back({std::move(make), {}, {}});
  return static_cast<int>(entries_.size()) - 1;
}

void MemoryRace::run(int sets, int rounds, double limit) {
  std::vector<Entry*> order;
  for (Entry& entry : entries_) order.push_back(&entry);
  for (int set = 0; set < sets; ++set) {
    std::shuffle(order.begin(), order.end(), draw_);
    for (Entry* const entry : order) entry->way = entry->make();
    run_set((rounds + sets - 1) / sets, limit / sets);
    for (Entry& entry : entries_) entry.way = {};
  }
}

void MemoryRace::run_set(int rounds, double limit) {
  const auto sample = [](const Entry& entry) {
    if (entry.way.prepare) entry.way.prepare();
    return entry.way.run();
  };
  bool any_short = false;
  for (Entry& entry : entries_) {
    static_cast<void>(sample(entry));
    any_short = any_short || sample(entry).done < short_call;
  }
  std::vector<Entry*> order;
  for (Entry& entry : entries_) order.push_back(&entry);
  const double begin = now();
  for (int r = 0; r < rounds && (r < 3 || now() - begin < limit); ++r) {
    std::shuffle(order.begin(), order.end(), draw_);
    for (Entry* const entry : order) {
      // The way before has emptied the caches of what this one runs.
      if (any_short) static_cast<void>(sample(*entry));
      entry->samples.push_back(sample(*entry));
    }
  }
}

Statistics MemoryRace::time(int competitor, Until until) const {
  std::vector<double> all;
  for (const PatternTimes& times : samples(competitor)) all.push_back(seconds(times, until));
  return statistics(all);
}

double MemoryRace::speedup(int a, int b, Until until) const {
  std::vector<double> ratios;
  for (std::size_t r = 0; r < samples(a).size(); ++r)
    ratios.push_back(seconds(samples(b)[r], until) / seconds(samples(a)[r], until));
  return statistics(ratios).median;
}

}  // namespace perf
