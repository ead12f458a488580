// TbbThreads: the threads that run the pieces of a launch on Tbb. Private to this folder and its tests;
// without oneTBB's headers, as all headers that users may reach.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/chunk.hpp>
#include <strata/devices/host/drivers.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The threads of the caller's arena; where it has more threads than a CPU quota has processors, those of an
/// arena of the quota's size, which all such callers share. More threads would use up the quota, and the
/// system would then stop all for the rest of its period. Any thread may call.
class TbbThreads {
 public:
  /// `quota`: whole processors; 0 where there is no quota.
  explicit TbbThreads(int quota);
  ~TbbThreads();
  TbbThreads(const TbbThreads&) = delete;
  TbbThreads& operator=(const TbbThreads&) = delete;

  /// The most threads that run the pieces of a launch of the calling thread.
  int concurrency() const;
  /// Runs all pieces, by workers 0 to concurrency() - 1, and returns when they are done. Throws what a piece
  /// threw.
  void run(const ChunkRange& range, ChunkFunction function) const;

 private:
  struct Arena;

  const int quota_;
  Arena* const arena_;  // null without a quota
};

}  // namespace strata::inline STRATA_ABI::detail
