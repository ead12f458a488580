// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/algorithms/streaming/plan/stream_windows.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

StreamWindows::StreamWindows(const StreamProblem& problem, const StreamPlan& plan)
    : slots_(plan.slots), wraps_(plan.wraps()) {
  if (!wraps_) return;
  for (std::size_t a = 0; a < problem.arrays.size(); ++a) {
    // Tiles are computed one after the other: rows that neither come nor go wait for nothing else.
    const StreamArray& array = problem.arrays[a];
    if (array.use == StreamArray::Use::Whole || array.temporary || plan.window_rows[a] == 0) continue;
    wrapping_.push_back(
        {static_cast<int>(a), last_stage(problem, a), plan.window_rows[a], rows_of_pass(array)});
  }
  before_.assign(wrapping_.size(), 0);
}

void StreamWindows::add(const StreamPass& pass) {
  for (const StreamTile& tile : pass.tiles) {
    if (wraps_) {
      add_wrapping(tile);
      continue;
    }
    if (!tile.same_window || first_.empty()) first_.push_back(static_cast<long>(of_tile_.size()));
    of_tile_.push_back(static_cast<long>(first_.size()) - 1);
  }
  for (std::size_t w = 0; w < wrapping_.size(); ++w) before_[w] += wrapping_[w].pass_rows;
}

// Rows of the tile take the place of those a buffer's length before them: the tiles that needed these are
// those before the first one that begins after them.
void StreamWindows::add_wrapping(const StreamTile& tile) {
  std::vector<index_t> begins(wrapping_.size()), ends(wrapping_.size());
  for (std::size_t w = 0; w < wrapping_.size(); ++w) {
    const ResidentRows window = tile.windows[static_cast<std::size_t>(wrapping_[w].array)];
    begins[w] = before_[w] + window.begin;
    ends[w] = before_[w] + window.end;
  }
  begins_.push_back(static_cast<std::vector<index_t>&&>(begins));
  const long last = oldest_ + static_cast<long>(begins_.size()) - 1;
  for (std::size_t w = 0; w < wrapping_.size(); ++w) {
    const auto begin_of = [&](long k) { return begins_[static_cast<std::size_t>(k - oldest_)][w]; };
    long& overwritten = overwritten_[static_cast<std::size_t>(wrapping_[w].frees)];
    while (overwritten < last && ends[w] - begin_of(overwritten) > wrapping_[w].capacity) ++overwritten;
  }
  overwrites_.push_back(overwritten_);
  // If no array is freed by a stage, its tiles are not needed.
  long needed = last;
  for (const Wrapping& w : wrapping_)
    needed = std::min(needed, overwritten_[static_cast<std::size_t>(w.frees)]);
  for (; oldest_ < needed; ++oldest_) begins_.pop_front();
}

std::vector<SlotWait> StreamWindows::waits(long tile) const {
  std::vector<SlotWait> waits;
  if (wraps_) {
    const std::array<long, 3>& overwritten = overwrites_[static_cast<std::size_t>(tile)];
    for (const StreamStage stage : {StreamStage::Compute, StreamStage::Download})
      if (const long first = overwritten[static_cast<std::size_t>(stage)]; first > 0)
        waits.push_back({stage, first - 1});
    return waits;
  }
  const long window = window_of(tile);
  if (window < slots_ || first_[static_cast<std::size_t>(window)] != tile) return waits;
  const long next = first_[static_cast<std::size_t>(window - slots_ + 1)];  // after the window of this slot
  waits.push_back({StreamStage::Download, next - 1});
  // It takes rows from that window.
  if (slots_ > 1) waits.push_back({StreamStage::Compute, next});
  return waits;
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
