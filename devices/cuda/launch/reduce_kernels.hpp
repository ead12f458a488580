// The kernel of reductions, one for all of them: core/reduction_tree.hpp on a GPU.
//
//   a warp     computes a node: up to 512 items, 64 lanes of the tree being two a thread, joined by halves
//   a block    has an aligned group of 2^k nodes, which its warps take in turn: all read close to each other.
//              The values go to shared memory; a warp joins up to 32, one in each of its lanes
//
// Small reductions are done by one block, or by 8 in a cluster, which send their values to the first one. In
// large ones the last block to finish joins the blocks' values. One thread runs the finish.
//
// `Nodes` defines a node: a block of a range, or a block of a row of a box; numbers without a node are left
// out. One launch, whatever the size.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/reduction_tree.hpp>
#include <strata/devices/cuda/launch/block_check.hpp>
#include <strata/devices/cuda/launch/cluster_gather.hpp>
#include <strata/devices/cuda/launch/warp.hpp>
#include <strata/devices/launch_hints.hpp>
#include <strata/devices/launch_info.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The nodes of an index range: its blocks.
template <class Body>
struct RangeNodes {
  Body body;
  index_t begin;
  index_t end;
  index_t first;  // node numbers
  index_t last;

  __device__ bool holds(index_t a, index_t b) const { return a < last && b > first; }
  __device__ bool holds_all(index_t a, index_t b) const { return a >= first && b <= last; }
  __device__ index_t count(index_t node) const {
    const BlockItems items = items_of_block(node, begin, end);
    return items.end - items.begin;
  }
  // Calls the body for item `k` of a node.
  struct Items {
    const RangeNodes& nodes;
    index_t begin;
    template <class T>
    __device__ void operator()(index_t k, T& value) const {
      nodes.body(begin + k, value);
    }
  };
  __device__ Items items(index_t node) const { return {*this, items_of_block(node, begin, end).begin}; }
};

/// The nodes of a box: each row has `blocks` of them, numbered from row * 2^log2_row on; the other numbers
/// are of no node, which makes the tree pairwise within a row and then over rows.
template <int Rank, class Body>
struct BoxNodes {
  Body body;
  index_t lower[Rank];
  index_t extent[Rank];
  index_t row_items;
  index_t blocks;
  int log2_row;
  index_t first;
  index_t last;

  __device__ bool holds(index_t a, index_t b) const {
    const index_t row_size = index_t{1} << log2_row;
    return a < last && b > first && (b - a >= row_size || (a & (row_size - 1)) < blocks);
  }
  __device__ bool holds_all(index_t a, index_t b) const {
    return a >= first && b <= last && blocks == index_t{1} << log2_row;
  }
  __device__ index_t count(index_t node) const {
    const index_t left = row_items - (node & ((index_t{1} << log2_row) - 1)) * reduction_block;
    return left < reduction_block ? left : reduction_block;
  }
  struct Items {
    const BoxNodes& nodes;
    index_t row;
    index_t begin;
    template <class T>
    __device__ void operator()(index_t k, T& value) const {
      index_t at[Rank];
      index_t left = begin + k;
      at[0] = row;
      for (int d = Rank - 1; d > 1; --d) {
        at[d] = nodes.lower[d] + left % nodes.extent[d];
        left /= nodes.extent[d];
      }
      at[1] = nodes.lower[1] + left;
      call(at, value, std::make_index_sequence<Rank>());
    }
    template <class T, std::size_t... D>
    __device__ void call(const index_t (&at)[Rank], T& value, std::index_sequence<D...>) const {
      nodes.body(at[D]..., value);
    }
  };
  __device__ Items items(index_t node) const {
    const index_t row = node >> log2_row;
    return {*this, row, (node - (row << log2_row)) * reduction_block};
  }
};

/// A reduction by the blocks of one launch; of the hints, the launch bounds count.
template <class Nodes, class Reducer, class Finish, class Static = StaticHints<>>
struct CudaReduce {
  using T = typename Reducer::value_type;
  static constexpr int tree_lanes = reduction_lanes<T>;
  static constexpr bool bounded = Static::max_threads > 0;
  /// Warps of a block: 16 where values are small; kernels of larger ones need more registers.
  static constexpr int log2_most_warps = [] {
    int log2 = sizeof(T) <= 8 ? 4 : sizeof(T) <= 512 ? 3 : 0;
    while (bounded && (warp_lanes << log2) > Static::max_threads) --log2;
    return log2;
  }();
  /// Nodes of a block: their values have up to 16 KiB of shared memory, large ones 32 KiB.
  static constexpr int log2_most_nodes = [] {
    int log2 = 8;
    while (log2 > 0 && (sizeof(T) << log2) > (sizeof(T) <= 512 ? 16384 : 32768)) --log2;
    return log2;
  }();
  static_assert(log2_most_nodes >= log2_most_warps);
  /// Launch bounds. By default a multiprocessor should hold two blocks: 64 registers a thread for small
  /// values, and 128, which keep more loads in flight, for larger ones.
  static constexpr int most_threads = bounded ? Static::max_threads : warp_lanes << log2_most_warps;
  static constexpr int least_blocks = bounded ? bounded_blocks<Static> : log2_most_warps > 0 ? 2 : 1;
  /// Blocks of a cluster.
  static constexpr int log2_cluster = sizeof(T) <= 64 ? 3 : 0;
  using Gather = ClusterGather<T, 1 << log2_cluster>;

  Nodes nodes;
  Reducer reducer;
  Finish finish;
  bool clustered;
  int log2_warps;  // of a block
  int log2_nodes;  // of a block, as many as warps or more
  index_t base;    // the first node of the first block's group
  CudaScratch scratch;
  CudaHostSlot host;
  CudaCheck check;

  /// The work that needs no memory, done before the block waits for the kernel before it.
  __device__ void prepare(Gather& gather) const {
    if (clustered) gather.prepare();
  }

  __device__ void run(Gather& gather) const {
    T value;
    join_blocks_nodes(value, base + (static_cast<index_t>(blockIdx.x) << log2_nodes));
    if (gridDim.x == 1) {
      if (threadIdx.x == 0) {
        if (!nodes.holds(base, base + (index_t{1} << log2_nodes))) reducer.init(value);
        end(value);
      }
    } else if (clustered) {
      join_cluster(gather, value);
    } else {
      join_grid(value);
    }
  }

 private:
  // For join_nodes: units of 2^log2 nodes.
  struct Holds {
    const CudaReduce& reduce;
    int log2;
    __device__ bool operator()(index_t first, index_t last) const {
      return reduce.nodes.holds(first << log2, last << log2);
    }
    __device__ bool all(index_t first, index_t last) const {
      return reduce.nodes.holds_all(first << log2, last << log2);
    }
  };

  // The values of the cluster's blocks, and the end.
  __device__ void join_cluster(Gather& gather, T& value) const {
    gather.send(value);
    if (blockIdx.x != 0 || threadIdx.x >= warp_lanes) return;
    gather.receive(value);
    join_nodes(value, base >> log2_nodes, 1 << log2_cluster, reducer, Holds{*this, log2_nodes});
    if (threadIdx.x == 0) end(value);
  }

  // The last block to arrive here sees what all others wrote.
  __device__ void join_grid(T& value) const {
    T* const partial = static_cast<T*>(scratch.partials);
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
      partial[blockIdx.x] = value;
      __threadfence();
      is_last = atomicAdd(scratch.counter, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    join_partials(value, partial, log2_nodes);
    if (threadIdx.x == 0) {
      *scratch.counter = 0;
      end(value);
    }
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
    const int warp = static_cast<int>(threadIdx.x / warp_lanes), warps = 1 << log2_warps;
    const int count = 1 << log2_nodes;
    if (count == 1) {
      if (nodes.holds(first, first + 1)) reduce_node(value, first);
      return;
    }
    T* const shared = shared_values();
    for (int k = warp; k < count; k += warps) {
      if (!nodes.holds(first + k, first + k + 1)) continue;
      T node;
      reduce_node(node, first + k);
      if (lane == 0) shared[k] = node;
    }
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
    join_nodes(value, first, count, reducer, Holds{*this, log2});
  }

  // One node, to lane 0: at most 512 items, item k adding to lane k % tree_lanes.
  __device__ void reduce_node(T& result, index_t node) const {
    const int lane = static_cast<int>(threadIdx.x % warp_lanes);
    const int count = static_cast<int>(nodes.count(node));
    const auto items = nodes.items(node);
    if constexpr (tree_lanes == 2 * warp_lanes) {
      T low, high;
      if (lane < count) reducer.init(low);
      if (lane + warp_lanes < count) reducer.init(high);
      // Full rounds of all lanes, many at a time, so that their loads do not wait for each other.
      if (count == reduction_block) {
        rounds_of<reduction_block / tree_lanes>(items, lane, low, high);
      } else {
        int k = lane;
        if ((count & (4 * tree_lanes)) != 0) k = rounds_of<4>(items, k, low, high);
        if ((count & (2 * tree_lanes)) != 0) k = rounds_of<2>(items, k, low, high);
        if ((count & tree_lanes) != 0) k = rounds_of<1>(items, k, low, high);
        if (k < count) items(k, low);
        if (k + warp_lanes < count) items(k + warp_lanes, high);
      }
      if (lane + warp_lanes < count) join(low, high);
      join_halves<warp_lanes>(low, count);
      result = low;
    } else {
      T value;
      if (lane < tree_lanes && lane < count) reducer.init(value);
      if (lane < tree_lanes) {
        if (count == reduction_block) {
#pragma unroll 4
          for (int k = 0; k < reduction_block; k += tree_lanes) items(k + lane, value);
        } else {
          for (int k = lane; k < count; k += tree_lanes) items(k, value);
        }
      }
      __syncwarp();
      join_halves<tree_lanes>(value, count);
      result = value;
    }
  }
  template <int Rounds, class Items>
  __device__ static int rounds_of(const Items& items, int k, T& low, T& high) {
#pragma unroll
    for (int r = 0; r < Rounds; ++r) {
      items(k + r * tree_lanes, low);
      items(k + r * tree_lanes + warp_lanes, high);
    }
    return k + Rounds * tree_lanes;
  }
  template <int Lanes>
  __device__ void join_halves(T& value, int count) const {
    const int lane = static_cast<int>(threadIdx.x % warp_lanes);
#pragma unroll
    for (int half = Lanes / 2; half > 0; half /= 2) {
      T above;
      value_from_above(above, value, half);
      if (lane < half && lane + half < count) join(value, above);
    }
  }

  // The partials of all blocks, each of 2^log2_unit nodes, to thread 0: rounds of 32. A round passes its
  // values to the next through shared memory, or, where they do not fit, from one half of the scratch memory
  // to the other and back.
  __device__ void join_partials(T& whole, T* partial, int log2_unit) const {
    constexpr int capacity = (1 << log2_most_nodes) / 2;
    T* const shared = shared_values();
    T* from = partial;
    index_t count = gridDim.x, unit = base >> log2_unit;
    const index_t warp = threadIdx.x / warp_lanes, warps = blockDim.x / warp_lanes;
    const index_t lane = threadIdx.x % warp_lanes;
    // A warp loads several groups before it joins the first: a load takes longer than a join.
    constexpr int batch = sizeof(T) <= 16 ? 4 : 1;
    // Ranges that begin below zero end with two nodes, -1 and 0, which have no common parent.
    for (int round = 0; count > 1 && !(count == 2 && unit == -1); ++round) {
      const index_t first_group = unit >> 5, last_group = ((unit + count - 1) >> 5) + 1;
      const index_t groups = last_group - first_group;
      T* const to = groups <= capacity ? shared + (round % 2) * capacity
                                       : partial + (from == partial ? index_t{gridDim.x} : 0);
      for (index_t group = first_group + warp; group < last_group; group += batch * warps) {
        T value[batch];
#pragma unroll
        for (int b = 0; b < batch; ++b) {
          const index_t k = (group + b * warps) * warp_lanes + lane - unit;
          if (k >= 0 && k < count) value[b] = from[k];
        }
#pragma unroll
        for (int b = 0; b < batch; ++b) {
          const index_t own = group + b * warps;
          if (own >= last_group) break;
          join_nodes(value[b], own * warp_lanes, warp_lanes, reducer, Holds{*this, log2_unit});
          if (lane == 0) {
            if (groups == 1) whole = value[b];
            else to[own - first_group] = value[b];
          }
        }
      }
      if (groups == 1) return;
      __syncthreads();
      from = to;
      count = groups;
      unit = first_group;
      log2_unit += 5;
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
