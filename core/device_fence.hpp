// Waiting for everything: all work of all devices, for tools that ask for it. Devices that work
// asynchronously say how when they start; the others have nothing to wait for.
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Registers how to wait for all work of one kind of device. `drain` may be called from any thread; it takes
/// no error from a queue, and returns at once where waiting would be waiting for itself. `device` is static.
void at_fence(const char* device, void (*drain)() noexcept);

/// Waits for all work of all devices; listeners are told of a fence `label` for each kind that was
/// registered. Does nothing while a NoFences lives.
void fence_devices(const char* label) noexcept;

/// While one lives, on any thread, fence_devices does nothing: graphs that are recorded cannot be waited for.
class NoFences {
 public:
  NoFences();
  ~NoFences();
  NoFences(const NoFences&) = delete;
  NoFences& operator=(const NoFences&) = delete;
};

}  // namespace strata::inline STRATA_ABI::detail
