// What a simulation throws; apart from it, as it does not depend on the device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <strata/miniapps/explicit_dynamics/parameters.hpp>

namespace strata::inline STRATA_ABI::dynamics {

/// Throws Error when a parameter is out of its range.
void check(const Parameters& parameters);

/// Where a simulation failed.
struct FailedAt {
  Clock clock;
  std::int64_t element_id;  // the first bad element, in the numbers of the mesh file
  index_t count;            // of bad elements
  double stable_dt;
  std::string device;
};
/// Throws SimulationError.
[[noreturn]] void fail_simulation(const FailedAt& at);

/// Throws Error: numbers that do not fit the mesh, a field that cannot be set.
[[noreturn]] void fail_size(const char* what, std::size_t found, std::size_t wanted);
[[noreturn]] void fail_field(const char* what);
/// Throws Error: forces were asked for that only the device had.
[[noreturn]] void fail_forces();

}  // namespace strata::inline STRATA_ABI::dynamics
