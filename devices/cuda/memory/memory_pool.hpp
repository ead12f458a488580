// CudaMemoryPool: the default memory pool of a GPU (cudaMallocAsync) as the source of a PoolHeap. Private to
// this folder.
//
// Blocks are allocated and freed on a stream of its own, without other work: a block that take() returns may
// be used by all work enqueued later, on any stream; one passed to give() must not be in use any more. Freed
// memory stays in the pool until it is trimmed, for the next take() and for other libraries.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <strata/devices/cuda/memory/pool_heap.hpp>

namespace strata::inline STRATA_ABI::detail {

class CudaMemoryPool {
 public:
  /// Throws SettingError where the GPU has no memory pools.
  explicit CudaMemoryPool(int device);
  CudaMemoryPool(const CudaMemoryPool&) = delete;
  CudaMemoryPool& operator=(const CudaMemoryPool&) = delete;

  PoolHeap::Source source();
  /// Lets kernels of another GPU, which has a link to this one, reach all memory of the pool.
  void open_to(int device) const;

 private:
  void* take(std::size_t bytes) const;
  void give(void* address) const;

  const int device_;
  cudaMemPool_t pool_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

}  // namespace strata::inline STRATA_ABI::detail
