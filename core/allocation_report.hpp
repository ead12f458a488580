// Texts about memories and their allocations, for error messages. Not for hot paths.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/core/allocation.hpp>

namespace strata::inline STRATA_ABI::detail {

/// "Host", "Emulated{1}".
std::string describe_space(SpaceId space);

/// "largest live allocations: "x" 800 bytes, ...": at most `most` of those in `space`.
std::string largest_allocations(SpaceId space, int most = 5);

}  // namespace strata::inline STRATA_ABI::detail
