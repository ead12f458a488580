// Nodes of reductions over boxes in which neighbouring elements have neighbouring first indices: the lanes of
// a warp take one row each, so that they read next to each other. Compiled by nvcc only.
//
//   a warp     has 8 lanes of the tree of a node (core/reduction_tree.hpp), for each of 32 rows
//   8 warps    have the 64 lanes of the tree of 32 nodes, fewer of them where a row has few items. They join
//              these by halves through shared memory
//   a block    has 8 warps, or, of many nodes, four times 8, which take nodes next to each other: what
//              stencils read in common is in the caches of their multiprocessor
//
// The tree is that of any other way: only who joins differs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/layout.hpp>
#include <strata/core/min_max.hpp>
#include <strata/devices/cuda/launch/block_check.hpp>
#include <strata/devices/cuda/launch/box_nodes.hpp>
#include <strata/devices/cuda/launch/box_plan.hpp>
#include <strata/devices/cuda/launch/kernel_parameters.hpp>

namespace strata::inline STRATA_ABI::detail {

/// How the nodes of a launch are given to groups of 8 warps: task by task, each a block of some rows.
struct LanePlan {
  index_t base_row;  // the first one of the first warp: a multiple of 32 from the origin on
  index_t row_tiles;
  index_t tasks;
  int log2_warps;   // that share the nodes of 32 rows
  int log2_beside;  // tasks that follow each other and have the same rows
};

/// The values of blocks `blocks` of the rows `rows`: store(row, block, value), or, with Store::joins, of the
/// numbers from `number` on store(number, value): a node each, or 32 rows of one node.
template <class Nodes, class Reducer, class Store>
struct CudaLaneNodes {
  using T = typename Reducer::value_type;
  static constexpr int log2_warps = 3, warps = 1 << log2_warps, group_threads = warps * warp_lanes;
  static constexpr int most_groups = 4, most_threads = most_groups * group_threads;
  static constexpr int own_lanes = 8;
  static_assert(reduction_lanes<T> == own_lanes * warps);

  Nodes nodes;
  Reducer reducer;
  Store store;
  ResidentRows rows;
  ResidentRows blocks;
  LanePlan plan;
  CudaCheck check;

  __device__ void run() const {
    const unsigned group = threadIdx.x / group_threads, groups = blockDim.x / group_threads;
    for (index_t task = index_t{blockIdx.x} * groups + group; task < plan.tasks;
         task += index_t{gridDim.x} * groups) {
      const index_t tile = (task >> plan.log2_beside) % plan.row_tiles;
      const index_t block = blocks.begin + ((task >> plan.log2_beside) / plan.row_tiles << plan.log2_beside) +
                            (task & ((index_t{1} << plan.log2_beside) - 1));
      if (block < blocks.end) take(tile, block);
    }
  }

 private:
  static constexpr int step = own_lanes * warps;

  // Block `block` of some rows, by 8 warps.
  __device__ void take(index_t tile, index_t block) const {
    const int warp = static_cast<int>(threadIdx.x) / warp_lanes % warps;
    const int part = warp & ((1 << plan.log2_warps) - 1), own = part * own_lanes;
    const index_t rows_of_warp = (tile << (log2_warps - plan.log2_warps)) + (warp >> plan.log2_warps);
    const index_t row = plan.base_row + rows_of_warp * warp_lanes + threadIdx.x % warp_lanes;
    const bool has_row = row >= rows.begin && row < rows.end;
    const int count = static_cast<int>(nodes.count(block));
    T value[own_lanes];
#pragma unroll
    for (int l = 0; l < own_lanes; ++l)
      if (own + l < count) reducer.init(value[l]);
    if (has_row) {
      const auto items = nodes.items(row, block);
      // Two rounds at once, so that their loads do not wait for each other: sums of 510^3 floats took 0.91 of
      // the time, with four rounds 0.95, and squares of residuals 0.99 and 1.12.
#pragma unroll 1
      for (int k = own; k < count; k += step) {
        if (k + step + own_lanes <= count && items.are_line(k, own_lanes) &&
            items.are_line(k + step, own_lanes)) {
          items.line(k, value);
          items.line(k + step, value);
          k += step;
        } else if (k + own_lanes > count) {
#pragma unroll
          for (int l = 0; l < own_lanes; ++l)
            if (k + l < count) items(k + l, value[l]);
        } else if (items.are_line(k, own_lanes)) {
          items.line(k, value);
        } else {  // without conditions between the loads
#pragma unroll
          for (int l = 0; l < own_lanes; ++l) items(k + l, value[l]);
        }
      }
    }
    join_parts(value, count, warp);
    if (part != 0) return;
#pragma unroll
    for (int half = own_lanes / 2; half > 0; half /= 2)
#pragma unroll
      for (int l = 0; l < half; ++l)
        if (l + half < count) reducer.join(value[l], value[l + half]);
    if constexpr (Store::joins) {
      const index_t number = (row - nodes.origin) << nodes.log2_row;
      if (nodes.log2_row == 0) {
        join_nodes(value[0], has_row, warp_lanes, reducer);
        const bool has_any = __any_sync(all_lanes, has_row);
        if (threadIdx.x % warp_lanes == 0 && has_any) store(number, value[0]);
      } else if (has_row) {
        store(number + block, value[0]);
      }
    } else if (has_row) {
      store(row, block, value[0]);
    }
  }

  // Joins the lanes of the parts by halves, to part 0; large values in two steps through the same memory.
  __device__ void join_parts(T (&value)[own_lanes], int count, int warp) const {
    constexpr int at_once = sizeof(T) <= 8 ? own_lanes : own_lanes / 2;
    __shared__ alignas(T) char storage[most_groups][warps / 2 * at_once * warp_lanes * sizeof(T)];
    const int part = warp & ((1 << plan.log2_warps) - 1), above = warp >> plan.log2_warps;
    T* const places = reinterpret_cast<T*>(storage[threadIdx.x / group_threads]) + threadIdx.x % warp_lanes;
#pragma unroll 1
    for (int half = (1 << plan.log2_warps) >> 1; half > 0; half >>= 1)
#pragma unroll
      for (int first = 0; first < own_lanes; first += at_once) {
        const auto place = [&](int of, int l) -> T& {
          return places[((above * half + of) * at_once + l) * warp_lanes];
        };
        if (part >= half && part < 2 * half) {
#pragma unroll
          for (int l = 0; l < at_once; ++l)
            if (part * own_lanes + first + l < count) place(part - half, l) = value[first + l];
        }
        meet();
        if (part < half) {
#pragma unroll
          for (int l = 0; l < at_once; ++l)
            if ((part + half) * own_lanes + first + l < count) reducer.join(value[first + l], place(part, l));
        }
        meet();
      }
  }
  // A barrier for the 8 warps.
  __device__ static void meet() {
    __syncwarp();
    asm volatile("bar.sync %0, %1;" ::"r"(1 + threadIdx.x / group_threads), "n"(group_threads) : "memory");
  }
};

/// Whether lanes with a row each are the way for a box: neighbouring first indices lie next to each other,
/// and there are as many rows and items as fill warps.
template <class Static, class Body, class Reducer>
constexpr bool may_have_lane_nodes() {
  constexpr bool last_fastest = Static::last_fastest || is_last_index_fastest<Body>();
  return !last_fastest && reduction_lanes<typename Reducer::value_type> == 64 && Static::max_threads == 0;
}
inline bool has_lane_nodes(index_t rows, index_t row_items) {
  // On an H200 sums over 64^3 elements take as long in either way, smaller ones a fifth longer; a million
  // rows of 3 elements take 29 us, and 387 by warps that have a node each.
  constexpr index_t least_items = index_t{1} << 18, least_nodes = index_t{1} << 13;
  if (rows < warp_lanes || row_items <= 0) return false;
  const index_t blocks = (row_items - 1) / reduction_block + 1;
  return row_items >= least_items / rows || blocks >= least_nodes / rows;
}

/// The kernel and its launch, for some blocks of some rows of a box.
template <class Nodes, class Reducer, class Store>
class LaneNodesLaunch {
  using Work = CudaLaneNodes<Nodes, Reducer, Store>;

 public:
  static void run(CudaLaunch& launch, CudaQueue& queue, const Nodes& nodes, ResidentRows rows,
                  ResidentRows blocks, const Reducer& reducer, const Store& store) {
    CudaKernel& kernel = cuda_kernel<&cuda_bounded_run<ParametersOf<Work>, Work::most_threads, 1>>();
    const LanePlan plan = plan_of(nodes, rows, blocks);
    // Large blocks only where all multiprocessors have some to do, one after the other: no more than run at a
    // time, as none begins where one is at work.
    const CudaKernel::OnDevice& on_device = cuda_kernel_on(queue, kernel);
    const index_t resident = index_t{on_device.resident_blocks} * on_device.block;
    const index_t multiprocessors = cuda_multiprocessors(queue);
    constexpr index_t rounds = 4;
    const bool is_large = plan.tasks * Work::group_threads >= rounds * resident;
    const index_t groups = is_large ? Work::most_groups : 1;
    const index_t most =
        is_large ? larger_of(resident / multiprocessors / Work::most_threads, index_t{1}) * multiprocessors
                 : index_t{1} << 30;
    const index_t grid = smaller_of((plan.tasks - 1) / groups + 1, most);
    auto parameters = parameters_of(launch, Work{nodes, reducer, store, rows, blocks, plan, launch.check()});
    cuda_launch(launch, kernel, cuda_line(grid, groups * Work::group_threads), parameters);
  }

 private:
  static LanePlan plan_of(const BoxNumbers& numbers, ResidentRows rows, ResidentRows blocks) {
    LanePlan plan{};
    const index_t lanes = smaller_of(numbers.row_items, index_t{Work::own_lanes * Work::warps});
    while ((Work::own_lanes << plan.log2_warps) < lanes) ++plan.log2_warps;
    plan.base_row = rows.begin - ((rows.begin - numbers.origin) & (warp_lanes - 1));
    const index_t tile = index_t{warp_lanes} << (Work::log2_warps - plan.log2_warps);
    plan.row_tiles = (rows.end - plan.base_row + tile - 1) / tile;
    const index_t count = blocks.end - blocks.begin;
    while (2 << plan.log2_beside <= Work::most_groups && count > 1 << plan.log2_beside) ++plan.log2_beside;
    plan.tasks = plan.row_tiles * ((((count - 1) >> plan.log2_beside) + 1) << plan.log2_beside);
    return plan;
  }
};

/// Stores the values of groups of 2^log2_unit numbers.
template <class T>
struct StoreUnits {
  static constexpr bool joins = true;
  T* values;
  index_t first_unit;
  int log2_unit;
  __device__ void operator()(index_t number, const T& value) const {
    values[(number >> log2_unit) - first_unit] = value;
  }
};
/// Hands the value of each node to a store(row, block, value).
template <class Store>
struct StoreNodes : Store {
  static constexpr bool joins = false;
};

}  // namespace strata::inline STRATA_ABI::detail
