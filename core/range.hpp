// range: a half-open range of indices, of a subview or of the work of a launch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>
#include <strata/core/fail.hpp>

namespace strata::inline STRATA_ABI {

/// Indices first, ..., last - 1; empty where last <= first. As the work of a launch it also says how it is
/// cut into chunks for threads; a device may ignore that.
struct Range {
  index_t first = 0;        ///< the first index
  index_t last = 0;         ///< one past the last
  index_t chunk_size = 0;   ///< items of a chunk; 0: the device chooses
  bool is_dynamic = false;  ///< whether threads take chunks as they become free

  /// Chunks of `items`, assigned to the threads round-robin; 0 leaves it to the device, a negative number is
  /// a KernelError.
  STRATA_FUNCTION constexpr Range chunk(index_t items) const {
    if (items < 0)
      detail::fail_work("range(...).chunk", items, "give at least 1 item, or 0 to leave it to the device");
    return {first, last, items, is_dynamic};
  }
  /// Threads take chunks as they become free: for work items of unequal cost. A reduction over few items,
  /// too, is then distributed.
  STRATA_FUNCTION constexpr Range dynamic() const { return {first, last, chunk_size, true}; }
  /// The same in chunks of `items`.
  STRATA_FUNCTION constexpr Range dynamic(index_t items) const { return chunk(items).dynamic(); }
  STRATA_FUNCTION constexpr index_t size() const { return last > first ? last - first : 0; }
};

/// [0, n)
STRATA_FUNCTION constexpr Range range(index_t n) { return {0, n}; }
/// [first, last)
STRATA_FUNCTION constexpr Range range(index_t first, index_t last) { return {first, last}; }

/// All indices of a dimension.
struct Everything {};
/// All indices of a dimension, for subview.
inline constexpr Everything everything{};

}  // namespace strata::inline STRATA_ABI
