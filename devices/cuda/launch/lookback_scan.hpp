// The kernel of scans of integers whose kernel cannot be given the values to store (ScanStores of
// core/scan_order.hpp), in one pass over the items: sums of integers do not depend on the order of joins, so
// that contributions stay in registers, and the items that the kernel reads again in the cache beside them. A
// block processes a tile of items; it publishes the tile's total, then looks back over the published values
// of the tiles before it until it meets one that knows the sum of all before it (scan_states.hpp). Blocks
// begin in order, so those looked at are running or done. (Where arrays are separate, CudaScan is launched
// instead: it took 0.96 of the time of this kernel on an H200.)
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/cuda/launch/block_check.hpp>
#include <strata/devices/cuda/launch/scan_states.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class Body, class Reducer, class Finish>
struct CudaLookbackScan {
  using T = typename Reducer::value_type;
  using Tile = SmallTile<T>;
  static_assert(sizeof(T) <= 8);
  static constexpr int warps = 8;
  static constexpr int threads = warps * warp_lanes;
  static constexpr int steps = 16;  // items of a thread
  static constexpr int warp_items = steps * warp_lanes;
  static constexpr int tile_items = warps * warp_items;
  static constexpr unsigned shared_bytes = 0;
  static constexpr int resident_blocks = 4;
  static constexpr bool keeps_elements = false;

  Body body;
  Reducer reducer;
  Finish finish;
  index_t begin;
  index_t count;
  T start;
  Tile* tiles;        // one a block; none where there is one block
  unsigned* counter;  // 0 before and after
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
  // The block of the last tile knows the total; of some finishes the last block to end takes care.
  __device__ void end(const T& before, const T& whole) const {
    T total = before;
    reducer.join(total, whole);
    if constexpr (!finishes_after_all<Finish>) {
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
      tiles[gridDim.x - 1].read(total);
    }
    finish.on_device(total);
    if constexpr (Finish::waits) {
      __threadfence_system();  // the host may read what the scan wrote
      hand_over(host, total);
    }
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
      if (lane == 0) tiles[tile].publish(TileState::Sum, whole);
      bool found = false;
      T sum;
      for (index_t nearest = tile - 1; !found; nearest -= warp_lanes) {
        // Lane l looks at tile nearest - l; there is none before the first.
        const index_t other = nearest - lane;
        TileState state = TileState::SumOfAll;
        T value{};
        if (other >= 0) do
            state = tiles[other].read(value);
          while (state == TileState::Nothing);
        const unsigned complete = __ballot_sync(all_lanes, state == TileState::SumOfAll);
        const int last = complete != 0 ? __ffs(static_cast<int>(complete)) - 1 : warp_lanes - 1;
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
      tiles[tile].publish(TileState::SumOfAll, all);
    }
    return before;
  }
};

}  // namespace strata::inline STRATA_ABI::detail
