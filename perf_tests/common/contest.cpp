// SPDX-License-Identifier: Apache-2.0
#include "common/contest.hpp"

#include <utility>

#include "common/ceiling.hpp"

namespace perf {

Ceiling triad_ceiling(HostPlace place, double bytes) {
  const auto loops = std::make_shared<TriadCeiling<double>>(bytes, place.team->size());
  return {{"triad", [loops] { loops->run_triad(); }}, loops->triad_bytes()};
}

void ContestBase::verify(const Case& question, const Competitor& competitor) {
  if (!question.correct) return;
  if (question.clear) question.clear();
  if (competitor.fetch) competitor.fetch();
  competitor.run();
  if (competitor.give_back) competitor.give_back();
  const std::string name = competitor.name.empty() ? "" : ", " + competitor.name;
  report_.check(question.correct(), question.name + name + " on " + device_ + ", " + type_);
}

Competitor ContestBase::best(const Case& question, const Sweep& sweep) {
  Race race;
  for (const Competitor& variant : sweep) {
    verify(question, variant);
    race.add(variant.run);
  }
  if (sweep.size() == 1) return sweep.front();
  race.run(7, 1.0);
  int fastest = 0;
  for (int k = 1; k < static_cast<int>(sweep.size()); ++k)
    if (race[k].median < race[fastest].median) fastest = k;
  return sweep[static_cast<std::size_t>(fastest)];
}

void ContestBase::measure(const Case& question) {
  std::vector<Competitor> entries = {{"", question.run}};
  verify(question, entries.front());
  const bool has_baseline = !question.baseline.empty();
  if (has_baseline) {
    entries.push_back(best(question, question.baseline));
    entries.back().name = question.baseline_name + ": " + entries.back().name;
  }
  for (const Sweep& other : question.others)
    if (!other.empty()) entries.push_back(best(question, other));

  Race race;
  for (const Competitor& entry : entries) race.add(entry.run);
  const bool has_ceiling = question.bytes > 0 && ceiling_.triad.run;
  const int triad = has_ceiling ? race.add(ceiling_.triad.run) : -1;
  race.run(options_.reps_or(question.bytes > 1e7 ? 30 : 300), 2.0);

  const double bound = has_ceiling ? gigabytes_per_second(ceiling_.bytes, race[triad]) : none;
  for (int k = 0; k < static_cast<int>(entries.size()); ++k) {
    const std::string& name = entries[static_cast<std::size_t>(k)].name;
    Statistics time = race[k];
    for (double* seconds : {&time.median, &time.min, &time.p90}) *seconds /= question.calls;
    const bool counts_bytes = question.bytes > 0;
    report_.add({name.empty() ? question.name : question.name + ", " + name, device_, question.n, type_, time,
                 counts_bytes ? gigabytes_per_second(question.bytes, time) : time.median * 1e6,
                 counts_bytes ? "GB/s" : "us", bound, has_baseline && k != 1 ? race.speedup(k, 1) : none});
  }
}

}  // namespace perf
