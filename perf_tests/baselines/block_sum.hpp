// Sums over the blocks of a grid, for competitors that nvcc compiles.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace perf {

// The sum over a block of up to 1024 threads, in its first thread.
template <class T>
__device__ T block_sum(T sum) {
  __shared__ T of_warp[32];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : T(0);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  }
  return sum;
}

// What the last block needs to know of the others.
template <class T>
struct Gathering {
  T* partials;     // one a block
  unsigned* done;  // blocks that have written theirs; 0 again at the end
  T* result;
  bool root;  // of the sum
};
// By all threads of block `block` of `blocks`: the one that is done last adds them up.
template <class T>
__device__ void gather(const Gathering<T>& gathering, unsigned block, unsigned blocks, T sum) {
  sum = block_sum(sum);
  __shared__ bool last;
  if (threadIdx.x == 0) {
    gathering.partials[block] = sum;
    __threadfence();
    last = atomicInc(gathering.done, blocks - 1) == blocks - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  T total = 0;
  for (unsigned b = threadIdx.x; b < blocks; b += blockDim.x) total += __ldcg(gathering.partials + b);
  total = block_sum(total);
  if (threadIdx.x == 0) *gathering.result = gathering.root ? sqrt(total) : total;
}

}  // namespace perf
