// Shared by atomics (views/atomic.hpp) and their two implementations: scopes, memory orders, the types that
// may be used, and what the operations compute.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/core/element_types.hpp>

namespace strata::inline STRATA_ABI {

/// Which threads may operate on the value at the same time: those of one team, of one device, or all.
enum class MemoryScope { Block, Device, System };
/// The memory order of an atomic operation, as in C++.
enum class MemoryOrder { Relaxed, Acquire, Release, AcquireRelease, SequentiallyConsistent };

/// A scope and an order as arguments.
template <MemoryScope S>
struct InScope {};
template <MemoryOrder O>
struct InOrder {};

/// The scopes.
inline constexpr InScope<MemoryScope::Block> block_scope{};
inline constexpr InScope<MemoryScope::Device> device_scope{};
inline constexpr InScope<MemoryScope::System> system_scope{};

/// The orders.
inline constexpr InOrder<MemoryOrder::Relaxed> order_relaxed{};
inline constexpr InOrder<MemoryOrder::Acquire> order_acquire{};
inline constexpr InOrder<MemoryOrder::Release> order_release{};
inline constexpr InOrder<MemoryOrder::AcquireRelease> order_acq_rel{};
inline constexpr InOrder<MemoryOrder::SequentiallyConsistent> order_seq_cst{};

namespace detail {

template <class T>
constexpr bool has_atomic_size() {
  return sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16;
}
template <class T>
STRATA_FUNCTION constexpr void require_atomic_type() {
  static_assert(
      std::is_trivially_copyable_v<T> &&
          (sizeof(T) > 16 || (has_atomic_size<T>() && alignof(T) >= sizeof(T))),
      "strata: atomic operations need a trivially copyable type of 1, 2, 4, 8 or 16 bytes, aligned to "
      "its size (alignas), or of more than 16 bytes");
}
template <class T, MemoryScope S>
STRATA_FUNCTION constexpr void require_atomic_type() {
  require_atomic_type<T>();
  static_assert(
      sizeof(T) <= 16 || S != MemoryScope::System,
      "strata: values of more than 16 bytes are atomic by locks, which hosts and GPUs do not share: "
      "you wrote system_scope; write device_scope, or an index of 8 bytes that points to the value");
}
template <class T>
inline constexpr bool is_atomic_arithmetic =
    (std::is_arithmetic_v<T> && sizeof(T) <= 8) || is_complex_v<T> || is_short_float_v<T>;

// Integers that the processor can add to; bool is not one.
template <class T>
inline constexpr bool is_atomic_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

// Integers are computed modulo 2^64, where nothing overflows.
template <class T>
using WrappingType = std::conditional_t<std::is_integral_v<T>, unsigned long long, T>;

struct AddOperation {
  static constexpr bool may_skip = false;
  template <class T>
  STRATA_FUNCTION static constexpr T apply(T a, T b) {
    return static_cast<T>(static_cast<WrappingType<T>>(a) + static_cast<WrappingType<T>>(b));
  }
};
struct SubOperation {
  static constexpr bool may_skip = false;
  template <class T>
  STRATA_FUNCTION static constexpr T apply(T a, T b) {
    return static_cast<T>(static_cast<WrappingType<T>>(a) - static_cast<WrappingType<T>>(b));
  }
};
struct MulOperation {
  static constexpr bool may_skip = false;
  template <class T>
  STRATA_FUNCTION static constexpr T apply(T a, T b) {
    return static_cast<T>(static_cast<WrappingType<T>>(a) * static_cast<WrappingType<T>>(b));
  }
};
// The operations with `may_skip` need an order of the values.
struct MinOperation {
  static constexpr bool may_skip = true;
  template <class T>
  STRATA_FUNCTION static constexpr T apply(T a, T b) {
    return b < a ? b : a;
  }
};
struct MaxOperation {
  static constexpr bool may_skip = true;
  template <class T>
  STRATA_FUNCTION static constexpr T apply(T a, T b) {
    return a < b ? b : a;
  }
};
// The quotient of the least integer and -1 does not fit; processors stop the program at it, and at its
// remainder.
template <class T>
STRATA_FUNCTION constexpr bool is_minus_one([[maybe_unused]] T b) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) return b == T(-1);
  else return false;
}
struct DivOperation {
  static constexpr bool may_skip = false;
  template <class T>
  STRATA_FUNCTION static constexpr T apply(T a, T b) {
    if (is_minus_one(b)) return SubOperation::apply(T(0), a);
    return static_cast<T>(a / b);
  }
};
struct BitOperation {
  static constexpr bool may_skip = false;
};
// Of integers, without an instruction of its own.
struct IntegerOperation : BitOperation {};
struct ModOperation : IntegerOperation {
  template <class T>
  STRATA_FUNCTION static constexpr T apply(T a, T b) {
    if (is_minus_one(b)) return T(0);
    return static_cast<T>(a % b);
  }
};
struct LeftShiftOperation : IntegerOperation {
  template <class T>
  STRATA_FUNCTION static constexpr T apply(T a, T b) {
    return static_cast<T>(static_cast<WrappingType<T>>(a) << b);
  }
};
struct RightShiftOperation : IntegerOperation {
  template <class T>
  STRATA_FUNCTION static constexpr T apply(T a, T b) {
    return static_cast<T>(a >> b);
  }
};
struct NandOperation : IntegerOperation {
  template <class T>
  STRATA_FUNCTION static constexpr T apply(T a, T b) {
    return static_cast<T>(~(a & b));
  }
};
// Count upwards from 0 to b and again, and downwards.
struct IncModOperation : IntegerOperation {
  template <class T>
  STRATA_FUNCTION static constexpr T apply(T a, T b) {
    return a >= b ? T(0) : static_cast<T>(a + 1);
  }
};
struct DecModOperation : IntegerOperation {
  template <class T>
  STRATA_FUNCTION static constexpr T apply(T a, T b) {
    return a == 0 || a > b ? b : static_cast<T>(a - 1);
  }
};
struct AndOperation : BitOperation {
  template <class T>
  STRATA_FUNCTION static constexpr T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct OrOperation : BitOperation {
  template <class T>
  STRATA_FUNCTION static constexpr T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct XorOperation : BitOperation {
  template <class T>
  STRATA_FUNCTION static constexpr T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
