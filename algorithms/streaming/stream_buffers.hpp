// StreamBuffers: the memory of a run on its device. An array has a buffer for each slot of the plan, two for
// the old and new values of a state; or one ring buffer, where the plan says so; or one for all of it, if it
// is on the device as a whole. Buffers are kept from run to run while they fit the plan.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/streaming/stream_tiles.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

class StreamBuffers {
 public:
  /// The job and its tiles outlive this. No buffers yet.
  StreamBuffers(const StreamJob& job, const StreamTiles& tiles)
      : job_(job), tiles_(tiles), of_array_(job.states.size()) {}

  /// Whether there are addresses for the buffers of the plan that wrap round, beside those that this has.
  bool has_addresses() const;
  /// Makes those of the plan, unless those of an earlier run fit. Throws OutOfMemory.
  void make();

  /// The address of row 0 of the array, or where it would be, for a tile, in the buffer (0 or 1) in which row
  /// r of the host is at r + shift; null if the run does not touch the array.
  char* base_of(std::size_t a, long tile, int buffer, index_t shift) const;
  /// The buffer of an array that is there as a whole.
  char* whole(std::size_t a) const { return of_array_[a][0].data; }

 private:
  struct Buffer {
    AllocationRef block;
    Ref<ReservedMemory> wraps;  // of what wraps round
    char* data = nullptr;
    index_t bytes = 0;
  };

  bool suffice() const;
  std::size_t count(std::size_t a) const;
  index_t bytes_of_each(std::size_t a) const;
  Buffer make_buffer(std::size_t a, index_t bytes) const;

  const StreamJob& job_;
  const StreamTiles& tiles_;
  std::vector<std::vector<Buffer>> of_array_;  // slot by slot, two by two for states
};

}  // namespace strata::inline STRATA_ABI::detail::streaming
