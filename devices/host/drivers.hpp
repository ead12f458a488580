// The drivers of reductions and scans on host threads, without a template: they know the tree, not the
// kernel. A device gives its way to run pieces; the kernel comes as a function of one node (block, or row of
// a box).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/reduction_tree.hpp>
#include <strata/devices/chunk.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The threads that a driver may use. `run` returns when all pieces are done and throws their first
/// exception. Where several threads run pieces, each does under a HostWorkerScope (host/worker.hpp) with a
/// number of its own, less than `workers`.
struct Runner {
  void (*run)(const void* context, const ChunkRange& range, ChunkFunction function);
  const void* context;
  int workers;
};

/// A reduction whose leaves are computed node by node: `node(context, number, partial)` writes a partial.
struct ReduceNodes {
  ValueOps ops;
  std::size_t alignment;
  void (*node)(const void* context, index_t number, void* partial);
};

/// Writes the joined value of nodes [first, last) to `result`; the identity if there are none.
void reduce_nodes(const Runner& runner, index_t first, index_t last, const ReduceNodes& nodes, void* result);

/// A scan by blocks: `block(context, number, update, final)` adds the block's items to `update`, one after
/// the other.
struct ScanBlocks {
  ValueOps ops;
  std::size_t alignment;
  void (*block)(const void* context, index_t number, void* update, bool final);
  bool exact;  // + is associative to the bit: one thread needs one pass
};

/// `carry` holds the start value and then the total. Totals of blocks are computed first and joined one after
/// the other, so that the bits depend neither on the number of threads nor on the cut into slices.
void scan_blocks(const Runner& runner, index_t first, index_t last, const ScanBlocks& blocks, void* carry);

}  // namespace strata::inline STRATA_ABI::detail
