// Staging: copies between pageable host memory, or host memory whose elements lie apart, and a GPU. They go
// through a ring of pinned buffers: host threads gather or scatter one chunk while the link moves another.
// Private to this folder.
//
// Everything is enqueued: host threads work in callbacks on a stream of the ring's own, ordered with the
// queue's stream by events, so that the caller does not wait and the order of the queue holds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include <strata/core/copy_plan.hpp>

namespace strata::inline STRATA_ABI::detail {

class CudaQueue;

/// From here on a copy of pageable memory is faster through staging than by cudaMemcpyAsync.
inline constexpr index_t staged_from_bytes = index_t{4} << 20;

/// Enqueues the copy of `piece` between host memory and memory that the GPU of `queue` reaches. The queue's
/// mutex is held.
void enqueue_staged(CudaQueue& queue, void* destination, const void* source, const CopyPiece& piece,
                    bool to_device);

/// Whether a staged copy is still to write to some of these bytes of the host's memory.
bool is_to_be_written(const void* data, index_t bytes);

}  // namespace strata::inline STRATA_ABI::detail
