// The drivers of reductions and scans on host threads, without a template: they know the order of joins, not
// the kernel. A device gives its way to run pieces; the kernel comes as functions of one node (block, row of
// a box, or tile of a scan).
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

/// A reduction whose leaves are computed by `nodes(context, first, last, partial)`, which writes the value of
/// nodes [first, last): one, or several of an aligned group of 2^together, joined as the tree joins them.
struct ReduceNodes {
  ValueOps ops;
  std::size_t alignment;
  void (*nodes)(const void* context, index_t first, index_t last, void* partial);
  int together = 0;
};

/// Writes the joined value of nodes [first, last) to `result`; the identity if there are none.
void reduce_nodes(const Runner& runner, index_t first, index_t last, const ReduceNodes& nodes, void* result);

/// A scan by tiles (core/scan_order.hpp). Where joins are exact, a tile's items are added to `value` one
/// after the other, and `runs` is not used.
struct ScanTiles {
  ValueOps ops;
  std::size_t alignment;
  std::size_t runs;  // values that a tile needs room for
  bool exact;
  /// Writes the sum of the tile's items to `value`, and to `runs` what `final` needs.
  void (*total)(const void* context, index_t tile, void* runs, void* value);
  /// Calls the kernel with the prefix of each item; `value` is the sum before the tile, and where joins are
  /// exact afterwards includes it.
  void (*final)(const void* context, index_t tile, const void* runs, void* value);
};

/// `carry` holds the start value and then the total.
void scan_tiles(const Runner& runner, index_t first, index_t last, const ScanTiles& tiles, void* carry);

}  // namespace strata::inline STRATA_ABI::detail
