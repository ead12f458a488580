// The values of blocks of a range, or of a box's rows, each by itself, as one of several devices makes them:
// the nodes of a reduction without the tree above them. A warp computes a node, or two do, and a first lane
// stores the value; or lanes have a row each (lane_nodes.hpp). Compiled by nvcc only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/layout.hpp>
#include <strata/core/min_max.hpp>
#include <strata/devices/cuda/launch/block_check.hpp>
#include <strata/devices/cuda/launch/kernel_parameters.hpp>
#include <strata/devices/cuda/launch/lane_nodes.hpp>
#include <strata/devices/cuda/launch/reduce_nodes.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class Nodes, class Reducer, class Store, class Threads>
struct CudaBlockValues {
  using T = typename Reducer::value_type;
  Nodes nodes;  // of a box, or RangeAsRow
  Reducer reducer;
  Store store;
  index_t first_row;
  index_t first_block;
  index_t blocks;     // of a row
  index_t count;      // of all rows
  bool shared_nodes;  // each by two warps
  CudaCheck check;

  /// Warps take nodes in turn, next to each other's: all lanes of a warp have the same ones.
  __device__ void run() const {
    const index_t warps = blockDim.x / warp_lanes, warp = threadIdx.x / warp_lanes;
    const NodeByWarps<Nodes, Reducer, Threads> compute(nodes, reducer);
    T value;
    if (shared_nodes) {
      if constexpr (Threads::can_share) {
        NodeMeeting<T>& meeting = own_meeting<Threads, T>();
        int turn = 0;
        for (index_t k = (blockIdx.x * warps + warp) / 2; k < count; k += gridDim.x * warps / 2)
          if (compute.by_two(value, node(k), meeting, turn++)) keep(k, value);
      }
    } else {
      for (index_t k = blockIdx.x * warps + warp; k < count; k += gridDim.x * warps) {
        compute.by_one(value, node(k));
        keep(k, value);
      }
    }
  }

 private:
  __device__ index_t node(index_t k) const {
    return ((first_row - nodes.origin + k / blocks) << nodes.log2_row) + first_block + k % blocks;
  }
  __device__ void keep(index_t k, const T& value) const {
    if (threadIdx.x % warp_lanes == 0) store(first_row + k / blocks, first_block + k % blocks, value);
  }
};

/// The work items of such blocks of a row.
template <class Nodes>
index_t items_of_blocks(const Nodes& nodes, ResidentRows blocks) {
  return smaller_of(blocks.end * reduction_block, nodes.row_items) -
         smaller_of(blocks.begin * reduction_block, nodes.row_items);
}

template <class Static, class Nodes, class Reducer, class Store>
void cuda_reduce_blocks(const LaunchInfo& info, ResidentRows rows, ResidentRows blocks, const Nodes& nodes,
                        const Reducer& reducer, const Store& store) {
  using Threads = NodeThreads<Nodes, typename Reducer::value_type, Static>;
  using Work = CudaBlockValues<Nodes, Reducer, Store, Threads>;
  const index_t of_row = blocks.end - blocks.begin, count = (rows.end - rows.begin) * of_row;
  CudaQueue& queue = cuda_queue_for(info);
  CudaLaunch launch(queue, EventKind::BeginReduce, info,
                    (rows.end - rows.begin) * items_of_blocks(nodes, blocks));
  if (count <= 0) return;
  CudaKernel& kernel =
      cuda_kernel<&cuda_bounded_run<ParametersOf<Work>, Threads::most_threads, Threads::least_blocks>>();
  const CudaKernel::OnDevice& on_device = cuda_kernel_on(queue, kernel);
  // A group of warps for each node; of many nodes a few for each group, so that few blocks begin and end.
  constexpr index_t rounds = 4;  // of blocks that a multiprocessor holds
  constexpr int log2_warps = Threads::log2_most_warps;
  const index_t resident = (index_t{on_device.resident_blocks} * on_device.block) >> (5 + log2_warps);
  const bool shared_nodes =
      Threads::shares(nodes, count, index_t{on_device.resident_blocks} * on_device.block);
  const index_t grid = smaller_of(((count - 1) >> (log2_warps - int{shared_nodes})) + 1,
                                  larger_of(rounds * resident, index_t{1}));
  auto parameters = parameters_of(launch, Work{nodes, reducer, store, rows.begin, blocks.begin, of_row, count,
                                               shared_nodes, launch.check()});
  cuda_launch(launch, kernel, cuda_line(grid, index_t{warp_lanes} << log2_warps), parameters);
}

/// The same of a box, by lanes with a row each.
template <class Nodes, class Reducer, class Store>
void cuda_reduce_blocks_by_lanes(const LaunchInfo& info, ResidentRows rows, ResidentRows blocks,
                                 const Nodes& nodes, const Reducer& reducer, const Store& store) {
  CudaQueue& queue = cuda_queue_for(info);
  CudaLaunch launch(queue, EventKind::BeginReduce, info,
                    (rows.end - rows.begin) * items_of_blocks(nodes, blocks));
  LaneNodesLaunch<Nodes, Reducer, StoreNodes<Store>>::run(launch, queue, nodes, rows, blocks, reducer,
                                                          StoreNodes<Store>{store});
}

}  // namespace strata::inline STRATA_ABI::detail
