// The last use of an array, by the destructor of its state: for what outlives the array, a file or memory of
// the user. Private to this folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/access_mode.hpp>
#include <strata/views/coherent/coherent_state.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Whether devices have what the host lacks, or values are not what was to be written.
bool host_lacks_values(CoherentState& array);
/// Waits for what uses the host's memory, and copies to it what it lacks unless `access` is Out. Throws as a
/// use does.
void use_on_host_last(CoherentState& array, AccessMode access);
/// Of an array in memory of the user: brings the values to that memory. What goes wrong is logged.
void bring_home(CoherentState& array) noexcept;

}  // namespace strata::inline STRATA_ABI::detail
