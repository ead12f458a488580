// Ticks: a clock that costs some ten nanoseconds to read: the counter of the processor where that is known,
// else the steady clock. How long a tick is, is found by comparison with the steady clock (TickLength).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include <strata/core/config.hpp>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

namespace strata::inline STRATA_ABI::detail {

inline std::int64_t read_ticks() {
#if defined(__x86_64__) || defined(__i386__)
  return static_cast<std::int64_t>(__rdtsc());
#elif defined(__aarch64__)
  std::int64_t count;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}

/// Nanoseconds of a tick, from its construction to a call of measured().
class TickLength {
 public:
  double measured() const {
    const auto ticks = read_ticks() - ticks_;
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - time_;
    return ticks > 0 && time.count() > 0 ? time.count() / static_cast<double>(ticks) : 1;
  }

 private:
  std::chrono::steady_clock::time_point time_ = std::chrono::steady_clock::now();
  std::int64_t ticks_ = read_ticks();
};

}  // namespace strata::inline STRATA_ABI::detail
