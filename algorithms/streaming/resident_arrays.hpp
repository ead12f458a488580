// ResidentArrays: the arrays that loops of a streamed sequence declare resident. Slices of other arrays pass
// through the device within one CoherentCall over these.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <strata/algorithms/sequence/declared_loops.hpp>
#include <strata/algorithms/streaming/stream_run.hpp>
#include <strata/core/ref.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

class ResidentArrays : public RefCounted, public sequences::DeclaredLoops {
 public:
  struct Loop : sequences::DeclaredLoops::Loop {
    std::vector<bool> is_own;  // of each use: whether work items touch their own rows only
  };
  /// An array that passes through the device in slices, and whether loops of the run use and write it.
  struct Sliced {
    Ref<CoherentState> state;
    bool is_used, is_written;
  };

  /// `device` and its `queue` must outlive this.
  ResidentArrays(DeviceInstance& device, QueueState& queue, const char* label);

  /// The number of the next use that is added.
  int next() const { return static_cast<int>(places_.size()); }
  /// The next loop of the sequence, with its resident arrays.
  void add_loop(Loop&& loop);
  /// Throws AccessConflict if one of `count` loops from `first` on writes a resident part that another one,
  /// or it itself the next time, uses (a slice runs through all loops before the next slice comes), or if an
  /// array is also one of `sliced`.
  void check(int first, int count, const std::vector<Sliced>& sliced) const;
  /// Throws AccessConflict if one of these loops reads and writes a resident array: done again it would begin
  /// with what it wrote.
  void check_repeatable(int first, int count) const;
  /// check(), then calls run(), which returns when all is done; meanwhile the arrays of these loops are on
  /// the device. OutOfMemory. If run() throws: DataLost where has_begun() says that loops may have written,
  /// else that error, with the arrays unchanged. DataLost, too, if a copy to the device failed that loops
  /// have read from all the same.
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

}  // namespace strata::inline STRATA_ABI::detail::streaming
