#include <algorithm>
#include <utility>

#include <strata/views/coherent/thread_waits.hpp>

namespace strata::inline STRATA_ABI::detail {

std::uint64_t ThreadWaits::add(Thread thread, Kind kind, std::vector<Thread> others) {
  waits_.push_back({++last_, thread, kind, std::move(others)});
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
  for (const Kind kind : {Kind::Turn, Kind::Room})
    for (Wait& wait : waits_)
      if (wait.kind == kind && !wait.is_given_up && !wait.can_end) {
        wait.is_given_up = true;
        return true;
      }
  return false;
}

bool ThreadWaits::forget(std::uint64_t wait) {
  return std::erase_if(waits_, [&](const Wait& w) { return w.number == wait; }) > 0;
}

void ThreadWaits::clear() {
  std::erase_if(waits_, [](const Wait& w) { return !w.is_given_up; });
}

}  // namespace strata::inline STRATA_ABI::detail
