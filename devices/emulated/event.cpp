// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <strata/core/unheard_errors.hpp>
#include <strata/devices/emulated/call_counts.hpp>
#include <strata/devices/emulated/event.hpp>
#include <strata/devices/emulated/platform.hpp>

namespace strata::inline STRATA_ABI::detail {

EmulatedEvent::~EmulatedEvent() {
  if (holds_) drop_error(error_);
  if (!Platform::get().forked()) core_->asked_events.forget(this);
}

bool EmulatedEvent::complete() const {
  count_call(&CallCounts::queries);
  const std::lock_guard lock(mutex_);
  if (complete_) core_->asked_events.complete(this);
  return complete_;
}

bool EmulatedEvent::succeeded() const {
  const std::lock_guard lock(mutex_);
  return complete_ && !error_;
}

void EmulatedEvent::wait() {
  require_outside_kernels("a wait for an event");
  core_->require_same_process();
  count_call(&CallCounts::host_waits);
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return complete_; });
  }
  core_->asked_events.complete(this);
  Platform::get().host_wait_until(moment());
  if (error_) std::rethrow_exception(error_);
}

Moment EmulatedEvent::moment() const {
  const std::lock_guard lock(mutex_);
  return moment_;
}

EmulatedEvent::Outcome EmulatedEvent::outcome() const {
  const std::lock_guard lock(mutex_);
  return outcome_;
}

double EmulatedEvent::seconds_since(const EventState& earlier) const {
  const auto* const first = dynamic_cast<const EmulatedEvent*>(&earlier);
  if (first == nullptr) return -1;
  const Moment begin = first->moment(), end = moment();
  return begin.epoch == end.epoch ? end.time - begin.time : -1;
}

bool EmulatedEvent::is_end() const { return core_->enqueued() == enqueued_; }

void EmulatedEvent::wait_in_queue() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return complete_; });
  if (error_) std::rethrow_exception(error_);
}

void EmulatedEvent::set(QueueCore::Since before, const QueueLag& lag) {
  const std::lock_guard lock(mutex_);
  const double time = lag.end_of(point_, moment_.time);
  complete_ = true;
  moment_.time = time;
  if (before.lost) outcome_ = before.began ? Outcome::Failed : Outcome::Dropped;
  holds_ = before.error && share_error(before.error);
  error_ = std::move(before.error);
  changed_.notify_all();
}

}  // namespace strata::inline STRATA_ABI::detail
