// The name of an event in a timeline.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/core/profiling/hooks.hpp>

namespace strata::inline STRATA_ABI::detail::profiling {

/// A name for people: that of a kernel, "copy x to y", "fill x", "initialize x", else the label.
std::string event_name(const HookEvent& event);

}  // namespace strata::inline STRATA_ABI::detail::profiling
