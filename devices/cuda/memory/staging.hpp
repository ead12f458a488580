// Staging: copies between pageable host memory, or host memory whose elements lie apart, and a GPU. They go
// through pinned buffers: host threads gather or scatter one chunk while the link moves another. Private to
// this folder.
//
// Either everything is enqueued: host threads work in callbacks on a stream of the ring's own, ordered with
// the queue's stream by events, so that the caller does not wait and the order of the queue holds. Or, of up
// to 16 MiB in one run, the calling thread works, too (staging_at_once.cpp), as it does in CUDA's own copies
// of such memory: callbacks begin late, and threads that are called from them later still.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <mutex>

#include <cuda_runtime_api.h>

#include <strata/core/copy_plan.hpp>
#include <strata/devices/backend.hpp>
#include <strata/devices/host/worker_pool.hpp>

namespace strata::inline STRATA_ABI::detail {

class CudaQueue;

/// From here on a copy of pageable memory is faster through enqueued staging than by cudaMemcpyAsync.
inline constexpr index_t staged_from_bytes = index_t{4} << 20;
/// Between these it is faster by the calling thread and others (tried on an H200 with 16 processors; what it
/// gains is in perf_tests/memory_modes).
inline constexpr index_t least_staged_to_host = index_t{64} << 10;
inline constexpr index_t least_staged_to_device = index_t{2} << 20;
inline constexpr index_t most_staged_at_once = index_t{16} << 20;

/// Enqueues the copy of `piece` between host memory and memory that the GPU of `queue` reaches. The queue's
/// mutex is held.
void enqueue_staged(CudaQueue& queue, void* destination, const void* source, const CopyPiece& piece,
                    bool to_device);

/// Whether a staged copy is still to write to some of these bytes of the host's memory.
bool is_to_be_written(const void* data, index_t bytes);

/// Whether CUDA is still to call a function of an enqueued staged copy.
bool staging_is_under_way();

/// What has become of a copy: it was not begun; its host's memory was read, or is still to be written; it is
/// done, with all work of the queue before it.
enum class Staged { No, Enqueued, Done };

/// Copies a piece in one run to memory of the GPU of `queue`. The source, which is pageable, has been read
/// when the call returns. The queue's mutex is held, and no function of the host is to be called before the
/// copy. Not begun where there is no pinned memory.
Staged stage_to_device(CudaQueue& queue, const CopySide& destination, const CopySide& source,
                       const CopyPiece& piece);

/// The other way, under the same conditions: done when the call returns, unless the queue's work so far takes
/// more than a millisecond; the host's part is enqueued then.
Staged stage_to_host(CudaQueue& queue, const CopySide& destination, const CopySide& source,
                     const CopyPiece& piece);

/// Enqueues the copy of a piece between two places of the host, as the work of a staged copy, on the queue's
/// helper stream, and what the queue's stream does next after it. `before` is an event of that stream.
void enqueue_host_copy(CudaQueue& queue, void* destination, const void* source, const CopyPiece& piece,
                       cudaEvent_t before);

/// Those that copy between buffers and pageable memory. Who has the mutex may use them. Functions that CUDA
/// calls do not wait for it: who has it may wait for CUDA.
struct CopyThreads {
  WorkerPool pool;
  std::mutex mutex;
};
CopyThreads& copy_threads();

}  // namespace strata::inline STRATA_ABI::detail
