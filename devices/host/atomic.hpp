// Atomic operations by the compiler's functions: hosts, and devices whose kernels run on host threads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/devices/atomic_operations.hpp>

// ThreadSanitizer follows the compiler's functions, not assembly.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STRATA_ATOMIC_BY_COMPILER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
#define STRATA_ATOMIC_BY_COMPILER 1
#endif

namespace strata::inline STRATA_ABI::detail {

constexpr int host_order(MemoryOrder order) {
  switch (order) {
    case MemoryOrder::Relaxed:
      return __ATOMIC_RELAXED;
    case MemoryOrder::Acquire:
      return __ATOMIC_ACQUIRE;
    case MemoryOrder::Release:
      return __ATOMIC_RELEASE;
    case MemoryOrder::AcquireRelease:
      return __ATOMIC_ACQ_REL;
    default:
      return __ATOMIC_SEQ_CST;
  }
}
// Of the load that a compare-exchange is where it fails.
constexpr int host_failure_order(MemoryOrder order) {
  if (order == MemoryOrder::AcquireRelease) return __ATOMIC_ACQUIRE;
  return order == MemoryOrder::Release ? __ATOMIC_RELAXED : host_order(order);
}

#if !defined(STRATA_ATOMIC_BY_COMPILER)
// g++ calls libatomic for 16 bytes, whatever the processor; every 64-bit x86 but the first has the
// instruction. It is ordered like the strongest memory order.
inline bool compare_exchange_16(void* address, void* expected, const void* desired) {
  struct Words {
    unsigned long long low, high;
  };
  Words old, wanted;
  __builtin_memcpy(&old, expected, 16);
  __builtin_memcpy(&wanted, desired, 16);
  unsigned char done;
  asm volatile("lock cmpxchg16b %1\n\tsete %0"
               : "=q"(done), "+m"(*static_cast<char(*)[16]>(address)), "+a"(old.low), "+d"(old.high)
               : "b"(wanted.low), "c"(wanted.high)
               : "cc", "memory");
  if (done == 0) __builtin_memcpy(expected, &old, 16);
  return done != 0;
}
#endif

template <MemoryScope, MemoryOrder O>
struct HostAtomics {
  static constexpr int order = host_order(O);
#if defined(STRATA_ATOMIC_BY_COMPILER)
  template <class T>
  static constexpr bool by_assembly = false;
#else
  template <class T>
  static constexpr bool by_assembly = sizeof(T) == 16;
#endif

  template <class T>
  static T load(const T* address) {
    T value;
    if constexpr (by_assembly<T>) {
      // Replaces the value by itself, or fails: both load it.
      __builtin_memcpy(static_cast<void*>(&value), static_cast<const void*>(address), sizeof(T));
      const T same = value;
      compare_exchange(const_cast<T*>(address), value, same);
    } else {
      __atomic_load(address, &value, order);
    }
    return value;
  }
  template <class T>
  static void store(T* address, T value) {
    if constexpr (by_assembly<T>) exchange(address, value);
    else __atomic_store(address, &value, order);
  }
  template <class T>
  static T exchange(T* address, T value) {
    if constexpr (by_assembly<T>) {
      T old = value;
      while (!compare_exchange(address, old, value)) {
      }
      return old;
    } else {
      T old;
      __atomic_exchange(address, &value, &old, order);
      return old;
    }
  }
  template <class T>
  static bool compare_exchange(T* address, T& expected, T desired) {
#if !defined(STRATA_ATOMIC_BY_COMPILER)
    if constexpr (by_assembly<T>) return compare_exchange_16(address, &expected, &desired);
    else
#endif
      return __atomic_compare_exchange(address, &expected, &desired, false, order, host_failure_order(O));
  }

  /// Whether fetch() has an instruction.
  template <class Operation, class T>
  static constexpr bool has() {
    return is_atomic_integer<T> &&
           (std::is_same_v<Operation, AddOperation> || std::is_same_v<Operation, SubOperation> ||
            (std::is_base_of_v<BitOperation, Operation> && !std::is_base_of_v<IntegerOperation, Operation>));
  }
  template <class Operation, class T>
  static T fetch(T* address, T value) {
    if constexpr (std::is_same_v<Operation, AddOperation>) return __atomic_fetch_add(address, value, order);
    else if constexpr (std::is_same_v<Operation, SubOperation>)
      return __atomic_fetch_sub(address, value, order);
    else if constexpr (std::is_same_v<Operation, AndOperation>)
      return __atomic_fetch_and(address, value, order);
    else if constexpr (std::is_same_v<Operation, OrOperation>)
      return __atomic_fetch_or(address, value, order);
    else return __atomic_fetch_xor(address, value, order);
  }
};

template <MemoryScope S, MemoryOrder O>
using NativeAtomics = HostAtomics<S, O>;

}  // namespace strata::inline STRATA_ABI::detail

#undef STRATA_ATOMIC_BY_COMPILER
