// Arithmetic of row ranges, for what plans streamed launches and carries them out.
#pragma once

#include <algorithm>

#include <strata/core/layout.hpp>

namespace strata::inline STRATA_ABI::detail {

inline index_t rows_of(ResidentRows rows) { return std::max<index_t>(0, rows.end - rows.begin); }
/// Rounded down, also below 0; b > 0.
inline index_t floor_div(index_t a, index_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

}  // namespace strata::inline STRATA_ABI::detail
