// thread_number: a number of this thread that no other thread of the process ever has. A std::thread::id may
// be reused when its thread has ended, and data kept by id would then pass to another thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The number of the calling thread, from 1 on, which no other thread has before or after it.
inline std::uint64_t thread_number() {
  static constinit std::uint64_t last = 0;
  static constinit thread_local std::uint64_t mine = 0;
  if (mine == 0) mine = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
  return mine;
}

}  // namespace strata::inline STRATA_ABI::detail
