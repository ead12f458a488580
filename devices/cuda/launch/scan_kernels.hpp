// The kernels of scans whose order of joins matters. Blocks of 512 items, as on every device, a warp each:
//
//   totals  the sum of each block
//   carries the sum of all before each block, one after the other
//   final   calls the kernel with the prefix of each item
//
// A warp goes over its block in steps of 32 items, scanning the contributions of a step by shuffles; totals
// and prefixes are made by the same sums. The user's kernel is called with final = false to learn an item's
// contribution: once for the totals and once more, from the caches, for the prefix.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/reduction_tree.hpp>
#include <strata/devices/cuda/launch/block_check.hpp>
#include <strata/devices/cuda/launch/warp.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class Body, class Reducer, class Finish>
struct CudaScan {
  using T = typename Reducer::value_type;

  Body body;
  Reducer reducer;
  Finish finish;
  index_t begin;
  index_t end;
  index_t first;  // blocks of 512 items
  index_t last;
  T start;
  T* carries;  // of block b at b - first: its total, then the sum before it; last the total of all
  CudaScratch scratch;
  CudaHostSlot host;
  CudaCheck check;

  __device__ void totals() const {
    const index_t warps = static_cast<index_t>(gridDim.x) * (blockDim.x / warp_lanes);
    const index_t warp = (static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x) / warp_lanes;
    for (index_t block = first + warp; block < last; block += warps) {
      T running;
      reducer.init(running);
      over_block<false>(block, running);
      if (threadIdx.x % warp_lanes == 0) carries[block - first] = running;
    }
  }

  // One thread block. Its first warp makes the carries of one stage, while the others write those of the
  // stage before and read the totals of the next.
  __device__ void make_carries() const {
    __shared__ alignas(T) char storage[3 * stage_size * sizeof(T)];
    T* const stages = reinterpret_cast<T*>(storage);
    const index_t count = last - first, stage_count = (count + stage_size - 1) / stage_size;
    const auto size_of = [&](index_t s) {
      return count - s * stage_size < stage_size ? static_cast<int>(count - s * stage_size) : stage_size;
    };
    const auto buffer = [&](index_t s) { return stages + s % 3 * stage_size; };
    T carry = start;
    for (index_t s = -1; s <= stage_count; ++s) {
      if (threadIdx.x < warp_lanes) {
        if (s >= 0 && s < stage_count && threadIdx.x == 0) chain_stage(buffer(s), size_of(s), carry);
      } else {
        const int thread = static_cast<int>(threadIdx.x) - warp_lanes;
        const int threads = static_cast<int>(blockDim.x) - warp_lanes;
        if (s >= 1)
          for (int k = thread; k < size_of(s - 1); k += threads)
            carries[(s - 1) * stage_size + k] = buffer(s - 1)[k];
        if (s + 1 < stage_count)
          for (int k = thread; k < size_of(s + 1); k += threads)
            buffer(s + 1)[k] = carries[(s + 1) * stage_size + k];
      }
      __syncthreads();
    }
    if (threadIdx.x == 0) carries[count] = carry;
  }

  __device__ void final() const {
    const index_t warps = static_cast<index_t>(gridDim.x) * (blockDim.x / warp_lanes);
    const index_t warp = (static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x) / warp_lanes;
    for (index_t block = first + warp; block < last; block += warps) {
      T running = carries[block - first];
      over_block<true>(block, running);
    }
    __shared__ bool is_last;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      is_last = atomicAdd(scratch.counter, 1u) == gridDim.x - 1;
      if (is_last) {
        *scratch.counter = 0;
        T total = carries[last - first];
        finish.on_device(total);
        if (host.words != nullptr) {
          __threadfence_system();  // the host may read what the scan wrote
          hand_over(host, total);
        }
      }
    }
  }

 private:
  // Values in registers at a time.
  static constexpr int batch = sizeof(T) <= 16 ? 4 : 1;
  // Three stages fit into 24 KiB, or are of one value.
  static constexpr int stage_size = sizeof(T) <= 8      ? 1024
                                    : sizeof(T) <= 8192 ? static_cast<int>(8192 / sizeof(T))
                                                        : 1;
  static_assert(sizeof(T) <= 16000,
                "strata: parallel_scan: the value_type must not exceed 16000 bytes on Cuda");

  // Goes over the items of a block. `running` is the sum before them, and afterwards includes them.
  template <bool Final>
  __device__ void over_block(index_t block, T& running) const {
    const int lane = static_cast<int>(threadIdx.x % warp_lanes);
    const BlockItems items = items_of_block(block, begin, end);
    index_t from = items.begin;
    // The contributions of several steps are loaded before the first is needed.
    for (; items.end - from >= batch * warp_lanes; from += batch * warp_lanes) {
      T sum[batch];
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        reducer.init(sum[b]);
        body(from + b * warp_lanes + lane, sum[b], false);
      }
#pragma unroll
      for (int b = 0; b < batch; ++b) inclusive(sum[b]);
#pragma unroll
      for (int b = 0; b < batch; ++b) step<Final>(from + b * warp_lanes + lane, warp_lanes, sum[b], running);
    }
    for (; from < items.end; from += warp_lanes) {
      const int here = items.end - from < warp_lanes ? static_cast<int>(items.end - from) : warp_lanes;
      T sum;
      reducer.init(sum);
      if (lane < here) body(from + lane, sum, false);
      inclusive(sum);
      step<Final>(from + lane, here, sum, running);
    }
  }
  template <bool Final>
  __device__ void step(index_t i, int here, T& sum, T& running) const {
    const int lane = static_cast<int>(threadIdx.x % warp_lanes);
    if constexpr (Final) {
      T before;
      value_from_below(before, sum, 1);
      T prefix = running;
      if (lane > 0) reducer.join(prefix, before);
      if (lane < here) body(i, prefix, true);
    }
    T whole;
    value_of_lane(whole, sum, here - 1);
    reducer.join(running, whole);
  }

  // Exclusive scan of the stage by one thread, in order. Batches keep loads and stores out of the chain.
  __device__ void chain_stage(T* stage, int count, T& carry) const {
    constexpr int chain = sizeof(T) <= 16 ? 16 : 1;
    T sum = carry;
    int k = 0;
    for (; k + chain <= count; k += chain) {
      T total[chain];
#pragma unroll
      for (int c = 0; c < chain; ++c) total[c] = stage[k + c];
#pragma unroll
      for (int c = 0; c < chain; ++c) {
        const T own = total[c];
        total[c] = sum;
        reducer.join(sum, own);
      }
#pragma unroll
      for (int c = 0; c < chain; ++c) stage[k + c] = total[c];
    }
    for (; k < count; ++k) {
      const T own = stage[k];
      stage[k] = sum;
      reducer.join(sum, own);
    }
    carry = sum;
  }

  // Lane l gets the joined values of lanes 0 to l.
  __device__ void inclusive(T& sum) const {
    const int lane = static_cast<int>(threadIdx.x % warp_lanes);
#pragma unroll
    for (int distance = 1; distance < warp_lanes; distance *= 2) {
      T below;
      value_from_below(below, sum, distance);
      if (lane >= distance) {
        reducer.join(below, sum);
        sum = below;
      }
    }
  }
};

}  // namespace strata::inline STRATA_ABI::detail
