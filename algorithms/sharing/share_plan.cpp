// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <strata/algorithms/across.hpp>
#include <strata/algorithms/sharing/share_plan.hpp>
#include <strata/algorithms/streaming/plan/rows.hpp>

namespace strata::inline STRATA_ABI::detail::sharing {

namespace {

class Planner {
 public:
  Planner(const ShareRequest& request, const LaunchRecord& record)
      : request_(request), record_(record), count_(record.devices.size()) {}

  SharePlan plan() const;

 private:
  double alone(std::size_t k) const;
  double expected_alone(std::size_t k) const;
  double seconds(std::size_t k, ResidentRows items) const;
  double foretold(const std::vector<ResidentRows>& homes) const;
  std::vector<ResidentRows> split(const std::vector<double>& weights) const;
  std::vector<ResidentRows> homes_of_rows() const;
  double best_without_copies() const;
  std::vector<ResidentRows> homes_of_all() const;
  SharePlan search() const;
  SharePlan all_on(std::size_t k) const;
  SharePlan shared(const std::vector<ResidentRows>& homes) const;
  ResidentRows part_to_try(std::size_t k, const ResidentRows& from, bool is_before, double limit) const;
  SharePlan with_others_tried(SharePlan plan) const;

  const ShareRequest& request_;
  const LaunchRecord& record_;
  const std::size_t count_;
};

// That a device needs for these items, with the copies.
double Planner::seconds(std::size_t k, ResidentRows items) const {
  if (rows_of(items) <= 0) return 0;
  return record_.devices[k].seconds(rows_of(items)) + request_.move_seconds(k, items);
}

double Planner::alone(std::size_t k) const { return seconds(k, request_.range); }

// By how long such launches took; where there was none, by what parts took.
double Planner::expected_alone(std::size_t k) const {
  const double took = record_.alone_took[k].seconds(rows_of(request_.range));
  if (took > 0) return took + request_.move_seconds(k, request_.range);
  return alone(k) * record_.alone[k].value();
}

double Planner::foretold(const std::vector<ResidentRows>& homes) const {
  double most = 0;
  for (std::size_t k = 0; k < count_; ++k) most = std::max(most, seconds(k, homes[k]));
  return most;
}

std::vector<ResidentRows> Planner::split(const std::vector<double>& weights) const {
  return split_range(request_.range.begin, request_.range.end, count_, weights, request_.unit);
}

// Where the rows lie, if each device has one run of them, in the order of the devices; none otherwise.
std::vector<ResidentRows> Planner::homes_of_rows() const {
  const ResidentRows range = request_.range;
  std::size_t last = count_;
  for (std::size_t k = 0; k < count_; ++k)
    if (rows_of(request_.lying[k]) > 0) last = k;
  if (last == count_) return {};
  std::vector<ResidentRows> homes;
  index_t begin = range.begin;
  for (std::size_t k = 0; k < count_; ++k) {
    index_t end = begin;
    if (const ResidentRows run = request_.lying[k]; rows_of(run) > 0) {
      // What two have is not much: rows that one computes and the other reads.
      constexpr index_t most = 16;
      if (run.begin < begin - rows_of(range) / most) return {};
      const index_t cut = floor_div(run.end + request_.unit / 2, request_.unit) * request_.unit;
      end = k == last ? range.end : std::clamp(cut, begin, range.end);
    }
    homes.push_back({begin, end});
    begin = end;
  }
  return homes;
}

// By when all would be done if all rows were everywhere: less than any shares can reach.
double Planner::best_without_copies() const {
  double least = 0;
  const double items = static_cast<double>(rows_of(request_.range));
  // Where each has begun and all of them together have done the items.
  std::vector<const DeviceCost*> known;
  for (const DeviceCost& cost : record_.devices)
    if (cost.is_known()) known.push_back(&cost);
  std::sort(known.begin(), known.end(), [](const DeviceCost* a, const DeviceCost* b) {
    return a->launch_seconds() < b->launch_seconds();
  });
  double speed = 0, begun = 0;
  for (std::size_t k = 0; k < known.size(); ++k) {
    speed += known[k]->speed();
    begun += known[k]->launch_seconds() * known[k]->speed();
    const double end = (items + begun) / speed;
    least = k == 0 ? end : std::min(least, end);
    if (k + 1 < known.size() && end <= known[k + 1]->launch_seconds()) break;
  }
  return least;
}

// The homes with which all end at the same time, as far as there are such; or those where the rows lie, if
// these are as good: then nothing moves.
std::vector<ResidentRows> Planner::homes_of_all() const {
  std::vector<double> rates(count_, 0), begin(count_, 0);
  for (std::size_t k = 0; k < count_; ++k) rates[k] = record_.devices[k].speed();
  const double items = static_cast<double>(rows_of(request_.range));
  std::vector<ResidentRows> best;
  double least = 0;
  const auto look_at = [&](const std::vector<ResidentRows>& homes, double worth) {
    const double end = foretold(homes);
    if (best.empty() || end < least * worth) best = homes, least = end;
  };
  constexpr int rounds = 5;  // copies depend on the homes, and these on copies
  for (int round = 0; round < rounds; ++round) {
    // Time T: the sum of rate * (T - begin), over those that have begun, is the number of items.
    std::vector<std::size_t> order;
    for (std::size_t k = 0; k < count_; ++k) {
      begin[k] = record_.devices[k].launch_seconds();
      if (rates[k] > 0) order.push_back(k);
    }
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return begin[a] < begin[b]; });
    double speed = 0, offset = 0, end = 0;
    for (std::size_t p = 0; p < order.size(); ++p) {
      speed += rates[order[p]];
      offset += rates[order[p]] * begin[order[p]];
      end = (items + offset) / speed;
      if (p + 1 < order.size() && end <= begin[order[p + 1]]) break;
    }
    std::vector<double> weights(count_, 0);
    for (std::size_t k = 0; k < count_; ++k) weights[k] = std::max(0.0, rates[k] * (end - begin[k]));
    const std::vector<ResidentRows> homes = split(weights);
    look_at(homes, 1);
    // Copies make a device slower.
    for (std::size_t k = 0; k < count_; ++k) {
      const index_t mine = rows_of(homes[k]);
      if (mine <= 0) continue;
      const double own = static_cast<double>(mine) / record_.devices[k].speed();
      const double moves = request_.move_seconds(k, homes[k]);
      rates[k] = static_cast<double>(mine) / (own + moves);
    }
  }
  if (const std::vector<ResidentRows> homes = homes_of_rows(); !homes.empty()) {
    bool are_known = true;
    for (std::size_t k = 0; k < count_; ++k)
      are_known = are_known && (rows_of(homes[k]) == 0 || record_.devices[k].is_known());
    constexpr double as_good = 1.02;
    if (are_known) look_at(homes, as_good);
  }
  return best;
}

SharePlan Planner::search() const {
  SharePlan plan;
  std::vector<double> sizes = request_.weights;
  std::vector<ResidentRows> homes;
  if (sizes.empty()) {
    homes = homes_of_rows();
    // By speeds; those that are not known count as the mean of the others.
    double known = 0, number = 0;
    for (const DeviceCost& cost : record_.devices)
      if (cost.is_known()) known += cost.speed(), ++number;
    for (const DeviceCost& cost : record_.devices)
      sizes.push_back(cost.is_known() ? cost.speed() : number > 0 ? known / number : 1);
  }
  if (homes.empty()) homes = split(sizes);
  for (std::size_t k = 0; k < count_; ++k) plan.devices.push_back({homes[k], true, 0, 0});
  return plan;
}

SharePlan Planner::all_on(std::size_t k) const {
  SharePlan plan;
  plan.kind = SharePlan::Kind::Alone;
  plan.devices.resize(count_);
  plan.first = k;
  plan.seconds = alone(k);
  plan.moving = request_.move_seconds(k, request_.range);
  plan.devices[k] = {request_.range, true, plan.seconds, 1};
  return plan;
}

SharePlan Planner::shared(const std::vector<ResidentRows>& homes) const {
  SharePlan plan;
  plan.kind = SharePlan::Kind::Shared;
  for (std::size_t k = 0; k < count_; ++k) {
    const double takes = seconds(k, homes[k]);
    // What may be wrong stays for later claims, four times over.
    const double sure = std::clamp(1 - 4 * record_.devices[k].deviation(), 0.5, 1.0);
    plan.devices.push_back({homes[k], takes > 0, takes, sure});
    plan.seconds = std::max(plan.seconds, takes);
    plan.moving = std::max(plan.moving, takes - record_.devices[k].seconds(rows_of(homes[k])));
  }
  return plan;
}

// What a device does in the time, at the beginning or end of the rows; not much more than was ever measured.
ResidentRows Planner::part_to_try(std::size_t k, const ResidentRows& from, bool is_before,
                                  double limit) const {
  const DeviceCost& cost = record_.devices[k];
  const auto part = [&](index_t items) {
    if (is_before) {
      const index_t end = floor_div(from.begin + items + request_.unit - 1, request_.unit) * request_.unit;
      return ResidentRows{from.begin, std::min(end, from.end)};
    }
    const index_t begin = floor_div(from.end - items, request_.unit) * request_.unit;
    return ResidentRows{std::max(begin, from.begin), from.end};
  };
  const bool is_first = record_.until_next == LaunchRecord::first_try;
  constexpr index_t growth = 8, most = 8;  // of the rows: an eighth
  index_t items = rows_of(from) / most;
  if (cost.largest() > 0) items = std::min(items, growth * cost.largest());
  for (; items >= request_.unit; items /= 2) {
    const ResidentRows rows = part(items);
    if (cost.is_known() && seconds(k, rows) <= limit) return rows;
    if (!cost.is_known()) break;
  }
  // The least part, once: it may have been measured while it was cold, or not at all.
  const ResidentRows least = part(1);
  if (!is_first || 2 * rows_of(least) > rows_of(from)) return {from.begin, from.begin};
  return least;
}

SharePlan Planner::with_others_tried(SharePlan plan) const {
  ResidentRows& rest = plan.devices[plan.first].home;
  const double limit = plan.seconds * record_.alone[plan.first].value() / 2;
  bool any = false;
  // Homes are in the order of the devices: from both ends towards the one that does the rest.
  std::vector<std::size_t> others;
  for (std::size_t k = 0; k < plan.first; ++k) others.push_back(k);
  for (std::size_t k = count_; --k > plan.first;) others.push_back(k);
  for (const std::size_t k : others) {
    const ResidentRows mine = part_to_try(k, rest, k < plan.first, limit);
    if (rows_of(mine) <= 0 || rows_of(mine) >= rows_of(rest)) continue;
    if (k < plan.first) rest.begin = mine.end;
    else rest.end = mine.begin;
    plan.devices[k] = {mine, true, std::max(seconds(k, mine), 0.0), 1};
    any = true;
  }
  if (any) plan.kind = SharePlan::Kind::Try;
  return plan;
}

SharePlan Planner::plan() const {
  const auto is_known = [](const DeviceCost& cost) { return cost.is_known(); };
  const bool knows_all = std::all_of(record_.devices.begin(), record_.devices.end(), is_known);
  const bool knows_any = std::any_of(record_.devices.begin(), record_.devices.end(), is_known);
  constexpr int most_searches = 3;
  if (!request_.weights.empty() || !knows_any || (!knows_all && record_.searches < most_searches))
    return search();
  std::size_t first = count_;
  double least = 0;
  for (std::size_t k = 0; k < count_; ++k) {
    if (!is_known(record_.devices[k])) continue;
    const double takes = expected_alone(k);
    if (first == count_ || takes < least) first = k, least = takes;
  }
  // What does not depend on how much a device does gets no shorter where others do some.
  constexpr double most = 0.5;
  const bool is_divisible = record_.devices[first].launch_seconds() < most * alone(first);
  const bool is_time_to_try = count_ > 1 && is_divisible && record_.repeats >= record_.until_next;
  double factor = record_.shared.value();
  if (is_time_to_try) factor = std::min(factor, 1.0);
  // What was foretold may be wrong by a tenth; how long shared launches took is known better.
  const double took = is_time_to_try ? 0 : record_.shared_took.seconds(rows_of(request_.range));
  const double gain = took > 0 ? 0.97 : 0.92;
  if (best_without_copies() * factor < gain * least) {
    SharePlan plan = shared(homes_of_all());
    int parts = 0;
    for (const SharePlan::Device& device : plan.devices) parts += device.takes_part ? 1 : 0;
    const double more = std::max(0.0, plan.moving - record_.shared_moving);
    const double takes = took > 0 ? took + more : plan.seconds * factor;
    if (parts > 1 && takes < gain * least) {
      // One device alone is tried again, where that does not cost several launches.
      const bool is_time = record_.shares >= record_.until_alone;
      return is_time && request_.move_seconds(first, request_.range) < takes ? all_on(first) : plan;
    }
  }
  return is_time_to_try ? with_others_tried(all_on(first)) : all_on(first);
}

}  // namespace

SharePlan plan_shares(const ShareRequest& request, const LaunchRecord& record) {
  return Planner(request, record).plan();
}

}  // namespace strata::inline STRATA_ABI::detail::sharing
