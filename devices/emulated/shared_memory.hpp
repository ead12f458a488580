// EmulatedSharedMemory: memory that the host and the kernels of an emulated instance reach at the same time:
// pinned, which stays with the host, and managed, whose pages move (managed_pages.hpp). Private to this
// folder.
//
// Queues are those of the instance. Freed blocks that queued work may still use are kept until the work of
// every queue that was enqueued by then is done; freeing never waits.
//
// The host's virtual clock counts nothing for pinned memory: a kernel reads it as fast as its own.
// Managed memory has no capacity of its own, but no array may have more bytes than some instance has free, as
// a GPU would have to move its pages in and out all the time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include <strata/devices/backend.hpp>
#include <strata/devices/emulated/platform.hpp>

namespace strata::inline STRATA_ABI::detail {

class EmulatedInstance;

inline constexpr char emulated_pinned_kind[] = "EmulatedPinned";
inline constexpr char emulated_managed_kind[] = "EmulatedManaged";

class EmulatedSharedMemory final : public DeviceInstance {
 public:
  EmulatedSharedMemory(EmulatedInstance& owner, SharedMemory kind) : owner_(owner), kind_(kind) {}

  const char* device_name() const override;
  int index() const override;
  SpaceId space() const override;
  bool host_accessible() const override { return true; }
  Allocation* allocate(const AllocationRequest& request) override;
  QueueState& default_queue() override;
  Ref<QueueState> create_queue() override;
  void wait_all() override;
  std::size_t used() const override;
  CopyCost copy_cost(const DeviceInstance& from) override;
  CopyCost copy_cost_to_host() override;
  DeviceRates rates() override;
  char* address_in_kernels(char* host_address, SpaceId space) const override;
  /// Exact, since the array was allocated.
  PageMoves page_moves(const void* data) const override;

  /// Frees `address`, now or when all work that is enqueued by now is done.
  void release(void* address) noexcept;
  /// Frees what waits for work that is done.
  void reclaim() noexcept;

 private:
  struct Quarantined {
    void* address;
    PendingWork until;
  };
  char* allocate_managed(const AllocationRequest& request);
  void require_lockable(const AllocationRequest& request) const;
  void free_now(void* address) const noexcept;

  EmulatedInstance& owner_;
  const SharedMemory kind_;
  std::mutex mutex_;
  std::vector<Quarantined> quarantine_;
  std::atomic<std::size_t> waiting_ = 0;  // blocks in it
};

}  // namespace strata::inline STRATA_ABI::detail
