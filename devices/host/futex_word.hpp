// A 32-bit word on which threads sleep until it changes.
//
// A wait on it: look for a while (patience.hpp), then announce the sleep in a second word, look once more,
// and sleep by futex, which returns at once if the word is no longer what was seen. The other side changes
// the word, then looks at the announcement, and makes the wake call only if there is one:
//
//        sleeper:  announce (A)   look at the word (B)   sleep
//        waker:    change the word (C)   look at the announcement (D)   wake
//
// The wake-up would be lost if B missed C and D missed A. All four are sequentially consistent operations,
// so they have one order; B before C and D before A would make A < B < C < D < A, a contradiction. A
// sleep that comes between C and the wake call is refused by the kernel, which compares the word under the
// lock that the wake call takes. Weaker orders do not suffice: store-then-load of two different words is
// what processors reorder. (No stand-alone fences, since ThreadSanitizer does not model them.)
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

using FutexWord = std::atomic<std::uint32_t>;
static_assert(sizeof(FutexWord) == 4 && FutexWord::is_always_lock_free, "a futex is a plain 32-bit word");

/// The size to which words are aligned that are written by different threads.
inline constexpr std::size_t cache_line = 64;

/// Sleeps if the word is `value`, until it is woken by one of `bits`; may return earlier. Where the system
/// has no futex, the bits are ignored.
void sleep_while(FutexWord& word, std::uint32_t value, std::uint32_t bits = ~0U);
/// Wakes all threads that sleep on the word with one of `bits`.
void wake(FutexWord& word, std::uint32_t bits = ~0U);

}  // namespace strata::inline STRATA_ABI::detail
