// EmulatedEvent: a point in the work of an emulated queue, in real and in virtual time. Private to this
// folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>

#include <strata/devices/backend.hpp>
#include <strata/devices/emulated/queue_core.hpp>

namespace strata::inline STRATA_ABI::detail {

/// A moment of virtual time. Times of before a reset of the clock, of another epoch, have passed.
struct Moment {
  double time = 0;
  std::uint64_t epoch = 0;
};

class EmulatedEvent final : public EventState {
 public:
  /// `point` is that of its queue, `moment` the time that follows from it.
  EmulatedEvent(std::shared_ptr<QueueCore> core, Timeline::Point point, Moment moment)
      : core_(std::move(core)), point_(point), placed_(moment), moment_(moment) {}
  ~EmulatedEvent() override;

  bool complete() const override;
  /// Also moves the host's virtual clock. Throws the error each time: the queue keeps it for its own wait.
  void wait() override;
  Outcome outcome() const override;
  double seconds_since(const EventState& earlier) const override;
  bool is_end() const override;

  /// Before others know the event: so much was enqueued on its queue, the event included.
  void set_enqueued(std::uint64_t count) { enqueued_ = count; }
  /// Completes the event.
  void set(QueueCore::Since before, const QueueLag& lag);
  /// For work of other queues: waits in real time only.
  void wait_in_queue();
  /// Whether it is complete and the work before it did not fail.
  bool succeeded() const;

  const QueueCore* core() const { return core_.get(); }
  /// Another queue waits for it.
  void record() const { core_->asked_events.record(); }
  /// Without the lag of its queue (queue_core.hpp).
  Moment placed() const { return placed_; }
  /// The same until it is complete, and then with that lag.
  Moment moment() const;

 private:
  const std::shared_ptr<QueueCore> core_;
  const Timeline::Point point_;
  const Moment placed_;
  std::uint64_t enqueued_ = 0;
  mutable std::mutex mutex_;
  Moment moment_;
  std::condition_variable changed_;
  bool complete_ = false;
  std::exception_ptr error_;
  Outcome outcome_ = Outcome::Done;
  bool holds_ = false;  // the error, as long as it is not reported (core/unheard_errors.hpp)
};

}  // namespace strata::inline STRATA_ABI::detail
