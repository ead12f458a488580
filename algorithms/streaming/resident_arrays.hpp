// ResidentArrays: what loops of a streamed sequence declare resident. Slices of other arrays go through the
// device within one CoherentCall over these.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <strata/algorithms/sequence/declared_loops.hpp>
#include <strata/algorithms/streaming/stream_run.hpp>
#include <strata/core/ref.hpp>

namespace strata::inline STRATA_ABI::detail {

class ResidentArrays : public RefCounted, public DeclaredLoops {
 public:
  struct Loop : DeclaredLoops::Loop {
    std::vector<bool> is_own;  // of each use: whether work items touch their own rows only
  };
  /// An array that goes through the device in slices, and whether loops of the run use and write it.
  struct Sliced {
    Ref<CoherentState> state;
    bool is_used, is_written;
  };

  /// On a queue of the device, both of which outlive this.
  ResidentArrays(DeviceInstance& device, QueueState& queue, const char* label);

  /// The number of the next use that is added.
  int next() const { return static_cast<int>(places_.size()); }
  /// The next loop of the sequence, with its resident arrays.
  void add_loop(Loop&& loop);
  /// AccessConflict: of `count` loops from `first` on, one writes what another one uses, or what it uses
  /// itself when it is done again, as a slice goes through all of them before the next one comes; or an array
  /// is one of `sliced`, too.
  void check(int first, int count, const std::vector<Sliced>& sliced) const;
  /// check(), then calls run(), which returns when all is done, while what these loops use is on the device.
  /// OutOfMemory; DataLost where run() throws and loops may have written, as has_begun() says; else what it
  /// throws, and the arrays are as they were.
  void during(int first, int count, const std::vector<Sliced>& sliced, const Function<void()>& run,
              const Function<bool()>& has_begun);
  /// Meanwhile: where the use of a number is.
  const StreamSite::Place& place(int number) const { return places_[static_cast<std::size_t>(number)]; }

 private:
  std::vector<const Loop*> loops_of_run(int first, int count) const;
  std::string label_of(int array) const;
  std::string written_by(const std::vector<const Loop*>& loops) const;

  DeviceInstance& device_;
  QueueState& queue_;
  std::vector<Loop> loops_;
  std::vector<StreamSite::Place> places_;  // of all uses, in the order in which they were declared
};

}  // namespace strata::inline STRATA_ABI::detail
