// CudaMemory: what one of a GPU's memories is as a backend.
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/core/error.hpp>
#include <strata/core/runtime.hpp>
#include <strata/core/settings.hpp>
#include <strata/devices/cuda/failure.hpp>
#include <strata/devices/cuda/instance.hpp>
#include <strata/devices/cuda/memory/direct_file.hpp>
#include <strata/devices/cuda/memory/links.hpp>
#include <strata/devices/cuda/queue.hpp>
#include <strata/devices/device_name.hpp>
#include <strata/devices/host/device.hpp>
#include <strata/devices/host/space.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

const char* kind_of(CudaMemoryKind kind) {
  switch (kind) {
    case CudaMemoryKind::Device:
      return CudaSpace::kind;
    case CudaMemoryKind::Managed:
      return CudaManagedSpace::kind;
    case CudaMemoryKind::Pinned:
      break;
  }
  return CudaPinnedSpace::kind;
}

void release_cuda(Allocation& allocation) noexcept {
  const auto& memory = static_cast<const CudaMemory&>(*static_cast<DeviceInstance*>(allocation.owner));
  memory.gpu().release(memory.kind(), allocation.data);
}

}  // namespace

const char* CudaMemory::device_name() const { return kind_of(kind_); }
int CudaMemory::index() const { return gpu_.index(); }
SpaceId CudaMemory::space() const { return {kind_of(kind_), gpu_.index(), kind_ != CudaMemoryKind::Device}; }
QueueState& CudaMemory::default_queue() { return gpu_.queue(); }
Ref<QueueState> CudaMemory::create_queue() { return gpu_.create_queue(); }
void CudaMemory::wait_all() { gpu_.wait_all(); }
std::size_t CudaMemory::capacity() const {
  if (kind_ != CudaMemoryKind::Device) return 0;
  const std::size_t limit = gpu_.statistics().limit;
  return limit != 0 ? limit : gpu_.physical_bytes();
}
std::size_t CudaMemory::used() const {
  return kind_ == CudaMemoryKind::Device ? gpu_.statistics().used : allocation_totals(kind_of(kind_)).bytes;
}

CopyCost CudaMemory::copy_cost(const DeviceInstance& from) {
  const auto* const other = dynamic_cast<const CudaMemory*>(&from);
  const bool from_gpu = other != nullptr && other->kind_ == CudaMemoryKind::Device;
  if (!from_gpu && (host_accessible() || !from.host_accessible())) return {};
  return measured_copy_cost(host_accessible() ? host_place : index(), from_gpu ? other->index() : host_place);
}
CopyCost CudaMemory::copy_cost_to_host() {
  return host_accessible() ? CopyCost{} : measured_copy_cost(host_place, index());
}
DeviceRates CudaMemory::rates() {
  if (host_accessible()) return {};
  const CopyCost up = measured_copy_cost(index(), host_place), down = measured_copy_cost(host_place, index());
  // Each byte that is copied within the GPU is read and written.
  const double memory = 2 * measured_copy_cost(index(), index()).bytes_per_second;
  constexpr double launch_seconds = 3e-6;  // back to back
  return {up.bytes_per_second, down.bytes_per_second, measured_both_ways(index()), memory,
          up.seconds,          launch_seconds};
}

namespace {

class RegisteredMemory final : public PinnedMemory {
 public:
  RegisteredMemory(void* data, int gpu) : data_(data), gpu_(gpu) {}
  ~RegisteredMemory() override {
    const CudaDeviceScope scope(gpu_);
    if (data_ != nullptr && cudaHostUnregister(data_) != cudaSuccess) static_cast<void>(cudaGetLastError());
  }

 private:
  void* const data_;  // null: pinned elsewhere
  const int gpu_;
};

}  // namespace

Ref<PinnedMemory> CudaMemory::pin(void* data, std::size_t bytes) {
  if (bytes == 0) return {};
  const CudaDeviceScope scope(index());
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, data) != cudaSuccess) static_cast<void>(cudaGetLastError());
  else if (attributes.type != cudaMemoryTypeUnregistered)
    return Ref<PinnedMemory>(new RegisteredMemory(nullptr, index()));
  if (cudaHostRegister(data, bytes, cudaHostRegisterPortable) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return {};
  }
  return Ref<PinnedMemory>(new RegisteredMemory(data, index()));
}

// ---- memory that host and kernels share

DeviceInstance* CudaMemory::shared_memory(SharedMemory kind, const char*& reason) {
  if (kind == SharedMemory::Pinned) return &gpu_.memory(CudaMemoryKind::Pinned);
  if (gpu_.has_managed_memory()) return &gpu_.memory(CudaMemoryKind::Managed);
  reason = "the GPU has no managed memory (cudaDevAttrManagedMemory)";
  return nullptr;
}

char* CudaMemory::address_in_kernels(char* host_address, SpaceId space) const {
  // One range of addresses for all: slabs of pinned memory are mapped, for every GPU.
  if (space.kind == CudaManagedSpace::kind || space.kind == CudaPinnedSpace::kind) return host_address;
  const bool is_hosts = space.shared || space.kind == HostSpace::kind;
  return is_hosts && gpu_.reaches_pageable_memory() ? host_address : nullptr;
}

bool CudaMemory::has_concurrent_managed_access() const { return gpu_.has_concurrent_managed_access(); }

// Measured on an H200 (perf_tests/memory_modes), for a kernel that changes what a host has written, and the
// wait for it: 25 us in place and 89 with two prefetches (256 KiB), 0.21 ms and 0.67 (4 MiB), 0.64 and 1.88
// (16 MiB). The default is 16 MiB, as kernels that touch elements several times lose the more the larger
// arrays are.
std::size_t CudaMemory::bytes_reached_at_host() const {
  return gpu_.has_concurrent_managed_access() ? static_cast<std::size_t>(settings().managed_at_host) : 0;
}

// As CUDA's memory model has it: an object in memory of which none of this is true is not atomic at system
// scope.
bool CudaMemory::has_system_atomics(SpaceId space, const char*& reason) const {
  if (space.kind == CudaManagedSpace::kind) {
    reason = "the host may not touch managed memory while kernels run (cudaDevAttrConcurrentManagedAccess)";
    return gpu_.has_concurrent_managed_access();
  }
  if (space.kind == CudaPinnedSpace::kind) {
    reason = "its link to the host has no atomic operations (cudaDevAttrHostNativeAtomicSupported)";
    return gpu_.has_host_atomics();
  }
  reason = "its kernels do not reach ordinary memory of the host (cudaDevAttrPageableMemoryAccess)";
  return (space.shared || space.kind == HostSpace::kind) && gpu_.reaches_pageable_memory();
}

Ref<DirectFile> CudaMemory::open_direct(int descriptor, const char* path, bool writes) {
  return kind_ == CudaMemoryKind::Device ? open_cuda_direct_file(gpu_, descriptor, path, writes)
                                         : Ref<DirectFile>();
}

Allocation* CudaMemory::allocate(const AllocationRequest& request) {
  require_running("an allocation");
  void* const data = gpu_.allocate(kind_, request.bytes);
  if (data == nullptr) {
    const cuda::MemoryStatistics now = gpu_.statistics();
    const std::string reason =
        kind_ == CudaMemoryKind::Device
            ? "Strata holds " + std::to_string(now.used) + " of " +
                  (now.limit != 0 ? std::to_string(now.limit) + " bytes that cuda_memory_limit allows"
                                  : std::to_string(now.physical) + " bytes, other programs may hold more")
        : kind_ == CudaMemoryKind::Managed
            ? gpu_.why_no_managed_memory(request.bytes)
            : "CUDA has no " + std::string(device_name()) + " memory of that size";
    const std::string device = name_of(*this);
    fail_out_of_memory(request, space(), device.c_str(), reason.c_str());
  }
  try {
    return make_allocation(data, request.bytes, space(), request.label, release_cuda,
                           static_cast<DeviceInstance*>(this));
  } catch (...) {
    gpu_.release(kind_, data);
    throw;
  }
}

}  // namespace strata::inline STRATA_ABI::detail
