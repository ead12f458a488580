// TaskPart: a part of a place, as tasks see it: devices of any type, behind one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/place.hpp>
#include <strata/devices/any_host/device.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The type of a device as a value. Those that run kernels at once on threads of the host are one.
using TaskDeviceType = const void*;
template <class D>
inline constexpr char task_device_tag = 0;
template <class D>
constexpr TaskDeviceType task_device_type() {
  if constexpr (HostType<D>) return &task_device_tag<AnyHost>;
  else return &task_device_tag<D>;
}

struct TaskPart {
  TaskDeviceType type = nullptr;
  DeviceInstance* device = nullptr;
  const HostKind* host = nullptr;  // of a device that runs kernels at once
};

/// The device of a part, whose type it is.
template <class D>
D device_of(const TaskPart& part) {
  if constexpr (std::is_same_v<D, AnyHost>) return AnyHost(*part.host);
  else return D(part.device->index());
}

template <Place Where>
std::vector<TaskPart> task_parts(const Where& where) {
  static_assert(
      !PlaceTraits<Where>::is_streamed,
      "strata: TaskGraph: arrays of tasks go to devices as wholes; give on(...) or across(...), and "
      "bound the memory by coherent::set_budget");
  static_assert(
      !is_grid<Where>,
      "strata: TaskGraph: arrays of tasks go to devices as wholes: you wrote across(...).grid(...); "
      "write across(...)");
  std::vector<TaskPart> parts;
  for (std::size_t k = 0; k < PlaceTraits<Where>::count(where); ++k)
    visit_part(where, k, [&](const auto& on) {
      using D = std::remove_cvref_t<decltype(on.device)>;
      parts.push_back({task_device_type<D>(), &on.device.backend(), host_of(on.device)});
    });
  return parts;
}

}  // namespace strata::inline STRATA_ABI::detail
