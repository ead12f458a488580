// SPDX-License-Identifier: Apache-2.0
#include <strata/devices/host/futex_word.hpp>

#if defined(__linux__)
#include <climits>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace strata::inline STRATA_ABI::detail {

#if defined(__linux__)
// Not std::atomic::wait: libstdc++ puts its own spinning and a shared table of waiters in front of the futex.
void sleep_while(FutexWord& word, std::uint32_t value, std::uint32_t bits) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_BITSET_PRIVATE, value, nullptr,
          nullptr, bits);
}
void wake(FutexWord& word, std::uint32_t bits) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, nullptr,
          nullptr, bits);
}
#else
void sleep_while(FutexWord& word, std::uint32_t value, std::uint32_t) { word.wait(value); }
void wake(FutexWord& word, std::uint32_t) { word.notify_all(); }
#endif

}  // namespace strata::inline STRATA_ABI::detail
