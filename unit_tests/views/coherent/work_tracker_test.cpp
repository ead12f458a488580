// WorkTracker: how work ended, told from the events behind it.
#include <stdexcept>
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
  bool complete() const override { return true; }
  void wait() override {
    if (error_) std::rethrow_exception(error_);
  }
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
  Work add(QueueState& queue, const std::exception_ptr& error, std::vector<Work> after = {}) {
    return tracker_.add(queue, Ref<EventState>(new Event(error)), std::move(after));
  }
  Work add_dropped(QueueState& queue, const std::exception_ptr& error, std::vector<Work> after = {}) {
    return tracker_.add(queue, Ref<EventState>(new Event(error, Event::Outcome::Dropped)), std::move(after));
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

TEST_F(Tracked, WorkThatRanOnWhatFailedWorkLeftIsSpoiled) {
  const Work failed = add(*one_, error("first")), spoiled = add(*one_, nullptr, {failed}),
             next = add(*other_, nullptr, {spoiled});

  const WorkTracker::Recovery recovery = tracker_.recover();

  EXPECT_EQ(recovery.of(spoiled), Outcome::Spoiled);
  EXPECT_EQ(recovery.of(next), Outcome::Spoiled);
}

}  // namespace
