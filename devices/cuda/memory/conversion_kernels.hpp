// Conversions of numbers between memories that the GPU reaches, as kernels. Private to this folder; host
// code, so that only conversion_kernels.cu needs nvcc.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <strata/core/conversion.hpp>
#include <strata/core/copy_plan.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Enqueues the conversion of one piece of a plan whose unit is a number; of any kind but element_wise.
cudaError_t enqueue_conversion(cudaStream_t stream, void* destination, const void* source,
                               const CopyPiece& piece, Conversion how);

}  // namespace strata::inline STRATA_ABI::detail
