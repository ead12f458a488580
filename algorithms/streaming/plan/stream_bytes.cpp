// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/algorithms/streaming/plan/stream_plan.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

using Use = StreamArray::Use;

index_t array_bytes(const StreamArray& array, index_t rows, int slots, index_t repeat_granule) {
  if (array.use == Use::Whole) return buffer_bytes(array, rows);
  if (repeat_granule > 0) return buffer_bytes(array, rows, repeat_granule);
  return buffer_bytes(array, rows) * slots * (array.use == Use::State ? 2 : 1);
}

index_t buffer_bytes(const StreamArray& array, index_t rows, index_t repeat_granule) {
  if (repeat_granule > 0) {  // windows begin and end with tiles
    const index_t bytes = (rows + array.align - 1) / array.align * array.align * array.row_bytes;
    return (bytes + repeat_granule - 1) / repeat_granule * repeat_granule;
  }
  // Windows may begin and end within tiles of the layout.
  const index_t tiles = array.align > 1 ? (rows + 2 * (array.align - 1)) / array.align : rows;
  constexpr index_t granule = 512;
  const index_t bytes = tiles * array.align * array.row_bytes;
  return (bytes + granule - 1) / granule * granule;
}

StreamStage last_stage(const StreamProblem& problem, std::size_t array) {
  StreamStage last = StreamStage::Compute;
  if (!problem.arrays[array].temporary)
    for (const StreamLoop& loop : problem.loops)
      for (const StreamLoop::Use& use : loop.uses)
        if (static_cast<std::size_t>(use.array) == array && writes(use.mode)) last = StreamStage::Download;
  return last;
}

int tiles_before(const StreamProblem& problem, std::size_t array, int slots, int pieces) {
  if (problem.arrays[array].temporary) return 0;
  if (last_stage(problem, array) == StreamStage::Download) return slots - 1;
  return std::max(slots - 1 - pieces, std::min(slots - 1, pieces));
}

index_t device_bytes(const StreamProblem& problem, const StreamPass& pass, int slots,
                     std::vector<index_t>& window_rows, index_t repeat_granule, int pieces) {
  window_rows.assign(problem.arrays.size(), 0);
  index_t bytes = 0;
  for (std::size_t a = 0; a < problem.arrays.size(); ++a) {
    const StreamArray& array = problem.arrays[a];
    index_t& rows = window_rows[a];
    // Of buffers that wrap round the rows of a tile, and of those before it that are still under way.
    const std::size_t before =
        repeat_granule > 0 ? static_cast<std::size_t>(tiles_before(problem, a, slots, pieces)) : 0;
    for (std::size_t k = 0; k < pass.tiles.size(); ++k)
      rows =
          std::max(rows, pass.tiles[k].windows[a].end - pass.tiles[k - std::min(k, before)].windows[a].begin);
    if (repeat_granule > 0 && array.use != Use::Whole) {
      const index_t tile = array.align * std::max<index_t>(array.row_bytes, 1);
      rows = std::max(rows, buffer_bytes(array, rows, repeat_granule) / tile * array.align);
    }
    bytes += array_bytes(array, rows, slots, repeat_granule);
  }
  return bytes;
}

StreamBytes bytes_of(const StreamProblem& problem, const StreamPass& pass) {
  StreamBytes bytes;
  const auto of = [&](int array, ResidentRows rows) {
    return rows_of(rows) * problem.arrays[static_cast<std::size_t>(array)].row_bytes;
  };
  for (const StreamTile& tile : pass.tiles) {
    for (const StreamCopy& copy : tile.uploads) bytes.up += of(copy.array, copy.rows);
    for (const StreamCopy& copy : tile.downloads) bytes.down += of(copy.array, copy.rows);
    for (const StreamMove& move : tile.moves) bytes.moved += of(move.array, move.rows);
  }
  return bytes;
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
