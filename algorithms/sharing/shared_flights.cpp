// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include <strata/algorithms/sharing/shared_flights.hpp>
#include <strata/core/error.hpp>
#include <strata/devices/device_name.hpp>

namespace strata::inline STRATA_ABI::detail::sharing {

namespace {

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

double seconds_between(const Ref<EventState>& begin, const Ref<EventState>& end) {
  return begin && end ? std::max(0.0, end->seconds_since(*begin)) : 0;
}

}  // namespace

SharedFlights::SharedFlights(const SharedWork& work, SharedLedger& ledger,
                             std::chrono::steady_clock::time_point begin, Clock clock)
    : work_(work), ledger_(ledger), begin_(begin), clock_(clock), devices_(work.devices.size()) {}

bool SharedFlights::has_any(const std::vector<std::size_t>& devices) const {
  return std::any_of(devices.begin(), devices.end(),
                     [&](std::size_t k) { return !devices_[k].flights.empty(); });
}

void SharedFlights::feed(const std::vector<std::size_t>& devices, bool is_beside_hosts) {
  for (;;) {
    const std::uint64_t seen = ledger_.changes();
    const bool any = fill(devices);
    if (has_any(devices)) land_first(devices, is_beside_hosts);
    else if (!any && !ledger_.wait_for_change(devices, seen)) return;
  }
}

bool SharedFlights::fill(const std::vector<std::size_t>& devices) {
  bool any = false;
  std::vector<std::size_t> open = devices;
  while (!open.empty()) {
    const auto load = [&](std::size_t k) {
      return std::pair(ledger_.backlog(k), devices_[k].flights.size());
    };
    const auto next = std::min_element(open.begin(), open.end(),
                                       [&](std::size_t a, std::size_t b) { return load(a) < load(b); });
    const std::size_t k = *next;
    // Until the device is measured, one: how large the next ones are to be is not known, nor whether it is
    // to have any.
    const int most = ledger_.speed(k) > 0 ? work_.options.parts_ahead : 1;
    const bool has_all = std::ssize(devices_[k].flights) >= most;
    const ResidentRows part = has_all ? ResidentRows{0, 0} : ledger_.take(k, false);
    if (part.begin >= part.end) {
      open.erase(next);
      continue;
    }
    any = true;
    send(k, part);
  }
  return any;
}

void SharedFlights::send(std::size_t k, ResidentRows part) {
  Device& me = devices_[k];
  Flight flight{part, {}, {}, {}};
  const WholeCopies::OtherWork other;
  std::exception_ptr error;
  try {
    if (me.flights.empty() && clock_ != Clock::HostForOne)
      flight.start = work_.devices[k].queue->record_timed();
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
  std::vector<ResidentRows> not_done;
  std::exception_ptr its_own = land_all(k, not_done), of_part;
  if (flight.launch.event && is_done(flight, of_part)) note_end(k, flight, 0);
  else not_done.push_back(part);
  if (!its_own) its_own = of_part;
  ledger_.after_failure(error);
  if (its_own || (is_of_device(error) && !is_of_others)) ledger_.retire(k, its_own ? its_own : error);
  else if (!is_of_others) ledger_.stop(error);
  for (const ResidentRows rows : not_done) ledger_.give_back(k, rows);
}

void SharedFlights::land_first(const std::vector<std::size_t>& devices, bool is_beside_hosts) {
  sleeps_ = is_beside_hosts;
  std::size_t first = devices.front();
  double first_end = -1;
  bool any = false;
  // Before any gets more, all are measured: which of them is slow is not known.
  for (const std::size_t k : devices)
    if (!devices_[k].flights.empty() && !(ledger_.speed(k) > 0)) land(k), any = true;
  if (any) return;
  for (const std::size_t k : devices) {
    const Device& device = devices_[k];
    if (device.flights.empty()) continue;
    const double speed = ledger_.speed(k);
    const ResidentRows part = device.flights.front().part;
    const double takes = speed > 0 ? static_cast<double>(part.end - part.begin) / speed : 0;
    const double end = device.clock + takes;
    if (first_end < 0 || end < first_end) first = k, first_end = end;
  }
  land(first);
}

// Waits for a part. Whether it was done; where it was not, the error, or null where that is of other work.
bool SharedFlights::is_done(Flight& flight, std::exception_ptr& error) {
  const Ref<EventState>& event = flight.launch.event ? flight.launch.event : flight.timing.end;
  std::exception_ptr seen;
  try {
    // Waits of a GPU's driver take a processor.
    constexpr auto pause = std::chrono::microseconds(20);
    if (sleeps_)
      while (event && !event->complete()) std::this_thread::sleep_for(pause);
    if (event) event->wait();
  } catch (...) {
    seen = std::current_exception();
  }
  error = seen && event->outcome() != EventState::Outcome::Dropped ? seen : nullptr;
  const bool is_done = flight.launch.is_done();  // which sets right what is known of the arrays
  if (seen) ledger_.after_failure(seen);
  return is_done;
}

void SharedFlights::note_end(std::size_t k, const Flight& flight, double seconds) {
  Device& me = devices_[k];
  const double since_origin = origin_ && flight.timing.end ? flight.timing.end->seconds_since(*origin_) : -1;
  const auto here = std::chrono::steady_clock::now() - begin_;
  me.clock = since_origin >= 0 && clock_ == Clock::Devices ? since_origin
                                                           : std::chrono::duration<double>(here).count();
  ledger_.note_end(k, flight.part, me.clock, seconds,
                   seconds > 0 ? seconds_between(flight.timing.begin, flight.timing.end) : 0);
}

void SharedFlights::land(std::size_t k) {
  Device& me = devices_[k];
  Flight flight = std::move(me.flights.front());
  me.flights.pop_front();
  std::exception_ptr error;
  if (is_done(flight, error)) {
    const Ref<EventState>& start = flight.start ? flight.start : me.last_end;
    const double seconds = seconds_between(start ? start : flight.timing.begin, flight.timing.end);
    me.last_end = flight.timing.end;
    me.retries = 0;
    return note_end(k, flight, seconds);
  }
  std::vector<ResidentRows> not_done{flight.part};
  const std::exception_ptr of_later = land_all(k, not_done);
  if (!error) error = of_later;
  const bool failed = error != nullptr || ++me.retries > most_retries;
  if (!error)
    error =
        std::make_exception_ptr(Error("parts of " + work_.name + " on " + name_of(*work_.devices[k].device) +
                                      " are not done, as other work failed again and again"));
  ledger_.after_failure(error);
  if (failed) ledger_.retire(k, error);
  for (const ResidentRows rows : not_done) ledger_.give_back(k, rows);
}

// After a failure: adds those that were not done, which the caller gives back once it has stopped the launch
// or noted what is lost. The first error of a part itself.
std::exception_ptr SharedFlights::land_all(std::size_t k, std::vector<ResidentRows>& not_done) {
  Device& me = devices_[k];
  std::exception_ptr first;
  for (; !me.flights.empty(); me.flights.pop_front()) {
    std::exception_ptr error;
    if (is_done(me.flights.front(), error)) {
      note_end(k, me.flights.front(), 0);
      continue;
    }
    not_done.push_back(me.flights.front().part);
    if (!first) first = error;
  }
  me.last_end = {};
  return first;
}

}  // namespace strata::inline STRATA_ABI::detail::sharing
