// The places that mini-apps run at: on(device), across(devices), streamed(device, budget). Include it in
// files that nvcc compiles where there is Cuda.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include <strata/algorithms/sequence/sequence.hpp>
#include <strata/algorithms/streaming/streamed_place.hpp>
#include <strata/core/error.hpp>
#include <strata/miniapps/common/kernel_device.hpp>

namespace strata::inline STRATA_ABI::miniapp {

template <class D>
const D& first_device(const On<D>& where) {
  return where.device;
}
template <class D>
const D& first_device(const Streamed<On<D>>& where) {
  return where.where.device;
}
template <class D>
const D& first_device(const Across<D>& where) {
  return where.places.front().template as<On<D>>().device;
}
template <class Where>
using DeviceOf = std::remove_cvref_t<decltype(first_device(std::declval<const Where&>()))>;

/// Whether a place is one through which fields go in slices.
template <class Where>
inline constexpr bool goes_through_slices = false;
template <class Device>
inline constexpr bool goes_through_slices<Streamed<On<Device>>> = true;
template <class Where>
inline constexpr bool goes_through_slices<Sequence<Where>> = goes_through_slices<Where>;

/// For people.
template <class Where>
std::string place_text(const Where& where) {
  return device_text(first_device(where));
}
template <class D>
std::string place_text(const Across<D>& where) {
  return std::to_string(where.places.size()) + " x " + device_name(first_device(where));
}

/// The first so many of a kind; of a host, which is one, so many parts. NoSuchDevice.
template <class D>
std::vector<D> first_devices(const D& device, int count) {
  std::vector<D> devices(static_cast<std::size_t>(count), device);
  if constexpr (D::memory_space::host_accessible) return devices;
  if (count > D::count())
    throw NoSuchDevice("--devices " + std::to_string(count) + ": there " +
                       (D::count() == 1 ? "is " : "are ") + std::to_string(D::count()) + " of " +
                       device_name(device));
  for (int k = 0; k < count; ++k) devices[static_cast<std::size_t>(k)] = D(k);
  return devices;
}

}  // namespace strata::inline STRATA_ABI::miniapp
