// StreamTiles: the tiles of all passes of a plan, numbered consecutively, and the events after their stages.
// Turns the waits of a plan, for tiles of this pass and the previous one, into waits of queues.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/streaming/plan/stream_windows.hpp>
#include <strata/algorithms/streaming/stream_job.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

class StreamTiles {
 public:
  /// The job outlives this. No tiles yet.
  explicit StreamTiles(const StreamJob& job) : job_(job) {}
  void clear();
  /// Numbers those of the job's plan; no stage is enqueued yet.
  void number();

  long count() const { return static_cast<long>(stages_.size()); }
  const StreamTile& tile(long number) const;
  int pass_of(long number) const;
  /// The slot of the tile's window, of buffers that do not wrap round.
  long slot_of(long number) const { return windows_.window_of(number) % job_.plan.slots; }
  /// The number of the tile that a tile of pass `pass` waits for; -1: none, as there is no previous pass.
  long number_of(const StreamWait& before, int pass) const;

  /// The event after a stage; null where it is not enqueued.
  const Ref<EventState>& done(StreamStage stage, long number) const {
    return stages_[static_cast<std::size_t>(number)].done[static_cast<std::size_t>(stage)];
  }
  /// The stage has been enqueued on the queue.
  void record(StreamStage stage, long number, QueueState& queue);
  /// Work enqueued later on the queue waits for a stage; for all waits of the plan in `waits`; for the tiles
  /// that used the buffers of tile `number` before.
  void wait(QueueState& queue, StreamStage stage, long number) const;
  void wait(QueueState& queue, const std::vector<StreamWait>& waits, int pass) const;
  void wait_for_slot(QueueState& queue, long number) const;

 private:
  struct Stages {
    Ref<EventState> done[3];
  };
  const StreamJob& job_;
  StreamWindows windows_;
  std::vector<long> firsts_;  // the first tile of each pass, and the number of all
  std::vector<Stages> stages_;
};

}  // namespace strata::inline STRATA_ABI::detail::streaming
