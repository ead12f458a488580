// Control of GPUs beyond the interface of all devices: memory statistics and limits, and the native handles.
// The native ones take CUDA's own types: include <cuda_runtime_api.h> to use them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <strata/devices/cuda/device.hpp>
#include <strata/devices/queue.hpp>

struct CUstream_st;

namespace strata::inline STRATA_ABI::cuda {

/// Bytes of a GPU's memory that Strata holds. With the setting cuda_allocator = async arrays come from CUDA's
/// default memory pool, and `held` is what that pool holds, for other libraries too; there are no slabs.
struct MemoryStatistics {
  std::size_t held;         ///< taken from CUDA
  std::size_t used;         ///< of live arrays, of scratch memory, and in quarantine
  std::size_t quarantined;  ///< freed, but queued work may still use it
  std::size_t peak;         ///< the most that was used at once
  std::size_t slabs;        ///< pieces that were taken from CUDA
  std::size_t blocks;       ///< arrays and scratch memory in them, also those in quarantine
  std::size_t limit;        ///< the budget; 0: none
  std::size_t physical;     ///< of the GPU
};
/// The figures as they are now.
MemoryStatistics memory_statistics(const Cuda& device);
/// Gives unused memory back to CUDA while more than `keep` bytes are held; returns the bytes given back.
std::size_t trim(const Cuda& device, std::size_t keep = 0);
/// The most bytes that Strata may hold (with CUDA's pool: that arrays may use); 0: no limit. A limit below
/// what is held frees nothing; allocations fail until enough was freed.
void set_memory_limit(const Cuda& device, std::size_t bytes);

/// The stream of a queue (a cudaStream_t), for libraries that take one. The queue still owns it. From then on
/// other code may use it, so that Strata cannot know that it is idle: small launches and copies over coherent
/// arrays on this queue take some microseconds longer. If you need a stream for other work, create a queue
/// for it.
CUstream_st* native_stream(const Queue<Cuda>& queue);
/// A queue on a stream that Strata does not own; it must outlive the queue and its work.
Queue<Cuda> adopt_stream(CUstream_st* stream, const Cuda& device = {});

}  // namespace strata::inline STRATA_ABI::cuda
