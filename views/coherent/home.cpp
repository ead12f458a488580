// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstring>
#include <string>
#include <string_view>

#include <strata/core/error.hpp>
#include <strata/core/log.hpp>
#include <strata/devices/device_name.hpp>
#include <strata/devices/serial/device.hpp>
#include <strata/version.hpp>
#include <strata/views/coherent/coherent_array_state.hpp>
#include <strata/views/coherent/home.hpp>
#include <strata/views/create.hpp>
#if STRATA_HAS_CUDA
#include <strata/devices/cuda/device.hpp>
#endif

namespace strata::inline STRATA_ABI::detail {

namespace {

// Whose pinned and managed memory arrays have that do not name an accelerator; null where there is none.
DeviceInstance* first_accelerator() {
#if STRATA_HAS_CUDA
  if (Cuda::count() > 0) return &Cuda().backend();
#endif
  return nullptr;
}

bool is_in_shared_memory(MemoryMode mode) {
  return mode == MemoryMode::Pinned || mode == MemoryMode::ExplicitPinned || mode == MemoryMode::Mapped ||
         mode == MemoryMode::Managed;
}

SharedMemory memory_of(MemoryMode mode) {
  return mode == MemoryMode::Managed ? SharedMemory::Managed : SharedMemory::Pinned;
}

// The instance that allocates the home; null, with the reason, where the machine does not have the mode.
DeviceInstance* find_memory(MemoryMode mode, DeviceInstance* device, std::string& reason) {
  DeviceInstance* const host = device != nullptr && device->host_accessible() ? device : &Serial().backend();
  if (!is_in_shared_memory(mode)) return host;
  DeviceInstance* const accelerator =
      device != nullptr && !device->host_accessible() ? device : first_accelerator();
  if (accelerator == nullptr) return host;  // all its kernels reach
  const char* text = "";
  DeviceInstance* const memory = accelerator->shared_memory(memory_of(mode), text);
  if (memory == nullptr) reason = name_of(*accelerator) + ": " + text;
  return memory;
}

AllocationRef allocate(DeviceInstance& memory, const char* label, index_t span, std::size_t element_bytes,
                       const LayoutDescriptor& layout, bool fill) {
  // The host zeroes what both reach: queues of the device have work of others, and perhaps its errors.
  const bool host_fills = fill && memory.space().shared;
  AllocationRef storage(
      create_storage(memory, nullptr, label, span, element_bytes, layout, fill && !host_fills));
  if (host_fills) std::memset(storage.get()->data, 0, static_cast<std::size_t>(span) * element_bytes);
  return storage;
}

// A mode that nobody named: said when it is the first, or another than before.
void say_default(MemoryMode mode) {
  static std::atomic<int> said{-1};
  if (logs(LogLevel::Info) &&
      said.exchange(static_cast<int>(mode), std::memory_order_relaxed) != static_cast<int>(mode))
    log_message(LogLevel::Info, "coherent arrays whose memory mode nobody named are %s (the setting memory)",
                to_string(mode));
}

}  // namespace

void HomeRequest::set(MemoryMode its_mode, bool its_falls_back) {
  if (is_given)
    throw Error(std::string("a coherent array was given two memory modes, ") + to_string(mode) + " and " +
                to_string(its_mode) + "; it has one, from its creation on");
  mode = its_mode;
  is_given = true;
  falls_back = its_falls_back;
}

Ref<CoherentState> create_coherent(const char* label, const LayoutDescriptor& layout, index_t span,
                                   std::size_t element_bytes, bool contiguous_rows, bool fill,
                                   const HomeRequest& request) {
  MemoryMode mode = request.is_given ? request.mode : default_memory_mode();
  std::string reason;
  DeviceInstance* memory = find_memory(mode, request.device, reason);
  if (!request.is_given) say_default(mode);
  const auto fall_back = [&] {
    log_message(LogLevel::Info, "\"%s\" is in the memory mode smart instead of %s, as %s", label,
                to_string(mode), reason.c_str());
    mode = MemoryMode::Smart;
    memory = find_memory(mode, request.device, reason);
  };
  if (memory == nullptr) {
    if (!request.falls_back)
      throw Error("\"" + std::string(label) + "\" cannot be in the memory mode " + to_string(mode) + ", as " +
                  reason + "; choose another mode, or prefer(mode), which falls back to smart");
    fall_back();
  }
  AllocationRef storage;
  try {
    storage = allocate(*memory, label, span, element_bytes, layout, fill);
  } catch (const OutOfMemory& error) {
    if (!request.falls_back || mode == MemoryMode::Smart) throw;
    reason = error.what();
    fall_back();
    storage = allocate(*memory, label, span, element_bytes, layout, fill);
  }
  const CopySide side{storage.get()->data, memory->space(), &layout, label, memory};
  return make_coherent(label, layout, element_bytes, contiguous_rows, side, storage, fill, mode);
}

MemoryMode mode_of_adopted(const char* label, SpaceId space, const MemoryMode* asked) {
  const MemoryMode mode = asked != nullptr ? *asked : default_memory_mode();
  if (!is_in_shared_memory(mode)) return mode;
  std::string reason;
  if (DeviceInstance* const accelerator = first_accelerator()) {
    const char* text = "";
    DeviceInstance* const memory = accelerator->shared_memory(memory_of(mode), text);
    if (memory != nullptr && std::string_view(memory->space().kind) == space.kind) return mode;
    reason = memory == nullptr
                 ? name_of(*accelerator) + ": " + text
                 : "it is " + std::string(space.kind) + " memory and not " + memory->space().kind;
  } else if (Serial().backend().space().kind == std::string_view(space.kind)) {
    return mode;
  } else {
    reason = "it is memory of " + std::string(space.kind);
  }
  if (asked == nullptr) return MemoryMode::Smart;
  throw Error("\"" + std::string(label) + "\", whose memory was adopted, cannot be in the memory mode " +
              to_string(mode) + ", as " + reason + "; adopt it as smart, or create an array of that mode");
}

}  // namespace strata::inline STRATA_ABI::detail
