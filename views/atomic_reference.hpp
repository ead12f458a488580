// AtomicReference: a reference through which every access is one atomic operation (atomic.hpp), relaxed, at
// device scope.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/views/atomic.hpp>

namespace strata::inline STRATA_ABI {

/// Refers to an arithmetic value of 1 to 8 bytes or a complex number, naturally aligned. Reading and
/// assigning are atomic loads and stores; `+=` and the like are single atomic updates that return the new
/// value, `x++` and `x--` the old.
template <class T>
class AtomicReference {
 public:
  /// The type that it reads and assigns.
  using value_type = std::remove_const_t<T>;

  /// To the value at `address`, which has to outlive it.
  STRATA_FUNCTION constexpr explicit AtomicReference(T* address) : address_(address) {}
  AtomicReference(const AtomicReference&) = default;

  /// Atomic, relaxed, at device scope.
  STRATA_FUNCTION operator value_type() const { return load(); }
  STRATA_FUNCTION value_type load() const { return atomic_load(address_); }
  STRATA_FUNCTION void store(value_type value) const { atomic_store(address_, value); }
  STRATA_FUNCTION value_type operator=(value_type value) const {
    store(value);
    return value;
  }
  STRATA_FUNCTION value_type operator=(const AtomicReference& other) const { return *this = other.load(); }

  STRATA_FUNCTION value_type operator+=(value_type v) const { return now<detail::AddOperation>(v); }
  STRATA_FUNCTION value_type operator-=(value_type v) const { return now<detail::SubOperation>(v); }
  STRATA_FUNCTION value_type operator*=(value_type v) const { return now<detail::MulOperation>(v); }
  STRATA_FUNCTION value_type operator/=(value_type v) const { return now<detail::DivOperation>(v); }
  STRATA_FUNCTION value_type operator%=(value_type v) const requires std::is_integral_v<T> {
    return now<detail::ModOperation>(v);
  }
  STRATA_FUNCTION value_type operator<<=(value_type v) const requires std::is_integral_v<T> {
    return now<detail::LeftShiftOperation>(v);
  }
  STRATA_FUNCTION value_type operator>>=(value_type v) const requires std::is_integral_v<T> {
    return now<detail::RightShiftOperation>(v);
  }
  STRATA_FUNCTION value_type operator&=(value_type v) const requires std::is_integral_v<T> {
    return now<detail::AndOperation>(v);
  }
  STRATA_FUNCTION value_type operator|=(value_type v) const requires std::is_integral_v<T> {
    return now<detail::OrOperation>(v);
  }
  STRATA_FUNCTION value_type operator^=(value_type v) const requires std::is_integral_v<T> {
    return now<detail::XorOperation>(v);
  }
  STRATA_FUNCTION value_type operator++() const { return *this += value_type(1); }
  STRATA_FUNCTION value_type operator--() const { return *this -= value_type(1); }
  STRATA_FUNCTION value_type operator++(int) const { return atomic_fetch_inc(address_); }
  STRATA_FUNCTION value_type operator--(int) const { return atomic_fetch_dec(address_); }

  /// The value becomes the smaller (larger) of itself and `v`; returns it.
  STRATA_FUNCTION value_type min(value_type v) const { return now<detail::MinOperation>(v); }
  STRATA_FUNCTION value_type max(value_type v) const { return now<detail::MaxOperation>(v); }

 private:
  template <class Operation>
  STRATA_FUNCTION value_type now(value_type v) const {
    return Operation::apply(detail::fetch<Operation>(address_, v, device_scope, order_relaxed), v);
  }

  T* address_;

  // Last: compilers that stop at a failed assertion know the members by now.
  static_assert(detail::is_atomic_arithmetic<value_type>,
                "strata: atomic access needs an arithmetic element type of at most 8 bytes, or complex");
};

}  // namespace strata::inline STRATA_ABI
