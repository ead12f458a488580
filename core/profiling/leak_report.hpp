// The live allocations, as text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// All live allocations with label, bytes and memory, largest first, a line each; at most `most` of them. The
/// setting `leak_report` prints it to stderr when the runtime ends.
std::string leak_report(int most = 100);

}  // namespace strata::inline STRATA_ABI
