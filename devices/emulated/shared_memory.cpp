// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include <strata/core/allocation_report.hpp>
#include <strata/core/bytes.hpp>
#include <strata/core/error.hpp>
#include <strata/core/runtime.hpp>
#include <strata/devices/emulated/call_counts.hpp>
#include <strata/devices/emulated/instance.hpp>
#include <strata/devices/emulated/managed_pages.hpp>
#include <strata/devices/emulated/shared_memory.hpp>
#include <strata/devices/host/device.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

void release_shared(Allocation& allocation) noexcept {
  static_cast<EmulatedSharedMemory*>(allocation.owner)->release(allocation.data);
}

}  // namespace

const char* EmulatedSharedMemory::device_name() const { return space().kind; }
int EmulatedSharedMemory::index() const { return owner_.index(); }
SpaceId EmulatedSharedMemory::space() const {
  return {kind_ == SharedMemory::Pinned ? emulated_pinned_kind : emulated_managed_kind, owner_.index(), true};
}

// ---- memory

Allocation* EmulatedSharedMemory::allocate(const AllocationRequest& request) {
  require_running("an allocation");
  count_call(&CallCounts::allocations);
  Platform& platform = Platform::get();
  platform.instance(index());  // it may be gone from the configuration
  if (platform.forked())
    throw Error(std::string(device_name()) +
                ": its memory belongs to the process that started the device; a child of fork() must exec a "
                "program of its own to use emulated devices");
  bool fails = false;
  {
    const std::lock_guard lock(platform.mutex);
    fails = platform.fails(emulated::Fault::Allocation);
  }
  if (fails) fail_out_of_memory(request, space(), describe_space(space()).c_str(), "failure injected");
  reclaim();
  void* data = nullptr;
  if (kind_ == SharedMemory::Managed) {
    data = allocate_managed(request);
  } else {
    require_lockable(request);
    constexpr std::size_t alignment = EmulatedMemory::alignment;
    const std::size_t bytes =
        std::max<std::size_t>((request.bytes + alignment - 1) / alignment, 1) * alignment;
    if (bytes >= request.bytes) data = std::aligned_alloc(alignment, bytes);
    if (data == nullptr)
      fail_out_of_memory(request, space(), device_name(), "the system has no memory of that size");
  }
  try {
    return make_allocation(data, request.bytes, space(), request.label, release_shared, this);
  } catch (...) {
    free_now(data);
    throw;
  }
}

char* EmulatedSharedMemory::allocate_managed(const AllocationRequest& request) {
  Platform& platform = Platform::get();
  const emulated::Config config = platform.configuration();
  std::size_t most = 0;
  for (int i = 0; i < config.count; ++i) {
    platform.instance(i).reclaim();
    most = std::max(most, platform.memory->room(i));
  }
  if (request.bytes > most && !owner_.wait_for_room(request.bytes)) {
    const std::string reason =
        "no instance has more than " + string_from_bytes(index_t(most)) +
        " free, and an array in managed memory must fit one; stream it, take memory of "
        "another kind, or raise the setting emulated_capacity";
    fail_out_of_memory(request, space(), device_name(), reason.c_str());
  }
  const char* reason = nullptr;
  char* const data =
      managed_pages::allocate(request.bytes, std::size_t(config.managed_page), config.count, reason);
  if (data == nullptr) fail_out_of_memory(request, space(), device_name(), reason);
  return data;
}

// Of all instances together, as the limit is one of the process.
void EmulatedSharedMemory::require_lockable(const AllocationRequest& request) const {
  const emulated::Config config = Platform::get().configuration();
  if (config.pinned_capacity == 0) return;
  const auto limit = static_cast<std::size_t>(config.pinned_capacity), locked = used();
  if (locked <= limit && request.bytes <= limit - locked) return;
  const std::string reason = "the limit on locked pages, " + string_from_bytes(config.pinned_capacity) +
                             ", leaves " + string_from_bytes(index_t(limit - std::min(locked, limit))) +
                             " (emulated::Config::pinned_capacity)";
  fail_out_of_memory(request, space(), device_name(), reason.c_str());
}

void EmulatedSharedMemory::free_now(void* address) const noexcept {
  if (kind_ == SharedMemory::Managed) managed_pages::free(address);
  else std::free(address);
}

void EmulatedSharedMemory::release(void* address) noexcept {
  Platform& platform = Platform::get();
  if (platform.forked()) return;  // the memory is the parent's
  try {
    Quarantined block{address, platform.pending_work()};
    const std::lock_guard lock(mutex_);
    quarantine_.push_back(std::move(block));
    waiting_ = quarantine_.size();
  } catch (...) {
    return;  // without a list of the work to wait for, the block is never freed
  }
  reclaim();
}

void EmulatedSharedMemory::reclaim() noexcept {
  if (waiting_ == 0) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(quarantine_, [&](const Quarantined& block) {
    if (!block.until.has_run()) return false;
    free_now(block.address);
    return true;
  });
  waiting_ = quarantine_.size();
}

std::size_t EmulatedSharedMemory::used() const { return allocation_totals(space().kind).bytes; }

PageMoves EmulatedSharedMemory::page_moves(const void* data) const {
  return kind_ == SharedMemory::Managed ? managed_pages::moves(data) : PageMoves{};
}

char* EmulatedSharedMemory::address_in_kernels(char* host_address, SpaceId from) const {
  return owner_.address_in_kernels(host_address, from);
}

// ---- what the instance does

QueueState& EmulatedSharedMemory::default_queue() { return owner_.default_queue(); }
Ref<QueueState> EmulatedSharedMemory::create_queue() { return owner_.create_queue(); }
void EmulatedSharedMemory::wait_all() { owner_.wait_all(); }
CopyCost EmulatedSharedMemory::copy_cost(const DeviceInstance& from) { return owner_.copy_cost(from); }
CopyCost EmulatedSharedMemory::copy_cost_to_host() { return owner_.copy_cost_to_host(); }
DeviceRates EmulatedSharedMemory::rates() { return owner_.rates(); }

}  // namespace strata::inline STRATA_ABI::detail
