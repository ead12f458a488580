// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/algorithms/streaming/stream_tiles.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

void StreamTiles::clear() {
  stages_.clear();
  firsts_.clear();
}

void StreamTiles::number() {
  const StreamPlan& plan = job_.plan;
  windows_ = StreamWindows(job_.problem, plan);
  firsts_.assign(1, 0);
  for (int p = 0; p < plan.passes; ++p) {
    windows_.add(plan.pass_number(p));
    firsts_.push_back(firsts_.back() + static_cast<long>(plan.pass_number(p).tiles.size()));
  }
  stages_.clear();
  stages_.resize(static_cast<std::size_t>(firsts_.back()));
}

int StreamTiles::pass_of(long number) const {
  return static_cast<int>(std::upper_bound(firsts_.begin(), firsts_.end(), number) - firsts_.begin()) - 1;
}
const StreamTile& StreamTiles::tile(long number) const {
  const int pass = pass_of(number);
  return job_.plan.pass_number(pass)
      .tiles[static_cast<std::size_t>(number - firsts_[static_cast<std::size_t>(pass)])];
}
long StreamTiles::number_of(const StreamWait& before, int pass) const {
  if (before.previous_pass) --pass;
  return pass < 0 ? -1 : firsts_[static_cast<std::size_t>(pass)] + before.tile;
}

void StreamTiles::record(StreamStage stage, long number, QueueState& queue) {
  stages_[static_cast<std::size_t>(number)].done[static_cast<std::size_t>(stage)] = queue.record();
}
void StreamTiles::wait(QueueState& queue, StreamStage stage, long number) const {
  if (const Ref<EventState>& event = done(stage, number)) queue.wait_for(event);
}
void StreamTiles::wait(QueueState& queue, const std::vector<StreamWait>& waits, int pass) const {
  for (const StreamWait& before : waits)
    if (const long number = number_of(before, pass); number >= 0) wait(queue, before.stage, number);
}
void StreamTiles::wait_for_slot(QueueState& queue, long number) const {
  for (const SlotWait& before : windows_.waits(number)) wait(queue, before.stage, before.tile);
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
