#include <algorithm>

#include <strata/views/coherent/work_tracker.hpp>

namespace strata::inline STRATA_ABI::detail {

int WorkTracker::number_of(QueueState& queue) {
  int unused = -1;
  for (std::size_t k = 0; k < tracks_.size(); ++k) {
    if (tracks_[k].queue == &queue) return static_cast<int>(k);
    if (tracks_[k].queue == nullptr) unused = static_cast<int>(k);
  }
  // A number may serve another queue: all work of the one before has ended.
  if (unused < 0) {
    unused = static_cast<int>(tracks_.size());
    tracks_.emplace_back();
  }
  track(unused).queue = &queue;
  track(unused).kept = Ref<QueueState>(&queue);
  return unused;
}

void WorkTracker::poll(Track& t) {
  if (t.polled) return;  // by way of work on other queues that came after work here
  t.polled = true;
  const auto ended_well = [&](const Open& open) {
    try {
      open.event->wait();
    } catch (...) {
      failed_ = true;
      return false;
    }
    // Where work before it failed, this is done, but with wrong values.
    return std::all_of(open.after.begin(), open.after.end(), [&](Work before) { return ended(before); });
  };
  while (!t.open.empty() && t.open.front().event->complete() && ended_well(t.open.front())) {
    t.done = t.open.front().number;
    t.open.pop_front();
  }
  t.polled = false;
}

bool WorkTracker::ended(Work work) {
  if (work.number == 0) return true;
  Track& t = track(work.queue);
  if (work.number <= t.done) return true;
  poll(t);
  return work.number <= t.done;
}

const WorkTracker::Open* WorkTracker::find(Work work) {
  if (ended(work)) return nullptr;
  Track& t = track(work.queue);
  const auto known =
      std::lower_bound(t.open.begin(), t.open.end(), work.number,
                       [](const Open& open, std::uint64_t number) { return open.number < number; });
  return known == t.open.end() ? nullptr : &*known;
}

void WorkTracker::events_of(Work work, std::vector<Ref<EventState>>& events) {
  const Open* const open = find(work);
  if (open == nullptr || std::find(events.begin(), events.end(), open->event) != events.end()) return;
  events.push_back(open->event);
  // A copy: to look for others may end this one.
  for (const Work before : std::vector<Work>(open->after)) events_of(before, events);
}

void WorkTracker::wait_for(QueueState& queue, std::vector<Work>& after) {
  if (after.empty()) return;
  const int mine = number_of(queue);
  std::erase_if(after, [&](Work work) {
    if (work.queue == mine) return work.number <= track(mine).done;  // its order is that of the queue
    const Open* const open = find(work);
    if (open == nullptr) return true;
    queue.wait_for(open->event);
    return false;
  });
}

Work WorkTracker::add(QueueState& queue, const Ref<EventState>& event, std::vector<Work> after,
                      std::vector<Work> needs) {
  const int number = number_of(queue);
  Track& t = track(number);
  constexpr std::size_t many = 64;
  if (t.open.size() >= many) poll(t);
  t.open.push_back({++t.last, event, std::move(after), std::move(needs)});
  return {number, t.last};
}

WorkTracker::Outcome WorkTracker::Recovery::of(Work work) const {
  for (const Ended& ended : works)
    if (ended.work == work) return ended.outcome;
  return Outcome::Done;
}

namespace {

WorkTracker::Outcome outcome_of(const EventState& event) {
  using Outcome = WorkTracker::Outcome;
  switch (event.outcome()) {
    case EventState::Outcome::Done:
      return Outcome::Done;
    case EventState::Outcome::Dropped:
      return Outcome::Dropped;
    case EventState::Outcome::Failed:
      break;
  }
  return Outcome::Failed;
}

}  // namespace

WorkTracker::Recovery WorkTracker::recover() {
  Recovery result;
  for (std::size_t k = 0; k < tracks_.size(); ++k)
    for (const Open& open : tracks_[k].open) {
      Outcome outcome = Outcome::Done;
      try {
        open.event->wait();
      } catch (...) {
        outcome = outcome_of(*open.event);
        if (!result.error) result.error = std::current_exception();
      }
      result.works.push_back({{static_cast<int>(k), open.number}, outcome});
    }
  // Spoiled: what was done all the same, on values that are not there: somebody took the error of the queue
  // away, or a device tells of failed checks only at the end.
  for (bool changed = result.error != nullptr; changed;) {
    changed = false;
    std::size_t at = 0;
    for (const Track& t : tracks_)
      for (const Open& open : t.open) {
        Recovery::Ended& ended = result.works[at++];
        if (ended.outcome != Outcome::Done) continue;
        if (std::all_of(open.needs.begin(), open.needs.end(),
                        [&](Work work) { return result.of(work) == Outcome::Done; }))
          continue;
        ended.outcome = Outcome::Spoiled;
        changed = true;
      }
  }
  for (Track& t : tracks_) {
    t.done = t.last;
    const bool had_work = !t.open.empty();
    t.open.clear();
    if (!had_work) continue;
    try {
      t.queue->wait();
    } catch (...) {
      if (!result.error) result.error = std::current_exception();
    }
  }
  failed_ = false;
  forget_idle();
  return result;
}

void WorkTracker::forget_idle() {
  for (Track& t : tracks_) {
    if (t.queue != nullptr) poll(t);
    if (!t.open.empty()) continue;
    t.queue = nullptr;
    t.kept = {};
  }
}

}  // namespace strata::inline STRATA_ABI::detail
