// Queue: an in-order stream of work on one device instance. Work on different queues may overlap; the default
// queue of an instance is shared by all threads and used where no queue is given.
//
// Queues of host devices work at once on the calling thread, so their waits have nothing to do. On other
// devices work is enqueued; an error poisons the queue: work enqueued after it is dropped, and the next
// wait throws it, once. A destructor neither waits nor throws: work under way finishes. An error that no wait
// has thrown is printed to stderr, at the end of the runtime or when no handle is left by which to wait (of a
// GPU, errors found by then).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <strata/core/config.hpp>
#include <strata/core/ref.hpp>
#include <strata/devices/device.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {
/// Waits for all work before the event.
void wait_for_event(EventState& event);
}  // namespace detail

/// A point in the work of a queue, from Queue::record().
class Event {
 public:
  Event() = default;
  /// Of a point that a backend made.
  explicit Event(detail::Ref<detail::EventState> state) : state_(state) {}

  /// Whether all work before it is done or dropped; never waits.
  bool complete() const { return !state_ || state_->complete(); }
  /// Blocks until it is complete; throws the error of the work before it, each time. The queue throws it too,
  /// by its own wait.
  void wait() const {
    if (state_) detail::wait_for_event(*state_);
  }
  const detail::Ref<detail::EventState>& state() const { return state_; }

 private:
  detail::Ref<detail::EventState> state_;
};

namespace detail {
/// Waits for the queue, and reports the wait to the listeners.
void wait_for_queue(QueueState& queue, const char* label);
void wait_for_instance(DeviceInstance& instance, const char* label);
}  // namespace detail

/// A handle to a queue of device `D`; copies share the queue.
template <Device D>
class Queue {
 public:
  /// The device whose work it orders.
  using device_type = D;

  /// A new queue. NoSuchDevice when the instance does not exist.
  explicit Queue(const D& device = D{}) : device_(device), state_(device.backend().create_queue()) {}
  Queue(const D& device, detail::Ref<detail::QueueState> state) : device_(device), state_(state) {}

  /// The instance that it belongs to.
  D device() const { return device_; }
  /// Blocks until all work enqueued so far is done; throws its error, once.
  void wait(const char* label = "Queue::wait") const { detail::wait_for_queue(*state_, label); }
  /// Whether all work enqueued so far is done; never waits.
  bool idle() const { return state_->idle(); }
  /// The point after all work enqueued so far.
  Event record() const { return Event(state_->record()); }
  /// Work enqueued from now on starts after `event`, also if that is of another queue, instance or device.
  void wait_for(const Event& event) const {
    if (event.state()) state_->wait_for(event.state());
  }
  detail::QueueState& state() const { return *state_; }

  friend bool operator==(const Queue& a, const Queue& b) { return a.state_ == b.state_; }

 private:
  D device_;
  detail::Ref<detail::QueueState> state_;
};

/// The queue that launches on `device` use when none is given.
template <Device D>
Queue<D> default_queue(const D& device = D{}) {
  return Queue<D>(device, detail::Ref<detail::QueueState>(&device.backend().default_queue()));
}

/// Blocks until all queues of the instance are done; throws the first error found.
template <Device D>
void wait(const D& device, const char* label = "wait") {
  detail::wait_for_instance(device.backend(), label);
}

/// Where a launch, allocation or copy runs: a device instance, or one of its queues. Made by `on`; a place of
/// one part (algorithms/place.hpp).
template <class D>
struct On {
  /// The type of device, its instance, and the queue: null for the default queue.
  using device_type = D;
  D device;
  detail::Ref<detail::QueueState> queue;  // null: the default queue
  const char* label = "";                 ///< of launches there, in messages and profiles

  /// With a label for the launches there. The text is kept by pointer and must live as long as the place;
  /// launches copy it if they need it longer.
  On named(const char* text) const& { return {device, queue, text}; }
  On named(const char* text) && { return {device, static_cast<decltype(queue)&&>(queue), text}; }
};

/// On the default queue of `device`.
template <Device D>
On<D> on(const D& device) {
  return {device, {}, ""};
}
/// On `queue`.
template <class D>
On<D> on(const Queue<D>& queue) {
  return {queue.device(), detail::Ref<detail::QueueState>(&queue.state()), ""};
}

}  // namespace strata::inline STRATA_ABI
