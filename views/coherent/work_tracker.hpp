// WorkTracker: which work on which queues has ended, and how. Enqueued work has a number, and an event after
// it.
//
// Not thread-safe: the owner locks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <vector>

#include <strata/core/short_list.hpp>
#include <strata/devices/backend.hpp>
#include <strata/views/coherent/plan/fifo.hpp>
#include <strata/views/coherent/plan/work_order.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Events to be waited for.
using EventList = ShortList<Ref<EventState>, 4>;

class WorkTracker {
 public:
  /// The number of `queue` here; queues are known from their first work on, as long as any is open.
  int number_of(QueueState& queue);

  /// Work enqueued on `queue` from now on waits for the work in `after`, of other queues; the host does not
  /// wait. Leaves in `after` the work that is still open.
  void wait_for(QueueState& queue, WorkList& after);
  /// The work enqueued on `queue` just now, which came after `after` and is followed by `event`. `needs` is
  /// the work whose values it read: a failure of the rest does not spoil its results.
  Work add(QueueState& queue, const Ref<EventState>& event, const WorkList& after, const NeededWorks& needs);
  Work add(QueueState& queue, const Ref<EventState>& event, const WorkList& after) {
    NeededWorks needs;
    for (const Work work : after) needs.add(work);
    return add(queue, event, after, needs);
  }
  /// The same of work on several queues, all of which `event` waits for: `events` are those within it. Where
  /// it failed it counts as dropped only if all of them were.
  Work add(QueueState& queue, const Ref<EventState>& event, const WorkList& after, const NeededWorks& needs,
           std::vector<Ref<EventState>>&& events);
  Work add(QueueState& queue, const WorkList& after) { return add(queue, queue.record(), after); }
  /// The same of a copy.
  Work add_copy(QueueState& queue, const WorkList& after, const NeededWorks& needs);
  /// Whether all work that is open on `queue` are copies.
  bool has_only_copies(QueueState& queue);
  /// Whether some of the work is open on other queues than this.
  bool waits_elsewhere(QueueState& queue, const WorkList& after);
  /// The queue whose last work is in `after`, with nothing enqueued on it since, where all that is open of
  /// `after` is there: what follows it on that queue waits for nothing else. Otherwise null. Asks no device.
  QueueState* queue_that_ends_with(const WorkList& after);
  /// Whether the next work enqueued on `queue` may become a part of `work`: that must be open and the last on
  /// it, and replacing its event must not lose a failure.
  bool can_extend(QueueState& queue, Work work);
  /// Before what becomes a part of the last work on `queue` is enqueued: the event of that may come later, if
  /// nobody else has it.
  void let_last_come_later(QueueState& queue);
  /// The work enqueued on `queue` last becomes a part of `work`, if can_extend() is still true: a query
  /// since then may have found that the work has ended. Otherwise returns false: then add it as work of its
  /// own.
  bool extend(QueueState& queue, Work work);

  /// Whether the work is done, without an error; never waits. Work that failed has not ended: it is waited
  /// for by recover().
  bool ended(Work work);
  /// Finds out which work on `queue` is done.
  void look_at(QueueState& queue) { poll(track(number_of(queue))); }
  /// The event after the last work on `queue`; null where all has ended.
  Ref<EventState> last_event(QueueState& queue);
  /// Adds the events of the work, and of all that it came after, as far as they have not ended: some devices
  /// report a failed check only to those who wait for the queue that it was on.
  void events_of(Work work, EventList& events);
  /// Whether all of that has ended(), of work whose events_of() were waited for. These do not say so: work
  /// may have failed before other work of its queue, of which the list has the last only, and another thread
  /// have had the error in between.
  bool all_ended(const WorkList& works) {
    bool all = true;
    for (const Work work : works) all = ended(work) && all;
    return all;
  }
  /// Whether some work is known to have failed or to have been dropped.
  bool failed() const { return failed_; }
  void set_failed() { failed_ = true; }

  /// How work ended: well; by an error of its own; not begun, as work before it failed; or done with what
  /// such work left.
  enum class Outcome : unsigned char { Done, Failed, Dropped, Spoiled };
  struct Recovery {
    std::exception_ptr error;  // the first; null where all was done
    struct Ended {
      Work work;
      Outcome outcome;
    };
    std::vector<Ended> works;  // all that were open
    Outcome of(Work work) const;
  };
  /// Blocks until all work is done or dropped, clears the errors of the queues, and says how each ended.
  /// Failed work came after work that was done; dropped work came after failed or dropped work.
  Recovery recover();
  /// Whether one of the last `recoveries` found that one of the works was not done; true where these are more
  /// than are remembered.
  bool any_undone(const NeededWorks& works, std::uint64_t recoveries) const;
  /// Forgets queues without open work.
  void forget_idle();

 private:
  struct Open {
    std::uint64_t number = 0;
    Ref<EventState> event = {};
    WorkList after = {};
    NeededWorks needs = {};
    std::vector<Ref<EventState>> within = {};  // of work on several queues
    bool is_copy = false;
  };
  struct Track {
    QueueState* queue = nullptr;  // kept while work is open
    Ref<QueueState> kept;
    std::uint64_t last = 0;
    std::uint64_t done = 0;  // all up to it ended well
    Fifo<Open> open;
    std::size_t next_poll = few_open;  // when so many are open
    bool polled = false;               // right now
  };
  static constexpr std::size_t few_open = 64;
  static Outcome outcome_of(const Open& open);
  static void wait_for_end(const Open& open);
  static std::size_t complete_works(const Fifo<Open>& open);
  const Open* find(Work work);
  const Open* find_unasked(Work work);
  bool ended_well(const Open& open);
  void poll(Track& track);
  Track& track(int queue) { return tracks_[static_cast<std::size_t>(queue)]; }

  std::vector<Track> tracks_;
  bool failed_ = false;
  static constexpr std::size_t remembered = 16;  // recoveries
  std::deque<std::vector<Work>> undone_;         // by the last ones, the latest first
};

}  // namespace strata::inline STRATA_ABI::detail
