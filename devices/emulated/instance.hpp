// EmulatedInstance: one emulated accelerator: memory, default queue, and the threads that run its kernels.
// Private to this folder.
//
// Freed blocks that queued work may still use are in quarantine: until the work of every queue, of all
// instances, that was enqueued by then is done, and the host's virtual clock has passed its end too, so that
// what a program may reuse does not depend on how fast the machine is. Freeing never waits; an allocation for
// which memory is short does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <strata/devices/backend.hpp>
#include <strata/devices/emulated/platform.hpp>
#include <strata/devices/emulated/queue.hpp>
#include <strata/devices/host/drivers.hpp>
#include <strata/devices/host/worker_pool.hpp>

namespace strata::inline STRATA_ABI::detail {

class EmulatedSharedMemory;

class EmulatedInstance final : public DeviceInstance {
 public:
  explicit EmulatedInstance(int index);
  ~EmulatedInstance() override;

  const char* device_name() const override { return "Emulated"; }
  bool has_virtual_time() const override { return true; }
  int index() const override { return index_; }
  SpaceId space() const override;
  bool host_accessible() const override { return false; }
  Allocation* allocate(const AllocationRequest& request) override;
  Ref<ReservedMemory> reserve(const AllocationRequest& request) override;
  std::size_t repeat_granule() const override;
  QueueState& default_queue() override { return *default_queue_; }
  Ref<QueueState> create_queue() override;
  void wait_all() override;
  std::size_t capacity() const override;
  /// Blocks in quarantine count.
  std::size_t used() const override;

  /// By the rates of the configuration; without links between instances there is no direct way.
  CopyCost copy_cost(const DeviceInstance& from) override;
  CopyCost copy_cost_to_host() override;
  DeviceRates rates() override;
  /// Its copies take as long from any memory.
  Ref<PinnedMemory> pin(void*, std::size_t) override { return Ref<PinnedMemory>(new PinnedMemory); }
  /// EmulatedPinned and EmulatedManaged (shared_memory.hpp).
  DeviceInstance* shared_memory(SharedMemory kind, const char*& reason) override;
  /// Of all memory of the host: where workers, which add their offset, find it. Null for that of instances.
  char* address_in_kernels(char* host_address, SpaceId space) const override;
  bool has_concurrent_managed_access() const override;
  std::size_t bytes_reached_at_host() const override;
  /// Where the configuration says so, of managed memory and of other memory of the host.
  bool has_system_atomics(SpaceId space, const char*& reason) const override;
  /// Where the configuration says so.
  Ref<DirectFile> open_direct(int descriptor, const char* path, bool writes) override;

  /// Gives memory to a part of what reserve() gave; see ReservedMemory::commit.
  bool commit(void* data, std::size_t begin, std::size_t end);
  bool commit_repeating(void* data, std::size_t period);
  EmulatedQueue& queue() { return *default_queue_; }
  /// The threads that run this instance's kernels, each in the instance's memory.
  Runner runner();
  /// Frees `address`, now or when all work that is enqueued by now is done.
  void release(void* address) noexcept;
  /// Frees blocks in quarantine whose work is done; with `ignore_clock`, also if its end in virtual time is
  /// still to come.
  void reclaim(bool ignore_clock = false) const;
  /// Waits for freed blocks until `bytes` could be allocated; false if they cannot.
  bool wait_for_room(std::size_t bytes);
  /// Ends the threads; no kernel may run. The next kernel starts new ones.
  void stop_threads();

 private:
  struct Quarantined {
    void* address;
    PendingWork until;
  };
  template <class Commit>
  bool commit_by(const Commit& commit);
  template <class Attempt>
  bool repeat_while_blocks_get_free(const Attempt& attempt);

  const int index_;
  const Ref<EmulatedQueue> default_queue_;
  const std::unique_ptr<EmulatedSharedMemory> pinned_, managed_;
  std::mutex pool_mutex_;
  std::unique_ptr<WorkerPool> pool_;
  mutable std::mutex quarantine_mutex_;
  mutable std::vector<Quarantined> quarantine_;
};

}  // namespace strata::inline STRATA_ABI::detail
