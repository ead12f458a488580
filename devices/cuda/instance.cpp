// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include <strata/core/bytes.hpp>
#include <strata/core/error.hpp>
#include <strata/core/log.hpp>
#include <strata/core/profiling/hooks.hpp>
#include <strata/core/runtime.hpp>
#include <strata/core/settings.hpp>
#include <strata/core/unheard_errors.hpp>
#include <strata/devices/cuda/failure.hpp>
#include <strata/devices/cuda/instance.hpp>
#include <strata/devices/cuda/memory/managed_blocks.hpp>
#include <strata/devices/cuda/queue.hpp>
#include <strata/devices/cuda/watching.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

struct Count {
  int devices = 0;
  cudaError_t error = cudaSuccess;
};

const Count& counted() {
  static const Count count = [] {
    Count c;
    c.error = cudaGetDeviceCount(&c.devices);
    if (c.error != cudaSuccess) {
      c.devices = 0;
      static_cast<void>(cudaGetLastError());
    }
    c.devices = std::min(c.devices, max_cuda_devices);
    return c;
  }();
  return count;
}

std::mutex& start_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}
CudaInstance* started_instances[max_cuda_devices];

void finish_all() noexcept {
  for (CudaInstance* const gpu : CudaInstance::started()) {
    const bool was_reported = cuda_failure_was_reported(gpu->index());
    try {
      gpu->synchronize();
    } catch (const std::exception& error) {
      if (!was_reported)
        print_unheard_error("work on Cuda{" + std::to_string(gpu->index()) + "}", error.what());
    }
    gpu->drop_done_calls();
    gpu->print_unreported();
  }
}

// Slabs of device memory and of pinned memory, and managed memory; `context` is the instance.
void* take_device_slab(void* context, std::size_t bytes) {
  const CudaDeviceScope scope(static_cast<CudaInstance*>(context)->index());
  void* slab = nullptr;
  if (cudaMalloc(&slab, bytes) == cudaSuccess) return slab;
  static_cast<void>(cudaGetLastError());
  return nullptr;
}
void give_device_slab(void*, void* slab, std::size_t) { cudaFree(slab); }
void* take_pinned_slab(void* context, std::size_t bytes) {
  const CudaDeviceScope scope(static_cast<CudaInstance*>(context)->index());
  void* slab = nullptr;
  if (cudaHostAlloc(&slab, bytes, cudaHostAllocPortable | cudaHostAllocMapped) == cudaSuccess) return slab;
  static_cast<void>(cudaGetLastError());
  return nullptr;
}
void give_pinned_slab(void*, void* slab, std::size_t) { cudaFreeHost(slab); }
void* take_managed(void* context, std::size_t bytes) {
  const CudaDeviceScope scope(static_cast<CudaInstance*>(context)->index());
  void* block = nullptr;
  if (cudaMallocManaged(&block, bytes) == cudaSuccess) return block;
  static_cast<void>(cudaGetLastError());
  return nullptr;
}
void give_managed(void*, void* block, std::size_t) { cudaFree(block); }

}  // namespace

int cuda_count() { return counted().devices; }

void require_cuda(int index) {
  const Count& count = counted();
  if (index >= 0 && index < count.devices) return;
  const std::string asked = "Cuda{" + std::to_string(index) + "}: ";
  if (count.error != cudaSuccess)
    throw NoSuchDevice(asked + "CUDA finds no GPU: " + cuda_text(count.error) +
                       "; run on another device, such as Threads, or check the driver with nvidia-smi");
  throw NoSuchDevice(asked + "there are " + std::to_string(count.devices) + " GPUs, numbered from 0" +
                     (count.devices == 0 ? "" : "; CUDA_VISIBLE_DEVICES may hide some"));
}

DeviceInstance& cuda_backend(int index, CudaMemoryKind kind) { return CudaInstance::get(index).memory(kind); }

std::string cuda_kernels_in_flight(int device) {
  CudaInstance* const gpu = device >= 0 && device < max_cuda_devices ? started_instances[device] : nullptr;
  return gpu != nullptr ? gpu->kernels_in_flight() : "No kernels are in flight";
}

CudaInstance& CudaInstance::get(int index) {
  if (index >= 0 && index < max_cuda_devices)
    if (CudaInstance* const gpu = __atomic_load_n(&started_instances[index], __ATOMIC_ACQUIRE)) return *gpu;
  require_running("the start of a GPU");
  require_cuda(index);
  const std::lock_guard lock(start_mutex());
  CudaInstance*& slot = started_instances[index];
  if (slot == nullptr) {
    static const bool registered = (at_end(finish_all), start_watching_cuda(), true);
    static_cast<void>(registered);
    auto* const gpu = new CudaInstance(index);
    const index_t limit = settings().cuda_memory_limit;
    const std::string most = limit > 0 ? "at most " + string_from_bytes(limit) : "any part";
    log_message(LogLevel::Info, "Cuda{%d} has %s of memory, of which Strata may hold %s; it comes from %s",
                index, string_from_bytes(static_cast<index_t>(gpu->physical_bytes_)).c_str(), most.c_str(),
                settings().cuda_allocator == "async" ? "CUDA's pool" : "slabs");
    gpu->default_queue_ = Ref<CudaQueue>(new CudaQueue(*gpu, gpu->take_stream(nullptr), 0));
    __atomic_store_n(&slot, gpu, __ATOMIC_RELEASE);
  }
  return *slot;
}

std::vector<CudaInstance*> CudaInstance::started() {
  std::vector<CudaInstance*> all;
  for (CudaInstance*& slot : started_instances)
    if (CudaInstance* const gpu = __atomic_load_n(&slot, __ATOMIC_ACQUIRE)) all.push_back(gpu);
  return all;
}

CudaInstance::CudaInstance(int index)
    : index_(index),
      memories_{
          {*this, CudaMemoryKind::Device}, {*this, CudaMemoryKind::Managed}, {*this, CudaMemoryKind::Pinned}},
      pinned_heap_({take_pinned_slab, give_pinned_slab, this}),
      managed_heap_({take_managed, give_managed, this}) {
  const CudaDeviceScope scope(index);
  const auto limit = static_cast<std::size_t>(settings().cuda_memory_limit);
  if (settings().cuda_allocator == "async") {
    pool_ = std::make_unique<CudaMemoryPool>(index);
    device_heap_ = std::make_unique<PoolHeap>(pool_->source(), limit);
  } else {
    device_heap_ =
        std::make_unique<SlabHeap>(SlabHeap::Source{take_device_slab, give_device_slab, this}, limit);
  }
  check_cuda(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, index),
             "asking for the multiprocessors", index);
  check_cuda(cudaDeviceGetAttribute(&cache_bytes_, cudaDevAttrL2CacheSize, index),
             "asking for the size of a cache", index);
  check_cuda(cudaMemGetInfo(&free_at_start_, &physical_bytes_), "asking for the memory", index);
  const auto has = [&](cudaDeviceAttr attribute) {
    int value = 0;
    check_cuda(cudaDeviceGetAttribute(&value, attribute, index), "asking for what memory it has", index);
    return value != 0;
  };
  has_managed_memory_ = has(cudaDevAttrManagedMemory);
  has_concurrent_managed_access_ = has(cudaDevAttrConcurrentManagedAccess);
  reaches_pageable_memory_ = has(cudaDevAttrPageableMemoryAccess);
  uses_host_page_tables_ = has(cudaDevAttrPageableMemoryAccessUsesHostPageTables);
  has_host_atomics_ = has(cudaDevAttrHostNativeAtomicSupported);
}

CudaStream& CudaInstance::take_stream(cudaStream_t adopted, bool helper) {
  const std::lock_guard lock(streams_mutex_);
  if (adopted == nullptr)
    for (const auto& stream : streams_)
      if (!stream->lent && !stream->adopted && stream->helper == helper && !busy(*stream)) {
        stream->lent = true;
        return *stream;
      }
  auto stream = std::make_unique<CudaStream>();
  stream->lent = true;
  stream->stream = adopted;
  stream->adopted = stream->has_outsiders = adopted != nullptr;
  stream->helper = helper;
  const CudaDeviceScope scope(index_);
  if (adopted == nullptr)
    check_cuda(cudaStreamCreateWithFlags(&stream->stream, cudaStreamNonBlocking), "creating a stream",
               index_);
  if (!helper && ++orders_ == 2 && reused_in_order_) {
    // From now on there is more than one order: blocks reused in the order of the first stream must be safe
    // in the second. That of a stream that is recorded has ended.
    if (!streams_.front()->is_recording) {
      const cudaEvent_t event = take_event();
      check_cuda(cudaEventRecord(event, streams_.front()->stream), "recording an event", index_);
      check_cuda(cudaStreamWaitEvent(stream->stream, event, 0), "waiting for an event", index_);
      give_back(event);
    }
    reused_in_order_ = false;
  }
  streams_.push_back(std::move(stream));
  return *streams_.back();
}

void CudaInstance::give_back(CudaStream& stream) noexcept {
  const std::lock_guard lock(streams_mutex_);
  stream.lent = false;
  __atomic_store_n(&stream.follows_outsiders, false, __ATOMIC_RELAXED);
  // Its owner may destroy it from now on: it is asked only about what was enqueued here.
  if (stream.adopted) __atomic_store_n(&stream.has_outsiders, false, __ATOMIC_RELAXED);
}

bool CudaInstance::busy(CudaStream& stream) {
  if (stream.is_recording) return false;
  const std::uint64_t submitted = stream.submissions();
  const bool knows_all = !__atomic_load_n(&stream.has_outsiders, __ATOMIC_RELAXED);
  if (knows_all && __atomic_load_n(&stream.retired, __ATOMIC_RELAXED) >= submitted) return false;
  const cudaError_t state = cudaStreamQuery(stream.stream);
  if (state == cudaErrorNotReady) return true;
  // Work that failed is not done: whoever waits for its events is to get the error.
  if (state == cudaSuccess) stream.note_ended(submitted);
  return false;
}

void CudaInstance::set_recording(CudaStream& stream, bool is_recording) {
  const std::lock_guard lock(streams_mutex_);
  stream.is_recording = is_recording;
}

bool CudaInstance::others_are_busy(const CudaStream& stream) {
  for (CudaInstance* const gpu : started()) {
    const std::lock_guard lock(gpu->streams_mutex_);
    for (const auto& other : gpu->streams_)
      if (other.get() != &stream && busy(*other)) return true;
  }
  return false;
}

Ref<QueueState> CudaInstance::create_queue(cudaStream_t adopted) {
  require_running("a queue");
  return Ref<QueueState>(new CudaQueue(*this, take_stream(adopted), next_queue_id()));
}

void CudaInstance::add_queue(CudaQueue& queue) {
  const std::lock_guard lock(queues_mutex_);
  queues_.push_back(&queue);
}
void CudaInstance::remove_queue(CudaQueue& queue) {
  const std::lock_guard lock(queues_mutex_);
  std::erase(queues_, &queue);
}

void CudaInstance::synchronize() {
  std::vector<CudaStream*> streams;
  {
    const std::lock_guard lock(streams_mutex_);
    for (const auto& stream : streams_)
      if ((stream->lent || !stream->adopted) &&
          (stream->helper || !stream->known_done(stream->submissions())))  // a helper's work is not counted
        streams.push_back(stream.get());
  }
  if (streams.empty()) return;
  const CudaDeviceScope scope(index_);
  for (CudaStream* const stream : streams) {
    {
      const std::lock_guard lock(streams_mutex_);
      if (stream->is_recording) continue;
    }
    const std::uint64_t submitted = stream->submissions();
    check_cuda(cudaStreamSynchronize(stream->stream), "waiting for a GPU", index_);
    stream->note_ended(submitted);
  }
}

void CudaInstance::wait_all() {
  synchronize();
  drop_done_calls();
  const std::lock_guard lock(queues_mutex_);
  for (CudaQueue* const queue : queues_) {
    queue->throw_bad_access(true);  // its mutex comes before this one
    queue->host_errors().throw_and_clear();
  }
}

void CudaInstance::print_unreported() noexcept {
  const std::lock_guard lock(queues_mutex_);
  for (CudaQueue* const queue : queues_) {
    try {
      queue->throw_unreported_bad_access();
    } catch (const std::exception& error) {
      print_unheard_error("a kernel on Cuda{" + std::to_string(index_) + "}", error.what());
    }
    queue->host_errors().print();
  }
}

std::string CudaInstance::kernels_in_flight() {
  std::vector<std::string> names;
  {
    const std::lock_guard lock(queues_mutex_);
    for (CudaQueue* const queue : queues_) queue->kernels_in_flight(names);
  }
  if (names.empty()) return "No kernels are in flight";
  std::string text = "Kernels in flight:";
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (k == 12) return text + ", and " + std::to_string(names.size() - k) + " more";
    text += (k ? ", " : " ") + names[k];
  }
  return text;
}

// ---- memory

void* CudaInstance::allocate(CudaMemoryKind kind, std::size_t bytes) {
  const std::lock_guard lock(memory_mutex_);
  if (!quarantine_.empty()) reclaim(false);
  if (kind == CudaMemoryKind::Managed) return allocate_managed(bytes);
  DeviceHeap& memory = heap(kind);
  void* data = memory.allocate(bytes);
  if (data == nullptr && !quarantine_.empty()) {
    reclaim(true);
    data = memory.allocate(bytes);
  }
  // Slabs that are cut too small for it may make room for one that is not.
  if (data == nullptr && memory.trim(0) > 0) data = memory.allocate(bytes);
  return data;
}

// A driver that is asked for more managed memory than fits on the card gives it, and moves pages in and out
// from then on: some hang. So that is refused before.
void* CudaInstance::allocate_managed(std::size_t bytes) {
  if (!has_room_for_managed(bytes)) {
    reclaim(true);
    if (!has_room_for_managed(bytes)) return nullptr;
  }
  void* data = managed_heap_.allocate(bytes);
  if (data == nullptr && !quarantine_.empty()) {
    reclaim(true);
    data = managed_heap_.allocate(bytes);
  }
  if (data == nullptr && managed_heap_.trim() > 0) data = managed_heap_.allocate(bytes);
  if (data != nullptr) ManagedBlocks::all().add(data, bytes);
  return data;
}

CardMemory CudaInstance::card_memory() const {
  const CudaDeviceScope scope(index_);
  std::size_t free_now = 0, all = 0;
  check_cuda(cudaMemGetInfo(&free_now, &all), "asking for the memory", index_);
  return {free_at_start_, free_now, device_heap_->statistics().held, managed_heap_.used()};
}

bool CudaInstance::has_room_for_managed(std::size_t bytes) const {
  const std::size_t taken = ManagedHeap::taken_by(bytes);
  if (taken == 0 || taken > physical_bytes_) return false;
  // Asking the driver takes as long as other allocations, so it is asked once half of the card may be used.
  if (taken + managed_heap_.used() + device_heap_->statistics().held <= free_at_start_ / 2) return true;
  return taken <= managed_memory_left(card_memory());
}

std::string CudaInstance::why_no_managed_memory(std::size_t bytes) {
  if (!has_managed_memory_) return "this GPU has no managed memory";
  const std::lock_guard lock(memory_mutex_);
  if (has_room_for_managed(bytes)) return "CUDA gave no managed memory of that size";
  const CardMemory card = card_memory();
  return "managed arrays are given no more than fits on the card at once: of its " +
         std::to_string(physical_bytes_) + " bytes " + std::to_string(managed_memory_left(card)) +
         " are left, beside " + std::to_string(card.managed) +
         " of other managed arrays; use a smart or mapped array, or process the array in slices "
         "(docs/out_of_core.md)";
}

void CudaInstance::free_now(CudaMemoryKind kind, void* address) noexcept {
  if (kind == CudaMemoryKind::Managed) {
    ManagedBlocks::all().remove(address, managed_heap_.keeps(address));
    managed_heap_.release(address);
  } else if (!drop_reservation(address, true)) {
    heap(kind).release(address);
  }
}

void CudaInstance::release(CudaMemoryKind kind, void* address, bool reserved) noexcept {
  if (runtime_ended()) {
    // No work can be under way, and CUDA itself may be gone.
    const std::lock_guard lock(memory_mutex_);
    if (reserved) drop_reservation(address, false);
    else if (kind != CudaMemoryKind::Managed) heap(kind).forget(address);
    return;
  }
  const DroppedCudaErrors dropped;
  Quarantined block{kind, address, {}};
  try {
    for (CudaInstance* const gpu : started()) {
      const std::lock_guard lock(gpu->streams_mutex_);
      for (const auto& stream : gpu->streams_) {
        if ((gpu != this && !stream->reaches_peers && kind == CudaMemoryKind::Device) || !busy(*stream))
          continue;
        // Not with CUDA's pool, which may give the memory away, nor with memory that is unmapped.
        if (kind == CudaMemoryKind::Device && gpu == this && orders_ == 1 && pool_ == nullptr && !reserved) {
          reused_in_order_ = true;
          continue;
        }
        block.note_user(*gpu, stream->stream);
      }
    }
    const std::lock_guard lock(memory_mutex_);
    if (block.until.empty()) return free_now(kind, address);
    quarantine_.push_back(std::move(block));
    reclaim(false);
  } catch (...) {
    // Without events to wait for, the block is never used again.
    block.drop_events();
  }
}

void CudaInstance::Quarantined::note_user(CudaInstance& gpu, cudaStream_t stream) {
  until.reserve(until.size() + 1);
  const cudaEvent_t event = gpu.take_event();
  until.emplace_back(&gpu, event);
  const CudaDeviceScope scope(gpu.index());
  check_cuda(cudaEventRecord(event, stream), "recording an event", gpu.index());
}
void CudaInstance::Quarantined::drop_events() noexcept {
  for (const auto& [gpu, event] : until) gpu->give_back(event);
  until.clear();
}

void CudaInstance::reclaim(bool wait) {
  std::erase_if(quarantine_, [&](Quarantined& block) {
    std::erase_if(block.until, [&](const std::pair<CudaInstance*, cudaEvent_t>& until) {
      const auto [gpu, event] = until;
      const cudaError_t state = wait ? cudaEventSynchronize(event) : cudaEventQuery(event);
      if (state == cudaErrorNotReady) return false;
      gpu->give_back(event);
      return true;
    });
    if (!block.until.empty()) return false;
    free_now(block.kind, block.address);
    staged_bytes_ -= block.staged_bytes;
    return true;
  });
}

std::size_t CudaInstance::trim(std::size_t keep) {
  const std::lock_guard lock(memory_mutex_);
  reclaim(false);
  return device_heap_->trim(keep);
}

void CudaInstance::set_limit(std::size_t bytes) {
  const std::lock_guard lock(memory_mutex_);
  device_heap_->set_limit(bytes);
}

void CudaInstance::open_to(int other) {
  if (pool_ != nullptr) pool_->open_to(other);
  const std::lock_guard lock(memory_mutex_);
  for (const auto& [data, reservation] : reservations_) reservation->open_to(other);
  open_to_.push_back(other);
}

cuda::MemoryStatistics CudaInstance::statistics() {
  const std::lock_guard lock(memory_mutex_);
  reclaim(false);
  std::size_t quarantined = 0;
  for (const Quarantined& block : quarantine_)
    if (const auto reserved = reservations_.find(block.address); reserved != reservations_.end())
      quarantined += reserved->second->committed();
    else if (block.kind == CudaMemoryKind::Device) quarantined += device_heap_->bytes_of(block.address);
  const HeapStatistics now = device_heap_->statistics();
  return {now.held, now.used, quarantined, now.peak, now.slabs, now.blocks, now.limit, physical_bytes_};
}

cudaEvent_t CudaInstance::take_event(bool timed) {
  {
    const std::lock_guard lock(events_mutex_);
    if (std::vector<cudaEvent_t>& free = events_[timed]; !free.empty()) {
      const cudaEvent_t event = free.back();
      free.pop_back();
      return event;
    }
  }
  const CudaDeviceScope scope(index_);
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, timed ? cudaEventDefault : cudaEventDisableTiming),
             "creating an event", index_);
  return event;
}

void CudaInstance::give_back(cudaEvent_t event, bool timed) noexcept {
  const std::lock_guard lock(events_mutex_);
  events_[timed].push_back(event);
}

}  // namespace strata::inline STRATA_ABI::detail
