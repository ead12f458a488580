// TbbThreads: who does the pieces of a launch on Tbb. Private to this folder and its tests; without oneTBB's
// headers, as all that users may reach.
#pragma once

#include <strata/devices/chunk.hpp>
#include <strata/devices/host/drivers.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The threads of the caller's arena; where that has more than a CPU quota has processors, those of an arena
/// of as many, which all such callers share. More would use up the quota, and then all stand still for the
/// rest of its period. Any thread may call.
class TbbThreads {
 public:
  /// `quota`: whole processors; 0 where there is no quota.
  explicit TbbThreads(int quota);
  ~TbbThreads();
  TbbThreads(const TbbThreads&) = delete;
  TbbThreads& operator=(const TbbThreads&) = delete;

  /// So many do the pieces of a launch of the calling thread, at most.
  int concurrency() const;
  /// Does all pieces, by workers 0 to concurrency() - 1, and returns when they are done. Throws what one
  /// threw.
  void run(const ChunkRange& range, ChunkFunction function) const;

 private:
  struct Arena;

  const int quota_;
  Arena* const arena_;  // null without a quota
};

}  // namespace strata::inline STRATA_ABI::detail
