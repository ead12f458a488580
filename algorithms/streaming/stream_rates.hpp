// How fast things go that a plan is made by, as far as they were measured in this process.
#pragma once

#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Bytes a second that a thread of the host copies, which is all that devices of the host do besides kernels.
/// Measured once, in some milliseconds.
double host_copy_speed();

/// The kernel's time for a row and step, as earlier runs found it on this kind of device; 0: not known.
double known_row_seconds(const std::string& kernel);
void learn_row_seconds(const std::string& kernel, double seconds);

}  // namespace strata::inline STRATA_ABI::detail
