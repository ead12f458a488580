// What keeps core/debugger.cpp, and with it the script for gdb, in programs that link the static library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Has no value of interest: what refers to it brings the script along.
extern const char debugger_script;

}  // namespace strata::inline STRATA_ABI::detail
