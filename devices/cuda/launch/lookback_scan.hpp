// The kernel of scans of integers, in one pass over the items: sums of integers do not depend on the order of
// joins. A block processes a tile of items; it publishes the tile's total, then looks back over the published
// values of the tiles before it until it meets one that knows the sum of all before it (D. Merrill, M.
// Garland, Single-pass parallel prefix scan with decoupled look-back, 2016). Blocks begin in order, so those
// looked at are running or done.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/cuda/launch/block_check.hpp>
#include <strata/devices/cuda/launch/warp.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The published value of a tile, written and read in one access: a state and the value's bits. All zero at
/// first.
struct alignas(16) LookbackTile {
  unsigned long long state;  // 0: nothing yet; 1: the tile's total; 2: the sum of all up to its end
  unsigned long long bits;

  __device__ void publish(unsigned long long new_state, unsigned long long new_bits) {
    asm volatile(
        "{\n\t.reg .b128 t;\n\tmov.b128 t, {%1, %2};\n\tst.relaxed.gpu.global.b128 [%0], t;\n\t}" ::"l"(
            __cvta_generic_to_global(this)),
        "l"(new_state), "l"(new_bits)
        : "memory");
  }
  __device__ LookbackTile read() const {
    LookbackTile t;
    asm volatile("{\n\t.reg .b128 t;\n\tld.relaxed.gpu.global.b128 t, [%2];\n\tmov.b128 {%0, %1}, t;\n\t}"
                 : "=l"(t.state), "=l"(t.bits)
                 : "l"(__cvta_generic_to_global(this))
                 : "memory");
    return t;
  }
};

template <class Body, class Reducer, class Finish>
struct CudaLookbackScan {
  using T = typename Reducer::value_type;
  static_assert(sizeof(T) <= 8);
  static constexpr int warps = 8;
  static constexpr int threads = warps * warp_lanes;
  static constexpr int steps = 16;  // items of a thread
  static constexpr int warp_items = steps * warp_lanes;
  static constexpr int tile_items = warps * warp_items;

  Body body;
  Reducer reducer;
  Finish finish;
  index_t begin;
  index_t count;
  T start;
  LookbackTile* tiles;  // one a block; none where there is one block
  unsigned* counter;    // 0 before and after
  CudaHostSlot host;
  CudaCheck check;

  __device__ void run() const {
    const int lane = static_cast<int>(threadIdx.x % warp_lanes);
    const int warp = static_cast<int>(threadIdx.x / warp_lanes);
    const index_t done = static_cast<index_t>(blockIdx.x) * tile_items + warp * warp_items;
    const index_t from = begin + done;
    const int here = count - done >= warp_items ? warp_items
                     : count > done             ? static_cast<int>(count - done)
                                                : 0;

    T sum[steps];
    contributions(from, here, sum);
    T running;
    exclusive(sum, running);
    __shared__ T of_warp[warps];
    __shared__ T of_tiles_before;
    if (lane == 0) of_warp[warp] = running;
    __syncthreads();
    T before, whole;
    reducer.init(whole);
#pragma unroll
    for (int w = 0; w < warps; ++w) {
      if (w == warp) before = whole;
      reducer.join(whole, of_warp[w]);
    }
    if (warp == 0) {
      const T found = look_back(whole);
      if (lane == 0) of_tiles_before = found;
    }
    __syncthreads();

    T prefix = of_tiles_before;
    reducer.join(prefix, before);
    if (here == warp_items) {
#pragma unroll
      for (int s = 0; s < steps; ++s) {
        T value = prefix;
        reducer.join(value, sum[s]);
        body(from + s * warp_lanes + lane, value, true);
      }
    } else {
#pragma unroll
      for (int s = 0; s < steps; ++s) {
        T value = prefix;
        reducer.join(value, sum[s]);
        if (s * warp_lanes + lane < here) body(from + s * warp_lanes + lane, value, true);
      }
    }
    end(of_tiles_before, whole);
  }

 private:
  // The last block in the grid knows the total. The last block to finish passes it to the host, which takes
  // the queue for idle then.
  __device__ void end(const T& before, const T& whole) const {
    T total = before;
    reducer.join(total, whole);
    if (host.words == nullptr) {
      if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) finish.on_device(total);
      return;
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    if (gridDim.x > 1) {
      __threadfence();
      if (atomicAdd(counter, 1u) != gridDim.x - 1) return;
      __threadfence();
      *counter = 0;
      total = value_of(tiles[gridDim.x - 1].read().bits);
    }
    finish.on_device(total);
    __threadfence_system();  // the host may read what the scan wrote
    hand_over(host, total);
  }
  __device__ void contributions(index_t from, int here, T (&sum)[steps]) const {
    const int lane = static_cast<int>(threadIdx.x % warp_lanes);
#pragma unroll
    for (int s = 0; s < steps; ++s) reducer.init(sum[s]);
    // Without conditions between them the loads do not wait for each other.
    if (here == warp_items) {
#pragma unroll
      for (int s = 0; s < steps; ++s) body(from + s * warp_lanes + lane, sum[s], false);
    } else {
#pragma unroll
      for (int s = 0; s < steps; ++s)
        if (s * warp_lanes + lane < here) body(from + s * warp_lanes + lane, sum[s], false);
    }
  }

  // Each value becomes the sum of the warp's values before it; `running` is the sum of all.
  __device__ void exclusive(T (&sum)[steps], T& running) const {
    const int lane = static_cast<int>(threadIdx.x % warp_lanes);
    reducer.init(running);
#pragma unroll
    for (int s = 0; s < steps; ++s) {
#pragma unroll
      for (int distance = 1; distance < warp_lanes; distance *= 2) {
        T below;
        value_from_below(below, sum[s], distance);
        if (lane >= distance) {
          reducer.join(below, sum[s]);
          sum[s] = below;
        }
      }
      T before, whole;
      value_from_below(before, sum[s], 1);
      value_of_lane(whole, sum[s], warp_lanes - 1);
      sum[s] = running;
      if (lane > 0) reducer.join(sum[s], before);
      reducer.join(running, whole);
    }
  }

  // By the first warp: the sum of all before this tile, whose own is `whole`.
  __device__ T look_back(const T& whole) const {
    const int lane = static_cast<int>(threadIdx.x % warp_lanes);
    const index_t tile = blockIdx.x;
    T before = start;
    if (tile > 0) {
      if (lane == 0) tiles[tile].publish(1, bits_of(whole));
      bool found = false;
      T sum;
      for (index_t nearest = tile - 1; !found; nearest -= warp_lanes) {
        // Lane l looks at tile nearest - l; there is none before the first.
        const index_t other = nearest - lane;
        LookbackTile t{2, 0};
        if (other >= 0) do
            t = tiles[other].read();
          while (t.state == 0);
        const unsigned complete = __ballot_sync(all_lanes, t.state == 2);
        const int last = complete != 0 ? __ffs(static_cast<int>(complete)) - 1 : warp_lanes - 1;
        T value = value_of(t.bits);
#pragma unroll
        for (int distance = 1; distance < warp_lanes; distance *= 2) {
          T above;
          value_from_above(above, value, distance);
          if (lane + distance <= last) {
            reducer.join(above, value);
            value = above;
          }
        }
        if (nearest != tile - 1) reducer.join(value, sum);
        sum = value;
        found = complete != 0;
      }
      before = sum;
    }
    if (lane == 0 && gridDim.x > 1) {
      T all = before;
      reducer.join(all, whole);
      tiles[tile].publish(2, bits_of(all));
    }
    return before;
  }

  static __device__ unsigned long long bits_of(const T& value) {
    unsigned long long bits = 0;
    memcpy(&bits, &value, sizeof(T));
    return bits;
  }
  static __device__ T value_of(unsigned long long bits) {
    T value;
    memcpy(&value, &bits, sizeof(T));
    return value;
  }
};

}  // namespace strata::inline STRATA_ABI::detail
