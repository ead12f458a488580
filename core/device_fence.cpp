// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <mutex>
#include <vector>

#include <strata/core/device_fence.hpp>
#include <strata/core/profiling/hooks.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

struct Drain {
  const char* device;
  void (*action)() noexcept;
};

struct Drains {
  std::mutex mutex;
  std::vector<Drain> all;
};

// Never destroyed: static views may be freed, and so observed, after main.
Drains& drains() {
  static Drains* const instance = new Drains;
  return *instance;
}

constinit std::atomic<int> no_fences{0};

}  // namespace

void at_fence(const char* device, void (*drain)() noexcept) {
  const std::lock_guard lock(drains().mutex);
  drains().all.push_back({device, drain});
}

void fence_devices(const char* label) noexcept {
  if (no_fences.load() != 0) return;
  std::vector<Drain> all;
  {
    const std::lock_guard lock(drains().mutex);
    all = drains().all;
  }
  for (const Drain& each : all) {
    const profiling::EventScope scope([&] {
      return HookEvent{
          .kind = EventKind::BeginFence, .label = label, .device = each.device, .all_queues = true};
    });
    each.action();
  }
}

NoFences::NoFences() { no_fences.fetch_add(1); }
NoFences::~NoFences() { no_fences.fetch_sub(1); }

}  // namespace strata::inline STRATA_ABI::detail
