// OtherPrograms: for how many threads of a team the machine has room beside what else runs, other programs
// and other threads of this one, by the system's count of threads that run or could run (/proc/loadavg).
// Where the system has no such count, for all.
//
// The count is of a moment. What counts as wanted is what was in each of the last few looks, so that a
// program that runs for a moment changes nothing; after a pause of the team it is counted anew.
//
// Used by one thread at a time. A look is taken every few milliseconds at most, and costs some microseconds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The last number of `running/all` in a text like that of /proc/loadavg, before the slash; -1: there is
/// none.
int running_threads(const char* loadavg);

class OtherPrograms {
 public:
  OtherPrograms();
  ~OtherPrograms();
  OtherPrograms(const OtherPrograms&) = delete;
  OtherPrograms& operator=(const OtherPrograms&) = delete;

  /// Of a team of `team` threads, of which `own` run: all where no others do; else as many as there are
  /// processors beside those, at least one.
  int room_for(int team, int own);

 private:
  static constexpr std::size_t looks = 3;

  int file_ = -1;
  int processors_ = 0;
  std::array<int, looks> others_{};  // in a ring
  std::size_t at_ = 0;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace strata::inline STRATA_ABI::detail
