// Copies and fills that memcpy cannot do, as kernels: strided and transposed pieces of a copy plan, both
// sides of which the GPU reaches. Private to this folder; host code, so that only copy_kernels.cu needs nvcc.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include <strata/core/copy_plan.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Enqueues the copy of one piece, of any kind but element_wise.
cudaError_t enqueue_copy(cudaStream_t stream, void* destination, const void* source, const CopyPiece& piece);

/// What the last kernel of a queue may have written, and comes to page-locked memory, is for a kernel between
/// these: copy engines begin 5 to 10 us after a kernel, but for what is very short. On an idle queue they are
/// faster, by 2 us.
inline constexpr index_t least_brought_by_kernel = index_t{128} << 10;
inline constexpr index_t most_brought_by_kernel = index_t{1} << 20;

/// Enqueues the fill of one piece of a plan_fill for elements of `element_bytes`. `value` is read before the
/// call returns; if it has more than `most_fill_bytes`, it must be in memory that the GPU reaches, until the
/// fill is done.
inline constexpr std::size_t most_fill_bytes = 256;
cudaError_t enqueue_fill(cudaStream_t stream, void* destination, const CopyPiece& piece, const void* value,
                         std::size_t element_bytes);

}  // namespace strata::inline STRATA_ABI::detail
