// How a call gets all the memory that it needs, and what it waits for: uses of the host, and room that other
// calls have pinned. It never waits with pins of its own, so that calls do not wait for each other.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include <strata/core/error.hpp>
#include <strata/devices/host/worker.hpp>
#include <strata/views/coherent/call_state.hpp>

namespace strata::inline STRATA_ABI::detail {

// Whether it had to wait: meanwhile others may have begun, or failed.
bool CallState::wait_for_host() {
  const auto busy = [&] {
    return std::any_of(uses_.begin(), uses_.end(),
                       [](const Use& use) { return use.array->has_uses_of_others(); });
  };
  if (!busy()) return false;
  const std::string what = std::string("launch of ") + name();
  bool waited = false;
  for (const Part& part : parts_)
    for_uses(part, [&](const Use& use) {
      Coherence& coherence = Coherence::get();
      if (coherence.wait_for_host_uses(lock_, *use.array, use.region, writes(use.mode), what.c_str()))
        waited = true;
      const bool grows = use.memory != host_memory && !use.region.empty();
      if (grows && coherence.wait_to_move(lock_, *use.array, use.memory, held_rows(use))) waited = true;
    });
  return waited;
}

// What a part holds of an array: copies of implicit ones are whole.
bool CallState::copies_whole(const Use& use) const {
  return use.array->mode == MemoryMode::Implicit && !is_one_of_several_ && !use.region.empty();
}
ResidentRows CallState::held_rows(const Use& use) const {
  const ArrayShape& shape = use.array->shape;
  return copies_whole(use) ? shape.rows_of(shape.domain) : shape.rows_of(use.region);
}

// Whether others may see its pins: it does not hold the lock to its end.
bool CallState::keeps_pins() const {
  return std::any_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.unlocked; });
}

// Gives all arrays memory where the call needs it: all at once, or it waits without having pinned any.
void CallState::find_room() {
  Coherence& coherence = Coherence::get();
  // A kernel on a pool's thread does not wait for calls, which may wait for the pool.
  const bool may_wait = host_worker < 0;
  const auto leave_queue = [&] {
    if (ticket_ == 0) return;
    std::erase_if(coherence.room_waiters, [&](const auto& waiter) { return waiter.ticket == ticket_; });
    coherence.wake_waiting();
  };
  try {
    for (;;) {
      coherence.check_failures();
      for (const Use& use : uses_) coherence.report_failure(*use.array);
      if (wait_for_host()) continue;
      if (may_wait && !coherence.room_waiters.empty() && wait_for_turn()) continue;
      if (reside(may_wait)) break;
    }
  } catch (...) {
    leave_queue();
    throw;
  }
  leave_queue();
}

// Whether it had to wait until calls that came before it have found room.
bool CallState::wait_for_turn() {
  Coherence& coherence = Coherence::get();
  if (out_of_turn_ || !keeps_pins()) return false;
  std::vector<std::thread::id> before;
  for (const Coherence::RoomWaiter& waiter : coherence.room_waiters) {
    const bool is_used = std::any_of(parts_.begin(), parts_.end(),
                                     [&](const Part& part) { return part.memory == waiter.memory; });
    if (is_used && waiter.thread != std::this_thread::get_id() && (ticket_ == 0 || waiter.ticket < ticket_))
      before.push_back(waiter.thread);
  }
  if (before.empty()) return false;
  out_of_turn_ = !coherence.wait_for_threads(lock_, ThreadWaits::Kind::Turn, std::move(before));
  return true;
}

// Whether all has memory now. Otherwise nothing is pinned, and it has waited for the pins of other threads.
// Throws OutOfMemory where that cannot help.
bool CallState::reside(bool may_wait) {
  Coherence& coherence = Coherence::get();
  for (Part& part : parts_)
    for_uses(part, [&](Use& use) {
      if (use.memory == host_memory || use.region.empty()) return;
      coherence.memories[use.memory].residency.pin(use.array->number);
      use.pinned = true;
    });
  const CoherentState* array = nullptr;
  MemoryId memory = host_memory;
  index_t lacking = 0;
  for (Part& part : parts_)
    for_uses(part, [&](const Use& use) {
      if (!use.pinned || lacking > 0) return;
      array = use.array;
      memory = use.memory;
      lacking = coherence.reside(*use.array, use.memory, held_rows(use));
    });
  if (lacking == 0) {
    for (Use& use : uses_)
      if (use.pinned && use.array->is_explicit()) coherence.keep_in(*use.array, use.memory);
    return true;
  }
  std::vector<std::thread::id> others = coherence.threads_that_pin(memory);
  if (!may_wait || others.empty() || needs_of(memory) > coherence.memories[memory].residency.budget())
    coherence.fail_room(*array, memory, lacking);
  unpin();
  if (ticket_ == 0) ticket_ = ++coherence.last_ticket;
  std::erase_if(coherence.room_waiters, [&](const auto& waiter) { return waiter.ticket == ticket_; });
  coherence.room_waiters.push_back({ticket_, std::this_thread::get_id(), memory});
  if (!coherence.wait_for_threads(lock_, ThreadWaits::Kind::Room, std::move(others)))
    coherence.fail_room(*array, memory, lacking, "; the threads that use the rest wait for this one");
  return false;
}

void CallState::unpin() {
  for (Part& part : parts_)
    for_uses(part, [&](Use& use) {
      if (use.pinned) Coherence::get().memories[use.memory].residency.unpin(use.array->number);
      use.pinned = false;
    });
}

// The bytes that its arrays need there, if nothing else is there.
index_t CallState::needs_of(MemoryId memory) {
  std::vector<CoherentState*> arrays;
  index_t bytes = 0;
  for (const Use& use : uses_) {
    if (!use.pinned || std::find(arrays.begin(), arrays.end(), use.array) != arrays.end()) continue;
    arrays.push_back(use.array);
    ResidentRows rows{0, 0};
    for (const Part& part : parts_)
      for_uses(part, [&](const Use& same) {
        if (same.memory == memory && same.array == use.array) rows = cover(rows, held_rows(same));
      });
    Instance& instance = use.array->instance(memory);
    DeviceInstance& device = *Coherence::get().memories[memory].device;
    if (rows.begin < rows.end)
      bytes +=
          instance.bytes() + instance.growth(use.array->shape, device, use.array->label.c_str(), rows).bytes;
  }
  return bytes;
}

}  // namespace strata::inline STRATA_ABI::detail
