// The kernel of reductions, one for all of them: core/reduction_tree.hpp on a GPU.
//
//   a warp     computes a node, or two warps do (reduce_nodes.hpp)
//   a block    has an aligned group of 2^k nodes, which its warps take in turn: all read close to each other.
//              The values go to shared memory; a warp joins up to 32, one in each of its lanes
//
// Small reductions are done by one block, or by 8 in a cluster, which send their values to the first one. In
// large ones all blocks send theirs to the last one (grid_gather.hpp). One thread runs the finish.
//
// Numbers without a node are left out. One launch, whatever the size; lane_nodes.hpp has another way.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/cuda/launch/block_check.hpp>
#include <strata/devices/cuda/launch/cluster_gather.hpp>
#include <strata/devices/cuda/launch/grid_gather.hpp>
#include <strata/devices/cuda/launch/reduce_nodes.hpp>
#include <strata/devices/cuda/launch/warp.hpp>
#include <strata/devices/launch_hints.hpp>

namespace strata::inline STRATA_ABI::detail {

/// A reduction by the blocks of one launch; of the hints, the launch bounds count.
template <class Nodes, class Reducer, class Finish, class Static = StaticHints<>>
struct CudaReduce {
  using T = typename Reducer::value_type;
  using Threads = NodeThreads<Nodes, T, Static>;
  static constexpr int log2_most_warps = Threads::log2_most_warps;
  /// Nodes of a block: their values have up to 16 KiB of shared memory, large ones 32 KiB.
  static constexpr int log2_most_nodes = [] {
    int log2 = 8;
    while (log2 > 0 && (sizeof(T) << log2) > (sizeof(T) <= 512 ? 16384 : 32768)) --log2;
    return log2;
  }();
  static_assert(log2_most_nodes >= log2_most_warps);
  static constexpr int most_threads = Threads::most_threads;
  static constexpr int least_blocks = Threads::least_blocks;
  using FromBlocks = GridGather<T>;
  /// Values of groups of blocks that shared memory holds.
  static constexpr int capacity = (1 << log2_most_nodes) / 2;
  static constexpr bool may_show_writes =
      !only_reads<typename Nodes::body_type>() && (has_finalize<Finish> || !std::is_empty_v<Reducer>);
  /// Whether others may read what bodies write before the launch has ended: joins by an object, too, which
  /// may hold views.
  __device__ bool shows_writes() const {
    constexpr bool may_be_apart = requires(const Finish& finish) { finish.is_apart(); };
    if constexpr (may_show_writes && may_be_apart && std::is_empty_v<Reducer>) return !finish.is_apart();
    else return may_show_writes;
  }
  /// Blocks of a cluster.
  static constexpr int log2_cluster = sizeof(T) <= 64 ? 3 : 0;
  using Gather = ClusterGather<T, 1 << log2_cluster>;

  Nodes nodes;
  Reducer reducer;
  Finish finish;
  bool clustered;
  bool shared_nodes;  // each by two warps
  int log2_nodes;     // of a block, as many as there are warps or pairs of them, or more
  index_t base;       // the first node of the first block's group
  CudaScratch scratch;
  CudaHostSlot host;
  CudaCheck check;

  __device__ CudaReduce on_arrays(const ArrayAddresses& arrays) const {
    return {nodes.on_arrays(arrays),
            reducer,
            finish,
            clustered,
            shared_nodes,
            log2_nodes,
            base,
            scratch,
            host,
            check};
  }

  /// The work that needs no memory, done before the block waits for the kernel before it.
  __device__ void prepare(Gather& gather) const {
    if (clustered) gather.prepare();
  }

  /// A block that does not work, as there was a bad access, calls no body and no finish, but sends a value:
  /// others may wait for it.
  __device__ void run(Gather& gather, bool works) const {
    T value;
    if (works) join_blocks_nodes(value, base + (static_cast<index_t>(blockIdx.x) << log2_nodes));
    if constexpr (Threads::writes) let_next_start();
    if (gridDim.x == 1) {
      if (shows_writes()) __syncwarp();
      if (threadIdx.x == 0 && works) {
        if (!nodes.holds(base, base + (index_t{1} << log2_nodes))) reducer.init(value);
        end(value);
      }
    } else if (clustered) {
      join_cluster(gather, value, works);
    } else {
      join_grid(value, works);
    }
  }

 private:
  // Whether unit `unit` of 2^log2 numbers has a node.
  __device__ bool has_nodes(index_t unit, int log2) const {
    return nodes.holds(unit << log2, (unit + 1) << log2);
  }

  // The values of the cluster's blocks, and the end. Who reads then what bodies wrote must see it all. (Hosts
  // wait for the end of the kernel.)
  __device__ void join_cluster(Gather& gather, T& value, bool works) const {
    const bool shows = shows_writes();
    if (shows) show_to_device();
    gather.send(value);
    if (blockIdx.x != 0 || threadIdx.x >= warp_lanes) return;
    gather.receive(value);
    if (shows) see_of_device();
    if (!works) return;
    const auto block = static_cast<index_t>(threadIdx.x);
    join_nodes(value, block < 1 << log2_cluster && has_nodes((base >> log2_nodes) + block, log2_nodes),
               1 << log2_cluster, reducer);
    if (threadIdx.x == 0) end(value);
  }

  // The same of the grid's blocks.
  __device__ void join_grid(T& value, bool works) const {
    const FromBlocks blocks(scratch.slots, base >> log2_nodes, gridDim.x);
    if (shows_writes()) show_to_device();
    if (threadIdx.x == 0) blocks.send(blockIdx.x, value);
    if (blockIdx.x != gridDim.x - 1) return;
    __syncthreads();  // the values of the nodes have been joined
    join_blocks(value, blocks);
    if (threadIdx.x == 0 && works) end(value);
    const unsigned warps = blockDim.x / warp_lanes, groups = blocks.groups();
    for (unsigned group = threadIdx.x / warp_lanes; group < groups; group += warps)
      blocks.clear(group, threadIdx.x % warp_lanes);
  }

  // What the calling block wrote is seen by those that get the value that its thread 0 sends next. (Other
  // warps have met the first one since.)
  __device__ static void show_to_device() {
    __syncwarp();
    if (threadIdx.x == 0) fence_device();
  }
  // The calling warp, of which some lanes have received values, sees what their blocks wrote.
  __device__ static void see_of_device() {
    fence_device();
    __syncwarp();
  }

  __device__ void join(T& a, const T& b) const { reducer.join(a, b); }

  // Shared memory for a value of each node of a block.
  __device__ static T* shared_values() {
    __shared__ alignas(T) char storage[sizeof(T) << log2_most_nodes];
    return reinterpret_cast<T*>(storage);
  }

  // The nodes of the block from `first` on, to thread 0.
  __device__ void join_blocks_nodes(T& value, index_t first) const {
    const int lane = static_cast<int>(threadIdx.x % warp_lanes);
    const int warp = static_cast<int>(threadIdx.x / warp_lanes);
    const int warps = static_cast<int>(blockDim.x) / warp_lanes, count = 1 << log2_nodes;
    const NodeByWarps<Nodes, Reducer, Threads> compute(nodes, reducer);
    T* const shared = shared_values();
    const auto keep = [&](int k) {
      if (count > 1 && lane == 0) shared[k] = value;
    };
    const auto has_node = [&](int k) { return nodes.holds(first + k, first + k + 1); };
    if (shared_nodes) {
      if constexpr (Threads::can_share) {
        NodeMeeting<T>& meeting = own_meeting<Threads, T>();
        // All pairs meet equally often: after unequal numbers compute-sanitizer's racecheck takes the
        // barriers of the block for none.
        for (int k = warp / 2, turn = 0; turn * warps / 2 < count; ++turn, k += warps / 2) {
          if (k >= count || !has_node(k)) compute.meet();
          else if (compute.by_two(value, first + k, meeting, turn)) keep(k);
        }
      }
    } else {
      for (int k = warp; k < count; k += warps)
        if (has_node(k)) {
          compute.by_one(value, first + k);
          keep(k);
        }
    }
    if (count == 1) return;
    __syncthreads();
    if (count <= warp_lanes) {
      if (warp == 0) join_shared(value, shared, 1, first, count, 0);
      return;
    }
    // Groups of 32, each to the place of its first value; then the groups.
    for (int k = warp * warp_lanes; k < count; k += warps * warp_lanes) {
      T group;
      join_shared(group, shared + k, 1, first + k, warp_lanes, 0);
      __syncwarp();
      if (lane == 0) shared[k] = group;
    }
    __syncthreads();
    if (warp == 0) join_shared(value, shared, warp_lanes, first / warp_lanes, count / warp_lanes, 5);
  }

  // The values shared[l * stride] of the units first + l, each of 2^log2 nodes, l < count, to lane 0.
  __device__ void join_shared(T& value, const T* shared, int stride, index_t first, int count,
                              int log2) const {
    const int lane = static_cast<int>(threadIdx.x % warp_lanes);
    if (lane < count) value = shared[lane * stride];
    join_nodes(value, lane < count && has_nodes(first + lane, log2), count, reducer);
  }

  // The values of all blocks, each of 2^log2_nodes nodes, to thread 0, in rounds: a lane joins some that
  // follow each other, whose loads are in flight together, and a warp those of its lanes. A round passes its
  // values to the next through shared memory, or, where they do not fit, through the two halves of the
  // scratch memory in turn.
  __device__ void join_blocks(T& whole, const FromBlocks& blocks) const {
    T* const shared = shared_values();
    const T* from = nullptr;
    int log2_unit = log2_nodes;
    index_t count = gridDim.x, unit = base >> log2_unit;
    const index_t warp = threadIdx.x / warp_lanes, warps = blockDim.x / warp_lanes;
    const index_t lane = threadIdx.x % warp_lanes;
    // Ranges that begin below zero end with two nodes, -1 and 0, which have no common parent.
    for (int round = 0; round == 0 || (count > 1 && !(count == 2 && unit == -1)); ++round) {
      const index_t first_group = unit >> FromBlocks::log2_group,
                    last_group = ((unit + count - 1) >> FromBlocks::log2_group) + 1;
      const index_t groups = last_group - first_group;
      T* const to = groups <= capacity ? shared + (round % 2) * capacity
                                       : static_cast<T*>(scratch.partials) +
                                             (round % 2) * FromBlocks::most_groups(gridDim.x);
#pragma unroll 1
      for (index_t group = first_group + warp; group < last_group; group += warps) {
        T value[FromBlocks::values];
        const index_t first = ((group * warp_lanes + lane) << FromBlocks::log2_values) - unit;
        if (round == 0) {
          blocks.receive(value, static_cast<unsigned>(group - first_group), static_cast<unsigned>(lane));
          if (shows_writes()) see_of_device();
        } else {
#pragma unroll
          for (int o = 0; o < FromBlocks::values; ++o)
            if (first + o >= 0 && first + o < count) value[o] = from[first + o];
        }
        bool has[FromBlocks::values];
#pragma unroll
        for (int o = 0; o < FromBlocks::values; ++o) {
          has[o] = first + o >= 0 && first + o < count;
          if constexpr (!Nodes::all_numbers) has[o] = has[o] && has_nodes(unit + first + o, log2_unit);
        }
        join_nodes(value[0], join_own(value, has, reducer), warp_lanes, reducer);
        if (lane == 0) {
          if (groups == 1) whole = value[0];
          else to[group - first_group] = value[0];
        }
      }
      if (groups == 1) return;
      __syncthreads();
      from = to;
      count = groups;
      unit = first_group;
      log2_unit += FromBlocks::log2_group;
    }
    if (threadIdx.x == 0) {
      whole = from[0];
      if (count == 2) join(whole, from[1]);
    }
  }

  __device__ void end(T& value) const {
    finish.on_device(value);
    if (host.words != nullptr) hand_over(host, value);
  }
};

}  // namespace strata::inline STRATA_ABI::detail
