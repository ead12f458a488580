// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <strata/algorithms/sharing/claiming_run.hpp>
#include <strata/algorithms/sharing/launch_history.hpp>
#include <strata/algorithms/sharing/share_plan.hpp>
#include <strata/algorithms/sharing/shared_flights.hpp>
#include <strata/algorithms/sharing/shared_ledger.hpp>
#include <strata/algorithms/sharing/shared_run.hpp>
#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/core/error.hpp>
#include <strata/devices/device_name.hpp>
#include <strata/views/coherent/acting_thread.hpp>
#include <strata/views/coherent/array_reservation.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/move_costs.hpp>

namespace strata::inline STRATA_ABI {

void forget_shared_speeds() { detail::sharing::LaunchHistory::get().clear(); }

namespace detail::sharing {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// ---- what is the same

class Hash {
 public:
  explicit Hash(std::uint64_t begin) : value_(begin) {}
  void add(std::uint64_t more) { value_ = std::rotl(value_ ^ more, 29) * 0x9e3779b97f4a7c15ULL; }
  void add(const void* address) { add(reinterpret_cast<std::uintptr_t>(address)); }
  void add(const Box& box) {
    for (int r = 0; r < box.rank(); ++r) {
      add(static_cast<std::uint64_t>(box.lower(r)));
      add(static_cast<std::uint64_t>(box.upper(r)));
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_;
};

// Launches for which the same speeds hold: sizes differ by less than a factor of two.
std::uint64_t key_of(const SharedWork& work) {
  Hash hash(work.kind);
  for (const SharedWork::Device& device : work.devices) hash.add(device.device);
  const auto size = [&](index_t n) { hash.add(std::bit_width(static_cast<std::uint64_t>(n))); };
  size(rows_of(work.range));
  for (const SharedWork::Use& use : work.uses) {
    index_t elements = 0;
    use.part.visit([&](const Box& box) { elements += box.size(); });
    size(elements);
    hash.add(static_cast<std::uint64_t>(use.array->mode));
  }
  return hash.value();
}

// Launches of which all are right if one is: their parts touch the same boxes, as far as samples show. 0:
// each has to be looked at.
std::uint64_t form_of(const SharedWork& work) {
  if (checked_build) return 0;
  Hash hash(work.kind);
  for (const SharedWork::Device& device : work.devices) hash.add(device.device);
  hash.add(static_cast<std::uint64_t>(work.range.begin));
  hash.add(static_cast<std::uint64_t>(work.range.end));
  for (std::size_t k = 0; k < work.uses.size(); ++k) {
    const SharedWork::Use& use = work.uses[k];
    if (use.array->is_explicit()) return 0;
    std::size_t first = 0;  // use of the array
    while (work.uses[first].array.get() != use.array.get()) ++first;
    hash.add(first);
    hash.add(static_cast<std::uint64_t>(use.array->mode));
    hash.add(use.array->main.device);
    hash.add(use.array->shape.domain);
    use.part.visit([&](const Box& box) { hash.add(box); });
    constexpr std::size_t samples = 4;
    for (const ResidentRows items : split_range(work.range.begin, work.range.end, samples, {}, work.align))
      if (rows_of(items) > 0) use.part_of(items).visit([&](const Box& box) { hash.add(box); });
  }
  return hash.value() | 1;
}

// ---- a launch

class SharedRun {
 public:
  SharedRun(const SharedWork& work, LaunchRecord record);
  SharedReport run();
  /// With what this launch has shown.
  LaunchRecord take_record() { return static_cast<LaunchRecord&&>(record_); }

 private:
  std::vector<ResidentRows> rows_of_devices() const;
  SharePlan make_plan() const;
  SharedClaims make_claims() const;
  bool is_host(std::size_t k) const { return work_.devices[k].device->host_accessible(); }
  bool has_hosts() const;
  SharedFlights::Clock clock() const;

  void do_part(std::size_t host, ResidentRows part);
  void work_on_host(std::size_t host, ResidentRows first, bool may_wait);
  void run_in_turn(std::size_t host, ResidentRows first, const std::vector<std::size_t>& others);
  void run_in_threads(const std::vector<std::size_t>& hosts, ResidentRows first,
                      const std::vector<std::size_t>& others);
  void run_phase(const std::vector<std::size_t>& hosts, const std::vector<std::size_t>& others);
  void run_phases();
  void learn(const SharedReport& report);
  SharedReport report() const;

  const SharedWork& work_;
  LaunchRecord record_;
  const Clock::time_point begin_ = Clock::now();
  const SharePlan plan_;
  SharedLedger ledger_;
  SharedFlights flights_;
  std::vector<int> retries_;  // of hosts
  bool all_take_part_ = false;
  bool kernels_claimed_ = false;
};

SharedRun::SharedRun(const SharedWork& work, LaunchRecord record)
    : work_(work),
      record_(static_cast<LaunchRecord&&>(record)),
      plan_(make_plan()),
      ledger_(work, make_claims()),
      flights_(work, ledger_, begin_, clock()),
      retries_(work.devices.size(), 0) {}

bool SharedRun::has_hosts() const {
  return std::any_of(work_.devices.begin(), work_.devices.end(),
                     [](const SharedWork::Device& device) { return device.device->host_accessible(); });
}

// By an array whose rows are those of the items: one that is written, if there is such.
std::vector<ResidentRows> SharedRun::rows_of_devices() const {
  std::vector<DeviceInstance*> devices;
  for (const SharedWork::Device& device : work_.devices) devices.push_back(device.device);
  for (const bool of_written : {true, false})
    for (const SharedWork::Use& use : work_.uses) {
      const Box& box = use.part.first;
      if (writes(use.mode) != of_written || box.rank() == 0 || !use.part.more.empty()) continue;
      if (box.lower(0) != work_.range.begin || box.upper(0) != work_.range.end) continue;
      const std::vector<ResidentRows> runs = rows_lying(*use.array, box, devices);
      for (const ResidentRows run : runs)
        if (rows_of(run) > 0) return runs;
    }
  return std::vector<ResidentRows>(devices.size(), ResidentRows{0, 0});
}

SharePlan SharedRun::make_plan() const {
  const std::size_t count = work_.devices.size();
  ShareRequest request;
  request.range = {work_.range.begin, work_.range.begin + rows_of(work_.range)};
  request.unit = SharedClaims::unit(request.range, work_.align, work_.in_nodes, count);
  request.weights = work_.weights;
  request.lying = rows_of_devices();
  request.move_seconds = [this](std::size_t k, ResidentRows items) {
    double seconds = 0;
    for (const SharedWork::Use& use : work_.uses)
      seconds += seconds_to_move(*use.array, use.part_of(items), use.mode, *work_.devices[k].device);
    return seconds;
  };
  return plan_shares(request, record_);
}

SharedClaims SharedRun::make_claims() const {
  std::vector<SharedClaims::Worker> workers;
  for (std::size_t k = 0; k < work_.devices.size(); ++k) {
    const SharePlan::Device& planned = plan_.devices[k];
    const DeviceCost& cost = record_.devices[k];
    // Of its home, with the copies there.
    const double besides = planned.seconds - cost.launch_seconds();
    const double speed = besides > 0 ? static_cast<double>(rows_of(planned.home)) / besides : cost.speed();
    workers.push_back({is_host(k) ? work_.options.host_seconds : work_.options.device_seconds, speed,
                       cost.launch_seconds(), planned.sure, planned.takes_part, planned.home});
  }
  return {work_.range, work_.align, work_.in_nodes, workers};
}

SharedFlights::Clock SharedRun::clock() const {
  if (!has_hosts()) return SharedFlights::Clock::Devices;
  const bool is_for_one = plan_.kind == SharePlan::Kind::Alone;
  return is_for_one ? SharedFlights::Clock::HostForOne : SharedFlights::Clock::Host;
}

// ---- hosts

void SharedRun::do_part(std::size_t host, ResidentRows part) {
  const WholeCopies::OtherWork other;
  try {
    const CoherentCall::Timing timing = work_.launch(host, part);
    const double seconds = timing.end && timing.begin ? timing.end->seconds_since(*timing.begin) : 0;
    ledger_.note_end(host, part, seconds_since(begin_), seconds, seconds);
    retries_[host] = 0;
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    const bool is_of_others = other.has_failed(error);
    // What its own kernel throws, and what is wrong with the launch, ends it.
    if (!is_of_others || ++retries_[host] > most_retries) ledger_.stop(error);
    else ledger_.after_failure(error);
    ledger_.give_back(host, part);
  }
}

void SharedRun::work_on_host(std::size_t host, ResidentRows first, bool may_wait) {
  for (ResidentRows part = first; rows_of(part) > 0; part = ledger_.take(host, may_wait)) do_part(host, part);
}

// ---- threads

// All parts are claimed: the host does its own, and then the thread waits for the other devices.
void SharedRun::run_in_turn(std::size_t host, ResidentRows first, const std::vector<std::size_t>& others) {
  work_on_host(host, first, false);
  for (bool any = true; any && !ledger_.is_ended();) {
    any = flights_.fill(others);
    if (flights_.has_any(others)) flights_.land_first(others, false), any = true;
    if (const ResidentRows part = ledger_.take(host, false); rows_of(part) > 0)
      work_on_host(host, part, false), any = true;
  }
  while (flights_.has_any(others)) flights_.land_first(others, false);
}

void SharedRun::run_in_threads(const std::vector<std::size_t>& hosts, ResidentRows first,
                               const std::vector<std::size_t>& others) {
  const auto guarded = [this](const auto& work) {
    try {
      work();
    } catch (...) {
      ledger_.stop(std::current_exception());
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(hosts.size());
  const auto start = [&](const std::vector<std::size_t>& devices, const auto& work) {
    try {
      threads.emplace_back([&guarded, work, caller = acting_thread(), number = acting_thread_number()] {
        const ActingFor acting(caller, number);
        guarded(work);
      });
      return true;
    } catch (const std::exception&) {  // no thread, or no memory for one: the others do the work
      for (const std::size_t k : devices) ledger_.retire(k, std::current_exception());
      return false;
    }
  };
  const bool feeds = others.empty() || start(others, [this, others] { flights_.feed(others, true); });
  // Hosts wait for parts that are in flight: of a thread that did not start, somebody has to land them.
  if (!feeds)
    while (flights_.has_any(others)) guarded([&] { flights_.land_first(others, false); });
  for (std::size_t h = 1; h < hosts.size(); ++h)
    start({hosts[h]}, [this, host = hosts[h]] { work_on_host(host, ledger_.take(host, true), true); });
  guarded([&] {
    work_on_host(hosts.front(), rows_of(first) > 0 ? first : ledger_.take(hosts.front(), true), true);
  });
  for (std::thread& thread : threads) thread.join();
  // Queues report errors, which are known by now, to the thread that enqueued the work, too: this one, for
  // first parts.
  if (ledger_.has_failed())
    for (const std::size_t k : others) try {
        work_.devices[k].queue->wait();
      } catch (const Error&) {
      }
}

void SharedRun::run_phase(const std::vector<std::size_t>& hosts, const std::vector<std::size_t>& others) {
  if (!others.empty()) flights_.fill(others);  // they work while threads start
  if (hosts.empty()) return flights_.feed(others, false);
  const ResidentRows first = ledger_.take(hosts.front(), false);
  if (hosts.size() == 1 && !ledger_.has_open()) run_in_turn(hosts.front(), first, others);
  else run_in_threads(hosts, first, others);
}

// First those that take part; where they fail, and leave work, the others.
void SharedRun::run_phases() {
  for (;;) {
    std::vector<std::size_t> hosts, others;
    for (std::size_t k = 0; k < work_.devices.size(); ++k)
      if ((all_take_part_ || plan_.devices[k].takes_part) && !ledger_.is_retired(k))
        (is_host(k) ? hosts : others).push_back(k);
    try {
      if (!hosts.empty() || !others.empty()) run_phase(hosts, others);
    } catch (...) {
      ledger_.stop(std::current_exception());
    }
    if (ledger_.is_ended()) return;
    if (all_take_part_) return;
    all_take_part_ = true;
    ledger_.join_all();
  }
}

// ---- the whole

SharedReport SharedRun::run() {
  if (ClaimingRun::is_possible(work_, plan_))
    kernels_claimed_ = ClaimingRun(work_, plan_, record_, ledger_, begin_).run();
  if (!ledger_.is_ended()) run_phases();
  ledger_.throw_failure();
  const SharedReport done = report();
  learn(done);
  return done;
}

void SharedRun::learn(const SharedReport& report) {
  std::vector<double> speeds;
  bool is_faster = false;  // by far than what was known
  for (std::size_t k = 0; k < work_.devices.size(); ++k) {
    speeds.push_back(ledger_.tally(k).items > 0 ? ledger_.speed(k) : 0);
    const double before = record_.devices[k].seconds(report.items);
    for (const SharedTally::Kernel& kernel : ledger_.tally(k).kernels)
      record_.devices[k].add(kernel.items, kernel.seconds);
    is_faster = is_faster || 2 * record_.devices[k].seconds(report.items) < before;
  }
  if (work_.balance != nullptr) work_.balance->note(speeds);
  if (ledger_.has_failed() || report.items == 0) return;
  using Kind = SharePlan::Kind;
  const auto was_time_to_try = record_.repeats >= record_.until_next;
  constexpr int most_repeats = 1024;
  if (plan_.kind != Kind::Alone && was_time_to_try)
    record_.until_next = std::min(4 * record_.until_next, most_repeats);
  record_.repeats = plan_.kind == Kind::Alone ? record_.repeats + 1 : 0;
  if (plan_.kind == Kind::Try && is_faster) record_.repeats = record_.until_next;  // with a larger part
  if (plan_.kind == Kind::Search) ++record_.searches;
  if (plan_.kind == Kind::Shared) ++record_.shares;
  // Copies back are foretold, but come later; those that all launches need belong to them.
  constexpr double few = 0.02;
  constexpr int enough = 3;
  const bool moves = plan_.moving > few * plan_.seconds;
  if (plan_.kind == Kind::Shared && (!moves || record_.shares >= enough)) {
    record_.shared.note(plan_.seconds, report.seconds);
    record_.shared_took.note(report.items, report.seconds);
    record_.shared_moving = plan_.moving;
  }
  if (plan_.kind != Kind::Alone) return;
  const bool is_trial = record_.shares >= record_.until_alone;
  if (is_trial && moves && !std::exchange(record_.is_second_trial, true))
    return;  // the next one has its rows
  record_.is_second_trial = false;
  if (is_trial) record_.until_alone = std::min(4 * record_.until_alone, most_repeats);
  record_.shares = 0;
  if (moves) return;
  record_.alone[plan_.first].note(plan_.seconds, report.seconds);
  record_.alone_took[plan_.first].note(report.items, report.seconds);
}

SharedReport SharedRun::report() const {
  SharedReport report;
  report.items = rows_of(work_.range);
  report.claim_seconds = ledger_.claim_seconds();
  report.foretold = plan_.seconds;
  report.kernels_claimed = kernels_claimed_;
  double first = -1;
  for (std::size_t k = 0; k < work_.devices.size(); ++k) {
    const SharedTally& tally = ledger_.tally(k);
    report.devices.push_back({name_of(*work_.devices[k].device), tally.items, tally.claims,
                              report.items > 0 ? static_cast<double>(tally.items) / double(report.items) : 0,
                              ledger_.speed(k), tally.end, tally.failure});
    report.claims += tally.claims;
    report.seconds = std::max(report.seconds, tally.end);
    const bool counts = tally.failure.empty() && tally.items > 0;
    if (counts && (first < 0 || tally.end < first)) first = tally.end;
  }
  if (has_hosts()) report.seconds = seconds_since(begin_);
  report.tail = first >= 0 ? std::max(0.0, report.seconds - first) : 0;
  return report;
}

std::vector<SpreadPart> sample_parts(const SharedWork& work) {
  constexpr std::size_t most = 16;
  std::vector<SpreadPart> parts;
  const auto cuts = split_range(work.range.begin, work.range.end, most, {}, work.align);
  for (std::size_t p = 0; p < cuts.size(); ++p)
    if (cuts[p].begin < cuts[p].end) parts.push_back({p % work.devices.size(), cuts[p]});
  return parts;
}

// All that can be wrong with the launch is found before anything begins: parts that use what others write,
// and what a device cannot do wherever its parts are.
void check_launch_of(const SharedWork& work) {
  work.check({{0, work.range}});
  work.check(sample_parts(work));
  if (work.range.begin < work.range.end)
    for (std::size_t k = 0; k < work.devices.size(); ++k) work.check({{k, work.range}});
}

}  // namespace

std::uint64_t kind_of_launch(const char* label, const char* types) {
  Hash hash(std::hash<std::string_view>()(label == nullptr ? "" : label));
  hash.add(std::hash<std::string_view>()(types));
  return hash.value();
}

void check_options(const DynamicOptions& options) {
  const auto good = [](double seconds) { return seconds >= 0 && std::isfinite(seconds); };
  if (!good(options.host_seconds) || !good(options.device_seconds) || options.parts_ahead < 1)
    throw Error("across(...).dynamic was given host_seconds " + std::to_string(options.host_seconds) +
                ", device_seconds " + std::to_string(options.device_seconds) + " and parts_ahead " +
                std::to_string(options.parts_ahead) +
                "; give times that are not negative, and at least one part");
}

SharedReport run_shared(const SharedWork& work) {
  const std::uint64_t key = key_of(work), form = form_of(work);
  LaunchRecord record = LaunchHistory::get().find(key, work.devices.size());
  if (form == 0 || record.checked != form) check_launch_of(work);
  record.checked = form;
  if (work.balance != nullptr) {
    const std::vector<double> speeds = work.balance->speeds(work.devices.size());
    for (std::size_t k = 0; k < speeds.size(); ++k) record.devices[k].guess(speeds[k]);
  }
  std::vector<const SharedWork::Use*> uses;
  for (const SharedWork::Use& use : work.uses)
    if (!use.part.empty()) uses.push_back(&use);
  std::stable_sort(uses.begin(), uses.end(), [](const auto* a, const auto* b) {
    return std::less<>()(a->array.get(), b->array.get());
  });
  std::vector<ArrayReservation> reserved;
  reserved.reserve(uses.size());
  for (const SharedWork::Use* use : uses)
    reserved.emplace_back(use->array, use->part, writes(use->mode), "a shared launch");
  SharedRun run(work, static_cast<LaunchRecord&&>(record));
  SharedReport report = run.run();
  LaunchHistory::get().keep(key, run.take_record());
  return report;
}

}  // namespace detail::sharing
}  // namespace strata::inline STRATA_ABI
