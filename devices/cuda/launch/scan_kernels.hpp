// The kernel of scans, in one pass over the items: core/scan_order.hpp on a GPU.
//
// A thread block takes a tile, a warp a block of the order, a thread a run:
//
//   1. the contributions of the warp's items are put into shared memory, from which each thread joins its run
//   2. the warp scans the sums of its runs by shuffles; the sums of the warps are joined one after the other
//   3. the first warp publishes the tile's sum and looks back for the sum before it (scan_states.hpp)
//   4. each thread goes over its run again, leaving prefixes in shared memory
//   5. the kernel is called with the prefixes, or, if it has a call for that, stores them
//
// In 1 and 5 neighbouring threads have neighbouring items, which need few accesses to memory. Where arrays
// are separate, the elements that a call reads in 1 are still in registers in 5. Values of more than 8 bytes
// would fill shared memory: there a thread calls the kernel for its run's items one after the other, without
// 1 and 4.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/scan_order.hpp>
#include <strata/devices/cuda/launch/block_check.hpp>
#include <strata/devices/cuda/launch/kept_elements.hpp>
#include <strata/devices/cuda/launch/reduce_nodes.hpp>
#include <strata/devices/cuda/launch/scan_states.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The values of a warp's items in shared memory. One place in 128 bytes is left out, so that threads reach
/// their runs in different banks.
template <class T>
struct ScanExchange {
  static constexpr int step = [] {
    int items = scan_run;
    while (2 * items * sizeof(T) <= 128) items *= 2;
    return items;
  }();
  static constexpr int size = scan_block + scan_block / step;
  static __device__ constexpr int place(int item) { return item + item / step; }
};

/// What the launch gives to all blocks.
template <class T>
struct CudaScanTiles {
  index_t begin, end;
  index_t first;  // tile
  index_t tiles;  // one a block; at least 1
  T start;
  void* states;     // none where there is one tile
  T* warp_sums;     // scan_blocks + 1 a tile, where they are too large for shared memory
  unsigned* ended;  // 0 before
  unsigned* taken;  // 0 before and after
};

template <class Body, class Reducer, class Finish>
struct CudaScan {
  using T = typename Reducer::value_type;
  using States = CudaScanStates<T>;
  static constexpr bool exchanges = sizeof(T) <= 8;
  static constexpr int warps = scan_blocks;
  static constexpr int threads = warps * warp_lanes;
  static constexpr unsigned shared_bytes =
      exchanges ? static_cast<unsigned>(warps * ScanExchange<T>::size * sizeof(T)) : 0;
  static constexpr bool sums_in_shared = sizeof(T) <= 1024;
  // Blocks of a multiprocessor that registers shall allow for. A kernel that reads its items again finds more
  // of them in the cache where there are fewer blocks, whose shared memory is taken from it.
  static constexpr bool reads_again = Body::scan_stores == ScanStores::Nothing;
  static constexpr bool keeps_elements = is_separate<Body>() && exchanges && reads_again;
  static constexpr int resident_blocks = !exchanges ? 1 : reads_again && sizeof(T) > 4 ? 2 : 3;
  static_assert(scan_runs == warp_lanes);
  static_assert(sizeof(T) <= 16000,
                "strata: parallel_scan: the value_type must not exceed 16000 bytes on Cuda");

  Body body;
  Reducer reducer;
  Finish finish;
  CudaScanTiles<T> all;
  CudaHostSlot host;
  CudaCheck check;

  __device__ void run() const {
    const index_t tile = take_tile();
    const BlockItems items =
        all.begin < all.end ? items_of_scan_tile(all.first + tile, all.begin, all.end) : BlockItems{0, 0};
    const int count = static_cast<int>(items.end - items.begin);
    if constexpr (keeps_elements)
      if (count == scan_tile) return run_tile<true>(tile, items.begin, scan_tile);
    run_tile<false>(tile, items.begin, count);
  }
  __device__ CudaScan on_arrays(const ArrayAddresses& arrays) const {
    return {body.on_arrays(arrays), reducer, finish, all, host, check};
  }

 private:
  // The items of a warp, and what each of a thread's had when it was called first.
  struct Mine {
    index_t from;
    int count;
  };
  using KeptElements = KeptOfItems<scan_run, false>;

  // `IsWhole`: of a tile that has all its items. The kernel is then called twice for each of 16 items without
  // a condition between, and finds what it read.
  template <bool IsWhole>
  __device__ void run_tile(index_t tile, index_t begin, int count) const {
    const int lane = static_cast<int>(threadIdx.x % warp_lanes);
    const int warp = static_cast<int>(threadIdx.x / warp_lanes);
    const int before_warp = warp * scan_block;
    const Mine mine{begin + before_warp, IsWhole ? scan_block : clamped(count - before_warp, scan_block)};
    std::conditional_t<IsWhole, KeptElements, NothingKept> kept;

    T sum, before_run;
    sum_of_run(mine, sum, kept);
    scan_runs_of_warp(sum, before_run);
    T* const warp_sums = sums_of_warps(tile);
    if (lane == (mine.count - 1) / scan_run && mine.count > 0) warp_sums[warp] = sum;
    __syncthreads();
    T before, whole;
    join_warps(warp_sums, warp, count, before, whole);
    T& of_tiles_before = warp_sums[warps];
    if (warp == 0) pass_on(tile, count, whole, of_tiles_before);
    __syncthreads();

    T prefix = of_tiles_before;
    if (warp > 0) reducer.join(prefix, before);
    if (lane > 0) reducer.join(prefix, before_run);
    finish_run(mine, prefix, kept);
    end(tile, of_tiles_before, whole, count);
  }

  // Loads in flight of a thread, for which it has registers.
  static constexpr int batch = resident_blocks < 3 || sizeof(T) <= 4 ? 16 : 8;
  static_assert(scan_run % batch == 0);

  static __device__ int clamped(int value, int most) { return value < 0 ? 0 : value < most ? value : most; }
  static __device__ int run_length(const Mine& mine) {
    return clamped(mine.count - static_cast<int>(threadIdx.x % warp_lanes) * scan_run, scan_run);
  }
  // Not written as run_length(mine) == scan_run: ptxas 13.0 takes that, fused with the clamping of a negative
  // length, for true where the length is between 1 and 15.
  static __device__ bool has_whole_run(const Mine& mine) {
    return (static_cast<int>(threadIdx.x % warp_lanes) + 1) * scan_run <= mine.count;
  }
  // The first item of the thread's run.
  static __device__ index_t run_begin(const Mine& mine) {
    return mine.from + static_cast<index_t>(threadIdx.x % warp_lanes) * scan_run;
  }
  __device__ T* exchange() const {
    extern __shared__ __align__(16) char scan_exchange[];
    return reinterpret_cast<T*>(scan_exchange) + threadIdx.x / warp_lanes * ScanExchange<T>::size;
  }
  __device__ T* run_in_exchange() const {
    return exchange() + ScanExchange<T>::place(static_cast<int>(threadIdx.x % warp_lanes) * scan_run);
  }

  // The number of the tile to process, from 0. Every block that begins takes one.
  __device__ index_t take_tile() const {
    if (all.tiles == 1) return 0;
    __shared__ unsigned tile;
    if (threadIdx.x == 0) {
      tile = atomicAdd(all.taken, 1u);
      if (tile == static_cast<unsigned>(all.tiles - 1)) *all.taken = 0;
    }
    __syncthreads();
    return tile;
  }

  template <class Kept>
  __device__ void sum_of_run(const Mine& mine, T& sum, Kept& kept) const {
    reducer.init(sum);
    const int length = run_length(mine);
    if constexpr (exchanges) {
      put_contributions(mine, kept);
      __syncwarp();
      const T* const own = run_in_exchange();
      if (has_whole_run(mine)) {
        sum = own[0];
#pragma unroll
        for (int k = 1; k < scan_run; ++k) reducer.join(sum, own[k]);
      } else if (length > 0) {
        sum = own[0];
        for (int k = 1; k < length; ++k) reducer.join(sum, own[k]);
      }
    } else {
      const index_t from = run_begin(mine);
      for (int k = 0; k < length; ++k) body(from + k, sum, false);
    }
  }

  __device__ void put_contributions(const Mine& mine, KeptElements& kept) const {
    const int lane = static_cast<int>(threadIdx.x % warp_lanes);
    T* const values = exchange();
    T value[scan_run];
#pragma unroll
    for (int b = 0; b < scan_run; ++b) {
      const index_t i = mine.from + lane + b * warp_lanes;
      reducer.init(value[b]);
      body(i, value[b], false);
      kept.keep(b, body, i);
    }
#pragma unroll
    for (int b = 0; b < scan_run; ++b) values[ScanExchange<T>::place(lane + b * warp_lanes)] = value[b];
  }
  __device__ void put_contributions(const Mine& mine, NothingKept&) const {
    const int lane = static_cast<int>(threadIdx.x % warp_lanes);
    T* const values = exchange();
    int k = lane;
    // The loads of a batch are issued before the first is needed.
    for (; k + (batch - 1) * warp_lanes < mine.count; k += batch * warp_lanes) {
      T value[batch];
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        reducer.init(value[b]);
        body(mine.from + k + b * warp_lanes, value[b], false);
      }
#pragma unroll
      for (int b = 0; b < batch; ++b) values[ScanExchange<T>::place(k + b * warp_lanes)] = value[b];
    }
    for (; k < mine.count; k += warp_lanes) {
      T value;
      reducer.init(value);
      body(mine.from + k, value, false);
      values[ScanExchange<T>::place(k)] = value;
    }
  }

  // `sum` becomes that of the runs up to and with the lane's; `before`, but of the first lane, that of those
  // before it.
  __device__ void scan_runs_of_warp(T& sum, T& before) const {
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
    value_from_below(before, sum, 1);
  }

  __device__ T* sums_of_warps(index_t tile) const {
    if constexpr (sums_in_shared) {
      __shared__ alignas(T) char storage[(warps + 1) * sizeof(T)];
      return reinterpret_cast<T*>(storage);
    } else {
      return all.warp_sums + tile * (warps + 1);
    }
  }
  // The sums of the warps before `warp`, if any, and of all that have items, if any.
  __device__ void join_warps(const T* warp_sums, int warp, int count, T& before, T& whole) const {
    const int used = (count + scan_block - 1) / scan_block;
    if (used > 0) whole = warp_sums[0];
    for (int w = 1; w < used; ++w) {
      if (w == warp) before = whole;
      reducer.join(whole, warp_sums[w]);
    }
  }

  // By the first warp: learns the sum before the tile, and publishes what others need.
  __device__ void pass_on(index_t tile, int count, const T& whole, T& of_tiles_before) const {
    const bool first_lane = threadIdx.x == 0;
    if (all.tiles == 1) {
      if (first_lane) of_tiles_before = all.start;
      return;
    }
    const States states(all.states, all.tiles);
    if (first_lane && tile > 0) states.publish(tile, TileState::Sum, whole);
    T sum;
    states.look_back(tile, all.start, reducer, sum);
    if (!first_lane) return;
    of_tiles_before = sum;
    reducer.join(sum, whole);
    states.publish(tile, TileState::SumOfAll, sum);
  }

  // Calls the kernel for the items of the thread's run; `prefix` is the sum before them.
  template <class Kept>
  __device__ void finish_run(const Mine& mine, T& prefix, const Kept& kept) const {
    const int length = run_length(mine);
    if constexpr (exchanges) {
      T* const own = run_in_exchange();
      if (has_whole_run(mine)) {
#pragma unroll
        for (int k = 0; k < scan_run; ++k) put_prefix(own[k], prefix);
      } else {
        for (int k = 0; k < length; ++k) put_prefix(own[k], prefix);
      }
      __syncwarp();
      call_with_prefixes(mine, kept);
    } else {
      const index_t from = run_begin(mine);
      for (int k = 0; k < length; ++k) body(from + k, prefix, true);
    }
  }
  // `place` has an item's contribution and gets the value for its call.
  __device__ void put_prefix(T& place, T& prefix) const {
    const T contribution = place;
    if constexpr (Body::scan_stores != ScanStores::Through) place = prefix;
    reducer.join(prefix, contribution);
    if constexpr (Body::scan_stores == ScanStores::Through) place = prefix;
  }
  __device__ void call_with_prefixes(const Mine& mine, const KeptElements& kept) const {
    const int lane = static_cast<int>(threadIdx.x % warp_lanes);
    const T* const values = exchange();
#pragma unroll
    for (int b = 0; b < scan_run; ++b) kept.assume_unchanged(b, body, mine.from + lane + b * warp_lanes);
#pragma unroll
    for (int b = 0; b < scan_run; ++b) {
      T value = values[ScanExchange<T>::place(lane + b * warp_lanes)];
      call_final(mine.from + lane + b * warp_lanes, value);
    }
  }
  __device__ void call_with_prefixes(const Mine& mine, const NothingKept&) const {
    const int lane = static_cast<int>(threadIdx.x % warp_lanes);
    const T* const values = exchange();
    int k = lane;
    for (; k + (batch - 1) * warp_lanes < mine.count; k += batch * warp_lanes) {
      T value[batch];
#pragma unroll
      for (int b = 0; b < batch; ++b) value[b] = values[ScanExchange<T>::place(k + b * warp_lanes)];
#pragma unroll
      for (int b = 0; b < batch; ++b) call_final(mine.from + k + b * warp_lanes, value[b]);
    }
    for (; k < mine.count; k += warp_lanes) {
      T value = values[ScanExchange<T>::place(k)];
      call_final(mine.from + k, value);
    }
  }
  __device__ void call_final(index_t i, T& value) const {
    if constexpr (reads_again) body(i, value, true);
    else body(i, value, ScanStore{});
  }

  // The block of the last tile knows the total; of some finishes the last block to end takes care.
  __device__ void end(index_t tile, const T& of_tiles_before, const T& whole, int count) const {
    if constexpr (!finishes_after_all<Finish>) {
      if (tile != all.tiles - 1 || threadIdx.x != 0) return;
      T total = of_tiles_before;
      if (count > 0) reducer.join(total, whole);
      finish.on_device(total);
      return;
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    T total;
    if (all.tiles > 1) {
      __threadfence();
      if (atomicAdd(all.ended, 1u) != static_cast<unsigned>(all.tiles - 1)) return;
      __threadfence();
      States(all.states, all.tiles).sum_of_all(all.tiles - 1, total);
    } else {
      total = of_tiles_before;
      if (count > 0) reducer.join(total, whole);
    }
    finish.on_device(total);
    if constexpr (Finish::waits) {
      __threadfence_system();  // the host may read what the scan wrote
      hand_over(host, total);
    }
  }
};

}  // namespace strata::inline STRATA_ABI::detail
