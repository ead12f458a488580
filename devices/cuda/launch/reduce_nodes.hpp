// The nodes of reductions on a GPU, and how a warp computes one: up to 512 items, 64 lanes of the tree
// (core/reduction_tree.hpp) being two a thread, joined by halves.
//
// A node is a block of a range, or a block of a row of a box.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <strata/core/reduction_tree.hpp>
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

/// The nodes of a box.
template <int Rank, class Body>
BoxNodes<Rank, Body> box_nodes(const TileRange<Rank>& range, const Body& body) {
  BoxNodes<Rank, Body> nodes{body, {}, {}, 0, 0, 0, 0, 0};
  index_t row_items = 1;
  for (int d = 0; d < Rank; ++d) {
    nodes.lower[d] = range.lower[d];
    nodes.extent[d] = range.upper[d] - range.lower[d];
    if (d > 0) row_items *= nodes.extent[d];
  }
  if (range.items() > 0) {
    nodes.row_items = row_items;
    nodes.blocks = (row_items + reduction_block - 1) / reduction_block;
    while ((index_t{1} << nodes.log2_row) < nodes.blocks) ++nodes.log2_row;
    nodes.first = range.lower[0] << nodes.log2_row;
    nodes.last = range.upper[0] << nodes.log2_row;
  }
  return nodes;
}

/// The threads of blocks whose warps compute nodes; of the hints, the launch bounds count.
template <class T, class Static>
struct NodeThreads {
  static constexpr bool bounded = Static::max_threads > 0;
  /// Warps of a block: 16 where values are small; kernels of larger ones need more registers.
  static constexpr int log2_most_warps = [] {
    int log2 = sizeof(T) <= 8 ? 4 : sizeof(T) <= 512 ? 3 : 0;
    while (bounded && (warp_lanes << log2) > Static::max_threads) --log2;
    return log2;
  }();
  /// Launch bounds. By default a multiprocessor should hold two blocks: 64 registers a thread for small
  /// values, and 128, which keep more loads in flight, for larger ones.
  static constexpr int most_threads = bounded ? Static::max_threads : warp_lanes << log2_most_warps;
  static constexpr int least_blocks = bounded ? bounded_blocks<Static> : log2_most_warps > 0 ? 2 : 1;
};

/// Computes nodes, each by a warp.
template <class Nodes, class Reducer>
struct NodeByWarp {
  using T = typename Reducer::value_type;
  static constexpr int tree_lanes = reduction_lanes<T>;

  const Nodes& nodes;
  const Reducer& reducer;

  /// Node `node`, to lane 0: at most 512 items, item k adding to lane k % tree_lanes. All lanes call it.
  __device__ void operator()(T& result, index_t node) const {
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
      if (lane + warp_lanes < count) reducer.join(low, high);
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

 private:
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
      if (lane < half && lane + half < count) reducer.join(value, above);
    }
  }
};

}  // namespace strata::inline STRATA_ABI::detail
