// Arithmetic of row ranges, for planning streamed launches and carrying them out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/floor_div.hpp>
#include <strata/core/layout.hpp>
#include <strata/core/min_max.hpp>

namespace strata::inline STRATA_ABI::detail {

inline index_t rows_of(ResidentRows rows) { return larger_of<index_t>(0, rows.end - rows.begin); }
/// The rows that are in `a` and in `b`; none where their end is before their begin.
inline ResidentRows both(ResidentRows a, ResidentRows b) {
  return {larger_of(a.begin, b.begin), smaller_of(a.end, b.end)};
}

}  // namespace strata::inline STRATA_ABI::detail
