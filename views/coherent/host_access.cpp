// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <strata/core/error.hpp>
#include <strata/core/runtime.hpp>
#include <strata/views/coherent/acting_thread.hpp>
#include <strata/views/coherent/array_reservation.hpp>
#include <strata/views/coherent/coherence.hpp>
#include <strata/views/coherent/coherent_call.hpp>
#include <strata/views/coherent/host_access.hpp>
#include <strata/views/coherent/managed_pages.hpp>
#include <strata/views/coherent/task_function.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

std::uint64_t next_number() {
  static std::uint64_t last = std::uint64_t{1} << 62;  // calls count from 1; under the lock
  return ++last;
}

const char* name_of(AccessMode mode) {
  switch (mode) {
    case AccessMode::In:
      return "a host view for reading";
    case AccessMode::Out:
      return "a host view for writing";
    case AccessMode::InOut:
      break;
  }
  return "a host view for reading and writing";
}

void end_use(CoherentState& array, std::uint64_t number) {
  std::erase_if(array.host_uses, [&](const HostUse& use) { return use.number == number; });
  Coherence::get().wake_waiting();
}

// Plans and enqueues what the host lacks of the box.
void bring(CoherentState& array, const Box& box) {
  Coherence& coherence = Coherence::get();
  if (!array.directory.lacks(host_memory, box)) return;
  CopyPlanner& plan = coherence.new_plan();
  plan.read(0, array.directory, array.shape.element_bytes, host_memory, box);
  CoherentState* const only = &array;
  coherence.enqueue(plan.copies(), {&only, 1}, {.are_awaited = array.main.space.shared});
}

// Nothing is copied to the host's use of an explicit array.
void check_current(const CoherentState& array, const Box& box, AccessMode mode) {
  const std::vector<Box> missing = array.directory.missing(host_memory, box);
  if (missing.empty()) return;
  throw NotCurrent(std::string(name_of(mode)) + ": the host does not have the current values of \"" +
                   array.label + "\" at " + to_string(missing.front()) + ", and its memory mode is " +
                   to_string(array.mode) + "; call flush() before");
}

// Cells of tickets that nobody has now. They are never freed: copies of views outlive everything.
struct FreeCells {
  std::mutex mutex;
  std::vector<std::uint64_t*> cells;
  std::size_t made = 0;
};
FreeCells& free_cells() {
  static auto* const all = new FreeCells;
  return *all;
}

std::uint64_t* take_cell() {
  FreeCells& free = free_cells();
  const std::lock_guard lock(free.mutex);
  if (free.cells.empty()) {
    free.cells.reserve(free.made + 1);  // for the return of all
    free.cells.push_back(new std::uint64_t(0));
    ++free.made;
  }
  std::uint64_t* const cell = free.cells.back();
  free.cells.pop_back();
  return cell;
}

// Its tickets expire.
void give_cell_back(std::uint64_t* cell) {
  FreeCells& free = free_cells();
  const std::lock_guard lock(free.mutex);
  __atomic_fetch_add(cell, 1, __ATOMIC_RELAXED);
  free.cells.push_back(cell);
}

}  // namespace

TicketScope::TicketScope() : cell_(take_cell()) {}
TicketScope::~TicketScope() { give_cell_back(cell_); }

HostUseScope::HostUseScope(const Ref<CoherentState>& its_array, const Box& box, AccessMode mode, bool claims,
                           bool copies_explicit_arrays)
    : array_(its_array) {
  require_running("a host access");
  require_no_task_function("a view for the host");
  CoherentState& array = *array_;
  ArrayPart part = part_of_box(array.shape.domain, box, array.label.c_str(), "a use by the host");
  Coherence& coherence = Coherence::get();
  std::unique_lock lock(coherence.mutex);
  do {
    coherence.check_failures();
    coherence.report_failure(array);
  } while (coherence.wait_for_host_uses(lock, array, part, writes(mode), name_of(mode)));
  if constexpr (checked_build)
    if (reads(mode))
      if (const std::vector<Box> missing = array.directory.never_written(box); !missing.empty())
        throw NeverWritten(std::string(name_of(mode)) + ": \"" + array.label + "\" is read at " +
                           to_string(missing.front()) + ", which nobody has written");
  if (box.empty()) return;
  if (reads(mode) && array.is_explicit() && !copies_explicit_arrays) check_current(array, box, mode);
  if (reads(mode)) bring(array, box);
  // Claimed when all it waits for went well: until then others see the use, and keep away.
  const auto give_up = [&] {
    end_use(array, number_);
    number_ = 0;
  };
  const auto claim = [&] {
    if (coherence.tracker.failed()) {  // what came after failed work may have run all the same
      give_up();
      coherence.recover();
    }
    if (writes(mode) && claims) {
      array.directory.written(host_memory, box);
      array.log_kernel(host_memory, box, {});
    }
    array.settle(coherence.tracker);
  };
  WorkList after;
  if (writes(mode)) array.order(host_memory).before_write(box, after);
  else array.order(host_memory).before_read(box, after);
  EventList events;
  const auto find_events = [&] {
    events = {};
    for (const Work work : after) coherence.tracker.events_of(work, events);
  };
  const bool is_managed = array.mode == MemoryMode::Managed;
  const bool pages_come_later = is_managed && !after.empty() && moves_after_waiting(array, part, mode);
  if (is_managed && !pages_come_later) bring_pages_to_host(array, part, mode, after);
  find_events();
  number_ = next_number();
  array.host_uses.push_back({part, writes(mode), std::this_thread::get_id(), name_of(mode), number_});
  if (events.empty() && !pages_come_later) {
    claim();
    return;
  }
  const std::uint64_t recoveries = coherence.recoveries;
  const auto wait = [&] {
    lock.unlock();
    try {
      for (const Ref<EventState>& event : events) event->wait();
    } catch (...) {
      lock.lock();
      give_up();
      if (coherence.recoveries != recoveries) {  // another thread has set it right, and had the error
        coherence.report_failure(array);
        throw;
      }
      coherence.tracker.set_failed();
      coherence.recover();
    }
    lock.lock();
    // What was waited for may be wrong, although nothing said so here.
    return coherence.recoveries == recoveries;
  };
  bool is_good = wait();
  if (is_good && pages_come_later && !coherence.tracker.failed()) {
    try {
      bring_pages_to_host(array, part, mode, after);
      find_events();
    } catch (...) {
      give_up();
      throw;
    }
    is_good = wait();
  }
  if (is_good) {
    static_cast<void>(coherence.tracker.all_ended(after));  // or it knows of a failure
    claim();
    return;
  }
  give_up();
  lock.unlock();
  *this = HostUseScope(its_array, box, mode, claims, copies_explicit_arrays);
}

std::uint64_t recoveries_by_now() {
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  return coherence.recoveries;
}

bool claim_together(const std::vector<HostClaim>& claims, std::uint64_t recoveries) {
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  coherence.check_failures();
  if (coherence.recoveries != recoveries) return false;
  for (const HostClaim& claim : claims) {
    claim.array->directory.written(host_memory, claim.box);
    claim.array->log_kernel(host_memory, claim.box, {});
    claim.array->settle(coherence.tracker);
  }
  return true;
}

void wait_for_turn(const std::vector<ArrayHold>& arrays, const char* what) {
  Coherence& coherence = Coherence::get();
  if (coherence.num_waiting_uses == 0) return;
  call_before_waits();
  std::unique_lock lock(coherence.mutex);
  const std::uint64_t ticket = coherence.last_ticket;
  for (const ArrayHold& hold : arrays)
    coherence.wait_for_turn(lock, *hold.array, {hold.array->shape.domain, {}}, hold.is_to_write, ticket,
                            what);
}

ArrayReservation::ArrayReservation(const Ref<CoherentState>& array, const ArrayPart& part, bool writes,
                                   const char* what)
    : array_(array) {
  Coherence& coherence = Coherence::get();
  std::unique_lock lock(coherence.mutex);
  coherence.wait_for_host_uses(lock, *array_, part, writes, what, true);
  add(part, writes, what);
}

ArrayReservation ArrayReservation::attempt(const Ref<CoherentState>& array, const ArrayPart& part,
                                           bool writes, const char* what) {
  ArrayReservation reservation;
  const std::lock_guard lock(Coherence::get().mutex);
  if (Coherence::find_excluding(*array, part, writes, what) != nullptr) return reservation;
  reservation.array_ = array;
  reservation.add(part, writes, what);
  return reservation;
}

// Under the lock.
void ArrayReservation::add(const ArrayPart& part, bool writes, const char* what) {
  number_ = next_number();
  array_->host_uses.push_back({part, writes, acting_thread(), what, number_, host_memory, true});
}

ArrayReservation::~ArrayReservation() {
  if (!array_) return;
  const std::unique_lock lock(Coherence::get().mutex);
  end_use(*array_, number_);
}

void HostUseScope::fail_use() const {
  if (!array_)
    throw OutOfBounds("a host view is used from which another one was moved; use that, or make a new one");
  throw OutOfBounds("a host view of \"" + array_->label +
                    "\" is used after its end(): others may use the array by now. Make another view, or end "
                    "this one later");
}

UseTicket HostUseScope::ticket() {
  if (cell_ == nullptr) cell_ = take_cell();
  return {cell_, *cell_};
}

void HostUseScope::end() noexcept {
  over_ = true;
  if (cell_ != nullptr) give_cell_back(cell_);
  cell_ = nullptr;
  if (number_ == 0) return;
  const std::lock_guard lock(Coherence::get().mutex);
  end_use(*array_, number_);
  number_ = 0;
}

void prefetch(CoherentState& array, const Box& box, DeviceInstance& device) {
  if (array.mode == MemoryMode::Implicit || array.mode == MemoryMode::Mapped) return;
  CoherentCall call("prefetch", nullptr, nullptr);
  call.copies_explicit_arrays();
  call.add_part(device, device.default_queue());
  call.add_use(array, AccessMode::In,
               part_of_box(array.shape.domain, box, array.label.c_str(), "prefetch()"));
  call.prepare();
  if (array.mode != MemoryMode::Managed) return;
  call.begin(0);  // moves the pages
  call.end(0);
}

void flush(const Ref<CoherentState>& array, const Box& box) {
  HostUseScope(array, box, AccessMode::In, true, true).end();
}

}  // namespace strata::inline STRATA_ABI::detail
