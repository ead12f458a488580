// Waiting for all work of all devices, as tools may request it. Devices that work asynchronously register,
// when they start, a function that waits for their work; other devices have nothing to wait for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Registers `drain`, which waits for all work of one kind of device. It may be called from any thread,
/// removes no error from a queue, and returns at once where it would wait for its own caller. The text
/// `device` is kept by pointer.
void at_fence(const char* device, void (*drain)() noexcept);

/// Waits for all work of all devices; listeners get the events of a fence `label` for each registered kind.
/// Does nothing while a NoFences exists.
void fence_devices(const char* label) noexcept;

/// While one exists, on any thread, fence_devices does nothing: a queue cannot be waited for while it records
/// a graph.
class NoFences {
 public:
  NoFences();
  ~NoFences();
  NoFences(const NoFences&) = delete;
  NoFences& operator=(const NoFences&) = delete;
};

}  // namespace strata::inline STRATA_ABI::detail
