// floor_div: division of integers that rounds down, also below 0.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// a / b rounded down; b > 0.
constexpr index_t floor_div(index_t a, index_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

}  // namespace strata::inline STRATA_ABI::detail
