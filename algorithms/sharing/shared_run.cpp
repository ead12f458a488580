#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <strata/algorithms/sharing/shared_claims.hpp>
#include <strata/algorithms/sharing/shared_losses.hpp>
#include <strata/algorithms/sharing/shared_run.hpp>
#include <strata/core/error.hpp>
#include <strata/views/coherent/acting_thread.hpp>
#include <strata/views/coherent/array_reservation.hpp>
#include <strata/views/coherent/whole_copies.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

index_t size_of(ResidentRows rows) { return rows.end - rows.begin; }

std::string name_of(const DeviceInstance& device) {
  return std::string(device.device_name()) + "{" + std::to_string(device.index()) + "}";
}

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "an error that is no std::exception";
  }
}

// Whether another device may do what this one could not.
bool is_of_device(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const OutOfMemory&) {
    return true;
  } catch (const KernelError&) {
    return true;
  } catch (const CopyError&) {
    return true;
  } catch (...) {
    return false;
  }
}

// A part that an asynchronous device has.
struct Flight {
  ResidentRows part;
  WholeCopies::Launch launch;
  Ref<EventState> start;  // null: it began when the one before ended
  CoherentCall::Timing timing;
};

class SharedRun {
 public:
  explicit SharedRun(const SharedWork& work);
  SharedReport run();

 private:
  struct Worker {
    bool is_host = false;
    std::deque<Flight> flights;
    Ref<EventState> last_end;
    double clock = 0;  // the end of its last part, from the beginning on
    int retries = 0;   // since its last success
    index_t items = 0;
    int claims = 0;
    std::string failure;  // why it is retired
  };

  // Claims, by several threads.
  ResidentRows take(std::size_t k, bool may_wait);
  void note_end(std::size_t k, ResidentRows part, double seconds);
  void give_back(std::size_t k, ResidentRows part);
  void retire(std::size_t k, const std::exception_ptr& error);
  void stop(const std::exception_ptr& error);
  std::uint64_t changes() const;
  bool wait_for_change(const std::vector<std::size_t>& devices, std::uint64_t seen);

  // Hosts.
  void work_on_host(std::size_t k);
  // Asynchronous devices.
  void feed(const std::vector<std::size_t>& devices);
  bool fill(const std::vector<std::size_t>& devices);
  void send(std::size_t k, ResidentRows part);
  void wait_for_first(const std::vector<std::size_t>& devices);
  void land(std::size_t k);
  std::exception_ptr land_all(std::size_t k);
  bool is_done(Flight& flight, std::exception_ptr& error);

  void after_failure(const std::exception_ptr& error);
  [[noreturn]] void fail();
  SharedReport report(double seconds) const;

  const SharedWork& work_;
  std::vector<Worker> workers_;
  SharedLosses losses_;
  Ref<EventState> origin_;  // the beginning, by the clock of the devices where all have one
  const Clock::time_point start_ = Clock::now();
  bool has_hosts_ = false;

  mutable std::mutex mutex_;  // of all that follows, and of counts of workers
  std::condition_variable changed_;
  std::uint64_t changes_ = 0;
  SharedClaims claims_;
  std::exception_ptr error_, first_failure_;
  bool has_lost_ = false;  // what parts read
  double claim_seconds_ = 0;
};

std::vector<SharedClaims::Worker> workers_of(const SharedWork& work) {
  std::vector<double> speeds(work.devices.size(), 0);
  if (work.balance != nullptr) speeds = work.balance->speeds(work.devices.size());
  std::vector<SharedClaims::Worker> workers;
  for (std::size_t k = 0; k < work.devices.size(); ++k) {
    const bool is_host = work.devices[k].device->host_accessible();
    workers.push_back({is_host ? work.options.host_seconds : work.options.device_seconds, speeds[k]});
  }
  return workers;
}

SharedRun::SharedRun(const SharedWork& work)
    : work_(work),
      workers_(work.devices.size()),
      losses_(work),
      claims_(work.range, work.align, work.in_nodes, work.weights, workers_of(work)) {
  for (std::size_t k = 0; k < workers_.size(); ++k) {
    workers_[k].is_host = work.devices[k].device->host_accessible();
    has_hosts_ = has_hosts_ || workers_[k].is_host;
  }
}

// ---- claims

// Waits, where it may, for a part, or for the end: then the part is empty.
ResidentRows SharedRun::take(std::size_t k, bool may_wait) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (error_ || claims_.is_over()) return {0, 0};
    const Clock::time_point begin = Clock::now();
    const ResidentRows part = claims_.take(k);
    claim_seconds_ += seconds_between(begin, Clock::now());
    if (size_of(part) > 0 || !may_wait) return part;
    const std::uint64_t seen = changes_;
    changed_.wait(lock, [&] { return changes_ != seen; });
  }
}

void SharedRun::note_end(std::size_t k, ResidentRows part, double seconds) {
  {
    const std::lock_guard lock(mutex_);
    claims_.ended(k, part, seconds);
    workers_[k].items += size_of(part);
    ++workers_[k].claims;
    workers_[k].retries = 0;
    ++changes_;
  }
  changed_.notify_all();
}

void SharedRun::give_back(std::size_t k, ResidentRows part) {
  work_.undo(part.begin);
  {
    const std::lock_guard lock(mutex_);
    claims_.give_back(k, part);
    ++changes_;
  }
  changed_.notify_all();
}

void SharedRun::retire(std::size_t k, const std::exception_ptr& error) {
  {
    const std::lock_guard lock(mutex_);
    claims_.retire(k);
    workers_[k].failure = text_of(error);
    if (!first_failure_) first_failure_ = error;
    ++changes_;
  }
  changed_.notify_all();
}

void SharedRun::stop(const std::exception_ptr& error) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
    ++changes_;
  }
  changed_.notify_all();
}

std::uint64_t SharedRun::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

// Until something has changed since then. False: there is nothing more for any of the devices.
bool SharedRun::wait_for_change(const std::vector<std::size_t>& devices, std::uint64_t seen) {
  std::unique_lock lock(mutex_);
  const auto is_retired = [&](std::size_t k) { return claims_.is_retired(k); };
  if (error_ || claims_.is_over() || std::all_of(devices.begin(), devices.end(), is_retired)) return false;
  changed_.wait(lock, [&] { return changes_ != seen; });
  return true;
}

// Work has failed: the arrays are set right, and what they lost ends the launch where a part would read it.
void SharedRun::after_failure(const std::exception_ptr& error) {
  {
    const std::lock_guard lock(mutex_);
    if (!first_failure_) first_failure_ = error;
  }
  losses_.set_reported();
  if (losses_.of_what_is_read().empty()) return;
  {
    const std::lock_guard lock(mutex_);
    has_lost_ = true;
  }
  stop(error);
}

// ---- hosts

constexpr int most_retries = 20;  // of parts that failures of others have spoiled

void SharedRun::work_on_host(std::size_t k) {
  Worker& me = workers_[k];
  for (ResidentRows part = take(k, true); size_of(part) > 0; part = take(k, true)) {
    const WholeCopies::OtherWork other;
    try {
      const CoherentCall::Timing timing = work_.launch(k, part);
      me.clock = seconds_between(start_, Clock::now());
      note_end(k, part, timing.end && timing.begin ? timing.end->seconds_since(*timing.begin) : 0);
    } catch (...) {
      const std::exception_ptr error = std::current_exception();
      const bool is_of_others = other.has_failed(error);
      give_back(k, part);
      // What its own kernel throws, and what is wrong with the launch, ends it.
      if (!is_of_others || ++me.retries > most_retries) return stop(error);
      after_failure(error);
    }
  }
}

// ---- asynchronous devices

void SharedRun::feed(const std::vector<std::size_t>& devices) {
  for (;;) {
    const std::uint64_t seen = changes();
    const bool any = fill(devices);
    const bool flies = std::any_of(devices.begin(), devices.end(),
                                   [&](std::size_t k) { return !workers_[k].flights.empty(); });
    if (flies) wait_for_first(devices);
    else if (!any && !wait_for_change(devices, seen)) return;
  }
}

// The device with least to do takes first. Whether any took a part.
bool SharedRun::fill(const std::vector<std::size_t>& devices) {
  bool any = false;
  std::vector<std::size_t> open = devices;
  while (!open.empty()) {
    const auto load = [&](std::size_t k) {
      const std::lock_guard lock(mutex_);
      return std::pair(claims_.backlog(k), workers_[k].flights.size());
    };
    const auto next = std::min_element(open.begin(), open.end(),
                                       [&](std::size_t a, std::size_t b) { return load(a) < load(b); });
    const std::size_t k = *next;
    const bool has_all = std::ssize(workers_[k].flights) >= work_.options.parts_ahead;
    const ResidentRows part = has_all ? ResidentRows{0, 0} : take(k, false);
    if (size_of(part) == 0) {
      open.erase(next);
      continue;
    }
    any = true;
    send(k, part);
  }
  return any;
}

void SharedRun::send(std::size_t k, ResidentRows part) {
  Worker& me = workers_[k];
  Flight flight{part, {}, {}, {}};
  const WholeCopies::OtherWork other;
  std::exception_ptr error;
  try {
    if (me.flights.empty()) flight.start = work_.devices[k].queue->record_timed();
    if (!origin_) origin_ = flight.start;
    flight.launch = WholeCopies::launched_by([&] {
      try {
        flight.timing = work_.launch(k, part);
      } catch (...) {  // perhaps after its kernel was enqueued: then that may be done
        error = std::current_exception();
      }
    });
  } catch (...) {
    error = std::current_exception();
  }
  if (!error) return me.flights.push_back(std::move(flight));
  const bool is_of_others = other.has_failed(error) && ++me.retries <= most_retries;
  // The error may be that of a part which it has.
  std::exception_ptr its_own = land_all(k), of_part;
  if (flight.launch.event && is_done(flight, of_part)) note_end(k, part, 0);
  else give_back(k, part);
  if (!its_own) its_own = of_part;
  after_failure(error);
  if (its_own || (is_of_device(error) && !is_of_others)) retire(k, its_own ? its_own : error);
  else if (!is_of_others) stop(error);
}

// The part that is expected to end first, by the speeds so far: the order follows the time of the devices,
// also where that is virtual, and not how fast the host is.
void SharedRun::wait_for_first(const std::vector<std::size_t>& devices) {
  std::size_t first = devices.front();
  double first_end = -1;
  for (const std::size_t k : devices) {
    const Worker& worker = workers_[k];
    if (worker.flights.empty()) continue;
    double speed = 0;
    {
      const std::lock_guard lock(mutex_);
      speed = claims_.speed(k);
    }
    const double takes = speed > 0 ? static_cast<double>(size_of(worker.flights.front().part)) / speed : 0;
    const double end = worker.clock + takes;
    if (first_end < 0 || end < first_end) first = k, first_end = end;
  }
  land(first);
}

// Waits for a part. Whether it was done; where it was not, the error, or null where that is of other work.
bool SharedRun::is_done(Flight& flight, std::exception_ptr& error) {
  const Ref<EventState>& event = flight.launch.event ? flight.launch.event : flight.timing.end;
  std::exception_ptr seen;
  try {
    if (event) event->wait();
  } catch (...) {
    seen = std::current_exception();
  }
  error = seen && event->outcome() != EventState::Outcome::Dropped ? seen : nullptr;
  const bool is_done = flight.launch.is_done();  // which sets right what is known of the arrays
  if (seen) after_failure(seen);
  return is_done;
}

void SharedRun::land(std::size_t k) {
  Worker& me = workers_[k];
  Flight flight = std::move(me.flights.front());
  me.flights.pop_front();
  std::exception_ptr error;
  if (is_done(flight, error)) {
    const Ref<EventState>& end = flight.timing.end;
    const EventState* const start = flight.start ? flight.start.get() : me.last_end.get();
    const double seconds = start != nullptr && end ? end->seconds_since(*start) : 0;
    const double since_origin = origin_ && end ? end->seconds_since(*origin_) : -1;
    me.clock = since_origin >= 0 && !has_hosts_ ? since_origin : seconds_between(start_, Clock::now());
    me.last_end = end;
    return note_end(k, flight.part, seconds);
  }
  const std::exception_ptr of_later = land_all(k);
  if (!error) error = of_later;
  const bool failed = error != nullptr || ++me.retries > most_retries;
  if (!error)
    error =
        std::make_exception_ptr(Error("parts of " + work_.name + " on " + name_of(*work_.devices[k].device) +
                                      " are not done, as other work failed again and again"));
  give_back(k, flight.part);
  after_failure(error);
  if (failed) retire(k, error);
}

// After a failure: those that were not done are for others, or for later. The first error of a part itself.
std::exception_ptr SharedRun::land_all(std::size_t k) {
  Worker& me = workers_[k];
  std::exception_ptr first;
  for (; !me.flights.empty(); me.flights.pop_front()) {
    std::exception_ptr error;
    if (is_done(me.flights.front(), error)) {
      note_end(k, me.flights.front().part, 0);
      continue;
    }
    give_back(k, me.flights.front().part);
    if (!first) first = error;
  }
  me.last_end = {};
  return first;
}

// ---- the whole

SharedReport SharedRun::run() {
  std::vector<std::size_t> hosts, others;
  for (std::size_t k = 0; k < workers_.size(); ++k) (workers_[k].is_host ? hosts : others).push_back(k);
  std::vector<std::vector<std::size_t>> tasks;  // the workers of each thread
  for (const std::size_t k : hosts) tasks.push_back({k});
  if (!others.empty()) tasks.push_back(others);
  const auto work = [this](const std::vector<std::size_t>& mine) {
    try {
      if (workers_[mine.front()].is_host) work_on_host(mine.front());
      else feed(mine);
    } catch (...) {
      stop(std::current_exception());
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(tasks.size());
  for (std::size_t t = 1; t < tasks.size(); ++t) try {
      threads.emplace_back(
          [&work, mine = tasks[t], caller = acting_thread(), number = acting_thread_number()] {
            const ActingFor acting(caller, number);
            work(mine);
          });
    } catch (const std::system_error&) {  // the others do the work
      for (const std::size_t k : tasks[t]) retire(k, std::current_exception());
    }
  work(tasks.front());
  for (std::thread& thread : threads) thread.join();
  if (error_ || !claims_.is_over() || (first_failure_ && !losses_.of_what_was_written().empty())) fail();
  std::vector<double> speeds;
  for (std::size_t k = 0; k < workers_.size(); ++k) speeds.push_back(claims_.speed(k));
  if (work_.balance != nullptr) work_.balance->note(speeds);
  return report(seconds_between(start_, Clock::now()));
}

void SharedRun::fail() {
  if (error_ && !has_lost_) std::rethrow_exception(error_);
  losses_.set_reported();
  std::string text;
  for (const ResidentRows run : claims_.open())
    text += (text.empty() ? "; not done: work items [" : ", [") + std::to_string(run.begin) + ", " +
            std::to_string(run.end) + ")";
  const std::string lost = claims_.is_over() ? losses_.of_what_was_written() : losses_.of_all();
  const std::exception_ptr error = error_ ? error_ : first_failure_;
  const std::string what = "shared launch of " + work_.name + ": " + text_of(error) + text;
  if (!lost.empty())
    throw DataLost(what + "; lost, being nowhere else: " + lost + ". Write them anew before they are read");
  try {
    std::rethrow_exception(error);
  } catch (const OutOfMemory&) {
    throw OutOfMemory(what + "; no device is left");
  } catch (const CopyError&) {
    throw CopyError(what + "; no device is left");
  } catch (const KernelError&) {
    throw KernelError(what + "; no device is left");
  } catch (const Error&) {
    throw Error(what + "; no device is left");
  }
}

SharedReport SharedRun::report(double seconds) const {
  SharedReport report;
  report.items = size_of(work_.range);
  report.claim_seconds = claim_seconds_;
  double first = -1;
  for (std::size_t k = 0; k < workers_.size(); ++k) {
    const Worker& worker = workers_[k];
    report.devices.push_back({name_of(*work_.devices[k].device), worker.items, worker.claims,
                              report.items > 0 ? static_cast<double>(worker.items) / double(report.items) : 0,
                              claims_.speed(k), worker.clock, worker.failure});
    report.claims += worker.claims;
    report.seconds = std::max(report.seconds, worker.clock);
    const bool counts = worker.failure.empty() && worker.items > 0;
    if (counts && (first < 0 || worker.clock < first)) first = worker.clock;
  }
  if (has_hosts_) report.seconds = seconds;
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

}  // namespace

void check_options(const DynamicOptions& options) {
  const auto good = [](double seconds) { return seconds >= 0 && std::isfinite(seconds); };
  if (!good(options.host_seconds) || !good(options.device_seconds) || options.parts_ahead < 1)
    throw Error("across(...).dynamic was given host_seconds " + std::to_string(options.host_seconds) +
                ", device_seconds " + std::to_string(options.device_seconds) + " and parts_ahead " +
                std::to_string(options.parts_ahead) +
                "; give times that are not negative, and at least one part");
}

SharedReport run_shared(const SharedWork& work) {
  // All that can be wrong with the launch is found before anything begins: parts that use what others write,
  // and what a device cannot do wherever its parts are.
  work.check(sample_parts(work));
  if (work.range.begin < work.range.end)
    for (std::size_t k = 0; k < work.devices.size(); ++k) work.check({{k, work.range}});
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
  return SharedRun(work).run();
}

}  // namespace strata::inline STRATA_ABI::detail
