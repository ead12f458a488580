// What it costs to have a part of an array on a device, by the rates of the links and where values are now.
// For those that choose a device for work.
#pragma once

#include <strata/core/access_mode.hpp>
#include <strata/devices/backend.hpp>
#include <strata/views/coherent/access_region.hpp>
#include <strata/views/coherent/coherent_array_state.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Seconds of the copies there, of what is read and the device lacks, and back, to where the values are now,
/// of what is written. 0 for arrays of which launches copy nothing.
double seconds_to_move(CoherentState& array, const ArrayPart& part, AccessMode mode, DeviceInstance& device);

/// Bytes of the part that the device has, and not all memories of the program.
double bytes_lying(CoherentState& array, const ArrayPart& part, DeviceInstance& device);

}  // namespace strata::inline STRATA_ABI::detail
