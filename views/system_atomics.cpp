// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/core/error.hpp>
#include <strata/devices/device_name.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/host_access.hpp>
#include <strata/views/shared_view.hpp>
#include <strata/views/system_atomics.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

std::string what_to_use(const CoherentState& array, const DeviceInstance& device) {
  const char* text = "";
  // Which allocates nothing.
  DeviceInstance* const managed =
      const_cast<DeviceInstance&>(device).shared_memory(SharedMemory::Managed, text);
  const bool has = managed != nullptr && device.has_system_atomics(managed->space(), text);
  if (has && array.mode != MemoryMode::Managed)
    return "create it with MemoryMode::Managed and main_in(" + name_of(device) + ")";
  if (has) return "create it with main_in(" + name_of(device) + ")";
  return "share nothing while kernels run: give each device a part of the work (across(...).weighted) and "
         "values of its own, and join those afterwards";
}

}  // namespace

void require_system_atomics(const CoherentState& array, const DeviceInstance& device) {
  const char* reason = "";
  const SpaceId space = array.main.space;
  if (device.has_system_atomics(space, reason)) {
    if (device.address_in_kernels(array.main.base, space) != nullptr) return;
    reason = "its kernels do not reach that memory";
  }
  throw Error("system_atomics: \"" + array.label + "\", in the memory mode " + to_string(array.mode) + " (" +
              space.kind + " memory), cannot be shared with " + name_of(device) + ": " + reason + "; " +
              what_to_use(array, device));
}

char* hand_over(const Ref<CoherentState>& array) {
  check_file_use(*array.get(), true);
  HostUseScope(array, array->shape.domain, AccessMode::InOut, true, true).end();
  mark_file_incomplete(*array.get());
  return array->main.base;
}

char* shared_address(const Ref<CoherentState>& array, const DeviceInstance& device) {
  char* const address = device.address_in_kernels(array->main.base, array->main.space);
  if (address == nullptr)
    throw Error("shared_view: \"" + array->label + "\", in the memory mode " + to_string(array->mode) + " (" +
                array->main.space.kind + " memory), is out of reach of kernels of " + name_of(device) +
                "; create it with MemoryMode::Managed and main_in(" + name_of(device) + ")");
  hand_over(array);
  return address;
}

}  // namespace strata::inline STRATA_ABI::detail
