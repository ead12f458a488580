#include <strata/core/hooks.hpp>
#include <strata/devices/queue.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// Tells the listeners of a fence, also when it throws.
class FenceScope {
 public:
  FenceScope(const char* label, DeviceInstance& instance, std::uint64_t queue, bool all_queues) {
    if (!hooks_active()) return;
    event_ = {.kind = EventKind::BeginFence,
              .label = label,
              .device = instance.device_name(),
              .instance = instance.index(),
              .queue = queue,
              .all_queues = all_queues,
              .id = next_event_id()};
    emit(event_);
  }
  ~FenceScope() {
    if (event_.id == 0) return;
    event_.kind = EventKind::EndFence;
    emit(event_);
  }
  FenceScope(const FenceScope&) = delete;
  FenceScope& operator=(const FenceScope&) = delete;

 private:
  HookEvent event_{.kind = EventKind::BeginFence};
};

}  // namespace

void wait_for_queue(QueueState& queue, const char* label) {
  const FenceScope scope(label, queue.instance(), queue.id(), false);
  queue.wait();
}

void wait_for_instance(DeviceInstance& instance, const char* label) {
  const FenceScope scope(label, instance, 0, true);
  instance.wait_all();
}

}  // namespace strata::inline STRATA_ABI::detail
