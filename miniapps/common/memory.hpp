// --memory MODE: how the coherent arrays of a mini-app lie in memory, and what programs do themselves where
// an explicit mode leaves all copies to them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <strata/devices/serial/device.hpp>
#include <strata/miniapps/common/options.hpp>
#include <strata/version.hpp>
#include <strata/views/coherent/coherent_array.hpp>
#if STRATA_HAS_CUDA
#include <strata/devices/cuda/device.hpp>
#endif

namespace strata::inline STRATA_ABI::miniapp {

/// A mode; none: nobody has asked for one.
using MemoryChoice = std::optional<MemoryMode>;

/// Declares --memory, whose value is "default" or the name of a mode.
void declare_memory(Options& options, std::string& name);
/// What it says. "default": the setting `memory` where the environment or the command line gives it, else no
/// mode. UsageError, which lists the modes.
MemoryChoice memory_choice(const std::string& name);

/// Explicit: copies only by prefetch() and flush().
constexpr bool is_explicit(MemoryMode mode) {
  return mode == MemoryMode::Explicit || mode == MemoryMode::ExplicitPinned;
}
/// UsageError of an explicit mode: `what` ("--devices 2") leaves it to the library what is copied, `why`.
void refuse_explicit(const MemoryChoice& choice, const std::string& what, const std::string& why);

/// The mode of arrays that go to a device again and again: the one asked for, or that from which copies are
/// fast.
template <class Device>
MemoryMode memory_mode_for(const MemoryChoice& choice) {
  MemoryMode fast = MemoryMode::Smart;
#if STRATA_HAS_CUDA
  if constexpr (std::is_same_v<Device, Cuda>) fast = MemoryMode::Pinned;
#endif
  return choice.value_or(fast);
}

/// The main_in(...) of arrays for a device: its own pinned or managed memory in the modes that have such, and
/// for hosts plain memory.
template <class Device>
auto main_for([[maybe_unused]] const Device& device) {
  if constexpr (Device::memory_space::host_accessible) return main_in(Serial{});
  else return main_in(device);
}

/// A device as an argument of main_in, whatever its type. None: the host.
struct HomeDevice {
  strata::detail::DeviceInstance* instance = nullptr;

  strata::detail::DeviceInstance& backend() const {
    return instance != nullptr ? *instance : Serial{}.backend();
  }
};
template <class Device>
MainIn<HomeDevice> any_main_for(const Device& device) {
  return {{&main_for(device).device.backend()}};
}

/// Before the host reads what a device may have written: copies where the program has to ask for it.
template <class Array>
void to_host(const Array& array) {
  if (is_explicit(array.memory_mode())) array.flush();
}
/// After the host has written what the device reads next: likewise.
template <class Array, class Device>
void to_device(const Array& array, const Device& device) {
  if (is_explicit(array.memory_mode())) array.prefetch(array.domain(), device);
}

}  // namespace strata::inline STRATA_ABI::miniapp
