// Coefficients of vector operations: a number on the host, or a Value on the device, which an earlier launch
// may have written and which the host does not wait for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI::detail {

/// A number that travels with the kernel.
template <class T>
struct HostScalar {
  static constexpr bool on_device = false;
  T value;
  STRATA_FUNCTION T get() const { return value; }
};
/// A number that the kernel reads.
template <class V>
struct DeviceScalar {
  static constexpr bool on_device = true;
  V value;
  STRATA_FUNCTION typename V::value_type get() const { return *value; }
};

/// 0 and 1, known when the kernel is compiled.
struct ZeroScalar {};
struct OneScalar {};

/// A view of rank 0.
template <class S>
concept DeviceValue = AnyView<S> && std::remove_cvref_t<S>::extents_type::max_rank_value == 0;

/// A type of coefficients for vectors of `T`.
template <class S, class T>
concept ScalarOf = DeviceValue<S> || std::is_convertible_v<S, T>;

template <class T, class S>
auto scalar_of(const S& s) {
  if constexpr (DeviceValue<S>) {
    static_assert(std::is_same_v<typename S::value_type, T>,
                  "strata: linear: a coefficient on the device has the element type of the vectors");
    return DeviceScalar<S>{s};
  } else {
    return HostScalar<T>{static_cast<T>(s)};
  }
}

}  // namespace strata::inline STRATA_ABI::detail
