// MemoryMode: how a coherent array lies in memory, chosen for each array when it is created, at run time.
// Programs compute the same in every mode; what is moved, when, and at what cost differs:
// docs/memory_modes.md. After the benchmarks of unified memory in Numba (implicit, explicit, pinned, smart,
// managed).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// How a coherent array lies in memory. On machines without an accelerator all are memory of the host.
enum class MemoryMode : unsigned char {
  Smart,           ///< copies of the parts that are used, made when they are missing; home in pageable memory
  Pinned,          ///< the same, with the home in page-locked memory: copies are fast
  Managed,         ///< one allocation, whose pages move to the host or device that uses them
  Mapped,          ///< one allocation in page-locked memory of the host, which kernels reach over the link
  Explicit,        ///< copies only by prefetch() and flush(); using values that are not there is an error
  ExplicitPinned,  ///< the same, with the home in page-locked memory
  Implicit  ///< every launch copies its operands in, whole, and out after it, as if it knew nothing of others
};

/// "smart", "pinned", "managed", "mapped", "explicit", "explicit-pinned", "implicit".
const char* to_string(MemoryMode mode);
/// The mode of a name. SettingError, which lists the names.
MemoryMode memory_mode_of(const std::string& name);
/// The mode of arrays that are created without one: the setting `memory`.
MemoryMode default_memory_mode();

/// A mode, or Smart where the machine does not have it.
struct PreferredMemoryMode {
  MemoryMode mode;  ///< if it is available
};
/// As an argument of CoherentArray's constructor: where the mode is not available, the array is Smart.
/// Without it that is an error.
constexpr PreferredMemoryMode prefer(MemoryMode mode) { return {mode}; }

}  // namespace strata::inline STRATA_ABI
