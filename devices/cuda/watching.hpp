// Connects GPUs to tools: a function that waits for all their work, and NVTX. Private to this folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Called once, when the first GPU starts.
void start_watching_cuda();

}  // namespace strata::inline STRATA_ABI::detail
