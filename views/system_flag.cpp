// SPDX-License-Identifier: Apache-2.0
#include <ctime>

#include <sched.h>

#include <strata/devices/host/pause.hpp>
#include <strata/views/system_flag.hpp>

namespace strata::inline STRATA_ABI::detail {

void wait_between_looks(int looks) {
  constexpr int polls = 1000, yields = 1000;  // some 10 and some 100 microseconds
  if (looks < polls) {
    pause_processor();
  } else if (looks < polls + yields) {
    sched_yield();
  } else {
    constexpr std::timespec nap{0, 100000};
    nanosleep(&nap, nullptr);
  }
}

}  // namespace strata::inline STRATA_ABI::detail
