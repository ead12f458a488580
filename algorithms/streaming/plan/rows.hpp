// Arithmetic of row ranges, for what plans streamed launches and carries them out.
#pragma once

#include <algorithm>

#include <strata/core/layout.hpp>

namespace strata::inline STRATA_ABI::detail {

inline index_t rows_of(ResidentRows rows) { return std::max<index_t>(0, rows.end - rows.begin); }
/// The rows that are in `a` and in `b`; none where their end is before their begin.
inline ResidentRows both(ResidentRows a, ResidentRows b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}
/// Rounded down, also below 0; b > 0.
inline index_t floor_div(index_t a, index_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

}  // namespace strata::inline STRATA_ABI::detail
