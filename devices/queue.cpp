// SPDX-License-Identifier: Apache-2.0
#include <exception>

#include <strata/core/profiling/hooks.hpp>
#include <strata/core/unheard_errors.hpp>
#include <strata/devices/queue.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

HookEvent fence(const char* label, DeviceInstance& instance, std::uint64_t queue, bool all_queues) {
  return {.kind = EventKind::BeginFence,
          .label = label,
          .device = instance.device_name(),
          .instance = instance.index(),
          .queue = queue,
          .all_queues = all_queues};
}

}  // namespace

// The event keeps the error, and so does its queue: both know from here that it was thrown.
void wait_for_event(EventState& event) {
  try {
    event.wait();
  } catch (...) {
    error_was_reported(std::current_exception());
    throw;
  }
}

void wait_for_queue(QueueState& queue, const char* label) {
  const profiling::EventScope scope([&] { return fence(label, queue.instance(), queue.id(), false); });
  queue.wait();
}

void wait_for_instance(DeviceInstance& instance, const char* label) {
  const profiling::EventScope scope([&] { return fence(label, instance, 0, true); });
  instance.wait_all();
}

}  // namespace strata::inline STRATA_ABI::detail
