// Contributions to a ScatterView: how two are joined, how those of different threads are kept apart, and the
// element that receives one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <type_traits>

#include <strata/views/atomic.hpp>

namespace strata::inline STRATA_ABI {

/// Contributions are added; of any type that has a `+` and whose T() is zero.
struct ScatterSum {
  /// The identity of joining, how two contributions are joined, and the atomic operation that joins one.
  template <class T>
  STRATA_FUNCTION static constexpr T identity() {
    return T();
  }
  template <class T>
  STRATA_FUNCTION static constexpr T join(T a, T b) {
    if constexpr (std::is_arithmetic_v<T>) return detail::AddOperation::apply(a, b);
    else return a + b;
  }
  using atomic = detail::AddOperation;
};
/// Contributions are multiplied.
struct ScatterProd {
  /// The identity of joining, how two contributions are joined, and the atomic operation that joins one.
  template <class T>
  STRATA_FUNCTION static constexpr T identity() {
    return T(1);
  }
  template <class T>
  STRATA_FUNCTION static constexpr T join(T a, T b) {
    if constexpr (std::is_arithmetic_v<T>) return detail::MulOperation::apply(a, b);
    else return a * b;
  }
  using atomic = detail::MulOperation;
};
/// The smallest contribution remains.
struct ScatterMin {
  /// The identity of joining, how two contributions are joined, and the atomic operation that joins one.
  template <class T>
  STRATA_FUNCTION static constexpr T identity() {
    if constexpr (std::numeric_limits<T>::has_infinity) return std::numeric_limits<T>::infinity();
    else return std::numeric_limits<T>::max();
  }
  template <class T>
  STRATA_FUNCTION static constexpr T join(T a, T b) {
    return b < a ? b : a;
  }
  using atomic = detail::MinOperation;
};
/// The largest contribution remains.
struct ScatterMax {
  /// The identity of joining, how two contributions are joined, and the atomic operation that joins one.
  template <class T>
  STRATA_FUNCTION static constexpr T identity() {
    if constexpr (std::numeric_limits<T>::has_infinity) return -std::numeric_limits<T>::infinity();
    else return std::numeric_limits<T>::lowest();
  }
  template <class T>
  STRATA_FUNCTION static constexpr T join(T a, T b) {
    return a < b ? b : a;
  }
  using atomic = detail::MaxOperation;
};

/// One thread contributes, at once.
struct ScatterDirect {};
/// Every worker has a copy of its own.
struct ScatterDuplicated {};
/// Contributions are atomic operations: on arithmetic types by instructions, on others that atomic.hpp
/// supports by compare-exchange.
struct ScatterAtomic {};

namespace detail {

/// One element of a scatter view, for one contribution: `+=` and `-=` to a ScatterSum, `*=` to a
/// ScatterProd, min() to a ScatterMin, max() to a ScatterMax, update() to any.
template <class T, class Operation, class Mode>
class Contribution {
 public:
  STRATA_FUNCTION explicit Contribution(T* address) : address_(address) {}
  Contribution(const Contribution&) = delete;
  Contribution& operator=(const Contribution&) = delete;

  STRATA_FUNCTION void operator+=(const T& v) const {
    require<ScatterSum>();
    update(v);
  }
  STRATA_FUNCTION void operator-=(const T& v) const {
    require<ScatterSum>();
    update(static_cast<T>(-v));
  }
  STRATA_FUNCTION void operator*=(const T& v) const {
    require<ScatterProd>();
    update(v);
  }
  STRATA_FUNCTION void min(const T& v) const {
    require<ScatterMin>();
    update(v);
  }
  STRATA_FUNCTION void max(const T& v) const {
    require<ScatterMax>();
    update(v);
  }
  /// By the operation of the view, whichever it is.
  STRATA_FUNCTION void update(const T& v) const {
    if constexpr (!std::is_same_v<Mode, ScatterAtomic>) {
      T* address = address_;
#if !defined(__CUDA_ARCH__)
      // Loops over work items are vectorised on the assumption that no two write the same element.
      // Contributions may, so the address passes through inline assembly: the compiler knows nothing of it.
      asm volatile("" : "+r"(address));
#endif
      *address = Operation::join(*address, v);
    } else if constexpr (is_atomic_arithmetic<T>) {
      fetch<typename Operation::atomic>(address_, v, device_scope, order_relaxed);
    } else {
      atomic_fetch_update(address_, [v](const T& old) { return Operation::join(old, v); });
    }
  }

 private:
  template <class Wanted>
  STRATA_FUNCTION static constexpr void require() {
    static_assert(
        std::is_same_v<Operation, Wanted>,
        "strata: a scatter view joins by one operation: += and -= need a ScatterSum, *= a ScatterProd, "
        "min() a ScatterMin, max() a ScatterMax");
  }

  T* address_;
};

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
