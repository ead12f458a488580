// Access: the kinds of element access of a view. Plain references by default; reads through the read-only
// cache (views of constant data, random access); or every access atomic.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/core/config.hpp>
#include <strata/core/element_types.hpp>
#include <strata/views/atomic_reference.hpp>

namespace strata::inline STRATA_ABI {

/// Plain references.
struct DefaultAccess {
  /// The type that an element access returns, and how it is made of the address of the element.
  template <class T>
  using reference = T&;
  template <class T>
  STRATA_FUNCTION static constexpr T& at(T* address) {
    return *address;
  }
};

namespace detail {

// Types that are read by value: they fit into registers, and are used as a whole.
template <class T>
inline constexpr bool is_read_by_value =
    std::is_scalar_v<T> || is_complex_v<std::remove_const_t<T>> || is_short_float_v<std::remove_const_t<T>>;

}  // namespace detail

/// Reads only: numbers by value, through a GPU's read-only cache where there is one (not bools); other
/// elements by reference to const, so that a kernel loads only the members that it uses.
/// The data must not change while a kernel reads it.
struct ReadOnlyAccess {
  /// The type that an element access returns, and how it is made of the address of the element.
  template <class T>
  using reference =
      std::conditional_t<detail::is_read_by_value<T>, std::remove_const_t<T>, std::add_const_t<T>&>;
  template <class T>
  STRATA_FUNCTION static constexpr reference<T> at(T* address) {
#if defined(__CUDA_ARCH__)
    if constexpr (detail::is_read_by_value<T> && requires { __ldg(address); }) return __ldg(address);
#endif
    return *address;
  }
};

/// Every access is atomic, at device scope, relaxed.
struct AtomicAccess {
  /// The type that an element access returns, and how it is made of the address of the element.
  template <class T>
  using reference = AtomicReference<T>;
  template <class T>
  STRATA_FUNCTION static constexpr AtomicReference<T> at(T* address) {
    return AtomicReference<T>(address);
  }
};

/// `A` of a view that never owns: it has no record, so that copying it copies an address only. Kernels are
/// given such views. The code that makes one keeps the memory alive.
template <class A = DefaultAccess>
struct Unmanaged {
  /// The type that an element access returns, and how it is made of the address of the element.
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
