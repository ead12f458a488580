// Variant: a value of one of several types. <variant>, which has std::variant, takes nvcc long in small
// files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstddef>
#include <new>
#include <type_traits>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// A value of one of the types `T`, which are distinct and can be copied without an exception.
template <class... T>
class Variant {
  static_assert((std::is_nothrow_copy_constructible_v<T> && ...),
                "strata: Variant: copying one of the types may throw");

 public:
  /// Holds a copy of `value`.
  template <class V>
  requires(std::is_same_v<V, T> || ...) Variant(const V& value) : type_(number_of<V>()) {
    new (storage_) V(value);
  }
  Variant(const Variant& other) noexcept { copy(other); }
  Variant& operator=(const Variant& other) noexcept {
    if (this != &other) {
      destroy();
      copy(other);
    }
    return *this;
  }
  ~Variant() { destroy(); }

  /// Whether the value is a `V`, one of the types.
  template <class V>
  bool holds() const {
    static_assert((std::is_same_v<V, T> + ... + 0) == 1, "strata: Variant: not one of the types, or twice");
    return type_ == number_of<V>();
  }
  /// The value, which must be a `V`.
  template <class V>
  const V& as() const {
    assert(holds<V>());
    return *std::launder(reinterpret_cast<const V*>(storage_));
  }

 private:
  template <class V>
  static constexpr int number_of() {
    int number = 0, found = -1;
    ((std::is_same_v<V, T> ? void(found = number++) : void(number++)), ...);
    return found;
  }
  static constexpr std::size_t largest() {
    std::size_t size = 0;
    ((size = sizeof(T) > size ? sizeof(T) : size), ...);
    return size;
  }
  void copy(const Variant& other) {
    type_ = other.type_;
    ((other.template holds<T>() ? void(new (storage_) T(other.template as<T>())) : void()), ...);
  }
  void destroy() { ((holds<T>() ? as<T>().~T() : void()), ...); }

  alignas(T...) unsigned char storage_[largest()];
  int type_;
};

}  // namespace strata::inline STRATA_ABI
