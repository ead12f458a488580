// What it costs to have a part of an array on a device, by the rates of the links and where values are now.
// For those that choose a device for work.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/core/access_mode.hpp>
#include <strata/devices/backend.hpp>
#include <strata/views/coherent/access_region.hpp>
#include <strata/views/coherent/coherent_array_state.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Seconds of the copies there, of what is read and the device lacks, and back, to where the values are now,
/// of what is written. 0 for arrays of which launches copy nothing.
double seconds_to_move(CoherentState& array, const ArrayPart& part, AccessMode mode, DeviceInstance& device);

/// Of each device, the run of rows of the box that covers what it has and some other of them lacks; empty:
/// none.
std::vector<ResidentRows> rows_lying(CoherentState& array, const Box& box,
                                     const std::vector<DeviceInstance*>& devices);

}  // namespace strata::inline STRATA_ABI::detail
