// Turns: lets the threads that submit to a team go one after the other.
//
// A ticket lock, so that a thread that submits in a loop cannot starve another. A released turn is for one
// submitter only; futex bit sets, chosen by the ticket, wake that one and leave the others asleep.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <strata/devices/host/futex_word.hpp>

namespace strata::inline STRATA_ABI::detail {

class alignas(cache_line) Turns {
 public:
  /// Returns when those that came before have ended their turns; looks for as long as Patience(spin_us,
  /// crowded) says, then sleeps.
  void take(int spin_us, bool crowded);
  void end();

 private:
  FutexWord next_ticket_{0};
  FutexWord serving_{0};
  FutexWord sleepers_{0};
};

}  // namespace strata::inline STRATA_ABI::detail
