// StreamWindows: which window of the buffers each tile uses, and what it waits for: a slot, or rows of a ring
// buffer, are free when the tiles that used them before are done with them. Pure logic.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <deque>
#include <vector>

#include <strata/algorithms/streaming/plan/stream_plan.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

/// A wait of the first tile of a window until its slot is free: for a stage of an earlier tile, counted from
/// the first tile of all passes.
struct SlotWait {
  StreamStage stage;
  long tile;
};
/// Counts the windows of tiles, or the rows of buffers that wrap round.
class StreamWindows {
 public:
  StreamWindows() = default;
  /// No tiles yet. Uses the windows of the plan's arrays, not its passes.
  StreamWindows(const StreamProblem& problem, const StreamPlan& plan);
  /// The tiles of the next pass.
  void add(const StreamPass& pass);
  /// Of windows that do not wrap round.
  long window_of(long tile) const { return of_tile_[static_cast<std::size_t>(tile)]; }
  std::vector<SlotWait> waits(long tile) const;

 private:
  void add_wrapping(const StreamTile& tile);

  int slots_ = 1;
  bool wraps_ = false;
  std::vector<long> of_tile_, first_;  // the first tile of each window
  // For ring buffers. Rows are counted on from pass to pass. Rows before `begins_` of a tile are not needed
  // any more when it begins.
  struct Wrapping {
    int array;
    StreamStage frees;  // the last stage of a tile that needs its rows
    index_t capacity, pass_rows;
  };
  std::vector<Wrapping> wrapping_;
  std::vector<index_t> before_;              // of those, rows of passes so far
  std::deque<std::vector<index_t>> begins_;  // of tiles from `oldest_` on
  long oldest_ = 0;
  std::array<long, 3> overwritten_{};            // of each stage: tiles before it are overwritten
  std::vector<std::array<long, 3>> overwrites_;  // of tiles: overwritten_
};

}  // namespace strata::inline STRATA_ABI::detail::streaming
