// Access: what a view's element access means. Plain references by default; reads through the read-only cache
// (views of constant data, random access); or every access atomic.
#pragma once

#include <type_traits>

#include <strata/core/config.hpp>
#include <strata/views/atomic_reference.hpp>

namespace strata::inline STRATA_ABI {

/// Plain references.
struct DefaultAccess {
  /// What an element access returns, and how it is made of the address of the element.
  template <class T>
  using reference = T&;
  template <class T>
  STRATA_FUNCTION static constexpr T& at(T* address) {
    return *address;
  }
};

/// Reads only, by value, through a GPU's read-only cache where there is one and the element is a number (and
/// no bool). The data must not change while a kernel reads it.
struct ReadOnlyAccess {
  /// What an element access returns, and how it is made of the address of the element.
  template <class T>
  using reference = std::remove_const_t<T>;
  template <class T>
  STRATA_FUNCTION static constexpr std::remove_const_t<T> at(T* address) {
#if defined(__CUDA_ARCH__)
    if constexpr (requires { __ldg(address); }) return __ldg(address);
#endif
    return *address;
  }
};

/// Every access is atomic, at device scope, relaxed.
struct AtomicAccess {
  /// What an element access returns, and how it is made of the address of the element.
  template <class T>
  using reference = AtomicReference<T>;
  template <class T>
  STRATA_FUNCTION static constexpr AtomicReference<T> at(T* address) {
    return AtomicReference<T>(address);
  }
};

/// `A` of a view that never owns: it has no record, so that its copies are plain copies of addresses. What
/// kernels get. Whoever makes one keeps the memory alive.
template <class A = DefaultAccess>
struct Unmanaged {
  /// What an element access returns, and how it is made of the address of the element.
  template <class T>
  using reference = typename A::template reference<T>;
  template <class T>
  STRATA_FUNCTION static constexpr reference<T> at(T* address) {
    return A::at(address);
  }
};

/// Whether views with this access share ownership of their memory.
template <class A>
inline constexpr bool is_managed_v = true;
template <class A>
inline constexpr bool is_managed_v<Unmanaged<A>> = false;

namespace detail {

template <class A>
struct WithoutOwnership {
  using type = Unmanaged<A>;
};
template <class A>
struct WithoutOwnership<Unmanaged<A>> {
  using type = Unmanaged<A>;
};

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
