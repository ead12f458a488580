// Sizes in units: the pages of the system, and any other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <unistd.h>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The bytes of a page of the system.
inline std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// The multiple of `unit` that is next to `value`: not above it, not below it.
inline std::size_t round_down(std::size_t value, std::size_t unit) { return value / unit * unit; }
inline std::size_t round_up(std::size_t value, std::size_t unit) {
  return round_down(value + unit - 1, unit);
}

}  // namespace strata::inline STRATA_ABI::detail
