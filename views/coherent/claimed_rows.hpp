// Of managed arrays whose rows hosts and kernels have claimed from each other in one launch, which is known
// as that of the kernels alone: what to set right when all have ended.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/core/access_mode.hpp>
#include <strata/devices/backend.hpp>
#include <strata/views/coherent/access_region.hpp>
#include <strata/views/coherent/coherent_array_state.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The device used the part, or the host, where it is null: pages are there now.
void note_used_by(CoherentState& array, const ArrayPart& part, AccessMode mode, DeviceInstance* device);
/// A kernel failed, and counts as one that could have written the part; but that was written well.
void note_written(CoherentState& array, const ArrayPart& part);
/// What failed in `launch` may have written some of the part: its values are lost, which the next use
/// reports.
void note_lost(CoherentState& array, const ArrayPart& part, const std::string& launch);

}  // namespace strata::inline STRATA_ABI::detail
