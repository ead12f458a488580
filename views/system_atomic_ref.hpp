// SystemAtomicRef: a value on which threads of the host and of several devices operate atomically at the same
// time. As std::atomic_ref, and cuda::atomic_ref at system scope, but for the default order.
//
//   const SystemAtomicRef<int> ticket = counters(0);                  // of system_atomics(...)
//   const int mine = ticket.fetch_add(1);                             // relaxed
//   ready.store(1, order_release);   while (ready.load(order_acquire) == 0) {}
//
// Every operation has the scope `system_scope` of views/atomic.hpp: not a parameter of AtomicReference, as an
// object that threads of two devices share must never be operated on in a narrower scope by one of them, and
// a type of its own cannot be mixed up. The order is an argument, order_relaxed by default as everywhere in
// Strata: what is published with a value needs order_release and order_acquire.
//
// Not all memory is suitable: on some memory that a GPU can access its operations are not atomic to the
// host's. system_atomics (views/system_atomics.hpp) makes these references and refuses such memory; a
// reference made from an address is not checked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/views/atomic.hpp>

namespace strata::inline STRATA_ABI {

/// Refers to an integer or floating-point number of 4 or 8 bytes, naturally aligned. Copying it refers to the
/// same value. Integers wrap around.
template <class T>
class SystemAtomicRef {
  static constexpr bool fits = std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8) &&
                               alignof(T) == sizeof(T) && !std::is_const_v<T>;

 public:
  /// The type of the value.
  using value_type = T;

  /// To the value at `address`, which has to outlive it.
  STRATA_FUNCTION constexpr explicit SystemAtomicRef(T* address) : address_(address) {}

  /// Orders: relaxed, acquire, seq_cst.
  template <MemoryOrder O = MemoryOrder::Relaxed>
  STRATA_FUNCTION T load(InOrder<O> order = {}) const {
    return atomic_load(address_, system_scope, order);
  }
  /// Orders: relaxed, release, seq_cst.
  template <MemoryOrder O = MemoryOrder::Relaxed>
  STRATA_FUNCTION void store(T value, InOrder<O> order = {}) const {
    atomic_store(address_, value, system_scope, order);
  }
  /// Stores `value`; returns the value before, as all that follow.
  template <MemoryOrder O = MemoryOrder::Relaxed>
  STRATA_FUNCTION T exchange(T value, InOrder<O> order = {}) const {
    return atomic_exchange(address_, value, system_scope, order);
  }
  /// Stores `desired` if the value equals `expected` by its bytes, and returns true; else loads the value
  /// into `expected`. Never fails spuriously.
  template <MemoryOrder O = MemoryOrder::Relaxed>
  STRATA_FUNCTION bool compare_exchange(T& expected, T desired, InOrder<O> order = {}) const {
    return atomic_compare_exchange(address_, expected, desired, system_scope, order);
  }

  /// The value changes as the name says. Minimum and maximum treat NaN as atomic_fetch_min does.
  template <MemoryOrder O = MemoryOrder::Relaxed>
  STRATA_FUNCTION T fetch_add(T value, InOrder<O> order = {}) const {
    return atomic_fetch_add(address_, value, system_scope, order);
  }
  template <MemoryOrder O = MemoryOrder::Relaxed>
  STRATA_FUNCTION T fetch_sub(T value, InOrder<O> order = {}) const {
    return atomic_fetch_sub(address_, value, system_scope, order);
  }
  template <MemoryOrder O = MemoryOrder::Relaxed>
  STRATA_FUNCTION T fetch_min(T value, InOrder<O> order = {}) const {
    return atomic_fetch_min(address_, value, system_scope, order);
  }
  template <MemoryOrder O = MemoryOrder::Relaxed>
  STRATA_FUNCTION T fetch_max(T value, InOrder<O> order = {}) const {
    return atomic_fetch_max(address_, value, system_scope, order);
  }
  /// Of integers only.
  template <MemoryOrder O = MemoryOrder::Relaxed>
  STRATA_FUNCTION T fetch_and(T value, InOrder<O> order = {}) const requires std::is_integral_v<T> {
    return atomic_fetch_and(address_, value, system_scope, order);
  }
  template <MemoryOrder O = MemoryOrder::Relaxed>
  STRATA_FUNCTION T fetch_or(T value, InOrder<O> order = {}) const requires std::is_integral_v<T> {
    return atomic_fetch_or(address_, value, system_scope, order);
  }
  template <MemoryOrder O = MemoryOrder::Relaxed>
  STRATA_FUNCTION T fetch_xor(T value, InOrder<O> order = {}) const requires std::is_integral_v<T> {
    return atomic_fetch_xor(address_, value, system_scope, order);
  }

 private:
  T* address_;

  // Last: compilers that stop at a failed assertion know the members by now.
  static_assert(fits, "strata: system-wide atomics need an integer or floating-point number of 4 or 8 bytes");
};

}  // namespace strata::inline STRATA_ABI
