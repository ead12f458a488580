// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <new>
#include <vector>

#include <strata/core/error_text.hpp>
#include <strata/core/log.hpp>
#include <strata/core/runtime.hpp>
#include <strata/views/coherent/coherence.hpp>
#include <strata/views/coherent/host_access.hpp>
#include <strata/views/coherent/last_use.hpp>

namespace strata::inline STRATA_ABI::detail {

bool host_lacks_values(CoherentState& array) {
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  return array.directory.lacks(host_memory, array.shape.domain) || coherence.tracker.failed() ||
         array.failure.error;
}

// A use of the host counts references, and would end what is ending: this one is never given back.
void use_on_host_last(CoherentState& array, AccessMode access) {
  alignas(Ref<CoherentState>) unsigned char last[sizeof(Ref<CoherentState>)];
  HostUseScope(*new (last) Ref<CoherentState>(&array), array.shape.domain, access).end();
}

namespace {

// Copies to the device what it lacks, and waits for what is under way there: others do not know of it.
void use_on_device_last(CoherentState& array, DeviceInstance& device) {
  Coherence& coherence = Coherence::get();
  const auto lacks = [&] {
    const std::lock_guard lock(coherence.mutex);
    return array.directory.lacks(coherence.memory_of(device), array.shape.domain) ||
           coherence.tracker.failed() || array.failure.error;
  };
  if (lacks()) prefetch(array, array.shape.domain, device);
  EventList events;
  {
    const std::lock_guard lock(coherence.mutex);
    WorkList after;
    array.order(coherence.memory_of(device)).before_write(array.shape.domain, after);
    for (const Work work : after) coherence.tracker.events_of(work, events);
  }
  for (const Ref<EventState>& event : events) event->wait();
}

}  // namespace

void bring_home(CoherentState& array) noexcept {
  if (array.is_explicit()) return;
  // What was under way is over then.
  if (runtime_ended() && array.adopted_on == nullptr && !host_lacks_values(array)) return;
  try {
    if (array.adopted_on != nullptr) {
      use_on_device_last(array, *array.adopted_on);
    } else if (array.is_shared() || host_lacks_values(array)) {
      use_on_host_last(array, AccessMode::InOut);
    }
  } catch (...) {
    log_message(LogLevel::Error, "the memory that the array \"%s\" adopted has not its last values: %s",
                array.label.c_str(), text_of(std::current_exception()).c_str());
  }
}

}  // namespace strata::inline STRATA_ABI::detail
