// How a kernel on `Emulated` reaches its memory: a view holds addresses that no thread may touch, and a
// worker of instance i adds the offset from there to the memory that backs them.
//
// The offset is one thread-local number: zero on host threads, so that the access stays on the inaccessible
// address and faults; `EmulatedMemory::offset(i)` on a worker of instance i, so that it lands in the memory
// of i, or, for an address of another instance, in a hole between memories, and faults too.
//
// The workers of an instance set it once, when they start (EmulatedWorkerScope of memory.hpp); kernels only
// read it. Kernels include this header, so it must include nothing costly.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

inline constinit thread_local std::ptrdiff_t emulated_offset STRATA_INITIAL_EXEC = 0;

/// The address at which the calling thread may touch the element that a view of `Emulated` holds at
/// `address`. A cast to bytes and back, not to an integer, so that the optimiser still knows the object.
template <class T>
[[nodiscard, gnu::always_inline]] inline T* emulated_resolve(T* address) {
  auto* bytes = const_cast<char*>(reinterpret_cast<const volatile char*>(address));
  return reinterpret_cast<T*>(bytes + emulated_offset);
}

}  // namespace strata::inline STRATA_ABI::detail
