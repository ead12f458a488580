// Atomic operations on single values, in kernels on any device and on hosts.
//
//   atomic_fetch_add(&x(i), 1.0);                                     // relaxed, seen by the whole device
//   atomic_fetch_max(&flag(0), 3, system_scope);                      // by the host and other GPUs as well
//   atomic_store(&ready(0), 1, device_scope, order_release);
//
// Every function takes the address of one element, naturally aligned, then its values, then a scope (default
// device_scope) and a memory order (default order_relaxed: no order among operations on different values).
// The scope says which threads may operate on the value at the same time: two operations on it are atomic to
// each other only if each thread is in the scope of the other's operation. All host threads, those of
// Emulated too, are in one scope.
//
// Types: the arithmetic operations take integers of 1 to 8 bytes, float, double, half_t, bfloat16_t and,
// where no order is needed, complex; load, store, exchange, compare_exchange and fetch_update any trivially
// copyable type of 1, 2, 4, 8 or 16 bytes that is aligned to its size (`alignas(16)` for a struct of 16
// bytes), and any of more than 16 bytes. Values are compared by their bytes, padding included. Integers wrap
// around. On a GPU operations of 16 bytes need sm_90.
//
// **Values of more than 16 bytes are atomic by locks**, of a table that the address chooses from: to each
// other, not to plain accesses, and at device scope at most. See devices/locked_atomics.hpp, also for kernels
// of two source files on a GPU.
//
// Cost: on x86-64 everything is done by processor instructions, elsewhere 16 bytes may need libatomic. On
// CUDA 4 and 8 bytes are one instruction of the memory system, apart from products; an update whose result is
// not used costs the thread nothing but its issue. 1 and 2 bytes and complex numbers are loops of
// compare-exchange there. Quotients, remainders, shifts, nand, inc_mod and dec_mod are loops of
// compare-exchange everywhere.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/core/config.hpp>
#include <strata/devices/atomic_operations.hpp>
#include <strata/devices/locked_atomics.hpp>

namespace strata::inline STRATA_ABI {

/// The value at `address`. Orders: relaxed, acquire, seq_cst.
template <class T, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION std::remove_const_t<T> atomic_load(T* address, InScope<S> = {}, InOrder<O> = {}) {
  static_assert(O != MemoryOrder::Release && O != MemoryOrder::AcquireRelease,
                "strata: an atomic load takes order_relaxed, order_acquire or order_seq_cst");
  detail::require_atomic_type<std::remove_const_t<T>, S>();
  return detail::AtomicsFor<T, S, O>::template load<std::remove_const_t<T>>(address);
}

/// Orders: relaxed, release, seq_cst.
template <class T, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION void atomic_store(T* address, std::type_identity_t<T> value, InScope<S> = {},
                                  InOrder<O> = {}) {
  static_assert(O != MemoryOrder::Acquire && O != MemoryOrder::AcquireRelease,
                "strata: an atomic store takes order_relaxed, order_release or order_seq_cst");
  detail::require_atomic_type<T, S>();
  detail::AtomicsFor<T, S, O>::store(address, value);
}

/// Stores `value`; returns the old value.
template <class T, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION T atomic_exchange(T* address, std::type_identity_t<T> value, InScope<S> = {},
                                  InOrder<O> = {}) {
  detail::require_atomic_type<T, S>();
  return detail::AtomicsFor<T, S, O>::exchange(address, value);
}

/// Stores `desired` if the value equals `expected` by its bytes; else loads the value into `expected`. Never
/// fails spuriously. A failure has the order of a load.
template <class T, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION bool atomic_compare_exchange(T* address, T& expected, std::type_identity_t<T> desired,
                                             InScope<S> = {}, InOrder<O> = {}) {
  detail::require_atomic_type<T, S>();
  return detail::AtomicsFor<T, S, O>::compare_exchange(address, expected, desired);
}

/// Replaces the value x by `f(x)`, which may be called several times; returns x.
template <class T, class F, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION T atomic_fetch_update(T* address, const F& f, InScope<S> = {}, InOrder<O> = {}) {
  detail::require_atomic_type<T, S>();
  T old = detail::AtomicsFor<T, S, MemoryOrder::Relaxed>::template load<T>(address);
  while (!detail::AtomicsFor<T, S, O>::compare_exchange(address, old, f(old))) {
  }
  return old;
}

namespace detail {

// old -> Operation::apply(old, value): by the device's own instruction where it has one.
template <class Operation, class T, MemoryScope S, MemoryOrder O>
STRATA_FUNCTION T fetch(T* address, T value, InScope<S> scope, InOrder<O> order) {
  using Native = NativeAtomics<S, O>;
  static_assert(
      is_atomic_arithmetic<T>,
      "strata: atomic arithmetic needs an integer of 1 to 8 bytes, float or double; for other types "
      "there is atomic_fetch_update");
  static_assert(!is_complex_v<T> || !Operation::may_skip,
                "strata: complex numbers have no order, and so no atomic minimum or maximum");
  constexpr bool bits = std::is_base_of_v<BitOperation, Operation>;
  static_assert(!is_atomic_arithmetic<T> || !bits || std::is_integral_v<T>,
                "strata: the atomic operations and, or, xor, nand, mod and shifts need an integer");
  if constexpr (!is_atomic_arithmetic<T> || (bits && !std::is_integral_v<T>) ||
                (is_complex_v<T> && Operation::may_skip)) {
    return value;  // reported above
  } else if constexpr (Native::template has<Operation, T>()) {
    return Native::template fetch<Operation>(address, value);
  } else {
    if constexpr (Operation::may_skip && O == MemoryOrder::Relaxed) {
      // A value that would not change need not be written: most threads that look for an extreme only read.
      const T old = Native::template load<T>(address);
      if (Operation::apply(old, value) == old) return old;
    }
    return atomic_fetch_update(
        address, [value](T old) { return Operation::apply(old, value); }, scope, order);
  }
}

}  // namespace detail

/// Updates the value at `address` as the function's name says; returns the old value.
template <class T, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION T atomic_fetch_add(T* address, std::type_identity_t<T> value, InScope<S> scope = {},
                                   InOrder<O> order = {}) {
  return detail::fetch<detail::AddOperation>(address, value, scope, order);
}
template <class T, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION T atomic_fetch_sub(T* address, std::type_identity_t<T> value, InScope<S> scope = {},
                                   InOrder<O> order = {}) {
  return detail::fetch<detail::SubOperation>(address, value, scope, order);
}
template <class T, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION T atomic_fetch_mul(T* address, std::type_identity_t<T> value, InScope<S> scope = {},
                                   InOrder<O> order = {}) {
  return detail::fetch<detail::MulOperation>(address, value, scope, order);
}
/// The smaller of both values. A NaN as `value` changes nothing; a NaN that is stored may be kept or
/// replaced.
template <class T, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION T atomic_fetch_min(T* address, std::type_identity_t<T> value, InScope<S> scope = {},
                                   InOrder<O> order = {}) {
  return detail::fetch<detail::MinOperation>(address, value, scope, order);
}
/// The larger of both values; NaN as with min.
template <class T, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION T atomic_fetch_max(T* address, std::type_identity_t<T> value, InScope<S> scope = {},
                                   InOrder<O> order = {}) {
  return detail::fetch<detail::MaxOperation>(address, value, scope, order);
}
template <class T, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION T atomic_fetch_and(T* address, std::type_identity_t<T> value, InScope<S> scope = {},
                                   InOrder<O> order = {}) {
  return detail::fetch<detail::AndOperation>(address, value, scope, order);
}
template <class T, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION T atomic_fetch_or(T* address, std::type_identity_t<T> value, InScope<S> scope = {},
                                  InOrder<O> order = {}) {
  return detail::fetch<detail::OrOperation>(address, value, scope, order);
}
template <class T, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION T atomic_fetch_xor(T* address, std::type_identity_t<T> value, InScope<S> scope = {},
                                   InOrder<O> order = {}) {
  return detail::fetch<detail::XorOperation>(address, value, scope, order);
}
template <class T, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION T atomic_fetch_inc(T* address, InScope<S> scope = {}, InOrder<O> order = {}) {
  return detail::fetch<detail::AddOperation>(address, T(1), scope, order);
}
template <class T, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION T atomic_fetch_dec(T* address, InScope<S> scope = {}, InOrder<O> order = {}) {
  return detail::fetch<detail::SubOperation>(address, T(1), scope, order);
}

/// Quotients of numbers, and remainders of integers: `value` is not 0.
template <class T, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION T atomic_fetch_div(T* address, std::type_identity_t<T> value, InScope<S> scope = {},
                                   InOrder<O> order = {}) {
  return detail::fetch<detail::DivOperation>(address, value, scope, order);
}
template <class T, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION T atomic_fetch_mod(T* address, std::type_identity_t<T> value, InScope<S> scope = {},
                                   InOrder<O> order = {}) {
  return detail::fetch<detail::ModOperation>(address, value, scope, order);
}
/// Shifts of integers by 0 to fewer bits than they have.
template <class T, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION T atomic_fetch_lshift(T* address, std::type_identity_t<T> value, InScope<S> scope = {},
                                      InOrder<O> order = {}) {
  return detail::fetch<detail::LeftShiftOperation>(address, value, scope, order);
}
template <class T, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION T atomic_fetch_rshift(T* address, std::type_identity_t<T> value, InScope<S> scope = {},
                                      InOrder<O> order = {}) {
  return detail::fetch<detail::RightShiftOperation>(address, value, scope, order);
}
/// Bitwise: ~(old & value).
template <class T, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION T atomic_fetch_nand(T* address, std::type_identity_t<T> value, InScope<S> scope = {},
                                    InOrder<O> order = {}) {
  return detail::fetch<detail::NandOperation>(address, value, scope, order);
}
/// Increments an unsigned integer, or sets it to 0 if it is `last` or larger.
template <class T, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION T atomic_fetch_inc_mod(T* address, std::type_identity_t<T> last, InScope<S> scope = {},
                                       InOrder<O> order = {}) {
  static_assert(std::is_unsigned_v<T>, "strata: atomic_fetch_inc_mod counts in an unsigned integer");
  return detail::fetch<detail::IncModOperation>(address, last, scope, order);
}
/// Decrements it, or sets it to `last` if it is 0 or larger than `last`.
template <class T, MemoryScope S = MemoryScope::Device, MemoryOrder O = MemoryOrder::Relaxed>
STRATA_FUNCTION T atomic_fetch_dec_mod(T* address, std::type_identity_t<T> last, InScope<S> scope = {},
                                       InOrder<O> order = {}) {
  static_assert(std::is_unsigned_v<T>, "strata: atomic_fetch_dec_mod counts in an unsigned integer");
  return detail::fetch<detail::DecModOperation>(address, last, scope, order);
}

}  // namespace strata::inline STRATA_ABI
