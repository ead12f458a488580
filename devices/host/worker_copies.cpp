// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include <strata/devices/host/device.hpp>
#include <strata/devices/host/worker_copies.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

constinit std::atomic<int> num_worker_copies{0};

void release_copies(Allocation& allocation) noexcept {
  num_worker_copies.fetch_sub(1, std::memory_order_relaxed);
  release_host(allocation);
}

}  // namespace

void mark_worker_copies(const AllocationRef& allocation) {
  auto* const record = const_cast<Allocation*>(allocation.get());
  if (record->release != release_host) return;
  num_worker_copies.fetch_add(1, std::memory_order_relaxed);
  record->release = release_copies;
}

bool has_worker_copies() { return num_worker_copies.load(std::memory_order_relaxed) > 0; }

}  // namespace strata::inline STRATA_ABI::detail
