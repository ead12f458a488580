// WorkTracker: how work ended, by the events after it.
// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <strata/views/coherent/work_tracker.hpp>

namespace {

using namespace strata::detail;
using Outcome = WorkTracker::Outcome;

class Event : public EventState {
 public:
  explicit Event(std::exception_ptr error = nullptr, Outcome outcome = Outcome::Failed)
      : error_(error), outcome_(outcome) {}
  bool complete() const override {
    ++queries;
    return is_complete;
  }
  void wait() override {
    ++waits;
    if (error_) std::rethrow_exception(error_);
  }
  bool reports_earlier() const override { return speaks_for_all; }
  bool is_end() const override { return is_last; }
  void may_come_later() noexcept override { ++postponed; }
  bool is_complete = true, speaks_for_all = false, is_last = true;
  int waits = 0, postponed = 0;
  mutable int queries = 0;

  Outcome outcome() const override { return outcome_; }

 private:
  std::exception_ptr error_;
  Outcome outcome_;
};

// Does nothing: the tracker asks it to wait for events, and to take its error away.
class IdleQueue : public QueueState {
 public:
  DeviceInstance& instance() override { throw std::logic_error("not asked for"); }
  std::uint64_t id() const override { return 1; }
  void wait() override {}
  bool idle() const override { return true; }
  Ref<EventState> record() override { return Ref<EventState>(new Event); }
  void wait_for(const Ref<EventState>&) override {}
  void copy(const CopySide&, const CopySide&, std::size_t) override {}
  void fill(const CopySide&, const void*, std::size_t) override {}
};

class Tracked : public ::testing::Test {
 protected:
  Work add(QueueState& queue, const std::exception_ptr& error, const WorkList& after = {}) {
    return tracker_.add(queue, Ref<EventState>(new Event(error)), after);
  }
  Work add_dropped(QueueState& queue, const std::exception_ptr& error, const WorkList& after = {}) {
    return tracker_.add(queue, Ref<EventState>(new Event(error, Event::Outcome::Dropped)), after);
  }
  static std::exception_ptr error(const char* text) {
    return std::make_exception_ptr(std::runtime_error(text));
  }
  const Ref<IdleQueue> one_{new IdleQueue}, other_{new IdleQueue};
  WorkTracker tracker_;
};

TEST_F(Tracked, WorkBehindAFailureOnItsQueueWasDropped) {
  const auto first = error("first");
  const Work before = add(*one_, nullptr), failed = add(*one_, first), dropped = add_dropped(*one_, first);
  EXPECT_TRUE(tracker_.ended(before));
  EXPECT_FALSE(tracker_.ended(dropped));

  const WorkTracker::Recovery recovery = tracker_.recover();

  EXPECT_EQ(recovery.error, first);
  EXPECT_EQ(recovery.of(before), Outcome::Done);
  EXPECT_EQ(recovery.of(failed), Outcome::Failed);
  EXPECT_EQ(recovery.of(dropped), Outcome::Dropped);
}

TEST_F(Tracked, WorkThatWaitedForAFailureWasDropped) {
  const auto first = error("first");
  const Work failed = add(*one_, first), waited = add_dropped(*other_, first, {failed}),
             behind = add_dropped(*other_, first);

  const WorkTracker::Recovery recovery = tracker_.recover();

  EXPECT_EQ(recovery.of(failed), Outcome::Failed);
  EXPECT_EQ(recovery.of(waited), Outcome::Dropped);
  EXPECT_EQ(recovery.of(behind), Outcome::Dropped);
}

// Somebody waited for the queue in between: what comes then runs.
TEST_F(Tracked, WorkWithAnErrorOfItsOwnMayHaveBegunAlsoBehindAFailure) {
  const Work failed = add(*one_, error("first")), done = add(*one_, nullptr),
             begun = add(*one_, error("second"), {failed});

  const WorkTracker::Recovery recovery = tracker_.recover();

  EXPECT_EQ(recovery.of(failed), Outcome::Failed);
  EXPECT_EQ(recovery.of(done), Outcome::Done);
  EXPECT_EQ(recovery.of(begun), Outcome::Failed);
}

// The same, but its first piece was dropped before that wait: it has the first error, and wrote.
TEST_F(Tracked, WorkThatBeganInPartBehindAFailureFailed) {
  const auto first = error("first");
  const Work failed = add(*one_, first), begun = add(*one_, first, {failed});

  const WorkTracker::Recovery recovery = tracker_.recover();

  EXPECT_EQ(recovery.of(failed), Outcome::Failed);
  EXPECT_EQ(recovery.of(begun), Outcome::Failed);
}

// Its event says dropped, as the queue that it is on had nothing of it to do.
TEST_F(Tracked, WorkOnSeveralQueuesWasDroppedOnlyWhereAllOfItWas) {
  const auto first = error("first");
  const auto event = [&](Event::Outcome outcome) {
    return Ref<EventState>(new Event(outcome == Event::Outcome::Done ? nullptr : first, outcome));
  };
  const auto add_joint = [&](Event::Outcome a, Event::Outcome b) {
    return tracker_.add(*one_, event(Event::Outcome::Dropped), {}, {}, {event(a), event(b)});
  };
  const Work dropped = add_joint(Event::Outcome::Dropped, Event::Outcome::Dropped),
             done_in_part = add_joint(Event::Outcome::Dropped, Event::Outcome::Done),
             failed = add_joint(Event::Outcome::Failed, Event::Outcome::Dropped);

  const WorkTracker::Recovery recovery = tracker_.recover();

  EXPECT_EQ(recovery.of(dropped), Outcome::Dropped);
  EXPECT_EQ(recovery.of(done_in_part), Outcome::Failed);
  EXPECT_EQ(recovery.of(failed), Outcome::Failed);
}

TEST_F(Tracked, OfManyEventsTheLastIsAskedWhereItSpeaksForAll) {
  std::vector<Ref<Event>> events;
  for (int k = 0; k < 10; ++k) {
    events.emplace_back(new Event);
    events.back()->speaks_for_all = true;
    events.back()->is_complete = k < 7;
    tracker_.add(*one_, events.back(), WorkList{});
  }

  EXPECT_TRUE(tracker_.ended({0, 7}));
  EXPECT_FALSE(tracker_.ended({0, 8}));

  for (int k = 0; k < 10; ++k) EXPECT_EQ(events[static_cast<std::size_t>(k)]->waits, k == 6) << k;
}

TEST_F(Tracked, TheLastWorkIsExtendedWhereNoErrorIsForgotten) {
  const auto event = [](bool speaks_for_all) {
    const Ref<Event> made(new Event);
    made->is_complete = false;
    made->speaks_for_all = speaks_for_all;
    return made;
  };
  const Work first = tracker_.add(*one_, event(true), WorkList{});
  EXPECT_TRUE(tracker_.can_extend(*one_, first));
  EXPECT_FALSE(tracker_.can_extend(*other_, first));

  const Work second = tracker_.add(*one_, event(false), WorkList{});
  EXPECT_FALSE(tracker_.can_extend(*one_, first));
  EXPECT_FALSE(tracker_.can_extend(*one_, second));

  const Work third = tracker_.add(*one_, event(true), WorkList{});
  EXPECT_FALSE(tracker_.ended(third));
  EXPECT_TRUE(tracker_.extend(*one_, third));  // by an event that is complete
  EXPECT_FALSE(tracker_.ended(third)) << "what came before has not ended";
}

TEST_F(Tracked, TheLastEventMayComeLaterWhereNobodyElseHasIt) {
  auto* const first = new Event;
  auto* const last = new Event;
  first->is_complete = last->is_complete = false;
  tracker_.add(*one_, Ref<EventState>(first), WorkList{});
  const Work work = tracker_.add(*one_, Ref<EventState>(last), WorkList{});
  tracker_.let_last_come_later(*other_);  // which has none

  {
    EventList events;
    tracker_.events_of(work, events);
    tracker_.let_last_come_later(*one_);
    EXPECT_EQ(last->postponed, 0);
  }
  tracker_.let_last_come_later(*one_);

  EXPECT_EQ(last->postponed, 1);
  EXPECT_EQ(first->postponed, 0);
}

TEST_F(Tracked, WorkThatEndedAfterItCouldBeExtendedIsNotExtended) {
  const Ref<Event> event(new Event);
  event->is_complete = false;
  event->speaks_for_all = true;
  const Work work = tracker_.add(*one_, event, WorkList{});
  ASSERT_TRUE(tracker_.can_extend(*one_, work));
  event->is_complete = true;
  EXPECT_TRUE(tracker_.ended(work));  // asked by somebody else

  EXPECT_FALSE(tracker_.extend(*one_, work));

  EXPECT_EQ(tracker_.add(*one_, Ref<EventState>(new Event), {work}).number, work.number + 1);
}

// What is before a kernel on its queue may be copies: they are short there.
TEST_F(Tracked, CopiesAreNoKernelsAndNoDeviceIsAskedForThem) {
  struct OneEventQueue : IdleQueue {
    Ref<EventState> record() override { return event; }
    Ref<Event> event{new Event};
  };
  const Ref<OneEventQueue> queue(new OneEventQueue);
  queue->event->is_complete = false;
  const Work first = tracker_.add_copy(*queue, {}, {});
  const Work second = tracker_.add_copy(*queue, {first}, {});

  EXPECT_TRUE(tracker_.has_only_copies(*queue));
  EXPECT_EQ(queue->event->queries, 0);

  static_cast<void>(tracker_.add(*queue, {second}));
  EXPECT_FALSE(tracker_.has_only_copies(*queue));
  queue->event->is_complete = true;
  EXPECT_TRUE(tracker_.has_only_copies(*queue));
}

TEST_F(Tracked, WorkOfOtherQueuesIsWaitedForAsLongAsItIsOpen) {
  const Ref<Event> event(new Event);
  event->is_complete = false;
  const Work work = tracker_.add(*one_, event, WorkList());

  EXPECT_FALSE(tracker_.waits_elsewhere(*one_, {work}));
  EXPECT_TRUE(tracker_.waits_elsewhere(*other_, {work}));
  event->is_complete = true;
  EXPECT_FALSE(tracker_.waits_elsewhere(*other_, {work}));
}

// Where work may follow: it waits for nothing else, and nobody else waits for it.
TEST_F(Tracked, TheQueueThatEndsWithAllThatIsOpenMayBeFollowed) {
  const auto add_open = [&](QueueState& queue) {
    const Ref<Event> event(new Event);
    event->is_complete = false;
    return std::pair(event, tracker_.add(queue, event, WorkList()));
  };
  EXPECT_TRUE(tracker_.has_only_copies(*one_));
  const auto [first_event, first] = add_open(*one_);
  EXPECT_EQ(tracker_.queue_that_ends_with({first}), one_.get());
  EXPECT_FALSE(tracker_.has_only_copies(*one_));

  const auto [other_event, other] = add_open(*other_);
  EXPECT_EQ(tracker_.queue_that_ends_with({first, other}), nullptr);  // it would wait for one of them
  EXPECT_EQ(tracker_.queue_that_ends_with({}), nullptr);
  other_event->is_complete = true;
  EXPECT_TRUE(tracker_.has_only_copies(*other_));
  EXPECT_EQ(tracker_.queue_that_ends_with({first, other}), one_.get());

  first_event->is_last = false;  // somebody has enqueued something
  EXPECT_EQ(tracker_.queue_that_ends_with({first}), nullptr);
  const auto [second_event, second] = add_open(*one_);
  EXPECT_EQ(tracker_.queue_that_ends_with({first}), nullptr);
  EXPECT_EQ(tracker_.queue_that_ends_with({second}), one_.get());
}

TEST_F(Tracked, EventsAreFoundWithoutAskingWhetherTheyAreComplete) {
  const Ref<Event> before(new Event), after(new Event);
  const Work first = tracker_.add(*one_, before, WorkList()),
             second = tracker_.add(*other_, after, WorkList{first});
  strata::detail::EventList events, ended;

  tracker_.events_of(second, events);

  EXPECT_EQ(events.size(), 2U);
  EXPECT_EQ(before->queries + after->queries, 0);
  EXPECT_TRUE(tracker_.all_ended({second}));
  tracker_.events_of(second, ended);
  EXPECT_TRUE(ended.empty());
}

TEST_F(Tracked, WorkThatRanOnWhatFailedWorkLeftIsSpoiled) {
  const Work failed = add(*one_, error("first")), spoiled = add(*one_, nullptr, {failed}),
             next = add(*other_, nullptr, {spoiled});

  const WorkTracker::Recovery recovery = tracker_.recover();

  EXPECT_EQ(recovery.of(spoiled), Outcome::Spoiled);
  EXPECT_EQ(recovery.of(next), Outcome::Spoiled);
}

}  // namespace
