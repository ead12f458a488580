// The reduction tree: it depends only on the range and the value type, so that a launch gives the same bits
// whole, split over devices, or streamed in slices, with any number of threads.
//
//   work items   b*B .............. (b+1)*B     blocks of B items, aligned to the *global* index
//   lanes        L partial values of a block: item i adds to lane (i - f) % L, f the first item of the
//                range in the block
//   in a block   lane l joins lane l + h for h = L/2, L/4, ..., 1; lanes without an item take no part
//   over blocks  pairwise: node j of level k joins nodes 2j and 2j+1 of level k-1, if these exist
//   boxes        a row (one left-most index) takes the place of a block; its items, last index fastest, go in
//                blocks of B counted from the first, joined pairwise
//
// Lanes are those of SIMD registers on hosts, and threads of a warp on GPUs; joins by halves vectorise on
// both. A device may reduce any aligned group of 2^k blocks on its own without changing the tree.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Work items of one block.
inline constexpr index_t reduction_block = 512;

/// Partial values kept for one block: as many as fit 1 KiB, at most 64, a power of two.
template <class T>
inline constexpr int reduction_lanes = [] {
  int lanes = 64;
  while (lanes > 1 && static_cast<std::size_t>(lanes) * sizeof(T) > 1024) lanes /= 2;
  return lanes;
}();

/// Nodes [first, last), of 2^Log2 items aligned to the global index, that a range of work items touches.
struct BlockRange {
  index_t first;
  index_t last;
};
template <int Log2>
STRATA_FUNCTION constexpr BlockRange aligned_nodes(index_t begin, index_t end) {
  // Arithmetic shifts floor, so ranges may begin below zero.
  if (begin >= end) return {0, 0};
  return {begin >> Log2, ((end - 1) >> Log2) + 1};
}

/// The items of the range [begin, end) that lie in such a node. No sum here leaves 64 bits, whatever the
/// range.
struct BlockItems {
  index_t begin;
  index_t end;
};
template <int Log2>
STRATA_FUNCTION constexpr BlockItems items_of_node(index_t node, index_t begin, index_t end) {
  constexpr index_t size = index_t{1} << Log2;
  const index_t first = node * size;
  const index_t from = first > begin ? first : begin;
  const index_t left = size - (from - first);
  const auto ahead = static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(from);
  return {from, ahead < static_cast<std::uint64_t>(left) ? end : from + left};
}

inline constexpr int reduction_block_log2 = 9;
static_assert((index_t{1} << reduction_block_log2) == reduction_block);
/// The blocks that a range of work items touches, and the items of one.
STRATA_FUNCTION constexpr BlockRange reduction_blocks(index_t begin, index_t end) {
  return aligned_nodes<reduction_block_log2>(begin, end);
}
STRATA_FUNCTION constexpr BlockItems items_of_block(index_t block, index_t begin, index_t end) {
  return items_of_node<reduction_block_log2>(block, begin, end);
}

/// Joins lanes 0..count-1 of one block into lane 0; `join(a, b)` means a = a + b.
template <int Lanes, class T, class Join>
STRATA_FUNCTION constexpr void join_lanes(T* lane, index_t count, const Join& join) {
  const int used = count < Lanes ? static_cast<int>(count) : Lanes;
  for (int half = Lanes / 2; half > 0; half /= 2) {
    const int pairs = used - half < half ? used - half : half;
    for (int l = 0; l < pairs; ++l) join(lane[l], lane[l + half]);
  }
}

/// The operations on type-erased values of a reduction.
struct ValueOps {
  const void* context;
  std::size_t bytes;
  void (*init)(const void* context, void* value);
  void (*join)(const void* context, void* value, const void* other);  // value = value + other
};

/// Joins the partials of consecutive nodes pairwise as they come, like a binary counter: at most one pending
/// partial a level. Storage for `levels` partials is the caller's; 64 always suffice.
class PairwiseJoin {
 public:
  static constexpr int levels = 64;

  /// `storage` holds levels * ops.bytes bytes, aligned for the value type.
  PairwiseJoin(const ValueOps& ops, void* storage) : ops_(ops), storage_(static_cast<char*>(storage)) {}

  /// Where to write the partial of the next node; then call push with the node's number, one more than the
  /// last.
  void* next() { return slot(count_); }
  void push(index_t node);
  /// The joined value of all nodes pushed; nullptr if there were none.
  void* finish();

 private:
  char* slot(int s) const { return storage_ + static_cast<std::size_t>(s) * ops_.bytes; }
  // One step up for the top-most pending node: joined to its left sibling where that is pending.
  void climb();

  ValueOps ops_;
  char* storage_;
  int count_ = 0;
  index_t node_[levels] = {};
  int level_[levels] = {};
};

}  // namespace strata::inline STRATA_ABI::detail
