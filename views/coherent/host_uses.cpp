// Threads that wait until others do not use an array: uses of the host, their order, and turns between them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include <strata/core/error.hpp>
#include <strata/views/coherent/acting_thread.hpp>
#include <strata/views/coherent/coherence.hpp>

namespace strata::inline STRATA_ABI::detail {

bool Coherence::wait_for_threads(std::unique_lock<std::mutex>& lock, ThreadWaits::Kind kind,
                                 std::vector<std::thread::id> others, std::string text, std::string* ring) {
  const std::uint64_t wait = waits_.add(std::this_thread::get_id(), kind, std::move(others), std::move(text));
  if (waits_.give_one_up()) woken_.notify_all();
  woken_.wait(lock, [&] { return !waits_.goes_on(wait); });
  return !waits_.forget(wait, ring);
}

std::uint64_t Coherence::add_wait(std::thread::id thread, ThreadWaits::Kind kind, std::thread::id other,
                                  std::string text) {
  const std::uint64_t wait = waits_.add(thread, kind, {other}, std::move(text));
  if (waits_.give_one_up()) woken_.notify_all();
  return wait;
}

std::vector<std::thread::id> Coherence::threads_that_pin(MemoryId memory) const {
  std::vector<std::thread::id> threads;
  for (const PinningCall& call : pinning_calls)
    if (call.memories.contains(memory) && call.thread != std::this_thread::get_id())
      threads.push_back(call.thread);
  return threads;
}

const HostUse* Coherence::find_excluding(const CoherentState& array, const ArrayPart& part, bool writes,
                                         const char* what) {
  const auto excludes = [&](const HostUse& use) {
    if (!use.writes && !writes) return false;
    if (use.is_reservation && use.thread == acting_thread()) return false;
    return overlap(part, use.part);
  };
  const auto use = std::find_if(array.host_uses.begin(), array.host_uses.end(), excludes);
  if (use == array.host_uses.end()) return nullptr;
  if (use->thread == std::this_thread::get_id())
    throw AccessConflict(std::string(what) + " is to " + (writes ? "write " : "read ") +
                         to_string(part.first) + " of \"" + array.label + "\", but " + use->what + " that " +
                         (use->writes ? "writes " : "reads ") + to_string(use->part.first) +
                         " is alive on this thread; end its scope first");
  return &*use;
}

namespace {

// Under the lock, which its end has, too.
class NotedUse {
 public:
  NotedUse(CoherentState& array, const ArrayPart& part, bool writes) : array_(array) {
    Coherence& coherence = Coherence::get();
    array.waiting_uses.push_back({&part, writes, std::this_thread::get_id(), ++coherence.last_ticket});
    ticket_ = coherence.last_ticket;
    ++coherence.num_waiting_uses;
  }
  ~NotedUse() {
    Coherence& coherence = Coherence::get();
    std::erase_if(array_.waiting_uses, [&](const WaitingUse& use) { return use.ticket == ticket_; });
    --coherence.num_waiting_uses;
    coherence.wake_waiting();  // those that wait for their turn
  }
  NotedUse(const NotedUse&) = delete;
  NotedUse& operator=(const NotedUse&) = delete;

 private:
  CoherentState& array_;
  std::uint64_t ticket_;
};

}  // namespace

void Coherence::wait_for_turn(std::unique_lock<std::mutex>& lock, const CoherentState& array,
                              const ArrayPart& part, bool writes, std::uint64_t ticket, const char* what) {
  const std::thread::id here = std::this_thread::get_id();
  while (true) {
    std::vector<std::thread::id> others;
    for (const WaitingUse& use : array.waiting_uses)
      if (use.ticket <= ticket && (use.writes || writes) && use.thread != here && overlap(part, *use.part))
        others.push_back(use.thread);
    if (others.empty()) return;
    if (!wait_for_threads(lock, ThreadWaits::Kind::Turn, std::move(others),
                          std::string(what) + " waits for its turn to have \"" + array.label + "\""))
      return;
  }
}

bool Coherence::wait_for_host_uses(std::unique_lock<std::mutex>& lock, CoherentState& array,
                                   const ArrayPart& part, bool writes, const char* what,
                                   bool is_reservation) {
  if (find_excluding(array, part, writes, what) == nullptr) return false;
  lock.unlock();
  call_before_waits();
  lock.lock();
  const NotedUse noted(array, part, writes);
  while (true) {
    const HostUse* const use = find_excluding(array, part, writes, what);
    if (use == nullptr) return true;
    const std::string text =
        std::string(what) + " waits for \"" + array.label + "\", which " + use->what + " has";
    std::string ring;
    using Kind = ThreadWaits::Kind;
    if (!wait_for_threads(lock, is_reservation ? Kind::Reservation : Kind::HostUse, {use->thread}, text,
                          &ring))
      throw AccessConflict(std::string(what) + " cannot have \"" + array.label + "\": " + ring +
                           ": each of them waits for the next one, and the last for the first. Give them "
                           "arrays of their own, or add their tasks to one of them, and end views before "
                           "waiting");
  }
}

}  // namespace strata::inline STRATA_ABI::detail
