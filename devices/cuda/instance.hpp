// CudaInstance: one GPU: its memories, streams and limits. Private to this folder.
//
// Started by its first use, never destroyed: arrays in static storage may outlive everything else.
//
// Freed blocks that queued work may still use are in quarantine until an event on each stream that had work
// is complete. Where the process has only one stream its order is enough: the next user of the block runs
// after the last one, and no event is recorded (except with CUDA's own pool). Freeing never waits; an
// allocation for which memory is short does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <cuda_runtime_api.h>

#include <strata/devices/backend.hpp>
#include <strata/devices/cuda/control.hpp>
#include <strata/devices/cuda/device.hpp>
#include <strata/devices/cuda/host_calls.hpp>
#include <strata/devices/cuda/memory/managed_heap.hpp>
#include <strata/devices/cuda/memory/memory_pool.hpp>
#include <strata/devices/cuda/memory/slab_heap.hpp>
#include <strata/devices/cuda/memory/virtual_memory.hpp>

namespace strata::inline STRATA_ABI::detail {

class CudaInstance;
class CudaQueue;

/// One of a GPU's memories as a backend: device, managed or pinned. All three share queues.
class CudaMemory final : public DeviceInstance {
 public:
  CudaMemory(CudaInstance& gpu, CudaMemoryKind kind) : gpu_(gpu), kind_(kind) {}

  const char* device_name() const override;
  int index() const override;
  SpaceId space() const override;
  bool host_accessible() const override { return kind_ != CudaMemoryKind::Device; }
  Allocation* allocate(const AllocationRequest& request) override;
  /// Of device memory, for arrays that are not small.
  Ref<ReservedMemory> reserve(const AllocationRequest& request) override;
  std::size_t repeat_granule() const override;
  QueueState& default_queue() override;
  Ref<QueueState> create_queue() override;
  void wait_all() override;
  std::size_t capacity() const override;
  std::size_t used() const override;
  CopyCost copy_cost(const DeviceInstance& from) override;
  CopyCost copy_cost_to_host() override;
  DeviceRates rates() override;
  Ref<PinnedMemory> pin(void* data, std::size_t bytes) override;
  DeviceInstance* shared_memory(SharedMemory kind, const char*& reason) override;
  char* address_in_kernels(char* host_address, SpaceId space) const override;
  bool has_concurrent_managed_access() const override;
  std::size_t bytes_reached_at_host() const override;
  bool has_system_atomics(SpaceId space, const char*& reason) const override;
  Ref<DirectFile> open_direct(int descriptor, const char* path, bool writes) override;

  CudaInstance& gpu() const { return gpu_; }
  CudaMemoryKind kind() const { return kind_; }

 private:
  CudaInstance& gpu_;
  const CudaMemoryKind kind_;
};

/// A stream of the instance; queues borrow them and give them back, with work under way or not.
struct CudaStream {
  cudaStream_t stream = nullptr;
  bool adopted = false;            // not owned
  bool has_outsiders = false;      // others may enqueue work of which we do not know; atomic in use
  bool follows_outsiders = false;  // has waited for a stream of such work, and may wait still; as above
  bool lent = false;               // a queue has it
  bool helper = false;             // its work is waited for by that of the queue's stream
  bool reaches_peers = false;      // it has copied from or to another GPU
  bool is_recording = false;       // had no work under way when that began; guarded as the list of streams is
  std::uint64_t submitted = 0;     // operations; these are atomics in use
  std::uint64_t retired = 0;       // of them, those known to use no memory any more
  std::uint64_t ended = 0;         // of them, those that the driver says have ended

  std::uint64_t submissions() const { return __atomic_load_n(&submitted, __ATOMIC_RELAXED); }
  /// Whether the first `count` operations, and what others enqueued before them, are known to be done.
  bool known_done(std::uint64_t count) const {
    return !__atomic_load_n(&has_outsiders, __ATOMIC_RELAXED) &&
           __atomic_load_n(&ended, __ATOMIC_ACQUIRE) >= count;
  }
  /// Notes that the first `count` operations use no memory any more: the last of them has handed over its
  /// result. Threads that note at the same time may leave the lower number, which is true as well.
  void note_retired(std::uint64_t count) { note(retired, count); }
  /// Notes that they have ended, by the driver's word: others see what they wrote.
  void note_ended(std::uint64_t count) {
    note(ended, count);
    note(retired, count);
  }

 private:
  static void note(std::uint64_t& known, std::uint64_t count) {
    if (__atomic_load_n(&known, __ATOMIC_RELAXED) < count) __atomic_store_n(&known, count, __ATOMIC_RELEASE);
  }
};

class CudaInstance {
 public:
  /// Starts the instance if need be. Throws NoSuchDevice, RuntimeEnded.
  static CudaInstance& get(int index);
  /// Those that were started.
  static std::vector<CudaInstance*> started();

  explicit CudaInstance(int index);

  int index() const { return index_; }
  int multiprocessors() const { return multiprocessors_; }
  /// The bytes of its second cache.
  std::size_t cache_bytes() const { return static_cast<std::size_t>(cache_bytes_); }
  CudaMemory& memory(CudaMemoryKind kind) { return memories_[static_cast<int>(kind)]; }
  CudaQueue& queue() { return *default_queue_; }
  /// A queue on a stream of its own, or on `adopted`.
  Ref<QueueState> create_queue(cudaStream_t adopted = nullptr);
  void wait_all();
  /// Waits for the work of all queues, and throws errors of the GPU only.
  void synchronize();
  /// Prints the failed checks, and the errors of functions of the host, that were not reported to any thread.
  void print_unreported() noexcept;
  /// Between these calls work of the stream is recorded, and CUDA must not be asked about it.
  void set_recording(CudaStream& stream, bool is_recording);
  /// Whether some other stream, of any GPU, has work under way.
  static bool others_are_busy(const CudaStream& stream);
  /// Functions of the host that CUDA is still to call.
  CudaHostCalls& host_calls() { return host_calls_; }
  /// Destroys those that have run; see CudaHostCalls::drop_done.
  void drop_done_calls() {
    host_calls_.drop_done([this](cudaEvent_t event) { give_back(event); });
  }

  /// Memory of at least one byte; null if there is not enough. Owned by the caller until release().
  void* allocate(CudaMemoryKind kind, std::size_t bytes);
  /// Pinned memory for a copy through it; null where there is not enough, or copies still use much.
  void* take_staging(std::size_t bytes);
  /// Gives it back, to be used again when the work that `user` has by now is done; null: at once.
  void give_staging(void* memory, std::size_t bytes, cudaStream_t user) noexcept;
  /// Makes the memory free once all work that is enqueued by now is done; `reserved`: what reserve() gave.
  void release(CudaMemoryKind kind, void* address, bool reserved = false) noexcept;

  /// Addresses for an array, without memory; null if there are none. `granule`: the unit in which they get
  /// memory. Owned by the caller until release().
  void* reserve(std::size_t bytes, std::size_t& granule);
  /// See ReservedMemory.
  bool commit(void* data, std::size_t begin, std::size_t end);
  bool commit_repeating(void* data, std::size_t period);
  std::size_t committed(void* data);

  std::size_t trim(std::size_t keep);
  cuda::MemoryStatistics statistics();
  void set_limit(std::size_t bytes);
  std::size_t physical_bytes() const { return physical_bytes_; }
  bool has_managed_memory() const { return has_managed_memory_; }
  bool has_concurrent_managed_access() const { return has_concurrent_managed_access_; }
  /// Whether kernels reach all memory of the host.
  bool reaches_pageable_memory() const { return reaches_pageable_memory_; }
  /// Whether they do so by its page tables, over a link that is faster than PCI Express.
  bool uses_host_page_tables() const { return uses_host_page_tables_; }
  /// Whether atomic operations on memory of the host go over the link to it.
  bool has_host_atomics() const { return has_host_atomics_; }
  /// Why allocate() gave no managed memory, as the rest of a sentence.
  std::string why_no_managed_memory(std::size_t bytes);
  /// Lets kernels of GPU `other` reach the memory of this one, once CUDA has opened the link between them.
  void open_to(int other);

  /// A stream that only works for another one, which waits for it.
  CudaStream& take_helper_stream() { return take_stream(nullptr, true); }
  void give_back(CudaStream& stream) noexcept;
  /// An event of this GPU.
  cudaEvent_t take_event(bool timed = false);
  void give_back(cudaEvent_t event, bool timed = false) noexcept;
  /// Every queue registers itself, and takes the instance's lock for it.
  void add_queue(CudaQueue& queue);
  void remove_queue(CudaQueue& queue);
  std::string kernels_in_flight();

 private:
  template <class Commit>
  bool commit_charged(std::size_t bytes, const Commit& commit);
  struct Quarantined {
    CudaMemoryKind kind;
    void* address;
    std::vector<std::pair<CudaInstance*, cudaEvent_t>> until;
    std::size_t staged_bytes = 0;

    /// Until the work that `stream` of `gpu` has now is done, too.
    void note_user(CudaInstance& gpu, cudaStream_t stream);
    void drop_events() noexcept;
  };

  CudaStream& take_stream(cudaStream_t adopted, bool helper = false);
  static bool busy(CudaStream& stream);
  void reclaim(bool wait);
  void free_now(CudaMemoryKind kind, void* address) noexcept;
  void* allocate_managed(std::size_t bytes);
  CardMemory card_memory() const;
  bool has_room_for_managed(std::size_t bytes) const;
  bool drop_reservation(void* data, bool with_cuda) noexcept;
  DeviceHeap& heap(CudaMemoryKind kind) {
    return kind == CudaMemoryKind::Pinned ? pinned_heap_ : *device_heap_;
  }

  const int index_;
  int multiprocessors_ = 0;
  int cache_bytes_ = 0;
  std::size_t physical_bytes_ = 0, free_at_start_ = 0;
  bool has_managed_memory_ = false, has_concurrent_managed_access_ = false, reaches_pageable_memory_ = false;
  bool uses_host_page_tables_ = false;
  bool has_host_atomics_ = false;
  CudaMemory memories_[3];
  std::mutex memory_mutex_;
  std::unique_ptr<CudaMemoryPool> pool_;  // null where device memory comes from slabs
  std::unique_ptr<DeviceHeap> device_heap_;
  SlabHeap pinned_heap_;
  ManagedHeap managed_heap_;
  std::unordered_map<void*, std::unique_ptr<CudaReservation>> reservations_;
  std::vector<int> open_to_;  // GPUs that reach the memory of this one
  std::vector<Quarantined> quarantine_;
  std::size_t staged_bytes_ = 0;  // taken for staging
  std::mutex streams_mutex_;
  std::vector<std::unique_ptr<CudaStream>> streams_;
  int orders_ = 0;                // streams but for helpers
  bool reused_in_order_ = false;  // a block was reused in the order of the only stream
  std::mutex events_mutex_;
  std::vector<cudaEvent_t> events_[2];  // without timing, and with it
  CudaHostCalls host_calls_;
  std::mutex queues_mutex_;
  std::vector<CudaQueue*> queues_;
  Ref<CudaQueue> default_queue_;
};

/// "Kernels in flight: ..." of all queues of a device.
std::string cuda_kernels_in_flight(int device);

}  // namespace strata::inline STRATA_ABI::detail
