#include <string>

#include <strata/core/allocation_report.hpp>
#include <strata/core/error.hpp>
#include <strata/core/runtime.hpp>
#include <strata/core/settings.hpp>
#include <strata/devices/emulated/allocation_list.hpp>
#include <strata/devices/emulated/device.hpp>
#include <strata/devices/emulated/platform.hpp>
#include <strata/devices/host_device.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

namespace {

Timeline make_timeline(const emulated::Config& c) {
  InstanceRates rates;
  rates.host_to_device_bandwidth = c.host_to_device_bandwidth;
  rates.device_to_host_bandwidth = c.device_to_host_bandwidth;
  rates.host_link_total = c.host_link_total;
  rates.peer_bandwidth = c.peer_bandwidth;
  rates.memory_bandwidth = c.memory_bandwidth;
  rates.copy_latency = c.copy_latency;
  rates.launch_latency = c.launch_latency;
  TimelineConfig config;
  config.instances.assign(static_cast<std::size_t>(c.count), rates);
  config.host_submit_cost = c.host_submit_cost;
  return Timeline(config);
}

void release_emulated(Allocation& allocation) noexcept {
  static_cast<EmulatedInstance*>(allocation.owner)->release(allocation.data);
}

// What the fault handler can say about an array: its index, where strides lead back to it.
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

}  // namespace

// ---- Platform

Platform& Platform::get() {
  static Platform* const platform = new Platform;
  return *platform;
}

Platform::Platform() : config(emulated::default_config()) {
  memory = std::make_unique<EmulatedMemory>(static_cast<std::size_t>(config.capacity), config.count);
  timeline = make_timeline(config);
  at_end([]() noexcept {
    for (auto& instance : Platform::get().instances) instance->stop();
  });
}

EmulatedInstance& Platform::instance(int index) {
  const std::lock_guard lock(instances_mutex);
  if (index < 0 || index >= config.count)
    throw NoSuchDevice(
        "Emulated{" + std::to_string(index) + "}: there are " + std::to_string(config.count) +
        " instances, counted from 0; set STRATA_EMULATED_COUNT or --strata-emulated-count for more");
  while (static_cast<int>(instances.size()) <= index)
    instances.push_back(std::make_unique<EmulatedInstance>(static_cast<int>(instances.size())));
  return *instances[static_cast<std::size_t>(index)];
}

void Platform::build(const emulated::Config& wanted) {
  std::vector<std::unique_ptr<EmulatedInstance>> old;
  {
    const std::lock_guard lock(instances_mutex);
    for (auto& instance : instances) {
      instance->reclaim();
      if (memory->used(instance->index()) > 0)
        throw Error("emulated::configure: arrays live on Emulated{" + std::to_string(instance->index()) +
                    "}; " + largest_allocations(instance->space()));
      if (!instance->queue().idle()) throw Error("emulated::configure: work is under way; wait for it first");
    }
    if (queues.size() > instances.size())
      throw Error("emulated::configure: " + std::to_string(queues.size() - instances.size()) +
                  " queues of the old instances live; destroy them first");
    auto new_memory =
        std::make_unique<EmulatedMemory>(static_cast<std::size_t>(wanted.capacity), wanted.count);
    Timeline new_timeline = make_timeline(wanted);
    old.swap(instances);
    for (auto& instance : old) instance->stop();
    old.clear();
    memory = std::move(new_memory);
    timeline = std::move(new_timeline);
    config = wanted;
    for (int& count : faults) count = 0;
  }
}

bool Platform::fails(emulated::Fault what) {
  int& count = faults[static_cast<int>(what)];
  return count > 0 && --count == 0;
}

std::vector<std::shared_ptr<QueueCore>> Platform::cores() {
  const std::lock_guard lock(mutex);
  std::vector<std::shared_ptr<QueueCore>> all;
  for (const EmulatedQueue* queue : queues) all.push_back(queue->core());
  return all;
}

// ---- EmulatedInstance

EmulatedInstance::EmulatedInstance(int index) : index_(index), default_queue_(new EmulatedQueue(*this, 0)) {}

SpaceId EmulatedInstance::space() const { return {EmulatedSpace::kind, index_}; }

Allocation* EmulatedInstance::allocate(const AllocationRequest& request) {
  require_running("an allocation");
  Platform& platform = Platform::get();
  {
    const std::lock_guard lock(platform.mutex);
    if (platform.fails(emulated::Fault::Allocation))
      fail_out_of_memory(request, space(), describe_space(space()).c_str(), "failure injected");
  }
  reclaim();
  void* data = platform.memory->allocate(index_, request.bytes);
  while (data == nullptr) {
    // Freed blocks may wait for work: allocation, unlike freeing, may wait for it.
    Quarantined oldest{};
    {
      const std::lock_guard lock(quarantine_mutex_);
      if (quarantine_.empty()) break;
      oldest = quarantine_.front();
    }
    for (const auto& [core, number] : oldest.until) core->wait_until_finished(number);
    reclaim();
    data = platform.memory->allocate(index_, request.bytes);
  }
  if (data == nullptr) {
    const std::string reason = std::to_string(used()) + " of " + std::to_string(capacity()) +
                               " bytes are in use, the largest free block has " +
                               std::to_string(platform.memory->largest_free(index_));
    fail_out_of_memory(request, space(), describe_space(space()).c_str(), reason.c_str());
  }
  register_allocation(data, request.bytes, request.label ? request.label : "", shape_of(request));
  try {
    return make_allocation(data, request.bytes, space(), request.label, release_emulated, this);
  } catch (...) {
    platform.memory->deallocate(index_, data);
    throw;
  }
}

void EmulatedInstance::release(void* address) noexcept {
  Quarantined block{address, {}};
  for (const auto& core : Platform::get().cores())
    if (!core->idle()) block.until.emplace_back(core, core->enqueued());
  if (block.until.empty()) {
    Platform::get().memory->deallocate(index_, address);
    return;
  }
  const std::lock_guard lock(quarantine_mutex_);
  quarantine_.push_back(std::move(block));
}

void EmulatedInstance::reclaim() {
  const std::lock_guard lock(quarantine_mutex_);
  std::erase_if(quarantine_, [&](const Quarantined& block) {
    for (const auto& [core, number] : block.until)
      if (core->finished() < number) return false;
    Platform::get().memory->deallocate(index_, block.address);
    return true;
  });
}

Ref<QueueState> EmulatedInstance::create_queue() {
  require_running("a new queue");
  return Ref<QueueState>(new EmulatedQueue(*this, next_queue_id()));
}

void EmulatedInstance::wait_all() {
  std::vector<Ref<QueueState>> mine;
  {
    Platform& platform = Platform::get();
    const std::lock_guard lock(platform.mutex);
    for (EmulatedQueue* queue : platform.queues)
      if (&queue->instance() == this) mine.emplace_back(queue);
  }
  for (const auto& queue : mine) queue->wait();
}

std::size_t EmulatedInstance::capacity() const { return Platform::get().memory->capacity(index_); }
std::size_t EmulatedInstance::used() const { return Platform::get().memory->used(index_); }

Runner EmulatedInstance::runner() {
  {
    const std::lock_guard lock(pool_mutex_);
    if (!pool_)
      pool_ = std::make_unique<WorkerPool>(
          WorkerPool::Options{.workers = Platform::get().config.threads, .pin = false, .spin_us = 5});
  }
  const auto run = [](const void* raw, const ChunkRange& range, ChunkFunction function) {
    auto& instance = *const_cast<EmulatedInstance*>(static_cast<const EmulatedInstance*>(raw));
    struct Call {
      ChunkFunction function;
      int instance;
    } const call{function, instance.index_};
    instance.pool_->run(range, {[](const void* context, index_t begin, index_t end, int worker) {
                                  const Call& c = *static_cast<const Call*>(context);
                                  const EmulatedWorkerScope scope(*Platform::get().memory, c.instance);
                                  c.function(begin, end, worker);
                                },
                                &call});
  };
  return {run, this, pool_->size()};
}

void EmulatedInstance::stop() {
  default_queue_->core()->close(true);
  const std::lock_guard lock(pool_mutex_);
  pool_.reset();
}

}  // namespace detail

// ---- the device

Emulated::Emulated(int index) : index_(index) {
  const int n = count();
  if (index < 0 || index >= n)
    throw NoSuchDevice(
        "Emulated{" + std::to_string(index) + "}: there are " + std::to_string(n) +
        " instances, counted from 0; set STRATA_EMULATED_COUNT or --strata-emulated-count for more");
}

int Emulated::count() { return detail::Platform::get().config.count; }

detail::DeviceInstance& Emulated::backend() const { return detail::Platform::get().instance(index_); }

}  // namespace strata::inline STRATA_ABI
