// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include <strata/core/error.hpp>
#include <strata/devices/cuda/failure.hpp>
#include <strata/devices/cuda/memory/memory_pool.hpp>

namespace strata::inline STRATA_ABI::detail {

CudaMemoryPool::CudaMemoryPool(int device) : device_(device) {
  const CudaDeviceScope scope(device);
  int supported = 0;
  check_cuda(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device),
             "asking for memory pools", device);
  if (supported == 0)
    throw SettingError("the setting cuda_allocator is async, and Cuda{" + std::to_string(device) +
                       "} has no memory pools; set it to slabs");
  check_cuda(cudaDeviceGetDefaultMemPool(&pool_, device), "asking for the memory pool", device);
  std::uint64_t everything = UINT64_MAX;
  check_cuda(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &everything),
             "setting up the memory pool", device);
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream", device);
}

void* CudaMemoryPool::take(std::size_t bytes) const {
  void* address = nullptr;
  // The wait orders all streams after the allocation. The stream holds at most frees, which take no time.
  if (cudaMallocFromPoolAsync(&address, bytes, pool_, stream_) == cudaSuccess &&
      cudaStreamSynchronize(stream_) == cudaSuccess)
    return address;
  static_cast<void>(cudaGetLastError());
  return nullptr;
}

void CudaMemoryPool::give(void* address) const { cudaFreeAsync(address, stream_); }

PoolHeap::Source CudaMemoryPool::source() {
  return {[](void* raw, std::size_t bytes) { return static_cast<CudaMemoryPool*>(raw)->take(bytes); },
          [](void* raw, void* address) { static_cast<CudaMemoryPool*>(raw)->give(address); },
          [](void* raw) {
            std::uint64_t bytes = 0;
            if (cudaMemPoolGetAttribute(static_cast<CudaMemoryPool*>(raw)->pool_,
                                        cudaMemPoolAttrReservedMemCurrent, &bytes) != cudaSuccess)
              static_cast<void>(cudaGetLastError());
            return static_cast<std::size_t>(bytes);
          },
          [](void* raw, std::size_t keep) {
            const auto& pool = *static_cast<CudaMemoryPool*>(raw);
            // Frees that are still in the stream would keep their memory.
            static_cast<void>(cudaStreamSynchronize(pool.stream_));
            if (cudaMemPoolTrimTo(pool.pool_, keep) != cudaSuccess) static_cast<void>(cudaGetLastError());
          },
          this};
}

void CudaMemoryPool::open_to(int device) const {
  cudaMemAccessDesc access{};
  access.location = {cudaMemLocationTypeDevice, device};
  access.flags = cudaMemAccessFlagsProtReadWrite;
  check_cuda(cudaMemPoolSetAccess(pool_, &access, 1), "opening the memory pool to another GPU", device_);
}

}  // namespace strata::inline STRATA_ABI::detail
