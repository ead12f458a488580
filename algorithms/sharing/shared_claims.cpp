// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <strata/algorithms/across.hpp>
#include <strata/algorithms/sharing/shared_claims.hpp>
#include <strata/algorithms/streaming/plan/rows.hpp>

namespace strata::inline STRATA_ABI::detail::sharing {

SharedClaims::SharedClaims(ResidentRows range, index_t align, bool in_nodes,
                           const std::vector<Worker>& workers)
    : range_{range.begin, std::max(range.begin, range.end)}, align_(align), in_nodes_(in_nodes) {
  for (const Worker& worker : workers) static_cast<Worker&>(workers_.emplace_back()) = worker;
}

SharedClaims::SharedClaims(ResidentRows range, index_t align, bool in_nodes,
                           const std::vector<double>& weights, std::vector<Worker> workers)
    : SharedClaims(range, align, in_nodes, workers) {
  std::vector<double> sizes = weights;
  if (sizes.empty()) {
    double known = 0, count = 0;
    for (const Worker& worker : workers)
      if (worker.speed > 0) known += worker.speed, ++count;
    for (const Worker& worker : workers)
      sizes.push_back(worker.speed > 0 ? worker.speed : count > 0 ? known / count : 1);
  }
  const std::vector<ResidentRows> homes = split_range(range_.begin, range_.end, workers.size(), sizes,
                                                      unit(range_, align, in_nodes, workers.size()));
  for (std::size_t k = 0; k < workers_.size(); ++k) workers_[k].home = homes[k];
}

namespace {

// Between large nodes of the tree of a reduction.
index_t grain_of(index_t size, index_t align, bool in_nodes) {
  if (!in_nodes) return align;
  constexpr index_t nodes = 8;
  index_t grain = align;
  while (grain * 2 * nodes <= size) grain *= 2;
  return grain;
}

}  // namespace

index_t SharedClaims::unit(ResidentRows range, index_t align, bool in_nodes, std::size_t workers) {
  return grain_of(std::max<index_t>(0, rows_of(range)) / static_cast<index_t>(workers), align, in_nodes);
}

void SharedClaims::join_all() {
  for (State& worker : workers_) worker.takes_part = true;
}

// ---- how much

double SharedClaims::seconds(const State& w, double items) {
  return items > 0 ? w.launch_seconds + items / w.speed : 0;
}
// Items a second, of a claim of so many.
double SharedClaims::rate(const State& w, double items) {
  return w.speed > 0 && items > 0 ? items / seconds(w, items) : 0;
}

// Those that are not known count as the mean of the others.
double SharedClaims::rate_of_all(double items) const {
  double known = 0, count = 0, all = 0;
  for (const State& w : workers_)
    if (w.counts()) {
      ++all;
      if (w.speed > 0) known += rate(w, items), ++count;
    }
  return count > 0 ? known / count * all : 0;
}

double SharedClaims::backlog(std::size_t worker) const {
  const State& w = workers_[worker];
  return w.speed > 0 ? seconds(w, static_cast<double>(w.num_taken)) : 0;
}

// Items of the least claim: what each costs is an eighth of it.
double SharedClaims::least_of(const State& w) const {
  constexpr double worth = 8;
  return std::max(w.least_seconds, worth * w.launch_seconds) * w.speed;
}

index_t SharedClaims::size_for(const State& w) const {
  const index_t left = num_open();
  constexpr int first_parts = 1024, most_doublings = 4;
  if (!(w.speed > 0)) {
    const index_t first = std::max<index_t>(rows_of(range_) / first_parts, 1);
    return std::min(left, first << std::min(w.claims, most_doublings));
  }
  const double least = least_of(w);
  if (const auto home = static_cast<double>(rows_of(w.home)); w.claims == 0 && w.sure > 0 && home > 0) {
    const double sure = w.sure * home;
    return std::clamp<index_t>(static_cast<index_t>(home - sure < least / 2 ? home : sure), 1, left);
  }
  const auto open = static_cast<double>(left);
  double size = std::max(open * (rate(w, open) / rate_of_all(open)) / 2, least);
  // A small part says little of a large one: most of it was the launch.
  constexpr double growth = 8;
  if (w.largest > 0) size = std::min(size, growth * static_cast<double>(w.largest));
  // What would be left is not worth a claim.
  if (static_cast<double>(left) - size < least / 2) return left;
  return std::clamp<index_t>(static_cast<index_t>(size), 1, left);
}

// Whether the launch would end sooner if others did what the worker would claim: they would be done with all
// that is left before it was done with its claim, or it has its share already. The fastest of the idle ones
// is never late, so that there is always one to take the rest.
bool SharedClaims::is_late(const State& w, index_t size) const {
  if (!(w.speed > 0) || (w.claims == 0 && w.sure > 0 && rows_of(w.home) > 0)) return false;
  double taken = 0, others = 0, fastest = 0;
  for (const State& other : workers_)
    if (other.counts()) taken += static_cast<double>(other.num_taken);
  const double open = static_cast<double>(num_open()), all = open + taken;
  index_t measured = 0;  // the largest part of the fastest
  for (const State& other : workers_) {
    if (!other.counts()) continue;
    if (rate(other, open) > fastest) fastest = rate(other, open), measured = other.largest;
    if (&other != &w) others += rate(other, all);
  }
  if (!(others > 0)) return false;
  // How fast the fastest is, small parts do not show: a much slower one waits until it has done larger ones.
  constexpr double much = 3;
  constexpr index_t small = 32;
  const double own = rate(w, open);
  if (w.claims > 0 && measured > 0 && much * own < fastest && small * measured < rows_of(range_)) return true;
  const double end = seconds(w, static_cast<double>(w.num_taken + size));
  if (w.num_taken > 0 && end > all / (others + rate(w, all)) * (1 + 1e-9)) return true;
  return own < fastest && end > (all - static_cast<double>(w.num_taken)) / others;
}

// ---- where

index_t SharedClaims::grain(index_t size) const { return grain_of(size, align_, in_nodes_); }

// Less than a quarter of a part is not left over.
ResidentRows SharedClaims::cut_front(ResidentRows& from, index_t size) const {
  const index_t unit = grain(size);
  index_t end = floor_div(from.begin + size + unit - 1, unit) * unit;
  if (from.end - end < size / 4) end = from.end;
  return {std::exchange(from.begin, end), end};
}
ResidentRows SharedClaims::cut_back(ResidentRows& from, index_t size) const {
  const index_t unit = grain(size);
  index_t begin = floor_div(from.end - size, unit) * unit;
  if (begin - from.begin < size / 4) begin = from.begin;
  return {begin, std::exchange(from.end, begin)};
}

// What a plan is sure of is the owner's: others do not take it before it has begun.
bool SharedClaims::is_kept(const State& owner) const {
  return owner.counts() && owner.sure > 0 && owner.claims == 0;
}

ResidentRows SharedClaims::cut(std::size_t worker, index_t size) {
  if (!returned_.empty()) {
    const ResidentRows part = cut_front(returned_.back(), size);
    if (rows_of(returned_.back()) == 0) returned_.pop_back();
    return part;
  }
  if (rows_of(workers_[worker].home) > 0) return cut_front(workers_[worker].home, size);
  std::size_t from = worker;
  for (std::size_t k = 0; k < workers_.size(); ++k)
    if (!is_kept(workers_[k]) && rows_of(workers_[k].home) > rows_of(workers_[from].home)) from = k;
  if (rows_of(workers_[from].home) == 0) return {0, 0};
  return worker < from ? cut_front(workers_[from].home, size) : cut_back(workers_[from].home, size);
}

ResidentRows SharedClaims::take(std::size_t worker) {
  State& w = workers_[worker];
  if (!w.counts() || num_open() == 0) return {0, 0};
  const index_t size = size_for(w);
  if (is_late(w, size)) return {0, 0};
  const ResidentRows part = cut(worker, size);
  if (rows_of(part) == 0) return part;
  w.num_taken += rows_of(part);
  num_taken_ += rows_of(part);
  ++w.claims;
  return part;
}

void SharedClaims::ended(std::size_t worker, ResidentRows part, double seconds) {
  State& w = workers_[worker];
  w.num_taken -= rows_of(part);
  num_taken_ -= rows_of(part);
  num_done_ += rows_of(part);
  if (!(seconds > 0)) return;
  constexpr double weight_of_new = 0.5;
  const double speed = static_cast<double>(rows_of(part)) / seconds;
  // Much larger than any before: those were launches more than work.
  constexpr index_t much = 4;
  const bool is_first = !(w.recent > 0) || (w.largest > 0 && rows_of(part) > much * w.largest);
  w.recent = is_first ? speed : (1 - weight_of_new) * w.recent + weight_of_new * speed;
  w.seen.add(rows_of(part), seconds);
  if (w.seen.launch_seconds() > 0) {
    w.launch_seconds = w.seen.launch_seconds();
    w.speed = w.seen.speed();
  } else {  // of one size, or in proportion
    const double launch = std::min(w.launch_seconds, seconds / 2);
    w.launch_seconds = w.seen.is_proportional() ? 0 : launch;
    w.speed = 1 / (1 / w.recent - w.launch_seconds / static_cast<double>(rows_of(part)));
  }
  w.largest = std::max(w.largest, rows_of(part));
}

void SharedClaims::give_back(std::size_t worker, ResidentRows part) {
  workers_[worker].num_taken -= rows_of(part);
  num_taken_ -= rows_of(part);
  if (rows_of(part) > 0) returned_.push_back(part);
}

void SharedClaims::take_all(std::size_t worker) {
  for (State& w : workers_) w.home = {w.home.end, w.home.end};
  returned_.clear();
  workers_[worker].num_taken = num_taken_ = range_.end - range_.begin;
}

void SharedClaims::pass(std::size_t from, std::size_t to, index_t rows) {
  workers_[from].num_taken -= rows;
  workers_[to].num_taken += rows;
}

void SharedClaims::retire(std::size_t worker) { workers_[worker].is_retired = true; }

std::vector<ResidentRows> SharedClaims::open() const {
  std::vector<ResidentRows> runs = returned_;
  for (const State& w : workers_) runs.push_back(w.home);
  std::erase_if(runs, [](ResidentRows run) { return rows_of(run) == 0; });
  std::sort(runs.begin(), runs.end(), [](ResidentRows a, ResidentRows b) { return a.begin < b.begin; });
  std::vector<ResidentRows> merged;
  for (const ResidentRows run : runs)
    if (!merged.empty() && merged.back().end == run.begin) merged.back().end = run.end;
    else merged.push_back(run);
  return merged;
}

}  // namespace strata::inline STRATA_ABI::detail::sharing
