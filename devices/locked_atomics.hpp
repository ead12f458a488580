// Atomic operations on values of more than 16 bytes, for which no processor has instructions: under one of a
// table of locks, chosen by the address. Operations on such a value are atomic to each other only, and not to
// plain accesses of other threads. A thread holds a lock for the copy of one value and calls nothing then.
//
// Hosts, and devices on host threads, share one table. On a GPU each source file has its own: kernels of two
// source files do not operate on one value at the same time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <strata/devices/atomic_operations.hpp>
#if defined(__CUDA_ARCH__)
#include <strata/devices/cuda_atomic.hpp>
#else
#include <strata/devices/host/atomic.hpp>
#endif

namespace strata::inline STRATA_ABI::detail {

inline constexpr unsigned log2_of_atomic_locks = 10;
// Apart by a cache line.
struct alignas(64) AtomicLock {
  unsigned taken = 0;
};
#if defined(__CUDACC__)
static __device__ AtomicLock device_atomic_locks[1u << log2_of_atomic_locks];
#endif
inline constinit AtomicLock host_atomic_locks[1u << log2_of_atomic_locks] = {};

STRATA_FUNCTION inline unsigned* atomic_lock_of(const void* address) {
  // By Fibonacci hashing of the 16 bytes that the address lies in.
  const auto number = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address) >> 4);
  const auto at = (number * 0x9e3779b97f4a7c15ull) >> (64 - log2_of_atomic_locks);
#if defined(__CUDA_ARCH__)
  return &device_atomic_locks[at].taken;
#else
  return &host_atomic_locks[at].taken;
#endif
}

// The bytes of a value, padding included, which an assignment need not copy. The value needs no default
// constructor.
template <class T>
union CopiedValue {
  char bytes[sizeof(T)];
  T value;
};

template <MemoryOrder O>
struct LockedAtomics {
  // The lock orders the copies under it, and with sequential consistency everything. Its scope is the device
  // whatever that of the operation is: threads of other teams take it for other values.
  static constexpr bool total = O == MemoryOrder::SequentiallyConsistent;
  using Lock = NativeAtomics<MemoryScope::Device, total ? O : MemoryOrder::AcquireRelease>;
  using Unlock = NativeAtomics<MemoryScope::Device, total ? O : MemoryOrder::Release>;

  template <class T>
  STRATA_FUNCTION static T load(const T* address) {
    CopiedValue<T> copy = {};
    locked(address, [&] { copy_bytes<T>(&copy, address); });
    return copy.value;
  }
  template <class T>
  STRATA_FUNCTION static void store(T* address, const T& value) {
    locked(address, [&] { copy_bytes<T>(address, &value); });
  }
  template <class T>
  STRATA_FUNCTION static T exchange(T* address, const T& value) {
    CopiedValue<T> old = {};
    locked(address, [&] {
      copy_bytes<T>(&old, address);
      copy_bytes<T>(address, &value);
    });
    return old.value;
  }
  template <class T>
  STRATA_FUNCTION static bool compare_exchange(T* address, T& expected, const T& desired) {
    bool equal = true;
    locked(address, [&] {
      const auto* const a = reinterpret_cast<const unsigned char*>(address);
      const auto* const b = reinterpret_cast<const unsigned char*>(&expected);
      for (std::size_t k = 0; k < sizeof(T); ++k) equal = equal && a[k] == b[k];
      if (equal) copy_bytes<T>(address, &desired);
      else copy_bytes<T>(&expected, address);
    });
    return equal;
  }

 private:
  template <class T>
  STRATA_FUNCTION static void copy_bytes(void* to, const void* from) {
    __builtin_memcpy(to, from, sizeof(T));
  }
  // Taken and given back in one pass of the loop: threads of a warp that wait for each other's locks go round
  // together.
  template <class F>
  STRATA_FUNCTION static void locked(const void* address, const F& f) {
    unsigned* const lock = atomic_lock_of(address);
    for (bool done = false; !done;) {
      if (Lock::exchange(lock, 1u) != 0) {
#if !defined(__CUDA_ARCH__) && defined(__x86_64__)
        __builtin_ia32_pause();
#endif
        continue;
      }
      f();
      Unlock::store(lock, 0u);
      done = true;
    }
  }
};

/// By instructions, or by locks.
template <class T, MemoryScope S, MemoryOrder O>
using AtomicsFor = std::conditional_t<(sizeof(T) > 16), LockedAtomics<O>, NativeAtomics<S, O>>;

}  // namespace strata::inline STRATA_ABI::detail
