// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <string>

#include <strata/core/error.hpp>
#include <strata/views/coherent/plan/copy_planner.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

double time_of(const std::map<MemoryId, double>& times, MemoryId memory) {
  const auto known = times.find(memory);
  return known == times.end() ? 0 : known->second;
}

}  // namespace

void CopyPlanner::clear() {
  copies_.clear();
  planned_.clear();
  only_ways_.clear();
  ends_.clear();
  if (arrivals_.empty()) return;  // nothing had a choice
  arrivals_.clear();
  sends_.clear();
  gets_.clear();
}

void CopyPlanner::read(int array, const Directory& directory, index_t element_bytes, MemoryId memory,
                       const Box& box) {
  if (add_without_choice(array, directory, element_bytes, memory, box)) return;
  note_only_ways();
  Arrivals& arrivals = arrivals_.try_emplace(array, directory.domain()).first->second;
  const auto bytes_of = [&](const Box& part) {
    return static_cast<double>(part.size()) * static_cast<double>(element_bytes);
  };
  // Parts that come the same way are copied together where they make a box.
  std::map<Way, std::vector<Box>> ways;
  directory.map().visit(box, [&](const Box& now, MemorySet before) {
    if (before.empty() || before.contains(memory)) return;
    arrivals.memories.visit(now, [&](const Box& part, MemorySet coming) {
      if (coming.contains(memory)) return;
      ways[choose(arrivals, part, {before, before | coming}, memory, bytes_of(part))].push_back(part);
    });
  });
  for (auto& [way, region] : ways) {
    merge(region);
    for (const Box& part : region) {
      if (way.through_host) add(array, arrivals, part, way.from, host_memory, bytes_of(part));
      add(array, arrivals, part, way.through_host ? host_memory : way.from, memory, bytes_of(part));
    }
  }
}

// The usual cases: the memory lacks nothing, or one part, which one other has. With nothing planned for the
// array there is no choice then.
bool CopyPlanner::add_without_choice(int array, const Directory& directory, index_t element_bytes,
                                     MemoryId memory, const Box& box) {
  int parts = 0;
  Box part;
  MemorySet holders;
  directory.map().visit(box, [&](const Box& now, MemorySet before) {
    if (before.empty() || before.contains(memory)) return true;
    part = now;
    holders = before;
    return ++parts < 2;
  });
  if (parts == 0) return true;
  if (std::find(planned_.begin(), planned_.end(), array) != planned_.end()) return false;
  MemoryId from = host_memory;
  holders.visit([&](MemoryId holder) { from = holder; });
  if (parts != 1 || holders != MemorySet{from} || !links_->joins(from, memory)) return false;
  only_ways_.push_back({static_cast<int>(copies_.size()), &directory,
                        static_cast<double>(part.size()) * static_cast<double>(element_bytes)});
  planned_.push_back(array);
  copies_.push_back({array, part, from, memory, {}});
  ends_.push_back(never);  // until it is noted
  return true;
}

// Before a choice.
void CopyPlanner::note_only_ways() {
  for (const OnlyWay& way : only_ways_) {
    const int array = copies_[static_cast<std::size_t>(way.copy)].array;
    note(arrivals_.try_emplace(array, way.directory->domain()).first->second, way.copy, way.bytes);
  }
  only_ways_.clear();
}

CopyPlanner::Way CopyPlanner::choose(const Arrivals& arrivals, const Box& part, const Holders& holders,
                                     MemoryId to, double bytes) const {
  // The host has what went through it for another device, whatever the rules of broadcasts.
  MemorySet sources = broadcast_ == Broadcast::Yes ? holders.planned : holders.before;
  if (holders.planned.contains(host_memory)) sources = sources.with(host_memory);
  Way best{host_memory, false};
  double least = never;
  const auto offer = [&](double seconds, Way way) {
    if (seconds < least) {
      least = seconds;
      best = way;
    }
  };
  sources.visit([&](MemoryId from) { offer(arrival(arrivals, part, from, to, bytes), {from, false}); });
  if (least == never && links_->joins(host_memory, to))
    sources.visit([&](MemoryId from) {
      offer(arrival(arrivals, part, from, host_memory, bytes), {from, true});
    });
  if (least == never)
    throw CopyError("no way leads to memory " + std::to_string(to) + " from those that hold " +
                    to_string(part) + ": every memory needs a link to the host and back");
  return best;
}

double CopyPlanner::arrival(const Arrivals& arrivals, const Box& part, MemoryId from, MemoryId to,
                            double bytes) const {
  if (from == to || !links_->joins(from, to)) return never;
  double begin = std::max(time_of(sends_, from), time_of(gets_, to));
  for (const int copy : copies_to(arrivals, from, part))
    begin = std::max(begin, ends_[static_cast<std::size_t>(copy)]);
  return begin + links_->seconds(from, to, bytes);
}

std::vector<int> CopyPlanner::copies_to(const Arrivals& arrivals, MemoryId memory, const Box& part) const {
  std::vector<int> found;
  const auto known = arrivals.copies.find(memory);
  if (known != arrivals.copies.end()) known->second.find(part, found);
  std::sort(found.begin(), found.end());
  return found;
}

void CopyPlanner::add(int array, Arrivals& arrivals, const Box& box, MemoryId from, MemoryId to,
                      double bytes) {
  if (std::find(planned_.begin(), planned_.end(), array) == planned_.end()) planned_.push_back(array);
  copies_.push_back({array, box, from, to, copies_to(arrivals, from, box)});
  ends_.push_back(never);
  note(arrivals, static_cast<int>(copies_.size()) - 1, bytes);
}

// When a copy of the plan arrives, and that those after it may begin there.
void CopyPlanner::note(Arrivals& arrivals, int number, double bytes) {
  const PlannedCopy& copy = copies_[static_cast<std::size_t>(number)];
  const double end = arrival(arrivals, copy.box, copy.from, copy.to, bytes);
  ends_[static_cast<std::size_t>(number)] = sends_[copy.from] = gets_[copy.to] = end;
  arrivals.copies[copy.to].insert(number, copy.box);
  arrivals.memories.update(copy.box, [&](MemorySet memories) { return memories.with(copy.to); });
}

}  // namespace strata::inline STRATA_ABI::detail
