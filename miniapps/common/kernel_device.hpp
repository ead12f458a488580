// KernelDevice: the type of device that kernels are compiled for, once for all hosts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <string>
#include <type_traits>

#include <strata/devices/any_host/device.hpp>
#include <strata/devices/device.hpp>

namespace strata::inline STRATA_ABI::miniapp {

/// Serial, Threads and Tbb, for all of which AnyHost can stand.
template <class D>
concept OneHost = std::convertible_to<D, AnyHost> && !std::same_as<D, AnyHost>;

/// AnyHost for a host device, else the type itself.
template <class D>
using KernelDevice = std::conditional_t<OneHost<D>, AnyHost, D>;

/// The name of a device instance for people: "Threads", or "Cuda:1" where there are several.
template <class Device>
std::string device_text(const Device& device) {
  std::string text = device_name(device);
  if (Device::count() > 1) text += ":" + std::to_string(device.index());
  return text;
}

}  // namespace strata::inline STRATA_ABI::miniapp
