// How a launch, or the host, uses an array.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// How an array is used: In: it is read; Out: all that is declared is overwritten, and nothing read; InOut:
/// both.
enum class AccessMode : unsigned char { In, Out, InOut };

namespace detail {
constexpr bool reads(AccessMode mode) { return mode != AccessMode::Out; }
constexpr bool writes(AccessMode mode) { return mode != AccessMode::In; }
}  // namespace detail

}  // namespace strata::inline STRATA_ABI
