// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <strata/algorithms/sharing/claiming_kernel.hpp>
#include <strata/algorithms/sharing/claiming_run.hpp>
#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/core/error.hpp>
#include <strata/views/coherent/claimed_rows.hpp>
#include <strata/views/coherent/coherent_state.hpp>

namespace strata::inline STRATA_ABI::detail::sharing {

namespace {

bool is_host(const SharedWork& work, std::size_t k) { return work.devices[k].device->host_accessible(); }

// Whether kernels of the device use the memory of the array while the host does.
bool is_of_both(const CoherentState& array, const DeviceInstance& device) {
  const char* reason = "";
  return array.mode == MemoryMode::Managed && array.main.space.shared &&
         device.address_in_kernels(array.main.base, array.main.space) != nullptr &&
         device.has_system_atomics(array.main.space, reason);
}

}  // namespace

bool ClaimingRun::is_possible(const SharedWork& work, const SharePlan& plan) {
  using Kind = SharePlan::Kind;
  if (work.options.claimed_by != ClaimedBy::Kernels || !work.enqueue_claiming || work.unit_of_claims == 0)
    return false;
  if (plan.kind != Kind::Search && plan.kind != Kind::Shared) return false;
  // Where a team has but few units, that it claims one ahead keeps others waiting, who have none.
  constexpr index_t enough = 4;
  if (rows_of(work.range) / work.unit_of_claims < enough * work.claiming_teams) return false;
  bool any = false;
  for (std::size_t k = 0; k < work.devices.size(); ++k) {
    if (!plan.devices[k].takes_part || is_host(work, k)) continue;
    any = true;
    for (const SharedWork::Use& use : work.uses)
      if (!is_of_both(*use.array, *work.devices[k].device)) return false;
  }
  return any;
}

ClaimingRun::ClaimingRun(const SharedWork& work, const SharePlan& plan, const LaunchRecord& record,
                         SharedLedger& ledger, Clock::time_point begin)
    : work_(work),
      plan_(plan),
      record_(record),
      ledger_(ledger),
      begin_(begin),
      launch_{{}, ClaimCounter(work.range, work.unit_of_claims, !is_host(work, 0)), {}, {}, {}} {
  find_devices();
}

// Units a second, by earlier launches.
double ClaimingRun::speed_of(std::size_t k) const {
  return record_.devices[k].speed() / static_cast<double>(launch_.counter.unit());
}

void ClaimingRun::find_devices() {
  double all = 0;
  bool knows_all = true;
  for (std::size_t k = 0; k < work_.devices.size(); ++k)
    if (plan_.devices[k].takes_part) {
      all += speed_of(k);
      knows_all = knows_all && speed_of(k) > 0;
    }
  const index_t units = launch_.counter.units();
  for (std::size_t k = 0; k < work_.devices.size(); ++k) {
    const SharePlan::Device& planned = plan_.devices[k];
    if (!planned.takes_part) continue;
    const double speed = speed_of(k);
    if (is_host(work_, k)) {
      hosts_.push_back({k, {}, units, 0, speed, knows_all ? all - speed : 0, knows_all, 0});
      continue;
    }
    // Claims cost teams less than parts cost that the host launches.
    constexpr double of_launch = 0.25;
    const double share = knows_all ? speed / all
                                   : static_cast<double>(rows_of(planned.home)) /
                                         static_cast<double>(std::max<index_t>(1, rows_of(work_.range)));
    const index_t teams = work_.claiming_teams;
    const double least = of_launch * work_.options.device_seconds;
    launch_.devices.push_back({k, planned.home, team_claims(units, teams, share, speed, least), teams, {}});
  }
}

// ---- devices

// After a failure, whose error is known: queues throw it, too, and drop what comes later until they have.
void ClaimingRun::wait_for_queues() const {
  for (const ClaimingLaunch::Device& device : launch_.devices) try {
      work_.devices[device.number].queue->wait();
    } catch (...) {
    }
}

bool ClaimingRun::enqueue() {
  launches_.resize(launch_.devices.size());
  launch_.ended_by = [this](std::size_t p, const Function<void()>& end) {
    launches_[p] = WholeCopies::launched_by(end);
  };
  try {
    work_.enqueue_claiming(launch_);
    return true;
  } catch (...) {
    // What was begun ends before others begin, who meet the same error, or what it has cost.
    const std::exception_ptr error = std::current_exception();
    wait_for_queues();
    ledger_.after_failure(error);
    return false;
  }
}

// When all that comes before the kernels has ended. Not after a failure of that: then they do not begin.
bool ClaimingRun::may_begin() {
  try {
    for (const ClaimingLaunch::Device& device : launch_.devices)
      if (device.timing.begin) device.timing.begin->wait();
    started_ = now();
    for (Host& host : hosts_) host.seen = started_;
    return true;
  } catch (...) {
    return false;
  }
}

bool ClaimingRun::are_devices_done() const {
  return std::all_of(launch_.devices.begin(), launch_.devices.end(),
                     [](const ClaimingLaunch::Device& device) {
                       return !device.timing.end || device.timing.end->complete();
                     });
}

// ---- hosts

UnitClaim ClaimingRun::claim(Host& host, index_t count) {
  const double before = now();
  const UnitClaim claim = launch_.counter.take(ClaimCounter::Side::Hosts, count);
  host.seen = now();
  host.left = claim.left;
  ledger_.note_claiming(host.seen - before);
  const index_t others = launch_.counter.units() - claim.end - claim.left;
  if (!host.is_foretold && claim.end + claim.left > 0 && host.seen > started_)
    host.others = static_cast<double>(others) / (host.seen - started_);
  return claim;
}

// Nobody is to claim any more.
void ClaimingRun::stop(const std::exception_ptr& error) {
  ledger_.stop(error);
  if (!has_stopped_.exchange(true)) launch_.counter.take(ClaimCounter::Side::Hosts, launch_.counter.units());
}

bool ClaimingRun::do_part(Host& host, ResidentRows part) {
  const double before = now();
  try {
    work_.run_on_host(host.number, part);
  } catch (...) {
    for (const SharedWork::Use& use : work_.uses)
      if (writes(use.mode)) note_lost(*use.array, use.part_of(part), work_.name);
    stop(std::current_exception());
    return false;
  }
  const double end = now();
  host.done.push_back({part, end, end - before});
  const double speed = static_cast<double>(rows_of(part)) / static_cast<double>(launch_.counter.unit());
  if (end > before) host.speed = speed / (end - before);
  return true;
}

void ClaimingRun::work_on_host(Host& host) {
  const SharePlan::Device& planned = plan_.devices[host.number];
  const double sure = planned.sure * static_cast<double>(rows_of(planned.home));
  const auto foretold = static_cast<index_t>(sure / static_cast<double>(launch_.counter.unit()));
  while (!has_stopped_) {
    const double since = host.others * (now() - host.seen);
    const index_t left = host.left - static_cast<index_t>(std::min(since, static_cast<double>(host.left)));
    const index_t count = host_claim({launch_.counter.units(), left, foretold, host.speed, host.others,
                                      work_.options.host_seconds, host.claims});
    if (count == 0) {
      if (!is_more_left(host)) return;
      continue;
    }
    const UnitClaim mine = claim(host, count);
    if (mine.begin == mine.end) return;
    ++host.claims;
    if (!do_part(host, launch_.counter.rows(ClaimCounter::Side::Hosts, mine))) return;
    host.units += mine.end - mine.begin;
  }
}

// The others should do the rest. Where they take much longer than that, they are slower than was known: then
// there is something to do, and the host has looked at the counter, whose page comes from the device for
// that.
bool ClaimingRun::is_more_left(Host& host) {
  constexpr double late = 0.25, least = 200e-6;
  constexpr auto pause = std::chrono::microseconds(20);
  const double until = now() + std::max(least, late * (now() - started_));
  while (!are_devices_done() && !has_stopped_) {
    if (now() > until) {
      host.is_foretold = false;
      return claim(host, 0).left > 0;
    }
    std::this_thread::sleep_for(pause);
  }
  return false;
}

void ClaimingRun::run_hosts() {
  if (hosts_.empty()) return;
  const auto guarded = [this](Host& host) {
    try {
      work_on_host(host);
    } catch (...) {
      stop(std::current_exception());
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(hosts_.size());
  for (std::size_t h = 1; h < hosts_.size(); ++h) try {
      threads.emplace_back(guarded, std::ref(hosts_[h]));
    } catch (const std::system_error&) {  // the others do the work
    }
  guarded(hosts_.front());
  for (std::thread& thread : threads) thread.join();
}

// ---- the end

template <class F>
void ClaimingRun::for_host_rows(const F& f) const {
  for (const Host& host : hosts_)
    for (const Part& part : host.done) f(host, part);
}

// So that the next launch moves no more than it must. Which of several devices has a row is not known.
void ClaimingRun::note_pages() const {
  for (const SharedWork::Use& use : work_.uses) {
    if (launch_.devices.size() == 1)
      note_used_by(*use.array, use.part, use.mode, work_.devices[launch_.devices.front().number].device);
    for_host_rows([&](const Host&, const Part& part) {
      note_used_by(*use.array, use.part_of(part.rows), use.mode, nullptr);
    });
  }
}

// In order, what hosts have not done.
std::vector<ResidentRows> ClaimingRun::not_done_by_hosts() const {
  std::vector<ResidentRows> done, open;
  for_host_rows([&](const Host&, const Part& part) { done.push_back(part.rows); });
  std::sort(done.begin(), done.end(), [](ResidentRows a, ResidentRows b) { return a.begin < b.begin; });
  done.push_back({work_.range.end, work_.range.end});
  index_t begin = work_.range.begin;
  for (const ResidentRows rows : done) {
    if (begin < rows.begin) open.push_back({begin, rows.begin});
    begin = rows.end;
  }
  return open;
}

std::vector<ClaimingRun::Landed> ClaimingRun::wait_for_kernels() {
  std::vector<Landed> all;
  for (std::size_t p = 0; p < launches_.size(); ++p) {
    const Ref<EventState>& event = launch_.devices[p].timing.end;
    Landed& landed = all.emplace_back();
    try {
      if (event) event->wait();
    } catch (...) {
      landed.error = std::current_exception();
    }
    landed.end = now();
    landed.is_done = launches_[p].is_done() && !landed.error;
    // After an error of what came before it, which may be another's.
    landed.has_begun = !landed.error || event->outcome() != EventState::Outcome::Dropped;
    if (landed.is_done) landed.tally = *(launch_.results.read().view().data() + p);
  }
  return all;
}

void ClaimingRun::note_devices(const std::vector<Landed>& all) {
  const std::size_t taker = launch_.devices.front().number;
  index_t open = 0;
  for (const ResidentRows rows : not_done_by_hosts()) open += rows_of(rows);
  std::size_t last = 0;
  for (std::size_t p = 0; p < all.size(); ++p)
    if (all[p].is_done) last = p;
  for (std::size_t p = 0; p < all.size(); ++p) {
    const ClaimingLaunch::Device& device = launch_.devices[p];
    // The units at both ends of the range need not be whole.
    const index_t units = TeamTally::units(all[p].tally),
                  rows = p == last ? open : std::min(open, units * launch_.counter.unit());
    open -= rows;
    if (rows == 0) continue;
    const CoherentCall::Timing& timing = device.timing;
    const double seconds = timing.begin ? std::max(0.0, timing.end->seconds_since(*timing.begin)) : 0;
    const double end = seconds > 0 ? std::min(all[p].end, started_ + seconds) : all[p].end;
    ledger_.note_claimed(taker, device.number, {0, rows}, static_cast<int>(TeamTally::claims(all[p].tally)),
                         end, seconds);
  }
}

// What a kernel that failed has claimed is what nobody else has: it is known how much, not where.
void ClaimingRun::land() {
  const std::size_t taker = launch_.devices.front().number;
  const std::vector<Landed> all = wait_for_kernels();
  ledger_.take_all(taker);
  index_t done = 0;
  for (const Host& host : hosts_) done += host.units;
  for_host_rows([&](const Host& host, const Part& part) {
    ledger_.note_claimed(taker, host.number, part.rows, 1, part.end, part.seconds);
  });
  bool has_failed = false, has_begun = false;
  for (const Landed& landed : all) {
    done += TeamTally::units(landed.tally);
    has_failed = has_failed || !landed.is_done;
    has_begun = has_begun || landed.has_begun;
  }
  const bool is_complete = done == launch_.counter.units();
  const std::vector<ResidentRows> open = is_complete ? std::vector<ResidentRows>{} : not_done_by_hosts();
  if (has_failed) {
    wait_for_queues();
    for (const SharedWork::Use& use : work_.uses) {
      if (!writes(use.mode) || (!is_complete && !has_begun)) continue;
      note_written(*use.array, use.part);
      for (const ResidentRows rows : open) note_lost(*use.array, use.part_of(rows), work_.name);
    }
  }
  if (is_complete) {
    note_devices(all);
    note_pages();
  }
  for (std::size_t p = 0; p < all.size(); ++p) {
    if (!all[p].error) continue;
    if (all[p].has_begun) ledger_.retire(launch_.devices[p].number, all[p].error);
    ledger_.after_failure(all[p].error);
  }
  for (const ResidentRows rows : open) ledger_.give_back(taker, rows);
}

bool ClaimingRun::run() {
  if (!enqueue()) return false;
  if (may_begin()) run_hosts();
  land();
  return true;
}

}  // namespace strata::inline STRATA_ABI::detail::sharing
