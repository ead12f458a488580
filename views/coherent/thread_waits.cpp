// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <strata/views/coherent/thread_waits.hpp>

namespace strata::inline STRATA_ABI::detail {

std::uint64_t ThreadWaits::add(Thread thread, Kind kind, std::vector<Thread> others, std::string text) {
  waits_.push_back({++last_, thread, kind, std::move(others), std::move(text)});
  return last_;
}

bool ThreadWaits::goes_on(std::uint64_t wait) const {
  return std::any_of(waits_.begin(), waits_.end(),
                     [&](const Wait& w) { return w.number == wait && !w.is_given_up; });
}

bool ThreadWaits::goes_on(Thread thread) const {
  return std::all_of(waits_.begin(), waits_.end(),
                     [&](const Wait& w) { return w.thread != thread || w.is_given_up || w.can_end; });
}

bool ThreadWaits::give_one_up() {
  for (Wait& wait : waits_) wait.can_end = false;
  for (bool changed = true; changed;) {
    changed = false;
    for (Wait& wait : waits_) {
      if (wait.is_given_up || wait.can_end) continue;
      const auto is_free = [&](Thread other) { return goes_on(other); };
      wait.can_end = wait.kind == Kind::Room ? std::any_of(wait.others.begin(), wait.others.end(), is_free)
                                             : std::all_of(wait.others.begin(), wait.others.end(), is_free);
      changed = changed || wait.can_end;
    }
  }
  for (const Kind kind : {Kind::Turn, Kind::Room, Kind::Reservation})
    for (Wait& wait : waits_)
      if (wait.kind == kind && !wait.is_given_up && !wait.can_end &&
          (kind != Kind::Reservation || is_in_ring(wait))) {
        wait.is_given_up = true;
        return true;
      }
  return false;
}

// Only a wait that is in the ring gets the error, not those that wait for the ring to end.
bool ThreadWaits::is_in_ring(Wait& wait) {
  for (Wait& other : waits_) other.is_seen = false;
  wait.ring.clear();
  return find_ring(wait, wait.thread, wait.ring);
}

// Whether a wait leads to a thread, over those that cannot end; adds the texts of those on the way.
bool ThreadWaits::find_ring(Wait& wait, Thread goal, std::string& text) {
  wait.is_seen = true;
  const std::size_t before = text.size();
  text += (text.empty() ? "" : "; ") + wait.text;
  for (const Thread other : wait.others) {
    if (other == goal) return true;
    for (Wait& next : waits_)
      if (next.thread == other && !next.is_given_up && !next.can_end && !next.is_seen &&
          find_ring(next, goal, text))
        return true;
  }
  text.resize(before);
  return false;
}

bool ThreadWaits::forget(std::uint64_t wait, std::string* ring) {
  const auto known =
      std::find_if(waits_.begin(), waits_.end(), [&](const Wait& w) { return w.number == wait; });
  if (known == waits_.end()) return false;
  const bool is_given_up = known->is_given_up;
  if (ring != nullptr && is_given_up) *ring = std::move(known->ring);
  waits_.erase(known);
  return is_given_up;
}

void ThreadWaits::clear() {
  std::erase_if(waits_, [](const Wait& w) { return !w.is_given_up && w.kind != Kind::Elsewhere; });
}

}  // namespace strata::inline STRATA_ABI::detail
