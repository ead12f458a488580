// ResidentArrays: what loops of a streamed sequence declare resident. Slices of other arrays go through the
// device within one CoherentCall over these.
#pragma once

#include <utility>
#include <vector>

#include <strata/algorithms/sequence/declared_loops.hpp>
#include <strata/algorithms/streaming/stream_run.hpp>
#include <strata/core/ref.hpp>

namespace strata::inline STRATA_ABI::detail {

class ResidentArrays : public RefCounted, public DeclaredLoops {
 public:
  /// On a queue of the device, both of which outlive this.
  ResidentArrays(DeviceInstance& device, QueueState& queue, const char* label);

  /// The next loop of the sequence, with its resident arrays; where their places are is known by number from
  /// the result on.
  int add_loop(Loop&& loop);
  /// Calls run() while what `count` loops from `first` on use is on the device, and waits for the queue.
  /// AccessConflict: what one of them writes another one uses, and slices of a loop begin before those of the
  /// one before it have ended; or an array is one of `sliced`, too. OutOfMemory.
  void during(int first, int count, const std::vector<Ref<CoherentState>>& sliced,
              const Function<void()>& run);
  /// Meanwhile: where the use of a number is.
  const StreamSite::Place& place(int number) const { return places_[static_cast<std::size_t>(number)]; }

 private:
  void check(const std::vector<const DeclaredLoops::Loop*>& loops,
             const std::vector<Ref<CoherentState>>& sliced) const;

  DeviceInstance& device_;
  QueueState& queue_;
  std::vector<Loop> loops_;
  std::vector<StreamSite::Place> places_;  // of all uses, in the order in which they were declared
};

}  // namespace strata::inline STRATA_ABI::detail
