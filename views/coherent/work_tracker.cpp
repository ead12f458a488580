// SPDX-License-Identifier: Apache-2.0
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

// Throws its error. Of work on several queues the last event need not know of all that failed before: another
// thread may have waited for one of the queues meanwhile, and had its error.
void WorkTracker::wait_for_end(const Open& open) {
  open.event->wait();
  for (const Ref<EventState>& event : open.within) event->wait();
}

// Of work that is complete.
bool WorkTracker::ended_well(const Open& open) {
  try {
    wait_for_end(open);
    return true;
  } catch (...) {
    failed_ = true;
    return false;
  }
}

void WorkTracker::poll(Track& t) {
  if (t.polled) return;  // by way of work on other queues that came after work here
  t.polled = true;
  const std::size_t complete = complete_works(t.open);
  const bool all_well =
      complete > 1 && t.open[complete - 1].event->reports_earlier() && ended_well(t.open[complete - 1]);
  std::size_t well = 0;
  for (; well < complete; ++well) {
    const Open& open = t.open[well];
    if (!all_well && !ended_well(open)) break;
    // Where work before it failed, this is done, but with wrong values.
    if (!std::all_of(open.after.begin(), open.after.end(), [&](Work before) { return ended(before); })) break;
    t.done = open.number;
  }
  t.open.drop_front(well);
  t.polled = false;
}

// How many of a queue's works, the first ones, are complete. They become so in their order, so that few
// events are asked.
std::size_t WorkTracker::complete_works(const Fifo<Open>& open) {
  if (open.empty() || !open.front().event->complete()) return 0;
  if (open.back().event->complete()) return open.size();
  std::size_t complete = 1, not_complete = open.size() - 1;
  while (complete < not_complete) {
    const std::size_t middle = (complete + not_complete) / 2;
    if (open[middle].event->complete()) complete = middle + 1;
    else not_complete = middle;
  }
  return complete;
}

bool WorkTracker::ended(Work work) {
  if (work.number == 0) return true;
  Track& t = track(work.queue);
  if (work.number <= t.done) return true;
  poll(t);
  return work.number <= t.done;
}

const WorkTracker::Open* WorkTracker::find(Work work) { return ended(work) ? nullptr : find_unasked(work); }

// The same of what is known: no device is asked whether the work has ended by now.
const WorkTracker::Open* WorkTracker::find_unasked(Work work) {
  if (work.number == 0) return nullptr;
  Track& t = track(work.queue);
  if (t.open.empty() || work.number <= t.done) return nullptr;
  const std::uint64_t place = work.number - t.open.front().number;  // they count up one by one
  return place < t.open.size() ? &t.open[place] : nullptr;
}

// To wait for what has ended costs no more than to ask whether it has.
void WorkTracker::events_of(Work work, EventList& events) {
  const Open* const open = find_unasked(work);
  if (open == nullptr || std::find(events.begin(), events.end(), open->event) != events.end()) return;
  events.push_back(open->event);
  for (const Work before : open->after) events_of(before, events);
}

bool WorkTracker::has_only_copies(QueueState& queue) {
  Track& t = track(number_of(queue));
  const auto are_copies = [&] {
    return std::all_of(t.open.begin(), t.open.end(), [](const Open& open) { return open.is_copy; });
  };
  if (are_copies()) return true;  // no device is asked
  poll(t);
  return are_copies();
}

QueueState* WorkTracker::queue_that_ends_with(const WorkList& after) {
  QueueState* found = nullptr;
  for (const Work work : after) {
    if (find_unasked(work) == nullptr) continue;
    const Track& t = track(work.queue);
    if (found != nullptr || work.number != t.last) return nullptr;
    if (!t.open.back().event->is_end()) return nullptr;
    found = t.queue;
  }
  return found;
}

Ref<EventState> WorkTracker::last_event(QueueState& queue) {
  const Track& t = track(number_of(queue));
  return t.open.empty() ? Ref<EventState>() : t.open.back().event;
}

void WorkTracker::wait_for(QueueState& queue, WorkList& after) {
  if (after.empty()) return;
  const int mine = number_of(queue);
  after.forget([&](Work work) {
    if (work.queue == mine) return work.number <= track(mine).done;  // its order is that of the queue
    const Open* const open = find(work);
    if (open == nullptr) return true;
    queue.wait_for(open->event);
    return false;
  });
}

Work WorkTracker::add(QueueState& queue, const Ref<EventState>& event, const WorkList& after,
                      const NeededWorks& needs) {
  const int number = number_of(queue);
  Track& t = track(number);
  if (t.open.size() >= t.next_poll) {
    poll(t);
    t.next_poll = std::max(few_open, 2 * t.open.size());  // asking costs, too
  }
  Open& open = t.open.add();
  open.number = ++t.last;
  open.event = event;
  open.after = after;
  open.needs = needs;
  return {number, t.last};
}

Work WorkTracker::add(QueueState& queue, const Ref<EventState>& event, const WorkList& after,
                      const NeededWorks& needs, std::vector<Ref<EventState>>&& events) {
  const Work work = add(queue, event, after, needs);
  track(work.queue).open.back().within = std::move(events);
  return work;
}

bool WorkTracker::waits_elsewhere(QueueState& queue, const WorkList& after) {
  const int mine = number_of(queue);
  return std::any_of(after.begin(), after.end(),
                     [&](Work work) { return work.queue != mine && find(work) != nullptr; });
}

Work WorkTracker::add_copy(QueueState& queue, const WorkList& after, const NeededWorks& needs) {
  const Work work = add(queue, queue.record(), after, needs);
  track(work.queue).open.back().is_copy = true;
  return work;
}

bool WorkTracker::can_extend(QueueState& queue, Work work) {
  if (work.number == 0 || static_cast<std::size_t>(work.queue) >= tracks_.size()) return false;
  const Track& t = track(work.queue);
  return t.queue == &queue && t.last == work.number && !t.open.empty() &&
         t.open.back().event->reports_earlier();
}

void WorkTracker::let_last_come_later(QueueState& queue) {
  Track& t = track(number_of(queue));
  if (!t.open.empty() && t.open.back().event.is_only()) t.open.back().event->may_come_later();
}

bool WorkTracker::extend(QueueState& queue, Work work) {
  if (!can_extend(queue, work)) return false;
  track(work.queue).open.back().event = queue.record();
  return true;
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

// Of work at an event that is complete, or is going to be.
WorkTracker::Outcome outcome_at(EventState& event) {
  try {
    event.wait();
    return WorkTracker::Outcome::Done;
  } catch (...) {
    return outcome_of(event);
  }
}

}  // namespace

// Of what failed. Of work on several queues nothing has begun only where that is so of each of them; its last
// event is one of no work.
WorkTracker::Outcome WorkTracker::outcome_of(const Open& open) {
  if (open.within.empty()) return detail::outcome_of(*open.event);
  const bool has_begun = std::any_of(open.within.begin(), open.within.end(), [](const auto& event) {
    return outcome_at(*event) != Outcome::Dropped;
  });
  return has_begun ? Outcome::Failed : Outcome::Dropped;
}

WorkTracker::Recovery WorkTracker::recover() {
  Recovery result;
  for (std::size_t k = 0; k < tracks_.size(); ++k)
    for (const Open& open : tracks_[k].open) {
      Outcome outcome = Outcome::Done;
      try {
        wait_for_end(open);
      } catch (...) {
        outcome = outcome_of(open);
        if (!result.error) result.error = std::current_exception();
      }
      result.works.push_back({{static_cast<int>(k), open.number}, outcome});
    }
  // Spoiled: what was done all the same, on values that are not there: another thread cleared the error of
  // the queue, or a device reports failed checks only at the end.
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
  std::vector<Work>& undone = undone_.emplace_front();
  for (const Recovery::Ended& ended : result.works)
    if (ended.outcome != Outcome::Done) undone.push_back(ended.work);
  if (undone_.size() > remembered) undone_.pop_back();
  forget_idle();
  return result;
}

bool WorkTracker::any_undone(const NeededWorks& works, std::uint64_t recoveries) const {
  if (recoveries > undone_.size()) return true;
  for (std::uint64_t k = 0; k < recoveries; ++k)
    for (const Work work : works)
      if (std::find(undone_[k].begin(), undone_[k].end(), work) != undone_[k].end()) return true;
  return false;
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
