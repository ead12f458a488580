// The nodes of reductions on a GPU, and how warps compute one: up to 512 items, in 64 lanes of the tree
// (core/reduction_tree.hpp), joined by halves. A warp has two lanes of the tree a thread; or two warps share
// a node, one lane a thread.
//
// A node is a block of a range, or a block of a row of a box (box_nodes.hpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <strata/core/reduction_tree.hpp>
#include <strata/devices/array_addresses.hpp>
#include <strata/devices/cuda/launch/kept_elements.hpp>
#include <strata/devices/cuda/launch/warp.hpp>
#include <strata/devices/launch_hints.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The nodes of an index range: its blocks.
template <class Body>
struct RangeNodes {
  using body_type = Body;
  static constexpr bool all_numbers = true;  // from the first to the last are of nodes
  Body body;
  index_t begin;
  index_t end;
  index_t first;  // node numbers
  index_t last;

  __device__ bool holds(index_t a, index_t b) const { return a < last && b > first; }
  __device__ index_t count(index_t node) const {
    const BlockItems items = items_of_block(node, begin, end);
    return items.end - items.begin;
  }
  /// No node has more items.
  index_t most_items() const {
    return end > begin && end - begin < reduction_block ? end - begin : reduction_block;
  }
  // Calls the body for item `k` of a node, or of those from an item on: compilers fold numbers that they know
  // into addresses.
  struct Items {
    const RangeNodes& nodes;
    index_t begin;
    __device__ Items from(index_t k) const { return {nodes, begin + k}; }
    template <class T>
    __device__ void operator()(index_t k, T& value) const {
      nodes.body(begin + k, value);
    }
    __device__ auto fetch(index_t k) const requires requires(const Body& body) { body.fetch(index_t{}); }
    { return nodes.body.fetch(begin + k); }
    __device__ void finish(index_t k, const auto& fetched, auto& value) const {
      nodes.body.finish(begin + k, fetched, value);
    }
    __device__ void keep(auto& kept, int number, index_t k) const {
      kept.keep(number, nodes.body, begin + k);
    }
    __device__ void assume_unchanged(const auto& kept, int number, index_t k) const {
      kept.assume_unchanged(number, nodes.body, begin + k);
    }
  };
  __device__ Items items(index_t node) const { return {*this, items_of_block(node, begin, end).begin}; }
  __device__ RangeNodes on_arrays(const ArrayAddresses& arrays) const {
    return {body.on_arrays(arrays), begin, end, first, last};
  }
};

/// The same as a row of a box, number 0.
template <class Body>
struct RangeAsRow : RangeNodes<Body> {
  index_t row_items;
  static constexpr int log2_row = 0;
  static constexpr index_t origin = 0;
};

/// Whether nodes are computed from items; else they join values that there are.
template <class Nodes>
inline constexpr bool has_items = requires {
  typename Nodes::Items;
};

/// Whether a body writes into views; false where that is not known.
template <class Body>
constexpr bool writes_views() {
  if constexpr (requires { Body::writes_views; }) return Body::writes_views;
  else return false;
}

/// Whether all that a body reaches is known, and it writes none of it.
template <class Body>
constexpr bool only_reads() {
  if constexpr (requires { Body::only_reads; }) return Body::only_reads;
  else return false;
}
/// A body whose arrays are separate: compilers load what an item reads before the items before it write.
template <class Body>
struct SeparateBody : Body {
  static constexpr bool is_separate = true;
  __host__ __device__ explicit SeparateBody(const Body& body) : Body(body) {}
  __device__ SeparateBody on_arrays(const ArrayAddresses& arrays) const {
    return SeparateBody(Body::on_arrays(arrays));
  }
};
template <class Body>
constexpr bool is_separate() {
  if constexpr (requires { Body::is_separate; }) return Body::is_separate;
  else return false;
}
/// Whether a reduction has a kernel for that.
template <class Body>
constexpr bool may_reduce_separate() {
  if constexpr (requires { Body::may_reduce_separate; }) return Body::may_reduce_separate;
  else return false;
}

/// The bytes of arrays that a body reaches for an item; 0 where that is not known.
template <class Nodes>
constexpr std::size_t item_bytes_of() {
  using Body = typename Nodes::body_type;
  if constexpr (requires(const Body& body) { body.fetch(index_t{}); })
    return sizeof(std::declval<const Body&>().fetch(index_t{}));
  else if constexpr (requires { Body::item_bytes; }) return Body::item_bytes;
  else return 0;
}

/// The threads of blocks that compute nodes; of the hints, the launch bounds count.
template <class Nodes, class T, class Static>
struct NodeThreads {
  static constexpr bool bounded = Static::max_threads > 0;
  /// Warps of a block: 8, or 16 of what has values of 8 bytes, or smaller ones and writes; one of large
  /// values, which need many registers. Of what only reads blocks of 16 warps took 1.35 times as long for
  /// sums of 1.09 million floats; for doubles as long, and for the least of 4.17 million 0.97 times.
  static constexpr int log2_most_warps = [] {
    constexpr bool has_many = sizeof(T) == 8 || (sizeof(T) < 8 && writes_views<typename Nodes::body_type>());
    int log2 = has_many ? 4 : sizeof(T) <= 512 ? 3 : 0;
    while (bounded && (warp_lanes << log2) > Static::max_threads) --log2;
    return log2;
  }();
  static constexpr bool can_share =
      has_items<Nodes> && reduction_lanes<T> == 2 * warp_lanes && log2_most_warps > 0;
  /// Whether a body writes and nodes can be shared. The loads of a thread's next item wait for the stores of
  /// this one; where two warps share each node, half as many items follow each other. On an H100 an update of
  /// two vectors with the sums of two more took 0.94 of the time in float, 0.97 in double.
  static constexpr bool writes = can_share && writes_views<typename Nodes::body_type>();
  /// Whether all that several items read is loaded before any of them writes.
  static constexpr bool in_two_steps = [] {
    if constexpr (has_items<Nodes>)
      return is_separate<typename Nodes::body_type>() || requires(const typename Nodes::Items& items) {
        items.fetch(index_t{});
      };
    else return false;
  }();
  /// Launch bounds. By default a thread has 64 registers where values are small or a body writes, and 128,
  /// which keep more loads in flight, for larger ones.
  static constexpr int most_threads = bounded ? Static::max_threads : warp_lanes << log2_most_warps;
  static constexpr int least_blocks = bounded                    ? bounded_blocks<Static>
                                      : log2_most_warps != 3     ? (log2_most_warps > 0 ? 2 : 1)
                                      : writes || sizeof(T) <= 8 ? 4
                                                                 : 2;

  /// Whether two warps share each of `count` nodes, on a device that holds `resident_threads` at a time. Not
  /// where the second half of the lanes would have no items. Twice as many warps help while all are resident;
  /// with more, only what writes gains, and only where the last round, which is not full, is a small part of
  /// all (from 8 rounds on, tried on an H200 with 4 and 15 rounds, nothing between).
  static bool shares(const Nodes& nodes, index_t count, index_t resident_threads) {
    if constexpr (can_share) {
      if (nodes.most_items() <= warp_lanes) return false;
      const index_t threads = 2 * warp_lanes * count;
      return threads <= resident_threads || (writes && threads >= 8 * resident_threads);
    } else {
      return false;
    }
  }
};

/// Where two warps that share nodes meet, in shared memory.
template <class T>
struct NodeMeeting {
  alignas(T) char half[2][warp_lanes * sizeof(T)];
};
/// That of the calling warp and its neighbour.
template <class Threads, class T>
__device__ NodeMeeting<T>& own_meeting() {
  __shared__ NodeMeeting<T> meetings[1 << (Threads::log2_most_warps - 1)];
  return meetings[threadIdx.x / (2 * warp_lanes)];
}

/// Computes nodes, at most 512 items each, item k adding to lane k % tree_lanes of the tree.
template <class Nodes, class Reducer, class Threads>
class NodeByWarps {
  using T = typename Reducer::value_type;
  static constexpr int tree_lanes = reduction_lanes<T>;

 public:
  __device__ NodeByWarps(const Nodes& nodes, const Reducer& reducer) : nodes_(nodes), reducer_(reducer) {}

  /// Node `node` by the calling warp, to its lane 0.
  __device__ void by_one(T& result, index_t node) const {
    if constexpr (!has_items<Nodes>) {
      nodes_.join(result, node, reducer_);
    } else {
      const int count = static_cast<int>(nodes_.count(node));
      const auto items = nodes_.items(node);
      if constexpr (tree_lanes < 2 * warp_lanes) few_lanes(result, items, count);
      else if constexpr (Threads::writes) one_after_another(result, items, count);
      else alone(result, items, count);
    }
  }
  /// Node `node` by two warps next to each other, the first of them even, which call it for the same nodes in
  /// the same order; `turn` counts the calls. Whether lane 0 of the calling warp has the value, in `result`.
  __device__ bool by_two(T& result, index_t node, NodeMeeting<T>& meeting, int turn) const {
    const int count = static_cast<int>(nodes_.count(node));
    const int lane = static_cast<int>(threadIdx.x % (2 * warp_lanes)), half = lane / warp_lanes;
    of_lane(nodes_.items(node), lane, count, result);
    // The warps take turns in going on, and have two places: before one is written again, both have passed
    // the barrier of the turn between.
    const int taker = turn % 2;
    T* const place = reinterpret_cast<T*>(meeting.half[taker]) + lane % warp_lanes;
    if (half != taker) *place = result;
    meet();
    if (half != taker) return false;
    T high = result;
    if (taker == 0) high = *place;
    else result = *place;
    join_node(result, high, count);
    return true;
  }
  /// A barrier for the two warps of a node.
  __device__ static void meet() {
    __syncwarp();
    asm volatile("bar.sync %0, 64;" ::"r"(1 + threadIdx.x / (2 * warp_lanes)) : "memory");
  }

 private:
  template <class Items>
  __device__ void few_lanes(T& value, const Items& items, int count) const {
    const int lane = static_cast<int>(threadIdx.x % warp_lanes);
    if (lane < tree_lanes && lane < count) reducer_.init(value);
    if (lane < tree_lanes) {
      constexpr int rounds = reduction_block / tree_lanes < 4 ? reduction_block / tree_lanes : 4;
      int k = lane;
      if (count == reduction_block)
#pragma unroll 1
        while (k < reduction_block) k = rounds_of_lane<rounds>(items, k, value);
      for (; k < count; k += tree_lanes) items(k, value);
    }
    __syncwarp();
    join_halves<tree_lanes>(value, count);
  }

  // Two lanes of the tree a thread.
  template <class Items>
  __device__ void alone(T& low, const Items& items, int count) const {
    const int lane = static_cast<int>(threadIdx.x % warp_lanes);
    T high;
    if (lane < count) reducer_.init(low);
    if (lane + warp_lanes < count) reducer_.init(high);
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
    join_node(low, high, count);
  }
  template <int Rounds, class Items>
  __device__ static int rounds_of(const Items& items, int k, T& low, T& high) {
    visit_lines<(Rounds - 1) * tree_lanes + warp_lanes>(items, k, [&](const auto& own) {
#pragma unroll
      for (int r = 0; r < Rounds; ++r) {
        own(r * tree_lanes, low);
        own(r * tree_lanes + warp_lanes, high);
      }
    });
    return k + Rounds * tree_lanes;
  }
  // Calls f with the items from k on, of which it takes those up to number `Last`.
  template <int Last, class Items, class F>
  __device__ static void visit_lines(const Items& items, int k, const F& f) {
    if constexpr (requires { items.two_lines(k); })
      if (items.have_two_lines(Last + 1)) return f(items.two_lines(k));
    f(items.from(k));
  }

  // The two lanes of a thread one after the other, in registers that two warps a node would need, too.
  template <class Items>
  __device__ void one_after_another(T& low, const Items& items, int count) const {
    T high;
#pragma unroll 1
    for (int half = 0; half < 2; ++half) {
      T own;
      of_lane(items, static_cast<int>(threadIdx.x % warp_lanes) + half * warp_lanes, count, own);
      if (half == 0) low = own;
      else high = own;
    }
    join_node(low, high, count);
  }
  // The items of a lane of the tree, in their order.
  template <class Items>
  __device__ void of_lane(const Items& items, int lane, int count, T& value) const {
    if (lane < count) reducer_.init(value);
    int k = lane;
    if (count == reduction_block) {
      rounds_of_lane<reduction_block / tree_lanes>(items, k, value);
    } else {
      if ((count & (4 * tree_lanes)) != 0) k = rounds_of_lane<4>(items, k, value);
#pragma unroll 1
      for (; k < count; k += tree_lanes) items(k, value);
    }
  }
  // Several rounds of a lane: their loads first, by the body's fetch, or of arrays that are separate; else
  // where the compiler finds that it may.
  template <int Rounds, class Items>
  __device__ static int rounds_of_lane(const Items& items, int k, T& value) {
    // As many as 64 registers hold. Values of more than 16 bytes have 32 lanes, and 4 rounds here.
    constexpr int most = item_bytes_of<Nodes>() <= 40 ? 8 : 4, batch = Rounds < most ? Rounds : most;
    if constexpr (requires { items.fetch(index_t{}); }) {
      using Fetched = decltype(items.fetch(index_t{}));
#pragma unroll 1
      for (int b = 0; b < Rounds; b += batch) {
        const Items own = items.from(k + b * tree_lanes);
        Fetched fetched[batch];
#pragma unroll
        for (int r = 0; r < batch; ++r) fetched[r] = own.fetch(r * tree_lanes);
#pragma unroll
        for (int r = 0; r < batch; ++r) own.finish(r * tree_lanes, fetched[r], value);
      }
    } else if constexpr (is_separate<typename Nodes::body_type>()) {
#pragma unroll 1
      for (int b = 0; b < Rounds; b += batch) {
        // The compiler finds that items reach different elements where they are numbered by constants.
        const Items own = items.from(k + b * tree_lanes);
        KeptOfItems<batch, true> kept;
#pragma unroll
        for (int r = 0; r < batch; ++r) own.keep(kept, r, r * tree_lanes);
#pragma unroll
        for (int r = 0; r < batch; ++r) {
          own.assume_unchanged(kept, r, r * tree_lanes);
          own(r * tree_lanes, value);
        }
      }
    } else {
      visit_lines<(Rounds - 1) * tree_lanes>(items, k, [&](const auto& own) {
#pragma unroll
        for (int r = 0; r < Rounds; ++r) own(r * tree_lanes, value);
      });
    }
    return k + Rounds * tree_lanes;
  }
  // Lane l of a warp has lanes l and l + 32 of the tree.
  __device__ void join_node(T& low, const T& high, int count) const {
    if (static_cast<int>(threadIdx.x % warp_lanes) + warp_lanes < count) reducer_.join(low, high);
    join_halves<warp_lanes>(low, count);
  }
  template <int Lanes>
  __device__ void join_halves(T& value, int count) const {
    const int lane = static_cast<int>(threadIdx.x % warp_lanes);
#pragma unroll
    for (int half = Lanes / 2; half > 0; half /= 2) {
      T above;
      value_from_above(above, value, half);
      if (lane < half && lane + half < count) reducer_.join(value, above);
    }
  }

  const Nodes& nodes_;
  const Reducer& reducer_;
};

}  // namespace strata::inline STRATA_ABI::detail
