// Device: an execution mechanism with a memory space and a preferred layout, as a type and a handle
// (`Serial{}`, `Emulated{1}`). This file is the whole interface that a new device implements; see
// docs/add_a_device.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <type_traits>

#include <strata/core/config.hpp>
#include <strata/core/layout.hpp>
#include <strata/devices/backend.hpp>
#include <strata/devices/launch_info.hpp>

namespace strata::inline STRATA_ABI {

/// A memory space: says whether the host may touch it, and turns the address that a view holds into one that
/// the calling thread may touch (the same one, but for devices that emulate separate memory).
template <class S>
concept MemorySpace = requires(double* p) {
  { S::kind } -> std::convertible_to<const char*>;
  { S::host_accessible } -> std::convertible_to<bool>;
  { S::resolve(p) } -> std::same_as<double*>;
};

/// The members of a device type. `execution` launches kernels: for_range, for_box, reduce_range, reduce_box,
/// reduce_array, scan_range, for_teams, reduce_teams and team_limits, with the signatures of
/// detail::TaskExecution, from which devices on host threads inherit them. On a host device a launch returns
/// when the work is done; on others it enqueues, waits only where its `finish` asks for it, and the next wait
/// throws errors.
template <class D>
concept Device = requires(const D& device) {
  requires MemorySpace<typename D::memory_space>;
  requires Layout<typename D::layout>;  // of plain arrays
  typename D::index_type;               // the index of kernels whose index is `auto`
  typename D::size_type;
  typename D::execution;
  { D::name } -> std::convertible_to<const char*>;
  { device.index() } -> std::convertible_to<int>;
  { device.backend() } -> std::same_as<detail::DeviceInstance&>;
  { D::count() } -> std::convertible_to<int>;  // instances on this machine
  D{};
  D(0);
};

namespace detail {

// Spaces of one family are memories of the same kind of device: its kernels reach all of them.
template <class S>
struct FamilyOf {
  using type = S;
};
template <class S>
requires requires { typename S::family; }
struct FamilyOf<S> {
  using type = typename S::family;
};

}  // namespace detail

/// Whether kernels on `D` may use views whose memory is `Space`: that of the device, of its family (the
/// pinned and managed memory of a GPU), or on hosts any that the host may touch.
template <class D, class Space>
inline constexpr bool can_access = std::is_same_v<typename detail::FamilyOf<typename D::memory_space>::type,
                                                  typename detail::FamilyOf<Space>::type> ||
                                   (detail::FamilyOf<typename D::memory_space>::type::host_accessible &&
                                    Space::host_accessible);

/// The name of `device` in messages: that of its type; of AnyHost, that of the device it stands for.
template <Device D>
const char* device_name([[maybe_unused]] const D& device) {
  if constexpr (requires { device.device_name(); }) return device.device_name();
  else return D::name;
}

}  // namespace strata::inline STRATA_ABI
