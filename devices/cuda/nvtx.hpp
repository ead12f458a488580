// NVTX: kernels, copies, graphs, regions, waits and marks as named ranges, which Nsight Systems and Nsight
// Compute show above the work of the GPU. A range lasts as long as the call: on GPUs that is the enqueuing,
// which the profiler connects with the kernel. Private to this folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Reports all events to NVTX from now on, if the setting `nvtx` is on, or if a profiler listens and the
/// setting is not off. Without a profiler, or without NVTX's headers at build time, ranges cost next to
/// nothing.
void start_nvtx();

}  // namespace strata::inline STRATA_ABI::detail
