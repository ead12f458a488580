// The home of a coherent array: the host's memory of all of it, by its memory mode.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <strata/core/allocation.hpp>
#include <strata/core/layout_descriptor.hpp>
#include <strata/core/ref.hpp>
#include <strata/devices/backend.hpp>
#include <strata/views/coherent/memory_mode.hpp>

namespace strata::inline STRATA_ABI::detail {

class CoherentState;

/// What the arguments of a new array say of its home.
struct HomeRequest {
  MemoryMode mode = MemoryMode::Smart;
  bool is_given = false;             // otherwise the setting `memory` says it
  bool falls_back = false;           // to Smart
  DeviceInstance* device = nullptr;  // of main_in

  /// Throws Error where another mode was given before.
  void set(MemoryMode its_mode, bool its_falls_back);
};

/// A new array, with its home. Throws OutOfMemory, and Error where the machine does not have the mode.
Ref<CoherentState> create_coherent(const char* label, const LayoutDescriptor& layout, index_t span,
                                   std::size_t element_bytes, bool contiguous_rows, bool fill,
                                   const HomeRequest& request);

/// The mode of an array in the user's memory: `asked`, or, where that is null, the setting's, where the
/// memory can be in it. Throws Error where it cannot be in the mode asked for.
MemoryMode mode_of_adopted(const char* label, SpaceId space, const MemoryMode* asked);

}  // namespace strata::inline STRATA_ABI::detail
