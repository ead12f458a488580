// find_first on CUDA GPUs: one kernel. Compiled by nvcc only.
//
// Thread blocks take chunks of items in the order of their indices, as many blocks as the GPU holds at a
// time, so that all chunks before one have been taken by the time it is. A block stops at the first chunk
// that lies after an index already found.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <strata/devices/cuda/execution.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class Holds, class Result>
struct CudaFind {
  static constexpr int items_a_thread = 8;

  Holds holds;
  Result result;
  index_t begin;
  index_t count;
  unsigned long long* found;  // from `begin`; count or more: none
  unsigned* counter;          // the queue's: 0 before and after
  CudaHostSlot host;
  CudaCheck check;

  __device__ void run() const {
    const index_t chunk = static_cast<index_t>(blockDim.x) * items_a_thread;
    __shared__ bool stop;
    for (index_t from = blockIdx.x * chunk; from < count; from += gridDim.x * chunk) {
      if (threadIdx.x == 0)
        stop = *static_cast<volatile unsigned long long*>(found) < static_cast<unsigned long long>(from);
      __syncthreads();
      if (stop) break;
      look_at(from);
      __syncthreads();
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    __threadfence();
    if (atomicAdd(counter, 1u) == gridDim.x - 1) deliver();
  }

 private:
  // The thread's items of a chunk are far apart, so that neighbours read neighbouring elements.
  __device__ void look_at(index_t from) const {
    index_t mine = count;
#pragma unroll
    for (int k = items_a_thread - 1; k >= 0; --k) {
      const index_t i = from + static_cast<index_t>(k) * blockDim.x + threadIdx.x;
      if (i < count && holds(begin + i, CudaKernelCall())) mine = i;
    }
    if (mine < count) atomicMin(found, static_cast<unsigned long long>(mine));
  }
  // The last block.
  __device__ void deliver() const {
    using T = typename Result::value_type;
    __threadfence();
    *counter = 0;
    const unsigned long long first = *static_cast<volatile unsigned long long*>(found);
    const index_t none = begin + count;
    const T value = static_cast<T>(
        first < static_cast<unsigned long long>(count) ? begin + static_cast<index_t>(first) : none);
    result.finish.on_device(value);
    if constexpr (Result::waits) hand_over(host, value);
  }
};

/// The first of the indices [begin, begin + count) for which `holds(i)`, called on the device, is true; else
/// begin + count.
template <class Holds, class Result>
void find_first(CudaExecution, const LaunchInfo& info, index_t begin, index_t count, const Holds& holds,
                const Result& result) {
  using Find = CudaFind<Holds, Result>;
  using T = typename Result::value_type;
  static CudaKernel kernel{reinterpret_cast<const void*>(&cuda_run<Find>), {}};
  CudaQueue& queue = cuda_queue_for(info, Result::waits);
  CudaLaunch launch(queue, EventKind::BeginReduce, info, count);
  const auto& on_device = cuda_kernel_on(queue, kernel);
  // All bits set: no index.
  const CudaScratch scratch = launch.scratch(2 * sizeof(unsigned long long));
  auto* const found = static_cast<unsigned long long*>(scratch.partials);
  launch.check(static_cast<int>(cudaMemsetAsync(found, 0xff, sizeof *found, launch.stream())),
               "cudaMemsetAsync");
  CudaHostSlot host{};
  if constexpr (Result::waits) host = launch.host_slot(sizeof(T));
  const index_t block = on_device.block, chunk = block * Find::items_a_thread;
  index_t blocks = (count + chunk - 1) / chunk;
  if (blocks > on_device.resident_blocks) blocks = on_device.resident_blocks;
  if (blocks < 1) blocks = 1;
  const Find find{holds, result, begin, count, found, scratch.counter, host, launch.check()};
  const CudaGrid grid{{static_cast<unsigned>(blocks), 1, 1}, {static_cast<unsigned>(block), 1, 1}, 0};
  launch.run(kernel, grid, &find);
  if constexpr (Result::waits) {
    T value;
    launch.wait_for_value(host, &value, sizeof value);
    result.finish.on_host(value);
  }
}

}  // namespace strata::inline STRATA_ABI::detail
