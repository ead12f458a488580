// Competitors of allocation: allocate and free, `calls` times.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/competitor.hpp"

namespace perf {

/// malloc and free, untouched.
Sweep allocation_baseline(HostPlace place, std::size_t bytes, int calls);
/// cudaMallocAsync and cudaFreeAsync, from a pool that keeps what it has.
Sweep allocation_baseline(CudaPlace place, std::size_t bytes, int calls);
/// cudaMalloc and cudaFree.
inline Sweep allocation_without_pool(HostPlace, std::size_t, int) { return {}; }
Sweep allocation_without_pool(CudaPlace place, std::size_t bytes, int calls);

}  // namespace perf
