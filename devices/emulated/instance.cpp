// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <strata/core/allocation_report.hpp>
#include <strata/core/error.hpp>
#include <strata/core/runtime.hpp>
#include <strata/devices/emulated/allocation_list.hpp>
#include <strata/devices/emulated/call_counts.hpp>
#include <strata/devices/emulated/device.hpp>
#include <strata/devices/emulated/direct_file.hpp>
#include <strata/devices/emulated/instance.hpp>
#include <strata/devices/emulated/managed_pages.hpp>
#include <strata/devices/emulated/shared_memory.hpp>
#include <strata/devices/host/device.hpp>
#include <strata/devices/host/space.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

void release_emulated(Allocation& allocation) noexcept {
  static_cast<EmulatedInstance*>(allocation.owner)->release(allocation.data);
}

// The shape of an array for the fault handler: with strides from which it can compute the index.
AllocationShape shape_of(const AllocationRequest& request) {
  AllocationShape shape;
  shape.element_bytes = request.element_bytes;
  const LayoutDescriptor* const layout = request.layout;
  if (layout == nullptr || layout->offset != nullptr || layout->tile_log2 >= 0 || layout->shift != 0)
    return shape;
  for (int r = 0; r < layout->rank; ++r)
    if (layout->stride[r] <= 0) return shape;
  shape.rank = layout->rank;
  for (int r = 0; r < layout->rank; ++r) {
    shape.extents[r] = layout->extent[r];
    shape.strides[r] = layout->stride[r];
  }
  return shape;
}

class EmulatedReservedMemory final : public ReservedMemory {
 public:
  EmulatedReservedMemory(EmulatedInstance& instance, AllocationRef record)
      : ReservedMemory(std::move(record)), instance_(instance) {}

  std::size_t granule() const override { return EmulatedMemory::alignment; }
  bool commit(std::size_t begin, std::size_t end) override {
    require_reserved(begin, end);
    if (begin == end) return true;
    const std::lock_guard lock(mutex_);
    if (!instance_.commit(data(), begin, end)) return false;
    if (const std::size_t now = committed(); now != allocation().held) set_held(record(), now);
    return true;
  }
  bool commit_repeating(std::size_t period) override {
    require_reserved(0, period);
    const std::lock_guard lock(mutex_);
    if (!instance_.commit_repeating(data(), period)) return false;
    set_held(record(), period);
    return true;
  }
  std::size_t committed() const override {
    return Platform::get().memory->committed(instance_.index(), data());
  }

 private:
  EmulatedInstance& instance_;
  std::mutex mutex_;
};

}  // namespace

Ref<DirectFile> EmulatedInstance::open_direct(int descriptor, const char* path, bool) {
  if (!Platform::get().configuration().reads_files) return {};
  return Ref<DirectFile>(new EmulatedDirectFile(descriptor, path));
}

EmulatedInstance::EmulatedInstance(int index)
    : index_(index),
      default_queue_(new EmulatedQueue(*this, 0)),
      pinned_(new EmulatedSharedMemory(*this, SharedMemory::Pinned)),
      managed_(new EmulatedSharedMemory(*this, SharedMemory::Managed)) {}

EmulatedInstance::~EmulatedInstance() = default;

SpaceId EmulatedInstance::space() const { return {EmulatedSpace::kind, index_}; }

// ---- memory

Allocation* EmulatedInstance::allocate(const AllocationRequest& request) {
  require_running("an allocation");
  count_call(&CallCounts::allocations);
  Platform& platform = Platform::get();
  platform.instance(index_);  // it may be gone from the configuration
  bool fails = false;
  {
    const std::lock_guard lock(platform.mutex);
    fails = platform.fails(emulated::Fault::Allocation);
  }
  const std::string name = describe_space(space());
  if (fails) fail_out_of_memory(request, space(), name.c_str(), "failure injected");
  reclaim();
  void* data = nullptr;
  const auto attempt = [&] { return (data = platform.memory->allocate(index_, request.bytes)) != nullptr; };
  if (!repeat_while_blocks_get_free(attempt)) {
    const std::string reason = std::to_string(used()) + " of " + std::to_string(capacity()) +
                               " bytes are in use, the largest free block has " +
                               std::to_string(platform.memory->largest_free(index_));
    fail_out_of_memory(request, space(), name.c_str(), reason.c_str());
  }
  try {
    register_allocation(data, request.bytes, request.label ? request.label : "", shape_of(request));
    return make_allocation(data, request.bytes, space(), request.label, release_emulated, this);
  } catch (...) {
    platform.memory->deallocate(index_, data);
    throw;
  }
}

Ref<ReservedMemory> EmulatedInstance::reserve(const AllocationRequest& request) {
  require_running("an allocation");
  Platform& platform = Platform::get();
  platform.instance(index_);
  reclaim();
  void* const data = platform.memory->reserve(index_, request.bytes);
  if (data == nullptr) return {};
  AllocationRef record;
  try {
    register_allocation(data, request.bytes, request.label ? request.label : "", shape_of(request));
    record =
        AllocationRef(make_reservation(data, request.bytes, space(), request.label, release_emulated, this));
  } catch (...) {
    platform.memory->deallocate(index_, data);
    throw;
  }
  return Ref<ReservedMemory>(new EmulatedReservedMemory(*this, std::move(record)));
}

bool EmulatedInstance::commit(void* data, std::size_t begin, std::size_t end) {
  require_running("an allocation");
  EmulatedMemory& memory = *Platform::get().memory;
  return memory.missing(index_, data, begin, end) == 0 ||
         commit_by([&] { return memory.commit(index_, data, begin, end); });
}

bool EmulatedInstance::commit_repeating(void* data, std::size_t period) {
  require_running("an allocation");
  EmulatedMemory& memory = *Platform::get().memory;
  return memory.committed(index_, data) == 0 &&
         commit_by([&] { return memory.commit_repeating(index_, data, period); });
}

std::size_t EmulatedInstance::repeat_granule() const {
  Platform& platform = Platform::get();
  platform.instance(index_);  // which makes the memory
  return platform.memory->repeat_granule();
}

template <class Commit>
bool EmulatedInstance::commit_by(const Commit& commit) {
  count_call(&CallCounts::allocations);
  Platform& platform = Platform::get();
  {
    const std::lock_guard lock(platform.mutex);
    if (platform.fails(emulated::Fault::Allocation)) return false;
  }
  reclaim();
  return repeat_while_blocks_get_free(commit);
}

// Waits for one block in quarantine after the other until the attempt succeeds or none is left: in the order
// in which they were freed, which is that in which they get free, as a block waits for all work before. In a
// kernel that may be the current work, so nothing is waited for.
template <class Attempt>
bool EmulatedInstance::repeat_while_blocks_get_free(const Attempt& attempt) {
  Platform& platform = Platform::get();
  while (!attempt()) {
    if (emulated_offset != 0) return false;
    PendingWork work;
    {
      const std::lock_guard lock(quarantine_mutex_);
      if (quarantine_.empty()) return attempt();
      work = quarantine_.front().until;
    }
    work.wait();
    platform.host_wait_for(work);
    reclaim(platform.clock_is_held());  // which would not come to the end of any block
  }
  return true;
}

void EmulatedInstance::release(void* address) noexcept {
  Platform& platform = Platform::get();
  if (platform.forked()) return;  // the memory is the parent's
  try {
    const std::lock_guard lock(quarantine_mutex_);  // in the order of the work
    quarantine_.push_back({address, platform.pending_work()});
  } catch (...) {
    return;  // without a list of the work to wait for, the block is never used again
  }
  reclaim();
}

void EmulatedInstance::reclaim(bool ignore_clock) const {
  Platform& platform = Platform::get();
  pinned_->reclaim();
  managed_->reclaim();
  const Moment now = platform.moment();
  const std::lock_guard lock(quarantine_mutex_);
  std::erase_if(quarantine_, [&](const Quarantined& block) {
    const PendingWork& until = block.until;
    const bool has_clock = !ignore_clock && until.end.epoch == now.epoch;
    if (has_clock && until.end.time > now.time) return false;  // end_time() is not before it
    if (!until.has_run() || (has_clock && until.end_time() > now.time)) return false;
    platform.memory->deallocate(index_, block.address);
    return true;
  });
}

bool EmulatedInstance::wait_for_room(std::size_t bytes) {
  return repeat_while_blocks_get_free([&] { return Platform::get().memory->room(index_) >= bytes; });
}

// ---- memory that is the host's too

DeviceInstance* EmulatedInstance::shared_memory(SharedMemory kind, const char*& reason) {
  if (kind == SharedMemory::Managed && !Platform::get().configuration().managed_memory) {
    reason = "it has no managed memory (emulated::Config::managed_memory)";
    return nullptr;
  }
  return (kind == SharedMemory::Pinned ? pinned_ : managed_).get();
}

// What resolves an address adds the offset of the instance.
char* EmulatedInstance::address_in_kernels(char* host_address, SpaceId space) const {
  if (space.kind != HostSpace::kind && !space.shared) return nullptr;
  char* address = host_address;
  if (space.kind == emulated_managed_kind) address = managed_pages::address_for(index_, host_address);
  if (address == nullptr) return nullptr;
  const auto offset = static_cast<std::uintptr_t>(Platform::get().memory->offset(index_));
  return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(address) - offset);
}

bool EmulatedInstance::has_concurrent_managed_access() const {
  return Platform::get().configuration().concurrent_managed_access;
}

std::size_t EmulatedInstance::bytes_reached_at_host() const {
  const index_t bytes = Platform::get().configuration().bytes_reached_at_host;
  return has_concurrent_managed_access() ? static_cast<std::size_t>(bytes) : 0;
}

bool EmulatedInstance::has_system_atomics(SpaceId space, const char*& reason) const {
  reason = "its own memory is out of the host's reach";
  if (space.kind != HostSpace::kind && !space.shared) return false;
  if (space.kind == emulated_managed_kind) {
    reason =
        "the host may not touch managed memory while kernels run "
        "(emulated::Config::concurrent_managed_access)";
    return has_concurrent_managed_access();
  }
  reason = "its link to the host has no atomic operations (emulated::Config::host_atomics)";
  return Platform::get().configuration().host_atomics;
}

std::size_t EmulatedInstance::capacity() const { return Platform::get().memory->capacity(index_); }

std::size_t EmulatedInstance::used() const {
  reclaim();
  return Platform::get().memory->used(index_);
}

// ---- costs

CopyCost EmulatedInstance::copy_cost(const DeviceInstance& from) {
  const emulated::Config config = Platform::get().configuration();
  const double link = config.host_link_total;
  const double host = config.host_to_device_bandwidth;
  if (from.host_accessible()) return {config.copy_latency, link > 0 ? std::min(host, link) : host};
  const auto* const other = dynamic_cast<const EmulatedInstance*>(&from);
  if (other == nullptr) return {};
  if (other == this) return {config.copy_latency, config.memory_bandwidth};
  return {config.copy_latency, config.peer_bandwidth};
}

CopyCost EmulatedInstance::copy_cost_to_host() {
  const emulated::Config config = Platform::get().configuration();
  const double link = config.host_link_total;
  const double host = config.device_to_host_bandwidth;
  return {config.copy_latency, link > 0 ? std::min(host, link) : host};
}

DeviceRates EmulatedInstance::rates() {
  const emulated::Config config = Platform::get().configuration();
  const double sum = config.host_to_device_bandwidth + config.device_to_host_bandwidth;
  return {config.host_to_device_bandwidth,
          config.device_to_host_bandwidth,
          config.host_link_total > 0 ? std::min(sum, config.host_link_total) : sum,
          2 * config.memory_bandwidth,
          config.copy_latency,
          config.launch_latency};
}

// ---- queues and threads

Ref<QueueState> EmulatedInstance::create_queue() {
  require_running("a new queue");
  Platform::get().instance(index_);
  return Ref<QueueState>(new EmulatedQueue(*this, next_queue_id()));
}

void EmulatedInstance::wait_all() {
  require_outside_kernels("a wait for an instance");
  Platform& platform = Platform::get();
  const PendingWork work = platform.pending_work(index_);
  work.wait();
  platform.host_wait_for(work);
  // Errors of queues whose handles have gone are printed by their threads.
  for (const auto& core : platform.open_cores(index_))
    if (const std::exception_ptr error = core->take_error()) std::rethrow_exception(error);
}

Runner EmulatedInstance::runner() {
  const int threads = Platform::get().configuration().threads;
  {
    const std::lock_guard lock(pool_mutex_);
    if (!pool_)
      pool_ =
          std::make_unique<WorkerPool>(WorkerPool::Options{.workers = threads, .pin = false, .spin_us = 5});
  }
  const auto run = [](const void* raw, const ChunkRange& range, ChunkFunction function) {
    const auto& instance = *static_cast<const EmulatedInstance*>(raw);
    struct Call {
      ChunkFunction function;
      int instance;
      PageCosts* costs;
    } const call{function, instance.index_, page_costs_of_thread};
    instance.pool_->run(range, {[](const void* context, index_t begin, index_t end, int worker) {
                                  const Call& c = *static_cast<const Call*>(context);
                                  const EmulatedWorkerScope scope(*Platform::get().memory, c.instance);
                                  const PageCostsScope charged(c.costs);
                                  c.function(begin, end, worker);
                                },
                                &call});
  };
  return {run, this, pool_->size()};
}

void EmulatedInstance::stop_threads() {
  const std::lock_guard lock(pool_mutex_);
  pool_.reset();
}

}  // namespace strata::inline STRATA_ABI::detail
